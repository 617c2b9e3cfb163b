/* SPDX-License-Identifier: MIT */
#include "fault.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checkpointer.h"
#include "clock.h"
#include "event_log.h"
#include "hog.h"
#include "log_writer.h"

enum {
	LATE_MS = 50, /* less is not worth a line in the fault log */
	SCALARS_BYTES = 200,
	LOCK_HELD_MS = 1000,
	RUN_AHEAD_STALL_MS = 300, RUN_AHEAD_STALL_EVERY = 3,
	CHECKPOINT_MS = 1000, CHECKPOINT_EVERY = 5,
	JITTER_MS = 15, JITTER_RARE_MS = 60, JITTER_RARE_EVERY = 16,
};

static bool begins(const struct fault *fault, int step)
{
	return fault->mine && step == fault->options->fault_step;
}

static bool holds(const struct fault *fault, int step)
{
	return fault->mine && step >= fault->options->fault_step;
}

static int open_log(struct fault *fault)
{
	return fault->mine ? log_writer_open(&fault->log, fault->options->log_dir, fault->rank) : 0;
}

/* From the fault's step on it logs much and wants it on the disk; before, a few numbers that stay in memory. */
static void log_through_thread(struct fault *fault, int step)
{
	bool much = holds(fault, step);

	if (fault->mine)
		log_writer_put(fault->log, much ? fault->options->log_bytes : SCALARS_BYTES, much);
}

static void log_directly(struct fault *fault, int step)
{
	bool much = holds(fault, step);

	if (fault->mine)
		log_writer_write(fault->log, much ? fault->options->log_bytes : SCALARS_BYTES, much);
}

/* The others make room, so that the hogs take the CPU from this rank alone. */
static void hog_cpu(struct fault *fault, int step)
{
	if (step == fault->options->fault_step)
		hog_share_cpu(fault->mine);
}

static int open_checkpointer(struct fault *fault)
{
	return fault->mine ? checkpointer_start(&fault->checkpointer, LOCK_HELD_MS) : 0;
}

static void wait_for_lock(struct fault *fault, int step)
{
	if (holds(fault, step))
		checkpointer_snapshot(fault->checkpointer);
}

static void stop_self(struct fault *fault, int step)
{
	if (begins(fault, step))
		kill(getpid(), SIGSTOP);
}

static void kill_self(struct fault *fault, int step)
{
	if (begins(fault, step))
		kill(getpid(), SIGKILL);
}

static void leave(struct fault *fault, int step)
{
	if (begins(fault, step))
		exit(3);
}

static void never_come_back(struct fault *fault, int step)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t nobody_signals = PTHREAD_COND_INITIALIZER;

	if (!begins(fault, step))
		return;
	pthread_mutex_lock(&lock);
	for (;;)
		pthread_cond_wait(&nobody_signals, &lock);
}

static void stall_now_and_then(struct fault *fault, int step)
{
	if (fault->mine && step % RUN_AHEAD_STALL_EVERY == 0)
		clock_sleep_ms(RUN_AHEAD_STALL_MS);
}

static void checkpoint(struct fault *fault, int step)
{
	(void)fault;
	if (step % CHECKPOINT_EVERY == 0)
		clock_sleep_ms(CHECKPOINT_MS);
}

/* splitmix64: the same for the same rank and step in every run. */
static uint64_t dice(int rank, int step)
{
	uint64_t x = ((uint64_t)rank << 32 | (unsigned int)step) + 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

static int jitter_us(const struct fault *fault, int step)
{
	uint64_t thrown = dice(fault->rank, step);
	int ms = (int)(thrown % (2 * JITTER_MS + 1)) - JITTER_MS;

	return 1000 * ((thrown >> 32) % JITTER_RARE_EVERY ? ms : JITTER_RARE_MS);
}

static const struct fault_kind kinds[] = {
	{ .name = "none", .doc = "nothing" },
	{ .name = "io", .harms = true, .logs = true, .open = open_log, .between_steps = log_through_thread,
	  .doc = "its log writer thread syncs to --log-dir; the main thread waits for room in its queue" },
	{ .name = "io-direct", .harms = true, .logs = true, .open = open_log, .between_steps = log_directly,
	  .doc = "the main thread itself writes and syncs to --log-dir" },
	{ .name = "hog", .harms = true, .between_steps = hog_cpu, .doc = "other processes crowd its main thread's CPU" },
	{ .name = "lock", .harms = true, .open = open_checkpointer, .between_steps = wait_for_lock,
	  .doc = "another of its threads holds a lock for a second of each step" },
	{ .name = "stop", .harms = true, .between_steps = stop_self, .doc = "it is stopped (SIGSTOP)" },
	{ .name = "kill", .harms = true, .between_steps = kill_self, .doc = "it is killed (SIGKILL)" },
	{ .name = "exit", .harms = true, .between_steps = leave, .doc = "it leaves with status 3, communicators alive" },
	{ .name = "never", .harms = true, .between_steps = never_come_back, .doc = "its main thread waits for ever" },
	{ .name = "run-ahead", .between_steps = stall_now_and_then,
	  .doc = "healthy: its host stalls 300 ms while its GPU still has work (use --run-ahead)" },
	{ .name = "checkpoint", .between_steps = checkpoint, .doc = "healthy: all ranks pause a second every 5 steps" },
	{ .name = "jitter", .extra_us = jitter_us, .doc = "healthy: computation varies from step to step on all ranks" },
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

const struct fault_kind *fault_kind_find(const char *name)
{
	for (size_t i = 0; i < KINDS; i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
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
	for (size_t i = 0; i < KINDS; i++)
		fprintf(out, "  %-11s %s\n", kinds[i].name, kinds[i].doc);
	fclose(out);
	return text;
}

int fault_open(struct fault *fault, const struct options *options, int rank)
{
	*fault = (struct fault){ .options = options, .rank = rank, .mine = rank == options->fault_rank };
	return options->fault->open ? options->fault->open(fault) : 0;
}

void fault_close(struct fault *fault)
{
	log_writer_close(fault->log);
	checkpointer_stop(fault->checkpointer);
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

	if (kind->harms && begins(fault, step))
		event_log_fault(kind->name, step);
	if (kind->between_steps)
		kind->between_steps(fault, step);
	load_data(fault->options->host_ms);

	double late_ms = (clock_now_ns(CLOCK_MONOTONIC) - begin_ns) / 1e6 - fault->options->host_ms;
	if (kind->harms && holds(fault, step) && late_ms >= LATE_MS)
		event_log_late_step(step, late_ms);
}

int fault_extra_us(const struct fault *fault, int step)
{
	const struct fault_kind *kind = fault->options->fault;

	return kind->extra_us ? kind->extra_us(fault, step) : 0;
}
