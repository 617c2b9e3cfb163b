/* SPDX-License-Identifier: MIT */
/* Faults after which the rank is not there any more, or not by its own will. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sim/workload/faults/fault.h"
#include "sim/workload/faults/tracer.h"

static void stop_self(struct fault *fault, int step)
{
	if (fault_begins(fault, step))
		kill(getpid(), SIGSTOP);
}

static void be_traced(struct fault *fault, int step)
{
	int err = fault_begins(fault, step) ? tracer_attach() : 0;

	if (err) {
		fprintf(stderr, "workload: trace: %s\n", strerror(-err));
		exit(1);
	}
}

static void kill_self(struct fault *fault, int step)
{
	if (fault_begins(fault, step))
		kill(getpid(), SIGKILL);
}

/* By the kernel's own hand: no core file, and no handler of a sanitizer in between. */
static void die_of(int number)
{
	const struct rlimit no_core = { 0 };

	setrlimit(RLIMIT_CORE, &no_core);
	signal(number, SIG_DFL);
}

static void touch_nothing(struct fault *fault, int step)
{
	if (!fault_begins(fault, step))
		return;
	die_of(SIGSEGV);
	volatile char *page = mmap(NULL, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	*page = 1;
}

static void give_up(struct fault *fault, int step)
{
	if (!fault_begins(fault, step))
		return;
	die_of(SIGABRT);
	abort();
}

static void leave(struct fault *fault, int step)
{
	if (fault_begins(fault, step))
		exit(3);
}

/* The process lives as long as one of its threads does: here NCCL's, the GPU's and the plugin's go on. */
static void end_main_thread(struct fault *fault, int step)
{
	if (fault_begins(fault, step))
		pthread_exit(NULL);
}

const struct fault_kind fault_end_kinds[] = {
	{ .name = "stop", .harms = true, .between_steps = stop_self, .doc = "it is stopped (SIGSTOP)" },
	{ .name = "trace", .harms = true, .between_steps = be_traced,
	  .doc = "a debugger attaches, stops it and stays" },
	{ .name = "kill", .harms = true, .between_steps = kill_self, .doc = "it is killed (SIGKILL)" },
	{ .name = "segfault", .harms = true, .between_steps = touch_nothing,
	  .doc = "it touches memory that is not there" },
	{ .name = "abort", .harms = true, .between_steps = give_up, .doc = "it calls abort(3)" },
	{ .name = "exit", .harms = true, .between_steps = leave,
	  .doc = "it leaves with status 3, communicators alive" },
	{ .name = "main-ends", .harms = true, .between_steps = end_main_thread,
	  .doc = "its main thread ends, its other threads stay" },
	{ 0 },
};
