/* SPDX-License-Identifier: MIT */
#include "rank.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "event_log.h"
#include "fault.h"
#include "rendezvous.h"
#include "trainer.h"

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

static int share_unique_id(const struct place *place, ncclUniqueId *id)
{
	if (place->rank == 0 && ncclGetUniqueId(id) != ncclSuccess)
		return -EIO;
	return rendezvous_share(place->rank, place->ranks, id, sizeof(*id));
}

/* Trains all steps; step_ms[i] is when step i + 1 was finished after the one before. */
static int train(struct trainer *trainer, struct fault *fault, double *step_ms)
{
	int steps = trainer->options->steps, ahead = trainer->options->run_ahead;
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
	}
	return 0;
}

static void print_result(const struct trainer *trainer, uint64_t digest, const double *step_ms)
{
	int steps = trainer->options->steps;

	printf("{\"ranks\":%d,\"steps\":%d,\"checksum\":\"%016llx\",\"step_ms\":[", trainer->ranks, steps,
	       (unsigned long long)digest);
	for (int i = 0; i < steps; i++)
		printf("%s%.1f", i ? "," : "", step_ms[i]);
	printf("]}\n");
}

static int run(struct trainer *trainer, struct fault *fault)
{
	double *step_ms = calloc(trainer->options->steps, sizeof(*step_ms));
	int err = step_ms ? train(trainer, fault, step_ms) : -ENOMEM;

	if (!err) {
		uint64_t digest = trainer_job_digest(trainer);

		if (trainer->rank == 0)
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

int rank_main(const struct options *options)
{
	struct place place;
	struct trainer trainer;
	struct fault fault;
	ncclUniqueId id;

	pthread_setname_np(pthread_self(), "python-main");
	if (place_read(&place))
		return EXIT_MISUSE;
	int err = event_log_open(options->events, place.rank);
	if (err)
		return fail(&place, options->events, err);
	err = share_unique_id(&place, &id);
	if (err)
		return fail(&place, "cannot agree on NCCL's unique id through MASTER_ADDR:MASTER_PORT", err);
	err = fault_open(&fault, options, place.rank);
	if (err)
		return fail(&place, "cannot prepare the fault", err);
	event_log_start();
	fault_before_init(&fault);
	trainer_open(&trainer, options, place.rank, place.ranks, place.local_rank, &id);
	err = run(&trainer, &fault);
	fault_close(&fault);
	trainer_close(&trainer);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
