/* SPDX-License-Identifier: MIT */
/*
 * What watching costs: 8 processes that sleep for good (what is left is the filter, for all others on the machine),
 * then wake 200 times a second (5 ms sleeps: summed), then 80 times (12 ms: a record each). Prints one JSON object per
 * stream: run time of the BPF programs, CPU of the reading side, and the cost of one sample of a thread. And how long
 * two processes take to pass a byte to and fro through pipes on one CPU, not watched and watched: the shortest of many
 * rounds, so other load matters little. Root only.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/sources/waits/kernel_source.h"
#include "collector/sources/waits/proc_source.h"
#include "stopwatch.h"

enum { PROCESSES = 8, POLL_MS = 100, SAMPLES = 1000, PASSES = 1000, ROUNDS = 200 };

struct reader {
	struct kernel_source *kernel;
	struct proc_source *proc;
	struct mounts *mounts;
	pid_t pids[PROCESSES];
	uint64_t waits;
};

static void on_wait(void *argument, const struct analysis_wait *wait)
{
	(void)wait;
	((struct reader *)argument)->waits++;
}

static void on_ended(void *argument, analysis_process_id process, int exit_status, uint64_t at_ns)
{
	(void)argument;
	(void)process;
	(void)exit_status;
	(void)at_ns;
}

static _Noreturn void sleep_on(useconds_t period_us)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		usleep(period_us);
}

static int watch(struct reader *reader, analysis_process_id process, pid_t pid)
{
	char why[VIEW_WHY];

	return kernel_source_watch(reader->kernel, process, pid, -1, why);
}

static void start(struct reader *reader, useconds_t period_us)
{
	for (int i = 0; i < PROCESSES; i++) {
		reader->pids[i] = fork();
		if (!reader->pids[i])
			sleep_on(period_us);
		if (watch(reader, (analysis_process_id)i, reader->pids[i]))
			abort();
	}
}

static void stop(struct reader *reader)
{
	for (int i = 0; i < PROCESSES; i++) {
		kernel_source_unwatch(reader->kernel, reader->pids[i]);
		proc_source_forget(reader->proc, reader->pids[i]);
		kill(reader->pids[i], SIGKILL);
		waitpid(reader->pids[i], NULL, 0);
	}
}

static double cpu_ns(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e9 +
	       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e3;
}

static double sample_ns(struct reader *reader, bool by_kernel)
{
	static double times[SAMPLES];

	for (int i = 0; i < SAMPLES; i++) {
		pid_t pid = reader->pids[i % PROCESSES];
		uint64_t begin = stopwatch_now();
		if (by_kernel)
			kernel_source_sample(reader->kernel, pid);
		else
			proc_source_sample(reader->proc, 0, pid, 0, begin, on_wait, reader, NULL);
		times[i] = (double)(stopwatch_now() - begin);
	}
	return stopwatch_median(times, SAMPLES);
}

static void measure(struct reader *reader, useconds_t period_us, unsigned int seconds)
{
	start(reader, period_us);
	usleep(500000);
	kernel_source_poll(reader->kernel);
	uint64_t waits = reader->waits, begin = stopwatch_now(), own = kernel_source_own_ns(reader->kernel);
	double cpu = cpu_ns();
	for (unsigned int i = 0; i < seconds * 1000 / POLL_MS; i++) {
		usleep(POLL_MS * 1000);
		kernel_source_poll(reader->kernel);
	}
	cpu = cpu_ns() - cpu;
	own = kernel_source_own_ns(reader->kernel) - own;
	double elapsed = (double)(stopwatch_now() - begin);
	printf("{\"processes\":%d,\"period_us\":%u,\"records_s\":%.0f,\"bpf_percent\":%.3f,\"reader_percent\":%.3f,",
	       PROCESSES, period_us, (double)(reader->waits - waits) * 1e9 / elapsed, 100 * (double)own / elapsed,
	       100 * cpu / elapsed);
	struct probes_loss loss;
	kernel_source_loss(reader->kernel, &loss);
	printf("\"kernel_sample_ns\":%.0f,\"proc_sample_ns\":%.0f,\"lost\":%lu}\n", sample_ns(reader, true),
	       sample_ns(reader, false), (unsigned long)loss.ring);
	stop(reader);
}

static void pass_on(int from, int to)
{
	char byte;

	while (read(from, &byte, 1) == 1 && write(to, &byte, 1) == 1)
		;
}

/* ns for a byte to go there and back: the shortest mean of PASSES. */
static double pass_ns(int to, int from)
{
	double least = 1e12;

	for (int round = 0; round < ROUNDS; round++) {
		char byte = 0;
		uint64_t begin = stopwatch_now();
		for (int i = 0; i < PASSES; i++)
			if (write(to, &byte, 1) != 1 || read(from, &byte, 1) != 1)
				abort();
		double mean = (double)(stopwatch_now() - begin) / PASSES;
		least = mean < least ? mean : least;
	}
	return least;
}

/* This process is watched as well as its partner: each wait costs on both sides. */
static void measure_passing(struct reader *reader)
{
	int there[2], back[2];
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
	if (pipe(there) || pipe(back))
		abort();
	pid_t partner = fork();
	if (!partner) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(there[1]);
		pass_on(there[0], back[1]);
		_exit(0);
	}
	double alone = pass_ns(there[1], back[0]);
	if (watch(reader, 0, partner) || watch(reader, 1, getpid()))
		abort();
	double watched = pass_ns(there[1], back[0]);
	printf("{\"pass_ns\":%.0f,\"watched_pass_ns\":%.0f}\n", alone, watched);
	kernel_source_unwatch(reader->kernel, partner);
	kernel_source_unwatch(reader->kernel, getpid());
	kill(partner, SIGKILL);
	waitpid(partner, NULL, 0);
}

int main(int argc, char **argv)
{
	static struct reader reader;
	struct kernel_source_events events = { .wait = on_wait, .ended = on_ended, .argument = &reader };
	unsigned int seconds = argc > 1 ? (unsigned int)atoi(argv[1]) : 10;
	char why[256];

	if (mounts_open(&reader.mounts, "/proc") || proc_source_open(&reader.proc, "/proc", reader.mounts))
		return 1;
	if (kernel_source_open(&reader.kernel, NULL, "/proc", reader.mounts, &events, why)) {
		fprintf(stderr, "host_bench: skipped: %s\n", why);
		return 77;
	}
	measure(&reader, 900000000, seconds);
	measure(&reader, 5000, seconds);
	measure(&reader, 12000, seconds);
	measure_passing(&reader);
	kernel_source_close(reader.kernel);
	proc_source_close(reader.proc);
	mounts_close(reader.mounts);
	return 0;
}
