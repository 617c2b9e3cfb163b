/* SPDX-License-Identifier: MIT */
/*
 * What the BPF programs send: every process names its threads and files, and descriptors, inodes and stacks are
 * whatever the kernel held then. The input is a list of records: a byte says how many changes there are to the record
 * before, each an offset, a length and bytes. probes.h is played here, so that no kernel is needed.
 */
#include "tests/fuzz/box_target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/sources/waits/kernel_source.h"
#include "ebpf/probes.h"
#include "ebpf/ring_entry.h"
#include "tests/fuzz/printed_finding.h"

#define TERMINATED(text) (memchr((text), '\0', sizeof(text)) != NULL)
#define MS		 UINT64_C(1000000)

enum { PID = 7, RANKS = 2, OPERATIONS = 20, POLL_MS = 100, RECORDS_MAX = 256 };

struct probes {
	probes_record *record;
	void *argument;
	const uint8_t *rest;
	size_t left;
	struct waits_record current;
};

static const struct waits_record kept = {
	.wait = { .kind = RW_KERNEL_WAIT, .tgid = PID, .tid = PID, .waker_tid = 9, .waker_tgid = PID, .system_call = 74,
		  .fd = 3, .device = 7u << 20 | 3, .inode = 12, .start_ns = 200 * MS, .end_ns = 400 * MS,
		  .blocked_ns = 200 * MS, .longest_ns = 200 * MS, .state = 2, .io_wait = 1, .stack_id = 2,
		  .thread = "python-main", .waker = "tb-writer", .file = "events", .file_system = "ext4" },
	.frames = { 1, 2 },
};

static struct probes *opened;

int probes_open(struct probes **probes, uint64_t threshold_ns, probes_record *record, void *argument, char *why)
{
	(void)threshold_ns, (void)why;
	opened = *probes = calloc(1, sizeof(**probes));
	if (!opened)
		abort();
	opened->record = record;
	opened->argument = argument;
	opened->current = kept;
	return 0;
}

void probes_close(struct probes *probes)
{
	free(probes);
}

int probes_watch(struct probes *probes, pid_t tgid)
{
	(void)probes, (void)tgid;
	return 0;
}

void probes_unwatch(struct probes *probes, pid_t tgid)
{
	(void)probes, (void)tgid;
}

static uint8_t take(struct probes *probes)
{
	return probes->left ? probes->left--, *probes->rest++ : 0;
}

static void change(struct probes *probes)
{
	size_t offset = take(probes), size = take(probes) & 15;

	offset %= sizeof(probes->current);
	for (; size && offset < sizeof(probes->current); size--, offset++)
		((uint8_t *)&probes->current)[offset] = take(probes);
}

/* One record a call. Like the ring's reader: no stack is longer than its room. */
int probes_poll(struct probes *probes)
{
	struct rw_kernel_wait wait;

	if (!probes->left)
		return 0;
	for (int changes = take(probes) & 7; changes; changes--)
		change(probes);
	if (probes->current.wait.stack_id > WAITS_FRAMES)
		return 1;
	wait = probes->current.wait;
	wait.stack_id = wait.stack_id ? wait.stack_id : -1;
	probes->record(probes->argument, &wait);
	return 1;
}

int probes_sample(struct probes *probes, pid_t tgid)
{
	(void)tgid;
	probes_poll(probes);
	return 0;
}

int probes_stack(struct probes *probes, int32_t stack_id, char (*frames)[40], int room)
{
	int written = 0;

	for (; written < stack_id && written < room; written++)
		snprintf(frames[written], sizeof(frames[0]), "f_%llx",
			 (unsigned long long)probes->current.frames[written]);
	return written;
}

void probes_loss(struct probes *probes, struct probes_loss *loss)
{
	*loss = (struct probes_loss){ .ring = probes->left };
}

uint64_t probes_own_ns(struct probes *probes)
{
	return probes->left;
}

static const char *const directories[] = { "self", "7", "7/fd", "7/fdinfo" };
static const struct {
	const char *path, *content;
} files[] = { { "self/mounts", "" },
	      { "7/mountinfo", "36 27 7:3 / /mnt rw - ext4 /dev/loop3 rw\n" },
	      { "7/fdinfo/3", "mnt_id:\t36\nino:\t12\n" } };

enum { DIRECTORIES = sizeof(directories) / sizeof(*directories), FILES = sizeof(files) / sizeof(*files) };

static char root[] = "/dev/shm/rankwatch-fuzz-XXXXXX";
static int root_fd = -1;

static void remove_tree(void)
{
	unlinkat(root_fd, "7/fd/3", 0);
	for (size_t i = 0; i < FILES; i++)
		unlinkat(root_fd, files[i].path, 0);
	for (size_t i = DIRECTORIES; i-- > 0;)
		unlinkat(root_fd, directories[i], AT_REMOVEDIR);
	rmdir(root);
}

static void make_file(const char *path, const char *content)
{
	int fd = openat(root_fd, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, content, strlen(content)) != (ssize_t)strlen(content))
		abort();
	close(fd);
}

static void make_tree(void)
{
	root_fd = mkdtemp(root) ? open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (root_fd < 0) {
		fprintf(stderr, "skipped: no directory in /dev/shm\n");
		exit(77);
	}
	atexit(remove_tree);
	for (size_t i = 0; i < DIRECTORIES; i++)
		if (mkdirat(root_fd, directories[i], 0700))
			abort();
	for (size_t i = 0; i < FILES; i++)
		make_file(files[i].path, files[i].content);
	if (symlinkat("/mnt/logs/events", root_fd, "7/fd/3"))
		abort();
}

static void add_wait(void *argument, const struct analysis_wait *wait)
{
	if (!TERMINATED(wait->thread) || !TERMINATED(wait->waker) || !TERMINATED(wait->path) ||
	    !TERMINATED(wait->file_system) || !TERMINATED(wait->device_name) || wait->frame_count > 12)
		abort();
	analysis_add_wait(argument, wait);
}

static void end(void *argument, analysis_process_id process, int exit_status, uint64_t at_ns)
{
	analysis_set_life(argument, process, ANALYSIS_EXITED, exit_status, at_ns);
}

static void add_operation(struct analysis *analysis, analysis_process_id process, uint64_t number, uint64_t late_ns)
{
	const struct rw_operation operation = {
		.ticket = number + 1, .function = RW_FUNCTION_ALL_REDUCE, .sequence = number, .api_tid = PID,
		.api_ns = (100 + number * 400) * MS + late_ns, .known = RW_KNOWN_IDENT | RW_KNOWN_API
	};

	analysis_add_operation(analysis, process, &operation);
}

/* Rank 0 comes 300 ms late each time, and misses the last one. */
static void add_rank(struct analysis *analysis, int32_t rank)
{
	const struct rw_box_header box = { .created_ns = MS, .world_rank = rank, .world_size = RANKS };
	const struct analysis_process process = { .id = (analysis_process_id)rank + 1, .pid = PID + rank, .box = &box };
	const struct rw_communicator communicator = { .id = 1, .rank = rank, .nranks = RANKS, .created_ns = 2 * MS };

	analysis_add_process(analysis, &process);
	analysis_add_communicator(analysis, process.id, 0, &communicator);
}

static void play(struct analysis *analysis, struct kernel_source *source)
{
	for (uint64_t poll = 1; poll < RECORDS_MAX && (opened->left || poll < 2 * OPERATIONS * 4); poll++) {
		uint64_t number = poll / 4;

		if (poll % 4 == 0 && number < OPERATIONS)
			add_operation(analysis, 2, number, 0);
		if (poll % 4 == 3 && number < OPERATIONS - 1)
			add_operation(analysis, 1, number, 300 * MS);
		kernel_source_poll(source);
		analysis_tick(analysis, (100 + poll * POLL_MS) * MS);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct analysis *analysis = analysis_new(false, printed_finding, NULL);
	const struct kernel_source_events events = { .wait = add_wait, .ended = end, .argument = analysis };
	struct kernel_source *source;
	struct mounts *mounts;
	char why[256];

	if (root_fd < 0)
		make_tree();
	if (mounts_open(&mounts, root) || kernel_source_open(&source, NULL, root, mounts, &events, why))
		abort();
	opened->rest = data;
	opened->left = size;
	for (int32_t rank = 0; rank < RANKS; rank++)
		add_rank(analysis, rank);
	kernel_source_watch(source, 1, PID, -1, why);
	play(analysis, source);
	kernel_source_close(source);
	mounts_close(mounts);
	analysis_free(analysis);
	return 0;
}
