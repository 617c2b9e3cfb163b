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

enum { COUNT = 64, CALLS = 16 /* their scans are fewer than can be in flight */, ROW = 160, TEXT = 1 << 17 };

struct setting {
	const char *who;
	int abi;
	const char *preload;
};

static const struct setting settings[] = {
	{ "plugin, profiler v5 and later", 5, "0" },
	{ "plugin and interposer, profiler v5 and later", 5, "1" },
	{ "interposer, profiler before v5 or none", 0, "1" },
};

static float send_buffer[8 * COUNT], recv_buffer[8 * COUNT];

static void make_calls(void *comm, float *recv)
{
	for (int i = 0; i < CALLS; i++)
		ncclAllReduce(send_buffer, recv, COUNT, NULL_NCCL_FLOAT, NULL_NCCL_SUM, comm, NULL);
}

static unsigned int calls_of_one(void *comm, float *recv)
{
	unsigned long before = null_cuda_calls(NULL);

	make_calls(comm, recv);
	unsigned long calls = null_cuda_calls(NULL) - before;

	return calls % CALLS ? 0 : (unsigned int)(calls / CALLS);
}

static void measure(const struct setting *setting, int out)
{
	static const char *const scans[] = { "off", "all" };
	unsigned int calls[3];
	char row[ROW];

	for (int i = 0; i < 2; i++) {
		int end[2];

		if (pipe(end))
			_exit(1);
		pid_t child = fork();
		if (child == 0) {
			void *comm;

			setenv("RANKWATCH_SCAN", scans[i], 1);
			setenv("RANKWATCH_PRELOAD", setting->preload, 1);
			null_player_use(setting->abi);
			if (ncclCommInitRank(&comm, 8, (struct null_unique_id){ { 1 } }, 0))
				_exit(1);
			make_calls(comm, send_buffer);
			unsigned int counted[2] = { calls_of_one(comm, send_buffer), calls_of_one(comm, recv_buffer) };
			_exit(write(end[1], counted, sizeof(counted)) != sizeof(counted));
		}
		unsigned int counted[2];
		close(end[1]);
		if (read(end[0], counted, sizeof(counted)) != sizeof(counted))
			_exit(1);
		close(end[0]);
		waitpid(child, NULL, 0);
		if (i == 0)
			calls[0] = counted[0];
		memcpy(&calls[1], counted, i ? sizeof(counted) : 0);
	}
	int size = snprintf(row, sizeof(row), "| %s | %u | %u | %u |\n", setting->who, calls[0], calls[1], calls[2]);
	_exit(write(out, row, (size_t)size) != size);
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
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		char row[ROW] = "";
		int end[2];

		if (pipe(end))
			return 1;
		pid_t child = fork();
		if (child == 0)
			measure(&settings[i], end[1]);
		close(end[1]);
		if (read(end[0], row, sizeof(row) - 1) <= 0)
			failed = 1;
		close(end[0]);
		waitpid(child, NULL, 0);
		printf("%s", row);
		if (!*row || !strstr(table, row)) {
			fprintf(stderr, "%s does not have this row: %s", argv[1], row);
			failed = 1;
		}
	}
	return failed;
}
