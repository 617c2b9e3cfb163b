/* SPDX-License-Identifier: MIT */
/*
 * day HOURS: the collector watches a job for so many hours of virtual time, at the pace of 10,000,000 operations, 1,000
 * communicators that are split and freed, and 100 restarts in 24 hours, so that everything that expires does. Prints the most
 * that it held in each part of that time, as a table, and fails when anything goes on growing, when a healthy rank is
 * named, or when those that were late or killed are not. Real are the boxes, their reader, live_boxes and the analysis; in
 * place of the kernel's answers about processes stands tests/tapes/played_life.c.
 */
#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analysis/model.h"
#include "collector/watch.h"
#include "day_job.h"
#include "stress_directory.h"
#include "tests/tapes/played_life.h"

/* 10,000,000 operations, and what falls out while nobody runs, or all wait. */
enum { PARTS = 24, OPERATIONS = 10550000, COMMUNICATORS = 1000, RESTARTS = 100, DAY_HOURS = 24 };

static const uint64_t begin_ns = UINT64_C(1000000000000), tick_ns = WATCH_TICK_MS * UINT64_C(1000000);
static const uint64_t look_every_ns = UINT64_C(10000000000);

/* The most that the collector has held in a part of the time. */
struct holding {
	uint64_t heap, operations;
	uint32_t processes, ranks, communicators, instances, findings;
	unsigned files, threads;
	double cpu_s; /* of the collector, since the one before */
};

struct told {
	unsigned late, gone, wrong;
};

static struct day_job job;

pid_t played_writer(uint64_t inode)
{
	for (int i = 0; i < DAY_RANKS; i++)
		if (job.ranks[i].writer.map && job.ranks[i].inode == inode && job.ranks[i].alive)
			return job.ranks[i].pid;
	return 0;
}

int played_exit_status(pid_t pid)
{
	for (int i = 0; i < DAY_RANKS; i++)
		if (job.ranks[i].writer.map && job.ranks[i].pid == pid && !job.ranks[i].alive)
			return job.ranks[i].exit_status;
	return -1;
}

static void on_finding(void *argument, const struct rw_finding *finding)
{
	struct told *told = argument;
	int rank = finding->rank_count == 1 ? finding->ranks[0] : -1;

	if (finding->state != RW_FINDING_OPEN || finding->severity == RW_NOTICE)
		return;
	if (finding->kind == RW_KIND_STRAGGLER && rank == 5)
		told->late++;
	else if (finding->kind == RW_KIND_GONE && rank == 3)
		told->gone++;
	else {
		fprintf(stderr, "wrong: %s\n", finding->text);
		told->wrong++;
	}
}

static unsigned count_entries(const char *path)
{
	DIR *directory = opendir(path);
	unsigned count = 0;

	while (directory && readdir(directory))
		count++;
	if (directory)
		closedir(directory);
	return count;
}

static double cpu_s(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

#define RAISE(most, value) ((most) = (value) > (most) ? (value) : (most))

static void look(const struct analysis *analysis, struct holding *most)
{
	struct mallinfo2 heap = mallinfo2();

	RAISE(most->heap, heap.uordblks + heap.hblkhd);
	RAISE(most->processes, analysis->job.process_count);
	RAISE(most->ranks, analysis->job.rank_count);
	RAISE(most->communicators, analysis->job.communicator_count);
	RAISE(most->instances, analysis->instances.count);
	RAISE(most->findings, analysis->findings.count);
	RAISE(most->files, count_entries("/proc/self/fd"));
	RAISE(most->threads, count_entries("/proc/self/task"));
	most->operations = job.operations;
}

static void print(double hours, const struct holding *now)
{
	printf("| %.1f | %llu | %.1f | %u | %u | %u | %u | %u | %u | %u | %.2f |\n", hours, (unsigned long long)now->operations,
	       (double)now->heap / 1e6, now->processes, now->ranks, now->communicators, now->instances, now->findings,
	       now->files, now->threads, now->cpu_s);
	fflush(stdout);
}

static bool watch_job(struct analysis *analysis, struct day_plan *plan, struct holding *holdings)
{
	static char places[1][BOX_PLACE_PATH], root[BOX_PLACE_PATH], log[BOX_PLACE_PATH + 8];
	struct watch watch;
	uv_loop_t loop;

	snprintf(places[0], sizeof(places[0]), "%s", plan->directory);
	snprintf(root, sizeof(root), "%s/machine", plan->directory);
	snprintf(log, sizeof(log), "%s/kmsg", plan->directory);
	fclose(fopen(log, "w"));
	const struct watch_request request = { .loop = &loop, .analysis = analysis, .root = root, .job = "day",
					       .owner = geteuid(), .places = places, .place_count = 1,
					       .now_ns = plan->begin_ns, .kernel_log = log };
	uint64_t part_ns = (plan->end_ns - plan->begin_ns) / PARTS, now_ns = plan->begin_ns, looked_ns = 0;

	if (uv_loop_init(&loop) || day_job_open(&job, plan) || watch_open(&watch, &request))
		return false;
	watch_catch_up(&watch, now_ns);
	for (int part = 0; part < PARTS;) {
		now_ns += tick_ns;
		if (day_job_play(&job, now_ns))
			return false;
		double before_s = cpu_s();

		uv_run(&loop, UV_RUN_NOWAIT);
		watch_tick(&watch, now_ns);
		holdings[part].cpu_s += cpu_s() - before_s;
		if (now_ns >= looked_ns + look_every_ns) {
			look(analysis, &holdings[part]);
			looked_ns = now_ns;
		}
		if (now_ns < plan->begin_ns + (uint64_t)(part + 1) * part_ns)
			continue;
		print((double)(now_ns - plan->begin_ns) / 3.6e12, &holdings[part++]);
	}
	watch_close(&watch);
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_loop_close(&loop);
	day_job_close(&job);
	return true;
}

static uint64_t most(const struct holding *holdings, int from, int to, size_t offset, size_t size)
{
	uint64_t largest = 0;

	for (int i = from; i < to; i++) {
		uint32_t narrow;
		uint64_t value;

		memcpy(&narrow, (const char *)&holdings[i] + offset, sizeof(narrow));
		memcpy(&value, (const char *)&holdings[i] + offset, size == sizeof(value) ? sizeof(value) : 0);
		value = size == sizeof(value) ? value : narrow;
		largest = value > largest ? value : largest;
	}
	return largest;
}

/* The second half holds no more than the first, but for what is chance: a tenth, or two. */
static bool is_flat(const struct holding *holdings, const char *name, size_t offset, size_t size)
{
	uint64_t before = most(holdings, 0, PARTS / 2, offset, size), after = most(holdings, PARTS / 2, PARTS, offset, size);
	bool flat = after <= before + before / 10 + 2;

	printf("%s %s: %llu at most in the first half, %llu in the second\n", flat ? "ok    " : "FAILED", name,
	       (unsigned long long)before, (unsigned long long)after);
	return flat;
}

#define IS_FLAT(holdings, name) is_flat(holdings, #name, offsetof(struct holding, name), sizeof((holdings)->name))

static bool judge(const struct holding *holdings, const struct told *told, double hours)
{
	bool right = IS_FLAT(holdings, heap);

	right &= IS_FLAT(holdings, processes);
	right &= IS_FLAT(holdings, ranks);
	right &= IS_FLAT(holdings, communicators);
	right &= IS_FLAT(holdings, instances);
	right &= IS_FLAT(holdings, findings);
	right &= IS_FLAT(holdings, files);
	right &= IS_FLAT(holdings, threads);
	printf("late rank named %u times, killed one %u times, others %u\n", told->late, told->gone, told->wrong);
	/* A restart may fall into the minutes in which it is late. */
	right &= !told->wrong && told->late >= (unsigned)hours && told->gone + 1 >= (job.lives - 1) / 2;
	return right;
}

int main(int argc, char **argv)
{
	double hours = argc == 2 ? atof(argv[1]) : 0;
	static struct holding holdings[PARTS];
	struct told told = { 0 };

	if (hours <= 0 || hours > 1000) {
		fputs("usage: day HOURS\n", stderr);
		return 2;
	}
	struct day_plan plan = {
		.directory = stress_directory_make(),
		.begin_ns = begin_ns,
		.end_ns = begin_ns + (uint64_t)(hours * 3.6e12),
		.operations = (uint64_t)(OPERATIONS * hours / DAY_HOURS),
		.communicators = (uint64_t)(COMMUNICATORS * hours / DAY_HOURS),
		.restarts = (uint64_t)(RESTARTS * hours / DAY_HOURS),
	};
	struct analysis *analysis = analysis_new(false, on_finding, &told);

	printf("| hours | operations | heap MB | processes | ranks | communicators | instances | findings | files | threads | CPU s |\n"
	       "|---|---|---|---|---|---|---|---|---|---|---|\n");
	bool played = analysis && watch_job(analysis, &plan, holdings);
	bool right = played && judge(holdings, &told, hours);

	printf("%llu operations, %llu communicators, %llu lives\n", (unsigned long long)job.operations,
	       (unsigned long long)job.communicators, (unsigned long long)job.lives);
	analysis_free(analysis);
	stress_directory_remove();
	return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
