/* SPDX-License-Identifier: MIT */
#include "sim/workload/job/rank.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/workload/faults/fault.h"
#include "sim/workload/host/crowd.h"
#include "sim/workload/job/clock.h"
#include "sim/workload/job/event_log.h"
#include "sim/workload/job/store.h"
#include "sim/workload/training/phases.h"
#include "sim/workload/training/trainer.h"

enum { EXIT_MISUSE = 2 };

struct place {
	int rank, ranks, local_rank;
};

static int place_read(struct place *place)
{
	*place = (struct place){
		.rank = options_environment_number("RANK", 0, INT_MAX),
		.ranks = options_environment_number("WORLD_SIZE", 1, INT_MAX),
		.local_rank = options_environment_number("LOCAL_RANK", 0, INT_MAX),
	};
	if (place->rank < 0 || place->ranks <= place->rank || place->local_rank < 0) {
		fprintf(stderr, "workload: RANK is set, but RANK, WORLD_SIZE and LOCAL_RANK do not name a rank; "
				"unset RANK to let the workload start its ranks itself\n");
		return -EINVAL;
	}
	return 0;
}

/* Trains all steps; step_ms[i] is when step i + 1 was finished after the one before. */
static int train(struct trainer *trainer, struct fault *fault, struct phases *phases, double *step_ms)
{
	int steps = fault->options->steps, ahead = fault->options->run_ahead;
	uint64_t before_ns = clock_now_ns(CLOCK_MONOTONIC);

	for (int step = 1; step <= steps + ahead; step++) {
		if (step <= steps) {
			fault_host_work(fault, step);
			trainer_enqueue_step(trainer, step, fault_extra_us(fault, step));
		}
		if (step <= ahead)
			continue;
		int err = trainer_finish_step(trainer, step - ahead);
		if (err)
			return err;
		fault_step_done(fault, step - ahead);
		uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC);
		step_ms[step - ahead - 1] = (now_ns - before_ns) / 1e6;
		before_ns = now_ns;
		phases_run(phases, step - ahead);
	}
	return 0;
}

static void print_result(const struct trainer *trainer, uint64_t digest, const double *step_ms)
{
	int steps = trainer->training.options->steps;

	printf("{\"ranks\":%d,\"steps\":%d,\"checksum\":\"%016llx\",\"step_ms\":[", trainer->world->size, steps,
	       (unsigned long long)digest);
	for (int i = 0; i < steps; i++)
		printf("%s%.1f", i ? "," : "", step_ms[i]);
	printf("]}\n");
}

static int run(struct trainer *trainer, struct fault *fault, struct phases *phases)
{
	double *step_ms = calloc(fault->options->steps, sizeof(*step_ms));
	int err = step_ms ? train(trainer, fault, phases, step_ms) : -ENOMEM;

	if (!err) {
		uint64_t digest = trainer_job_digest(trainer);

		if (trainer->training.rank == 0)
			print_result(trainer, digest, step_ms);
	}
	free(step_ms);
	return err;
}

static int fail(const struct place *place, const char *what, int err)
{
	fprintf(stderr, "workload: rank %d: %s: %s\n", place->rank, what, strerror(-err));
	return EXIT_FAILURE;
}

/* Says itself what fails. */
static int work(const struct options *options, const struct place *place, const struct mesh *mesh, struct store *store)
{
	struct trainer trainer;
	struct fault fault;
	struct phases phases;
	struct crowd *crowd;

	int err = fault_open(&fault, options, place->rank);
	if (err)
		return fail(place, "cannot prepare the fault", err);
	err = phases_open(&phases, &options->parallel);
	if (err)
		return fail(place, "cannot start the checkpointer", err);
	err = crowd_start(&crowd, options->threads);
	if (err)
		return fail(place, "cannot start its threads", err);
	event_log_start();
	fault_before_init(&fault);
	err = trainer_open(&trainer, options, mesh, place->rank, place->local_rank, store, &fault);
	if (err)
		return fail(place, "cannot prepare training", err);
	err = run(&trainer, &fault, &phases);
	fault_close(&fault);
	phases_close(&phases);
	crowd_stop(crowd);
	trainer_close(&trainer);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}

int rank_main(const struct options *options)
{
	struct place place;
	struct mesh mesh;
	struct store *store;

	pthread_setname_np(pthread_self(), "python-main");
	if (place_read(&place))
		return EXIT_MISUSE;
	const char *wrong = parallel_mesh(&options->parallel, place.ranks, &mesh);
	if (wrong) {
		fprintf(stderr, "workload: %s\n", wrong);
		return EXIT_MISUSE;
	}
	int err = event_log_open(options->events, place.rank);
	if (err)
		return fail(&place, options->events, err);
	err = store_open(&store, place.rank, place.ranks);
	if (err)
		return fail(&place, "cannot meet the other ranks at MASTER_ADDR:MASTER_PORT", err);
	int status = work(options, &place, &mesh, store);
	store_close(store);
	return status;
}
