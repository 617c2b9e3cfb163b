/* SPDX-License-Identifier: MIT */
#include "console/boxes/kept_boxes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor_limit.h"
#include "blackbox/host_memory.h"
#include "blackbox/place.h"
#include "blackbox/process.h"
#include "blackbox/run_mark.h"
#include "console/boxes/box_removal.h"
#include "console/boxes/box_runs.h"
#include "console/cli/size.h"
#include "protocol/lock.h"

enum {
	SHARE = 50, /* one part in so many of the memory */
	HEARTBEAT_MS =
	    30000, /* the plugin's thread shows itself once a second; a stopped process still holds its lock */
};

/* One run of struct boxes. */
struct run {
	size_t first, count;
	uint64_t bytes;
	uint64_t began_ns;     /* CLOCK_REALTIME: its first box */
	const char *directory; /* of the first box; its length: */
	size_t directory_length;
	bool here;  /* made on this machine since it was started */
	bool ended; /* as far as its own boxes show */
	bool busy;  /* somebody lives in its directory */
	bool found; /* something */
	bool stays;
};

struct stock {
	struct boxes boxes;
	struct run *runs; /* the newest first */
};

uint64_t kept_boxes_usual_limit(void)
{
	uint64_t total = host_memory_total("");

	return total == UINT64_MAX ? KEPT_BOXES_ALL : total / SHARE;
}

int kept_boxes_parse(const char *text, uint64_t *limit)
{
	if (strcmp(text, "all") != 0)
		return size_parse(text, limit);
	*limit = KEPT_BOXES_ALL;
	return 0;
}

static uint64_t bytes_of(const struct box_entry *entry)
{
	struct stat status;

	return fstat(entry->reader.fd, &status) ? 0 : (uint64_t)status.st_blocks * 512;
}

/* A process that has lost its lock, because the job closed its box, and that is of another pid namespace shows only so.
 */
static bool has_heartbeat(const struct rw_box_header *header)
{
	return header->drain_ns + HEARTBEAT_MS * UINT64_C(1000000) > clock_monotonic_ns();
}

static void survey(struct stock *stock, size_t number, const char *boot_id)
{
	struct run *run = &stock->runs[number];

	run->count = box_runs_entries(&stock->boxes, number, &run->first);
	run->here = run->ended = true;
	for (size_t i = run->first; i < run->first + run->count; i++) {
		const struct box_entry *entry = &stock->boxes.entries[i];
		const struct rw_box_header *header = &entry->reader.header;

		run->bytes += bytes_of(entry);
		run->here &= !strcmp(header->boot_id, boot_id);
		run->ended &= box_reader_life(&entry->reader, NULL) == BOX_ORPHANED;
		if (!run->began_ns || header->created_realtime_ns < run->began_ns)
			run->began_ns = header->created_realtime_ns;
	}
	const char *slash = strrchr(stock->boxes.entries[run->first].path, '/');

	run->directory = slash ? stock->boxes.entries[run->first].path : ".";
	run->directory_length = slash ? (size_t)(slash - run->directory) : 1;
}

static bool is_beside(const struct run *a, const struct run *b)
{
	return a->directory_length == b->directory_length && !strncmp(a->directory, b->directory, a->directory_length);
}

/* The boxes of dead ranks explain a job as long as it goes on. */
static void find_busy(struct stock *stock)
{
	for (size_t i = 0; i < stock->boxes.run_count; i++)
		for (size_t other = 0; !stock->runs[i].busy && other < stock->boxes.run_count; other++)
			stock->runs[i].busy =
			    !stock->runs[other].ended && is_beside(&stock->runs[i], &stock->runs[other]);
}

static int64_t mark_time_ns(const struct run *run, enum run_mark mark)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%.*s", (int)run->directory_length, run->directory) >= (int)sizeof(path))
		return 0;
	return run_mark_time_ns(path, mark);
}

/* A mark is of the run that was the newest in its directory when it was left. */
static bool has_mark(const struct stock *stock, size_t number, enum run_mark mark)
{
	const struct run *run = &stock->runs[number];
	int64_t left_ns = mark_time_ns(run, mark);

	if (!left_ns || (uint64_t)left_ns < run->began_ns)
		return false;
	for (size_t newer = 0; newer < number; newer++)
		if (is_beside(run, &stock->runs[newer]) && stock->runs[newer].began_ns <= (uint64_t)left_ns)
			return false;
	return true;
}

static void stock_close(struct stock *stock)
{
	free(stock->runs);
	boxes_close(&stock->boxes);
}

static int stock_open(struct stock *stock, const char *job)
{
	char boot_id[40];

	*stock = (struct stock){ 0 };
	descriptor_limit_raise();
	process_boot_id(boot_id);
	int err = boxes_open_in_memory(&stock->boxes);

	if (!err && job)
		box_runs_keep_job(&stock->boxes, job);
	stock->runs = err ? NULL : calloc(stock->boxes.run_count + 1, sizeof(*stock->runs));
	if (!stock->runs) {
		stock_close(stock);
		return -ENOMEM;
	}
	for (size_t i = 0; i < stock->boxes.run_count; i++)
		survey(stock, i, boot_id);
	find_busy(stock);
	return 0;
}

static void remove_run(const struct stock *stock, const struct run *run, struct kept_boxes *kept)
{
	unsigned removed = 0;

	for (size_t i = run->first; i < run->first + run->count; i++) {
		uint64_t bytes = 0;
		int err = box_remove(&stock->boxes.entries[i], &bytes);

		removed += !err;
		kept->removed_bytes += bytes;
	}
	kept->removed += removed;
	kept->removed_runs += removed > 0;
	box_remove_directory(&stock->boxes.entries[run->first]);
}

/* A collector works for a job whose processes are yet to come, or to come again. The lock is held for no longer than it
 * takes to ask: who wants it at that moment is refused it. */
static bool has_collector(const struct run *run)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%.*s/" LOCK_NAME, (int)run->directory_length, run->directory) >=
	    (int)sizeof(path))
		return true;
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool held = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return held;
}

static bool has_any_heartbeat(const struct stock *stock, const struct run *run)
{
	for (size_t i = run->first; i < run->first + run->count; i++)
		if (has_heartbeat(&stock->boxes.entries[i].reader.header))
			return true;
	return false;
}

static bool is_over(const struct run *run)
{
	return run->here && run->ended && !run->busy;
}

/* The newest, and the newest with findings, before all others. Returns what they take. */
static uint64_t choose_first(struct stock *stock)
{
	struct run *newest = NULL, *found = NULL;

	for (size_t i = 0; i < stock->boxes.run_count; i++) {
		struct run *run = &stock->runs[i];

		if (!is_over(run))
			continue;
		if (!newest)
			newest = run;
		if (!found && has_mark(stock, i, RUN_MARK_FINDINGS))
			found = run;
	}
	if (newest)
		newest->stays = true;
	if (found)
		found->stays = true;
	return (newest ? newest->bytes : 0) + (found && found != newest ? found->bytes : 0);
}

/* These are beside the limit: only "rankwatch clean" removes them. */
static bool was_to_be_kept(const struct run *run)
{
	return mark_time_ns(run, RUN_MARK_KEPT) >= (int64_t)run->began_ns;
}

static void choose(struct stock *stock, uint64_t limit)
{
	uint64_t held = choose_first(stock);
	bool fits = true; /* so have all newer ones */

	for (size_t i = 0; i < stock->boxes.run_count; i++) {
		struct run *run = &stock->runs[i];

		run->stays |= was_to_be_kept(run);
		if (run->stays || !is_over(run))
			continue;
		fits = fits && held <= limit && run->bytes <= limit - held;
		run->stays = fits;
		held += fits ? run->bytes : 0;
	}
}

int kept_boxes_trim(uint64_t limit, struct kept_boxes *kept)
{
	struct stock stock;
	int err = stock_open(&stock, NULL);

	*kept = (struct kept_boxes){ .limit = limit };
	if (err)
		return err;
	choose(&stock, limit);
	for (size_t i = 0; i < stock.boxes.run_count; i++) {
		const struct run *run = &stock.runs[i];

		if (!is_over(run))
			continue;
		if (!run->stays && !has_any_heartbeat(&stock, run) && !has_collector(run)) {
			remove_run(&stock, run, kept);
			continue;
		}
		kept->held += (unsigned)run->count;
		kept->held_runs++;
		kept->held_bytes += run->bytes;
	}
	stock_close(&stock);
	return 0;
}

static bool began_since(const struct stock *stock, const struct run *run, uint64_t began_ns)
{
	for (size_t i = run->first; i < run->first + run->count; i++)
		if (stock->boxes.entries[i].reader.header.created_ns >= began_ns)
			return true;
	return false;
}

/* By CLOCK_REALTIME. Whatever a launcher of the job has left there since counts for all runs of it. */
static bool was_marked_since(const struct run *run, uint64_t began_ns)
{
	uint64_t since_ns = began_ns < run->began_ns ? began_ns : run->began_ns;

	for (int mark = 0; mark < RUN_MARKS; mark++)
		if (mark_time_ns(run, (enum run_mark)mark) >= (int64_t)since_ns)
			return true;
	return false;
}

int kept_boxes_remove_run(const char *job, uint64_t began_ns, struct kept_boxes *kept)
{
	struct stock stock;
	uint64_t began_realtime_ns = clock_realtime_ns() - (clock_monotonic_ns() - began_ns);
	int err = stock_open(&stock, job);

	*kept = (struct kept_boxes){ 0 };
	if (err)
		return err;
	/* The marks first: they go with the last box. */
	for (size_t i = 0; i < stock.boxes.run_count; i++)
		stock.runs[i].stays = !is_over(&stock.runs[i]) || !began_since(&stock, &stock.runs[i], began_ns) ||
				      was_marked_since(&stock.runs[i], began_realtime_ns);
	for (size_t i = 0; i < stock.boxes.run_count; i++)
		if (!stock.runs[i].stays)
			remove_run(&stock, &stock.runs[i], kept);
	stock_close(&stock);
	return 0;
}

/* Before its directory is known to anybody but the ranks: it is marked where it is there. */
void kept_boxes_mark(const char *job, enum run_mark mark)
{
	char places[BOX_PLACES][BOX_PLACE_PATH];
	int count = box_places(getenv("RANKWATCH_DIR"), getenv("XDG_RUNTIME_DIR"), geteuid(), job, places);

	for (int i = 0; i < count; i++)
		run_mark_leave(places[i], mark);
}

void kept_boxes_print(FILE *out, const char *who, const struct kept_boxes *kept)
{
	char freed[24], held[24], limit[24];

	if (!kept->removed)
		return;
	fprintf(
	    out,
	    "%s: removed %u black box%s of %u ended run%s (%s): they may hold %s of memory, the newest stay (%u, %s); "
	    "--keep-boxes all keeps all\n",
	    who, kept->removed, kept->removed == 1 ? "" : "es", kept->removed_runs, kept->removed_runs == 1 ? "" : "s",
	    size_text(freed, kept->removed_bytes), size_text(limit, kept->limit), kept->held,
	    size_text(held, kept->held_bytes));
}

static void __attribute__((noreturn)) trim_and_leave(uint64_t limit, const char *who)
{
	struct kept_boxes kept;

	if (!kept_boxes_trim(limit, &kept))
		kept_boxes_print(stderr, who, &kept);
	_exit(0);
}

/* Forked twice: nobody has to wait for it, whatever file system it waits for. */
void kept_boxes_trim_beside(uint64_t limit, const char *who)
{
	if (limit == KEPT_BOXES_ALL)
		return;
	fflush(NULL);
	pid_t child = fork();

	if (!child) {
		if (!fork())
			trim_and_leave(limit, who);
		_exit(0);
	}
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}
