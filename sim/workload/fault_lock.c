/* SPDX-License-Identifier: MIT */
/* Faults in which the training thread waits for another thread of its process, or for nobody. */
#include <pthread.h>

#include "checkpointer.h"
#include "fault.h"
#include "interpreter.h"

enum { LOCK_HELD_MS = 1000, INTERPRETER_THREADS = 8, INTERPRETER_TURNS = 12 };

static int open_checkpointer(struct fault *fault)
{
	struct checkpointer *checkpointer = NULL;
	int err = fault->mine ? checkpointer_start(&checkpointer, LOCK_HELD_MS) : 0;

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

static int open_interpreter(struct fault *fault)
{
	struct interpreter *interpreter = NULL;
	int err = fault->mine ? interpreter_start(&interpreter, INTERPRETER_THREADS) : 0;

	fault->tool = interpreter;
	return err;
}

static void close_interpreter(struct fault *fault)
{
	interpreter_stop(fault->tool);
}

static void run_among_threads(struct fault *fault, int step)
{
	if (fault_holds(fault, step))
		interpreter_take_turns(fault->tool, INTERPRETER_TURNS);
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
	{ .name = "convoy", .harms = true, .open = open_interpreter, .close = close_interpreter,
	  .between_steps = run_among_threads, .doc = "eight threads pass one lock in turn, as Python's: it gets it late" },
	{ .name = "never", .harms = true, .between_steps = never_come_back, .doc = "its main thread waits for ever" },
	{ 0 },
};
