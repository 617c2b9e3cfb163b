/* SPDX-License-Identifier: MIT */
#include "sim/nccl/data/fabric.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct {
	enum function function; /* FUNCTIONS: none stalls */
	unsigned long long number;
	uint64_t hop_ns, init_ns, connect_ns;
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

/* "init:SECONDSs" or "connect:SECONDSs". */
static bool read_slow_part(const char *part)
{
	unsigned seconds;
	char word[8], rest;

	if (sscanf(part, "%7[^:]:%us%c", word, &seconds, &rest) != 2 || seconds > 600 || part[strlen(part) - 1] != 's')
		return false;
	if (!strcmp(word, "init"))
		fabric.init_ns = seconds * UINT64_C(1000000000);
	else if (!strcmp(word, "connect"))
		fabric.connect_ns = seconds * UINT64_C(1000000000);
	else
		return false;
	return true;
}

static void read_slow(void)
{
	const char *text = getenv("SIM_NCCL_SLOW");
	char parts[64], *at = parts, *part;

	if (!text || !*text)
		return;
	bool fits = (size_t)snprintf(parts, sizeof(parts), "%s", text) < sizeof(parts);
	while (fits && (part = strsep(&at, ",")))
		fits = read_slow_part(part);
	if (!fits)
		refuse("SIM_NCCL_SLOW", text, "a list of init:SECONDSs and connect:SECONDSs, 600 s at most");
}

static void read_variables(void)
{
	read_stall();
	read_skew();
	read_slow();
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

/* Short sleeps, since an abort on another thread must not wait for the end of a long one. */
static ncclResult_t take(struct ncclComm *comm, uint64_t whole_ns)
{
	const struct timespec slice = { .tv_nsec = 10000000 };

	for (uint64_t slept_ns = 0; slept_ns < whole_ns && !atomic_load(&comm->stop);
	     slept_ns += (uint64_t)slice.tv_nsec)
		nanosleep(&slice, NULL);
	return atomic_load(&comm->stop) ? ncclInternalError : ncclSuccess;
}

ncclResult_t fabric_search(struct ncclComm *comm)
{
	return take(comm, fabric.init_ns);
}

ncclResult_t fabric_connect(struct ncclComm *comm)
{
	return take(comm, fabric.connect_ns);
}
