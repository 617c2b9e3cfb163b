/* SPDX-License-Identifier: MIT */
/*
 * How many calls of the driver one AllReduce costs, by what is on: counted by a driver that does nothing else, under a
 * NCCL that makes none, and compared with the table in docs/benchmarks.md. Prints the table's rows. driver_calls TABLE
 * a file that has the rows; each is a process of its own
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/abi/player.h"
#include "tests/null/null_cuda.h"
#include "tests/null/null_nccl.h"
#include "tests/null/null_player.h"

enum {
	LARGE = 1 << 14, /* floats: 64 KiB */
	CALLS = 16,      /* their scans are fewer than can be in flight */
	LOOP = 1024,     /* calls of 8 bytes, one behind the other */
	ROW = 200,
	TEXT = 1 << 17,
};

/* What is counted: a column each. */
struct trial {
	const char *scan, *progress;
	bool in_place;
};

static const struct trial trials[] = {
	{ "off", "auto", true },
	{ "all", "auto", true },
	{ "all", "auto", false },
};

enum { TRIALS = sizeof(trials) / sizeof(trials[0]) };

struct setting {
	const char *who;
	int abi;
	const char *preload;
	unsigned int loop; /* calls at most for a hundred operations of 8 bytes */
};

static const struct setting settings[] = {
	{ "plugin, profiler v5 and later", 5, "0", 40 },
	{ "plugin and interposer, profiler v5 and later", 5, "1", 80 },
	{ "interposer, profiler before v5 or none", 0, "1", 200 },
};

static float send_buffer[LARGE], recv_buffer[LARGE];

static unsigned int calls_of_one(void *comm, float *recv)
{
	unsigned long before = null_cuda_calls(NULL);

	for (int i = 0; i < CALLS; i++)
		ncclAllReduce(send_buffer, recv, LARGE, NULL_NCCL_FLOAT, NULL_NCCL_SUM, comm, NULL);
	unsigned long calls = null_cuda_calls(NULL) - before;

	return calls % CALLS ? 0 : (unsigned int)(calls / CALLS);
}

/* Calls of the driver for a hundred of a long loop's operations, by the defaults. */
static unsigned int calls_of_loop(void *comm)
{
	unsigned long before = null_cuda_calls(NULL);

	for (int i = 0; i < LOOP; i++)
		ncclAllReduce(send_buffer, send_buffer, 2, NULL_NCCL_FLOAT, NULL_NCCL_SUM, comm, NULL);
	return (unsigned int)((null_cuda_calls(NULL) - before) * 100 / LOOP);
}

/* In a process of its own: what is on is decided once. trial: NULL, the loop. */
static unsigned int count(const struct setting *setting, const struct trial *trial)
{
	unsigned int counted = 0;
	int end[2];

	if (pipe(end))
		_exit(1);
	pid_t child = fork();
	if (child == 0) {
		void *comm;

		setenv("RANKWATCH_PRELOAD", setting->preload, 1);
		setenv("RANKWATCH_SCAN", trial ? trial->scan : "auto", 1);
		null_player_use(setting->abi);
		if (ncclCommInitRank(&comm, 8, (struct null_unique_id){ { 1 } }, 0))
			_exit(1);
		if (trial)
			calls_of_one(comm, send_buffer);
		counted = trial ? calls_of_one(comm, trial->in_place ? send_buffer : recv_buffer) : calls_of_loop(comm);
		_exit(write(end[1], &counted, sizeof(counted)) != sizeof(counted));
	}
	close(end[1]);
	if (read(end[0], &counted, sizeof(counted)) != sizeof(counted))
		_exit(1);
	close(end[0]);
	waitpid(child, NULL, 0);
	return counted;
}

static int measure(const struct setting *setting, const char *table)
{
	unsigned int calls[TRIALS], loop = count(setting, NULL);
	char row[ROW];

	for (int i = 0; i < TRIALS; i++)
		calls[i] = count(setting, &trials[i]);
	snprintf(row, sizeof(row), "| %s | %u | %u | %u | %u |", setting->who, calls[0], calls[1], calls[2],
		 setting->loop);
	printf("%s\n    a hundred of an 8-byte loop: %u\n", row, loop);
	fflush(stdout);
	bool is_there = strstr(table, row);
	if (!is_there)
		fprintf(stderr, "the table does not have this row: %s\n", row);
	/* How many of them a pause pays for hangs on how fast it runs. */
	bool is_sample = loop >= setting->loop / 5 && loop <= setting->loop;
	if (!is_sample)
		fprintf(stderr, "%s: %u calls for a hundred operations of 8 bytes\n", setting->who, loop);
	return !is_there || !is_sample;
}

int main(int argc, char **argv)
{
	static char table[TEXT];
	FILE *file = argc > 1 ? fopen(argv[1], "re") : NULL;
	int failed = 0;

	if (!file || !fread(table, 1, sizeof(table) - 1, file)) {
		fprintf(stderr, "driver_calls: %s\n", argc > 1 ? strerror(errno) : "name the table");
		return 2;
	}
	player_directory();
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		failed |= measure(&settings[i], table);
	return failed;
}
