/* SPDX-License-Identifier: MIT */
#include "sim/workload/faults/fault.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/workload/job/clock.h"
#include "sim/workload/job/event_log.h"

enum { LATE_MS = 20 /* less is not worth a line in the fault log */ };

static const struct fault_kind none[] = { { .name = "none", .doc = "nothing" }, { 0 } };

static const struct fault_kind *const tables[] = {
	none, fault_io_kinds, fault_cpu_kinds, fault_lock_kinds, fault_memory_kinds, fault_loader_kinds,
	fault_network_kinds, fault_gpu_kinds, fault_end_kinds, fault_init_kinds, fault_collective_kinds,
	fault_values_kinds,
	fault_healthy_kinds,
};

enum { TABLES = sizeof(tables) / sizeof(tables[0]) };

bool fault_begins(const struct fault *fault, int step)
{
	return fault->mine && step == fault->options->fault_step;
}

bool fault_holds(const struct fault *fault, int step)
{
	const struct options *options = fault->options;

	return fault->mine && step >= options->fault_step && (step - options->fault_step) % options->fault_every == 0;
}

const struct fault_kind *fault_kind_find(const char *name)
{
	for (size_t i = 0; i < TABLES; i++)
		for (const struct fault_kind *kind = tables[i]; kind->name; kind++)
			if (!strcmp(kind->name, name))
				return kind;
	return NULL;
}

char *fault_kind_list(void)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fputs("Kinds of faults:\n", out);
	for (size_t i = 0; i < TABLES; i++)
		for (const struct fault_kind *kind = tables[i]; kind->name; kind++)
			fprintf(out, "  %-13s %s\n", kind->name, kind->doc);
	fclose(out);
	return text;
}

int fault_takes_ms(const struct fault *fault, int usual_ms)
{
	return fault->options->fault_ms ? fault->options->fault_ms : usual_ms;
}

static bool is_mine(const struct options *options, int rank)
{
	if (options->fault->whole_host)
		return options_host_of(options, rank) == options_host_of(options, options->fault_rank);
	return rank >= options->fault_rank && rank < options->fault_rank + options->fault_ranks;
}

int fault_open(struct fault *fault, const struct options *options, int rank)
{
	*fault = (struct fault){ .options = options, .rank = rank, .mine = is_mine(options, rank) };
	return options->fault->open ? options->fault->open(fault) : 0;
}

void fault_close(struct fault *fault)
{
	if (fault->options->fault->close)
		fault->options->fault->close(fault);
}

/* As long as a program loads its libraries and data, at the least. */
enum { LOADS_S = 3 };

void fault_before_init(struct fault *fault)
{
	const struct fault_kind *kind = fault->options->fault;

	if (!kind->before_init)
		return;
	if (kind->harms && fault->mine) {
		sleep(LOADS_S);
		event_log_fault(kind->name, 0);
	}
	kind->before_init(fault);
}

void fault_before_splits(struct fault *fault)
{
	const struct fault_kind *kind = fault->options->fault;

	if (!kind->before_splits)
		return;
	if (kind->harms && fault->mine)
		event_log_fault(kind->name, 0);
	kind->before_splits(fault);
}

static void load_data(int ms)
{
	uint64_t end_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID) + ms * 1000000ULL;

	while (clock_now_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns)
		;
}

void fault_host_work(struct fault *fault, int step)
{
	const struct fault_kind *kind = fault->options->fault;
	uint64_t begin_ns = clock_now_ns(CLOCK_MONOTONIC);

	if (kind->harms && !kind->before_init && !kind->before_splits && fault_begins(fault, step))
		event_log_fault(kind->name, step);
	if (kind->between_steps)
		kind->between_steps(fault, step);
	load_data(fault->options->host_ms);

	double late_ms = (clock_now_ns(CLOCK_MONOTONIC) - begin_ns) / 1e6 - fault->options->host_ms;
	if (kind->harms && fault_holds(fault, step) && late_ms >= LATE_MS)
		event_log_late_step(step, late_ms);
}

int fault_extra_us(const struct fault *fault, int step)
{
	const struct fault_kind *kind = fault->options->fault;

	return kind->extra_us ? kind->extra_us(fault, step) : 0;
}

double fault_slowness(const struct options *options, int rank, int step, bool in_tensor_parallel)
{
	const struct fault fault = { .options = options, .rank = rank, .mine = is_mine(options, rank) };

	if (!options->fault->slower || !fault_holds(&fault, step) ||
	    (options->fault->in_tensor_parallel && !in_tensor_parallel))
		return 1;
	return 1 + (options->fault_slower > 0 ? options->fault_slower : options->fault->slower);
}

/* What a step computes that such a fault makes longer. */
static double slower_ms(const struct options *options)
{
	return options->step_ms *
	       (options->fault->in_tensor_parallel ? 1 - options->parallel.outside_tp / 100.0 : 1);
}

void fault_step_done(const struct fault *fault, int step)
{
	const struct options *options = fault->options;
	/* A step that never ends is never done. */
	double late_ms = fault_extra_us(fault, step) / 1e3 +
			 slower_ms(options) * (fault_slowness(options, fault->rank, step, true) - 1);

	if (fault->options->fault->harms && late_ms >= LATE_MS)
		event_log_late_step(step, late_ms);
}
