/* SPDX-License-Identifier: MIT */
#include "fabric.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct {
	enum function function; /* FUNCTIONS: none stalls */
	unsigned long long number;
	uint64_t hop_ns;
	ncclResult_t checked;
} fabric = { .function = FUNCTIONS };

static void refuse(const char *name, const char *text, const char *form)
{
	fabric.checked = ncclInvalidUsage;
	fprintf(stderr, "stand-in NCCL: %s=%s is not %s\n", name, text, form);
}

static void read_stall(void)
{
	const char *text = getenv("SIM_NCCL_STALL");
	char word[16], rest;
	enum function function = 0;

	if (!text || !*text)
		return;
	int fields = sscanf(text, "%15[^:]:%llu%c", word, &fabric.number, &rest);
	while (fields == 2 && function < FUNCTIONS && strcmp(function_name(function), word) != 0)
		function++;
	if (fields == 2 && function < FUNCTIONS && function != FUNCTION_SEND && function != FUNCTION_RECV)
		fabric.function = function;
	else
		refuse("SIM_NCCL_STALL", text, "FUNCTION:NUMBER with a collective's FUNCTION");
}

static void read_skew(void)
{
	const char *text = getenv("SIM_NCCL_SKEW");
	unsigned long long number;
	char unit[3] = "", rest;

	if (!text || !*text)
		return;
	int fields = sscanf(text, "%llu%2[a-z]%c", &number, unit, &rest);
	if (fields == 2 && !strcmp(unit, "us") && number <= 1000000)
		fabric.hop_ns = number * 1000;
	else if (fields == 2 && !strcmp(unit, "ms") && number <= 1000)
		fabric.hop_ns = number * 1000000;
	else
		refuse("SIM_NCCL_SKEW", text, "a time of at most a second, in us or ms");
}

static void read_variables(void)
{
	read_stall();
	read_skew();
}

static void read_once(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_variables);
}

ncclResult_t fabric_check(void)
{
	read_once();
	return fabric.checked;
}

bool fabric_let_pass(const struct task *task, uint64_t number)
{
	struct ncclComm *comm = task->comm;
	struct segment_shared *shared = comm->segment.shared;

	read_once();
	if (task->function != fabric.function || number != fabric.number)
		return true;
	gate_pass(&shared->stream_gate, hosts_size(&comm->hosts), &comm->stop);
	while (!atomic_load(&comm->stop))
		bell_wait(&shared->ranks[comm->rank].bell, atomic_load(&shared->ranks[comm->rank].bell));
	return false;
}

void fabric_end(const struct task *task)
{
	uint64_t late_ns = fabric.hop_ns * (uint64_t)task->comm->rank;
	struct timespec pause = { (time_t)(late_ns / 1000000000u), (long)(late_ns % 1000000000u) };

	if (late_ns)
		nanosleep(&pause, NULL);
}
