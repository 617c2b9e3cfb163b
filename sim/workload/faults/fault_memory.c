/* SPDX-License-Identifier: MIT */
/* Faults of a rank that has too little memory: a control group limits it. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/workload/faults/cgroup.h"
#include "sim/workload/faults/fault.h"
#include "sim/workload/host/data_file.h"

enum { OOM_LIMIT = 64 << 20, OOM_WANTED = 4 * OOM_LIMIT, SWAP_ROOM = 256 << 20, PAGE = 4096,
       PROBE = 16 << 20 /* bytes */, PROBE_S = 20, LEAK_LIMIT = 128 << 20, LEAK_STEP = 15 << 20,
       LEAK_MOST = 8 * LEAK_STEP };

/* How the process that tries whether this machine swaps ends; 1 is limit_memory(), which has said why. */
enum { PROBE_SWAPPED, PROBE_NO_MEMORY = 2, PROBE_NOT_SWAPPED };

static int check_memory(char *reason, size_t size)
{
	return cgroup_check("memory", reason, size);
}

static void tidy_memory(void)
{
	cgroup_tidy("memory");
}

static void limit_memory(size_t bytes, size_t swap_bytes)
{
	struct cgroup group;
	int err = cgroup_make(&group, "memory", getpid(), false);

	if (!err)
		err = cgroup_limit_memory(&group, bytes, swap_bytes);
	if (!err)
		err = cgroup_enter(&group);
	if (err) {
		fprintf(stderr, "workload: memory limit: %s: %s\n", group.path, strerror(-err));
		exit(1);
	}
}

static void run_out_of_memory(struct fault *fault, int step)
{
	if (!fault_begins(fault, step))
		return;
	limit_memory(OOM_LIMIT, 0);
	char *memory = mmap(NULL, OOM_WANTED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory != MAP_FAILED)
		memset(memory, 1, OOM_WANTED);
	fputs("workload: oom: still here\n", stderr);
	exit(1);
}

/* Of a working set only half fits; pages are dropped and read again from --log-dir. */
static int open_working_set(struct fault *fault)
{
	struct data_file *data = NULL;
	int err = fault->mine ? data_file_create(&data, fault->options->log_dir, fault->options->log_bytes) : 0;

	fault->tool = data;
	return err;
}

static void close_working_set(struct fault *fault)
{
	data_file_close(fault->tool);
}

static void use_working_set(struct fault *fault, int step)
{
	if (!fault->mine)
		return;
	if (fault_begins(fault, step)) {
		/* What is in memory already is charged to the old group. */
		data_file_forget(fault->tool);
		limit_memory(fault->options->log_bytes / 2, 0);
	}
	data_file_touch(fault->tool);
}

struct heap {
	char *memory;
	size_t bytes;
};

static int open_heap(struct fault *fault)
{
	struct heap *heap = fault->mine ? calloc(1, sizeof(*heap)) : NULL;

	fault->tool = heap;
	if (!heap)
		return fault->mine ? -ENOMEM : 0;
	heap->bytes = fault->options->log_bytes;
	heap->memory = mmap(NULL, heap->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return heap->memory == MAP_FAILED ? -errno : 0;
}

static void close_heap(struct fault *fault)
{
	struct heap *heap = fault->tool;

	if (heap)
		munmap(heap->memory, heap->bytes);
	free(heap);
}

static void touch(char *memory, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += PAGE)
		memory[at]++;
}

static void use_heap(struct fault *fault, int step)
{
	struct heap *heap = fault->tool;

	if (fault_begins(fault, step))
		limit_memory(heap->bytes / 2, SWAP_ROOM);
	/* Before it was limited it held nothing that the limit could count. */
	if (fault_holds(fault, step))
		touch(heap->memory, heap->bytes);
}

/* What of this process lies in swap, in KiB; 0 when the kernel does not say. */
static long swapped_kb(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	char line[128];
	long kb = 0;

	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "VmSwap: %ld", &kb) == 1)
			break;
	if (status)
		fclose(status);
	return kb;
}

/* What the fault does to its rank, in a process that may die of it. */
static _Noreturn void swap_or_die(void)
{
	char *memory = mmap(NULL, PROBE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		_exit(PROBE_NO_MEMORY);
	alarm(PROBE_S);
	limit_memory(PROBE / 2, SWAP_ROOM);
	touch(memory, PROBE);
	touch(memory, PROBE);
	_exit(swapped_kb() > 0 ? PROBE_SWAPPED : PROBE_NOT_SWAPPED);
}

/* Swap in place is not enough: there are kernels whose OOM killer ends a process at its limit and leaves swap
 * unused. */
static int check_swap(char *reason, size_t size)
{
	int status, err = check_memory(reason, size);

	if (err)
		return err;
	fflush(NULL);
	pid_t child = fork();
	if (child == 0)
		swap_or_die();
	if (child < 0 || waitpid(child, &status, 0) < 0) {
		snprintf(reason, size, "cannot try whether this kernel swaps: %s", strerror(errno));
		return -EAGAIN;
	}
	tidy_memory();
	if (WIFEXITED(status) && WEXITSTATUS(status) == PROBE_SWAPPED)
		return 0;
	snprintf(reason, size, "a process of %d MiB at a memory limit of %d MiB %s", PROBE >> 20, PROBE >> 21,
		 !WIFSIGNALED(status)		   ? "was not swapped out: is there swap?"
		 : WTERMSIG(status) == SIGKILL ? "was killed by the kernel's OOM killer and not swapped out"
					       : "was not done with being swapped out in time");
	return -ENOTSUP;
}

/* A heap that grows to what leaves little room in the limit, and a file that needs some each time. */
struct leak {
	struct data_file *data;
	char *memory;
	size_t used;
};

static int open_leak(struct fault *fault)
{
	struct leak *leak = fault->mine ? calloc(1, sizeof(*leak)) : NULL;

	fault->tool = leak;
	if (!leak)
		return fault->mine ? -ENOMEM : 0;
	leak->memory = mmap(NULL, LEAK_LIMIT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (leak->memory == MAP_FAILED)
		return -errno;
	return data_file_create(&leak->data, fault->options->log_dir, fault->options->log_bytes);
}

static void close_leak(struct fault *fault)
{
	struct leak *leak = fault->tool;

	if (!leak)
		return;
	data_file_close(leak->data);
	munmap(leak->memory, LEAK_LIMIT);
	free(leak);
}

static void use_leak(struct fault *fault, int step)
{
	struct leak *leak = fault->tool;

	if (fault_begins(fault, step))
		limit_memory(LEAK_LIMIT, 0);
	if (!fault_holds(fault, step))
		return;
	if (leak->used < LEAK_MOST) {
		memset(leak->memory + leak->used, 1, LEAK_STEP);
		leak->used += LEAK_STEP;
	}
	data_file_forget(leak->data);
	data_file_read(leak->data);
}

#define LIMITS .harms = true, .check = check_memory, .tidy = tidy_memory

const struct fault_kind fault_memory_kinds[] = {
	{ .name = "reclaim", LIMITS, .logs = true, .open = open_working_set, .close = close_working_set,
	  .between_steps = use_working_set,
	  .doc = "half of its working set, --log-bytes in --log-dir, fits into its memory limit" },
	{ .name = "swap", .harms = true, .check = check_swap, .tidy = tidy_memory, .open = open_heap,
	  .close = close_heap, .between_steps = use_heap,
	  .doc = "half of its heap, --log-bytes, fits into its memory limit: the rest is swapped (use slow-swap)" },
	{ .name = "leak", LIMITS, .logs = true, .open = open_leak, .close = close_leak, .between_steps = use_leak,
	  .doc = "its heap grows until 94 % of its memory limit are no page cache; a file of "
		 "--log-bytes needs the rest" },
	{ .name = "oom", LIMITS, .between_steps = run_out_of_memory, .doc = "the OOM killer of its cgroup kills it" },
	{ 0 },
};
