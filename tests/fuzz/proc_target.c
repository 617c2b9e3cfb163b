/* SPDX-License-Identifier: MIT */
/*
 * What the collector reads in /proc, of control groups and of network ports: a process can give itself any name and
 * environment, and a container any mount. The input is a list of files, each a line "@PATH" below the stand-in's root
 * and its content. The paths are those of `files`; one that is not named is empty.
 */
#include "tests/fuzz/box_target.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/host/absentees.h"
#include "collector/sources/machine/pause_counters.h"
#include "collector/sources/machine/port_files.h"
#include "collector/sources/process/memory_limit.h"
#include "collector/sources/waits/proc_source.h"
#include "ebpf/kernel_symbols.h"

#define TERMINATED(text) (memchr((text), '\0', sizeof(text)) != NULL)

enum { PID = 7, CONTENT = 4096 };

static const char *const directories[] = {
	"proc", "proc/self", "proc/7", "proc/7/fd", "proc/7/fdinfo", "proc/7/task", "proc/7/task/7", "group", "group/a",
	"sys", "sys/class", "sys/class/infiniband", "sys/class/infiniband/m", "sys/class/infiniband/m/ports",
	"sys/class/infiniband/m/ports/1", "sys/class/infiniband/m/ports/1/counters", "sys/class/net", "sys/class/net/e",
	"sys/class/net/e/device", "sys/class/net/e/statistics", "ethtool",
};

static const char *const files[] = {
	"proc/kallsyms", "proc/self/stack", "proc/self/mounts", "proc/7/environ", "proc/7/stat", "proc/7/io",
	"proc/7/cgroup", "proc/7/mountinfo", "proc/7/fdinfo/3", "proc/7/task/7/stat", "proc/7/task/7/schedstat",
	"proc/7/task/7/syscall", "proc/7/task/7/wchan", "proc/7/task/7/stack", "group/memory.max", "group/memory.stat",
	"group/memory.events", "group/memory.limit_in_bytes", "group/memory.usage_in_bytes", "group/memory.failcnt",
	"group/a/memory.max", "group/a/memory.stat", "group/a/memory.limit_in_bytes",
	"sys/class/infiniband/m/board_id", "sys/class/infiniband/m/ports/1/state", "sys/class/infiniband/m/ports/1/rate",
	"sys/class/infiniband/m/ports/1/counters/symbol_error", "sys/class/net/e/type", "sys/class/net/e/operstate",
	"sys/class/net/e/speed", "sys/class/net/e/statistics/rx_errors", "ethtool/e",
};

static const char link_name[] = "proc/7/fd/3";

enum { DIRECTORIES = sizeof(directories) / sizeof(*directories), FILES = sizeof(files) / sizeof(*files) };

static char root[] = "/dev/shm/rankwatch-fuzz-XXXXXX", proc[sizeof(root) + 5];
static int root_fd = -1, fds[FILES];

/* The analysis as absentees.c sees it: others wait for rank 3. */
struct analysis {
	struct analysis_absentee absentee;
};

size_t analysis_absentees(const struct analysis *analysis, int32_t *world_ranks, size_t room)
{
	(void)analysis;
	world_ranks[0] = 3;
	return room ? 1 : 0;
}

void analysis_summarise(const struct analysis *analysis, struct analysis_summary *summary)
{
	(void)analysis;
	*summary = (struct analysis_summary){ 0 };
}

void analysis_set_absentee(struct analysis *analysis, const struct analysis_absentee *absentee, uint64_t now_ns)
{
	(void)now_ns;
	analysis->absentee = *absentee;
}

static void remove_tree(void)
{
	unlinkat(root_fd, link_name, 0);
	for (size_t i = 0; i < FILES; i++)
		unlinkat(root_fd, files[i], 0);
	for (size_t i = DIRECTORIES; i-- > 0;)
		unlinkat(root_fd, directories[i], AT_REMOVEDIR);
	rmdir(root);
}

static void make_tree(void)
{
	root_fd = mkdtemp(root) ? open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (root_fd < 0) {
		fprintf(stderr, "skipped: no directory in /dev/shm\n");
		exit(77);
	}
	atexit(remove_tree);
	snprintf(proc, sizeof(proc), "%s/proc", root);
	for (size_t i = 0; i < DIRECTORIES; i++)
		if (mkdirat(root_fd, directories[i], 0700))
			abort();
	for (size_t i = 0; i < FILES; i++) {
		fds[i] = openat(root_fd, files[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fds[i] < 0)
			abort();
	}
}

static void make_link(const char *content, size_t size)
{
	char target[CONTENT];

	snprintf(target, sizeof(target), "%.*s", (int)size, content);
	unlinkat(root_fd, link_name, 0);
	if (symlinkat(*target ? target : "?", root_fd, link_name))
		abort();
}

static void write_content(const char *path, size_t length, const char *content, size_t size)
{
	if (size >= CONTENT)
		size = CONTENT - 1;
	if (length == strlen(link_name) && !memcmp(path, link_name, length))
		make_link(content, size);
	for (size_t i = 0; i < FILES; i++)
		if (length == strlen(files[i]) && !memcmp(path, files[i], length) &&
		    (ftruncate(fds[i], 0) || pwrite(fds[i], content, size, 0) != (ssize_t)size))
			abort();
}

static void write_files(const char *data, size_t size)
{
	const char *end = data + size;

	for (size_t i = 0; i < FILES; i++)
		if (ftruncate(fds[i], 0))
			abort();
	for (const char *at = memchr(data, '@', size); at;) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));

		if (!line_end)
			break;
		const char *next = memmem(line_end, (size_t)(end - line_end), "\n@", 2);
		const char *content = line_end + 1, *content_end = next && next > line_end ? next + 1 : end;

		if (next != line_end)
			write_content(at + 1, (size_t)(line_end - at - 1), content, (size_t)(content_end - content));
		at = next ? next + 1 : NULL;
	}
}

static void check_wait(void *argument, const struct analysis_wait *wait)
{
	(void)argument;
	if (!TERMINATED(wait->thread) || !TERMINATED(wait->path) || !TERMINATED(wait->file_system) ||
	    !TERMINATED(wait->device_name) || !TERMINATED(wait->wait_channel) || wait->frame_count > 12)
		abort();
	for (uint32_t i = 0; i < wait->frame_count; i++)
		if (!TERMINATED(wait->frames[i]) || !wait->frames[i][0])
			abort();
}

static void look_at_threads(void)
{
	struct mounts *mounts;
	struct proc_source *source;

	if (mounts_open(&mounts, proc) || proc_source_open(&source, proc, mounts))
		abort();
	/* The second time from what was kept open. */
	proc_source_sample(source, 1, PID, 0, 1000, check_wait, NULL, NULL);
	proc_source_sample(source, 1, PID, PID, 2000, check_wait, NULL, NULL);
	proc_source_close(source);
	mounts_close(mounts);
}

static void look_at_ports(void)
{
	struct pause_counters *pauses = pause_counters_open(root);
	struct analysis_port_state states[2];
	size_t count = port_files_read(root, pauses, states, 2);

	pause_counters_close(pauses);
	if (!count || count > 2)
		abort();
	for (size_t i = 0; i < count; i++) {
		if (!TERMINATED(states[i].name) || !TERMINATED(states[i].model) || states[i].mbit_s < -1)
			abort();
		for (int k = 0; k < ANALYSIS_PORT_COUNTERS; k++)
			if (states[i].counts[k] < -1)
				abort();
	}
}

static void look_at_symbols(void)
{
	struct kernel_symbols *symbols;
	char path[sizeof(proc) + 16];

	snprintf(path, sizeof(path), "%s/kallsyms", proc);
	if (kernel_symbols_open(&symbols, path))
		return;
	const char *name = kernel_symbols_name(symbols, UINT64_MAX);

	if (!name || kernel_symbols_name(symbols, 0))
		abort();
	kernel_entry_code(name);
	kernel_symbols_close(symbols);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct analysis analysis = { 0 };
	struct absentees absentees = { .analysis = &analysis, .proc = proc, .job = "local" };
	struct analysis_memory_state memory = { 0 };

	if (root_fd < 0)
		make_tree();
	write_files((const char *)data, size);
	look_at_threads();
	absentees_poll(&absentees, UINT64_C(1000000000));
	absentees_poll(&absentees, UINT64_C(3000000000));
	if (!memory_limit_read(NULL, root, PID, &memory) && !memory.limit)
		abort();
	look_at_symbols();
	look_at_ports();
	return 0;
}
