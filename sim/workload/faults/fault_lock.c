/* SPDX-License-Identifier: MIT */
/* Faults in which the training thread waits for another thread of its process, or for nobody. */
#include <pthread.h>

#include "sim/workload/faults/fault.h"
#include "sim/workload/host/checkpointer.h"
#include "sim/workload/job/interpreter.h"

enum { LOCK_HELD_MS = 1000 };

static int open_checkpointer(struct fault *fault)
{
	struct checkpointer *checkpointer = NULL;
	int err = fault->mine ? checkpointer_start(&checkpointer, fault_takes_ms(fault, LOCK_HELD_MS)) : 0;

	fault->tool = checkpointer;
	return err;
}

static void close_checkpointer(struct fault *fault)
{
	checkpointer_stop(fault->tool);
}

static void wait_for_lock(struct fault *fault, int step)
{
	if (fault_holds(fault, step))
		checkpointer_snapshot(fault->tool);
}

/* On all ranks: only one of them has others in there. */
static void run_python(struct fault *fault, int step)
{
	interpreter_run_lines(fault_holds(fault, step));
}

static void never_come_back(struct fault *fault, int step)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t nobody_signals = PTHREAD_COND_INITIALIZER;

	if (!fault_begins(fault, step))
		return;
	pthread_mutex_lock(&lock);
	for (;;)
		pthread_cond_wait(&nobody_signals, &lock);
}

const struct fault_kind fault_lock_kinds[] = {
	{ .name = "lock", .harms = true, .open = open_checkpointer, .close = close_checkpointer,
	  .between_steps = wait_for_lock, .doc = "another of its threads holds a lock for a second of each step" },
	{ .name = "convoy", .harms = true, .in_python = true, .check = interpreter_check, .between_steps = run_python,
	  .doc = "eight threads compute in Python: its main thread waits for the interpreter's lock" },
	{ .name = "never", .harms = true, .between_steps = never_come_back, .doc = "its main thread waits for ever" },
	{ 0 },
};
