/* SPDX-License-Identifier: MIT */
/*
 * day HOURS: the collector watches a job and its machine for so many hours of virtual time, at the pace of 10,000,000
 * operations, 1,000 communicators that are split and freed, and 100 restarts in 24 hours, so that everything that
 * expires does. Prints the most that it held in each part of that time, as a table, and fails when anything goes on
 * growing, when a healthy rank is named, when those that were late, killed or missing are not, or when a source was not
 * used. Real are the boxes, their reader, all of collector/watch.c and the analysis; played are the machine's files
 * (day_host.h), the kernel's records (day_kernel.h), NVML (day_gpus.h), and the kernel's answers about processes
 * (tests/tapes/played_life.c).
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
#include "day_gpus.h"
#include "day_host.h"
#include "day_job.h"
#include "day_kernel.h"
#include "stress_directory.h"
#include "tests/tapes/played_life.h"

/* 10,000,000 operations, and what falls out while nobody runs, or all wait. */
enum { PARTS = 24, OPERATIONS = 11300000, COMMUNICATORS = 1000, RESTARTS = 100, DAY_HOURS = 24 };

static const uint64_t begin_ns = UINT64_C(1000000000000), tick_ns = WATCH_TICK_MS * UINT64_C(1000000);
static const uint64_t look_every_ns = UINT64_C(10000000000), minute_ns = UINT64_C(60000000000);

/* The most that the collector has held in a part of the time. */
struct holding {
	uint64_t heap, operations;
	uint32_t processes, ranks, communicators, instances, findings, gpus, ports;
	unsigned watched, held, files, threads; /* watched: by the kernel; held: processes of ranks without a box */
	double cpu_s; /* of the collector, since the one before */
};

/* Findings that were opened, and of them those that say what only one source knows. */
struct told {
	unsigned late, gone, missing, never_came, slow, xid, wrong;
	unsigned late_by_file; /* the kernel's records, or samples of /proc: the file that it writes to */
	unsigned gone_by_oom;  /* the kernel log */
	unsigned missing_seen; /* /proc: what the process waits for that has no box */
	unsigned slow_by_port; /* the ports' counters; may come later than the finding */
	unsigned xid_over;     /* after ten minutes */
};

/* What should have expired, each time that it was looked for. */
struct left_over {
	unsigned looks, unwatched, held, leases;
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

static bool has_port(const struct rw_finding *finding)
{
	for (size_t i = 0; i < finding->evidence_count; i++)
		if (!strcmp(finding->evidence[i].source, "port"))
			return true;
	return false;
}

static bool has_file(const struct rw_finding *finding)
{
	return finding->level >= RW_LEVEL_PROC && finding->cause.class_ == RW_CAUSE_IO && finding->cause.path &&
	       !strcmp(finding->cause.path, DAY_HOST_FILE);
}

/* What a finding rests on. */
static void count_sources(struct told *told, const struct rw_finding *finding)
{
	bool opens = finding->state == RW_FINDING_OPEN;

	told->late_by_file += opens && finding->kind == RW_KIND_STRAGGLER && has_file(finding);
	told->gone_by_oom += opens && finding->kind == RW_KIND_GONE && finding->cause.class_ == RW_CAUSE_MEMORY;
	told->missing_seen += opens && finding->kind == RW_KIND_HANG && finding->cause.system_call;
	told->slow_by_port += finding->state == RW_FINDING_CLOSED && finding->kind == RW_KIND_SLOWDOWN && has_port(finding);
	told->xid_over += finding->state == RW_FINDING_CLOSED && finding->kind == RW_KIND_GPU;
}

static void on_finding(void *argument, const struct rw_finding *finding)
{
	struct told *told = argument;
	const struct {
		enum rw_kind kind;
		int rank; /* -1: none, or several */
		unsigned *count;
	} expected[] = {
		{ RW_KIND_STRAGGLER, DAY_LATE_RANK, &told->late },   { RW_KIND_GONE, DAY_KILLED_RANK, &told->gone },
		{ RW_KIND_GONE, DAY_ABSENT_RANK, &told->never_came }, { RW_KIND_HANG, DAY_ABSENT_RANK, &told->missing },
		{ RW_KIND_SLOWDOWN, -1, &told->slow },                { RW_KIND_GPU, DAY_XID_RANK, &told->xid },
	};
	int rank = finding->rank_count == 1 ? finding->ranks[0] : -1;
	unsigned *count = &told->wrong;

	count_sources(told, finding);
	if (finding->state != RW_FINDING_OPEN || finding->severity == RW_NOTICE)
		return;
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++)
		if (finding->kind == expected[i].kind && rank == expected[i].rank)
			count = expected[i].count;
	++*count;
	if (count == &told->wrong)
		fprintf(stderr, "wrong: %s\n", finding->text);
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

static unsigned count_held(const struct absentees *absentees)
{
	unsigned count = 0;

	for (size_t i = 0; i < ABSENTEES_MAX; i++)
		count += absentees->held[i].writer.pid != 0;
	return count;
}

static void look(const struct watch *watch, struct holding *most)
{
	const struct analysis *analysis = watch->analysis;
	struct mallinfo2 heap = mallinfo2();
	struct day_kernel_counts kernel;

	day_kernel_count(&kernel);

	RAISE(most->heap, heap.uordblks + heap.hblkhd);
	RAISE(most->processes, analysis->job.process_count);
	RAISE(most->ranks, analysis->job.rank_count);
	RAISE(most->communicators, analysis->job.communicator_count);
	RAISE(most->instances, analysis->instances.count);
	RAISE(most->findings, analysis->findings.count);
	RAISE(most->gpus, analysis->gpus.count);
	RAISE(most->ports, analysis->ports.count);
	RAISE(most->watched, kernel.watched);
	RAISE(most->held, count_held(&watch->absentees));
	RAISE(most->files, count_entries("/proc/self/fd"));
	RAISE(most->threads, count_entries("/proc/self/task"));
	most->operations = job.operations;
}

/* The kernel refuses for a minute, and is asked again within 75 s; who has come is no absentee; where transfers are as
 * fast as before for two minutes, no more is asked about them. */
static void look_for_left_over(const struct watch *watch, uint64_t now_ns, struct left_over *left)
{
	struct day_kernel_counts kernel;
	uint64_t minute = (now_ns - begin_ns) / minute_ns % 60;

	if (job.phase != DAY_RUNS || now_ns < job.life_ns + 3 * minute_ns)
		return;
	day_kernel_count(&kernel);
	left->looks++;
	left->unwatched += kernel.watched != DAY_RANKS;
	left->held += count_held(&watch->absentees) != 0;
	for (int i = 0; i < DAY_RANKS && minute >= DAY_SLOW_MINUTE + DAY_TROUBLE_MINUTES + 2; i++)
		left->leases += job.ranks[i].writer.leases[0].expires_ns > now_ns;
}

static void print(double hours, const struct holding *now)
{
	printf("| %.1f | %llu | %.1f | %u | %u | %u | %u | %u | %u | %u | %u | %u | %u | %u | %.2f |\n", hours,
	       (unsigned long long)now->operations, (double)now->heap / 1e6, now->processes, now->ranks,
	       now->communicators, now->instances, now->findings, now->watched, now->held, now->gpus, now->ports,
	       now->files, now->threads, now->cpu_s);
	fflush(stdout);
}

static bool watch_job(struct analysis *analysis, struct day_plan *plan, struct holding *holdings,
		      struct left_over *left)
{
	static char places[1][BOX_PLACE_PATH];
	struct watch watch;
	uv_loop_t loop;

	snprintf(places[0], sizeof(places[0]), "%s", plan->directory);
	/* The machine is to be there first: its files are opened once. */
	if (uv_loop_init(&loop) || day_job_open(&job, plan))
		return false;
	const struct watch_request request = { .loop = &loop, .analysis = analysis, .root = day_host_root(), .job = "day",
					       .owner = geteuid(), .places = places, .place_count = 1,
					       .now_ns = plan->begin_ns, .kernel_log = day_host_log() };
	uint64_t part_ns = (plan->end_ns - plan->begin_ns) / PARTS, now_ns = plan->begin_ns, polled_ns = 0;

	unsigned left_out = 0; /* of the ticks to come, as the collector leaves them out */

	if (watch_open(&watch, &request))
		return false;
	watch_catch_up(&watch, now_ns);
	host_deepen(watch.host);
	for (int part = 0; part < PARTS;) {
		now_ns += tick_ns;
		if (day_job_play(&job, now_ns))
			return false;
		double before_s = cpu_s();

		if (left_out) {
			left_out--;
		} else {
			uv_run(&loop, UV_RUN_NOWAIT);
			watch_tick(&watch, now_ns);
			left_out = watch_next_ms(&watch, false, now_ns) / WATCH_TICK_MS - 1;
		}
		holdings[part].cpu_s += cpu_s() - before_s;
		if (now_ns >= polled_ns + look_every_ns) {
			look(&watch, &holdings[part]);
			look_for_left_over(&watch, now_ns, left);
			polled_ns = now_ns;
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

static bool at_least(const char *what, uint64_t count, uint64_t wanted)
{
	printf("%s %s: %llu, at least %llu expected\n", count >= wanted ? "ok    " : "FAILED", what, (unsigned long long)count,
	       (unsigned long long)wanted);
	return count >= wanted;
}

static bool none(const char *what, uint64_t count)
{
	printf("%s %s: %llu\n", count ? "FAILED" : "ok    ", what, (unsigned long long)count);
	return !count;
}

/* A restart may fall into the minutes in which a rank is late, and makes two of one. */
static bool judge_findings(const struct told *told, unsigned hours)
{
	bool right = at_least("late rank named", told->late, hours);

	right &= at_least("  with the file that it writes to", told->late_by_file, told->late);
	right &= at_least("killed rank named", told->gone, job.killed);
	right &= at_least("  by the kernel's want of memory", told->gone_by_oom, job.killed / 2);
	right &= at_least("rank named that comes late", told->missing, job.came_late);
	right &= at_least("  with what its process waits for", told->missing_seen, job.came_late);
	right &= at_least("rank named that never comes", told->never_came, job.never_came);
	right &= at_least("slow transfers", told->slow, job.slow_times);
	right &= at_least("  with what a port counted", told->slow_by_port, job.slow_times);
	right &= at_least("Xid of a GPU", told->xid, hours);
	right &= at_least("  that was over", told->xid_over, hours);
	return none("others named", told->wrong) && right;
}

static bool judge_left_over(const struct left_over *left, double hours)
{
	bool right = at_least("looks for what should have expired", left->looks, (uint64_t)(200 * hours));

	right &= none("  processes not watched by the kernel", left->unwatched);
	right &= none("  processes held for ranks without a box", left->held);
	right &= none("  leases", left->leases);
	return right;
}

/* Nothing that is said to be played is left out. */
static bool judge_sources(double hours)
{
	struct day_kernel_counts kernel;

	day_kernel_count(&kernel);
	bool right = at_least("records of the kernel", kernel.records, (uint64_t)(5000 * hours));

	right &= at_least("looks through the kernel", kernel.looks, (uint64_t)(100 * hours));
	right &= at_least("processes that the kernel refused to watch", kernel.refusals, (uint64_t)(5 * hours));
	/* 57,600 an hour if each of eight were asked each half second; a calm collector looks a little later than they
	 * are due. */
	right &= at_least("states of GPUs", day_gpus_states(), (uint64_t)(45000 * hours));
	right &= at_least("renewals of leases that ranks saw", job.leases, (uint64_t)(100 * hours));
	return right;
}

static bool judge(const struct holding *holdings, const struct told *told, const struct left_over *left, double hours)
{
	bool right = IS_FLAT(holdings, heap);

	right &= IS_FLAT(holdings, processes);
	right &= IS_FLAT(holdings, ranks);
	right &= IS_FLAT(holdings, communicators);
	right &= IS_FLAT(holdings, instances);
	right &= IS_FLAT(holdings, findings);
	right &= IS_FLAT(holdings, watched);
	right &= IS_FLAT(holdings, held);
	right &= IS_FLAT(holdings, gpus);
	right &= IS_FLAT(holdings, ports);
	right &= IS_FLAT(holdings, files);
	right &= IS_FLAT(holdings, threads);
	right &= judge_findings(told, (unsigned)hours);
	right &= judge_sources(hours);
	right &= judge_left_over(left, hours);
	return right;
}

int main(int argc, char **argv)
{
	double hours = argc == 2 ? atof(argv[1]) : 0;
	static struct holding holdings[PARTS];
	struct told told = { 0 };
	struct left_over left = { 0 };

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

	printf("| hours | operations | heap MB | processes | ranks | communicators | instances | findings | watched | "
	       "held | GPUs | ports | files | threads | CPU s |\n"
	       "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
	bool played = analysis && watch_job(analysis, &plan, holdings, &left);
	bool right = played && judge(holdings, &told, &left, hours);

	printf("%llu operations, %llu communicators, %llu restarts, %llu lives\n", (unsigned long long)job.operations,
	       (unsigned long long)job.communicators, (unsigned long long)job.restarts, (unsigned long long)job.lives);
	analysis_free(analysis);
	stress_directory_remove();
	return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
