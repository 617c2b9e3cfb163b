/* SPDX-License-Identifier: MIT */
#include "ebpf/probes.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "ebpf/descriptor_calls.h"
#include "ebpf/kernel_symbols.h"
#include "ebpf/task_pass.h"
#include "ebpf/rights.h"
#include "ebpf/ring_entry.h"

#include "waits.skel.h"

enum {
	WHY_ROOM = 256,
	SHARED_RING_BYTES = 8 << 20,
	SHARED_MOST = SHARED_RING_BYTES / (int)sizeof(struct waits_record) / 4, /* of the ring, by one owner */
	TRIES = 6,
	LOOK_PAUSE_NS = 500000, /* before the second; twice that before each further one */
};

static_assert((int)PROBES_OWNERS == WAITS_OWNERS, "both sides of the map");

struct probes {
	struct waits *programs;
	struct task_pass pass;
	struct ring_buffer *ring;
	struct kernel_symbols *symbols;
	bool symbols_tried;
	int statistics_fd;
	unsigned int watched;
	uint64_t lost_samples; /* at threads for which the kernel had no storage */
	probes_record *record;
	void *argument;
	const struct waits_record *current; /* while the callback runs */
};

/* libbpf reports through a process-wide hook. Its last warning is our detail; the rest would only confuse. */
static char last_warning[160];

__attribute__((format(printf, 2, 0))) static int keep_warning(enum libbpf_print_level level, const char *format,
							      va_list arguments)
{
	if (level == LIBBPF_WARN) {
		vsnprintf(last_warning, sizeof(last_warning), format, arguments);
		last_warning[strcspn(last_warning, "\n")] = '\0';
	}
	return 0;
}

static int on_record(void *argument, void *data, size_t size)
{
	struct probes *probes = argument;
	const struct waits_record *record = data;

	if (size < sizeof(*record) || record->wait.stack_id > WAITS_FRAMES)
		return 0;

	struct rw_kernel_wait wait = record->wait;
	wait.stack_id = wait.stack_id ? wait.stack_id : -1;
	probes->current = record;
	probes->record(probes->argument, &wait);
	probes->current = NULL;
	return 0;
}

static void set_constants(struct waits *programs, uint64_t threshold_ns)
{
	programs->rodata->threshold_ns = threshold_ns;
	programs->rodata->close_call = SYS_close;
	for (int call = 0; call < WAITS_SYSTEM_CALLS; call++)
		programs->rodata->takes_descriptor[call] = descriptor_call(call)     ? WAITS_DESCRIPTOR
							   : descriptor_polled(call) ? WAITS_POLLED
										     : WAITS_NO_DESCRIPTOR;
}

/* False: this kernel cannot let go of a process by itself. */
static bool choose_programs(struct waits *programs)
{
	bool ends = libbpf_find_vmlinux_btf_id("sched_process_exit", BPF_TRACE_RAW_TP) >= 0;
	bool execs = libbpf_find_vmlinux_btf_id("sched_process_exec", BPF_TRACE_RAW_TP) >= 0;

	bpf_program__set_autoload(programs->progs.on_process_exit, ends);
	bpf_program__set_autoload(programs->progs.on_process_exec, execs);
	bpf_program__set_autoattach(programs->progs.on_sample, false); /* once per probes_sample() */
	return ends && execs;
}

static int share(struct waits *programs)
{
	programs->rodata->most_records = SHARED_MOST;
	return bpf_map__set_max_entries(programs->maps.records, SHARED_RING_BYTES);
}

static int load(struct probes *probes, uint64_t threshold_ns, bool shared)
{
	probes->programs = waits__open();
	if (!probes->programs)
		return -errno;

	set_constants(probes->programs, threshold_ns);
	bool lets_go = choose_programs(probes->programs);
	int err = shared ? share(probes->programs) : 0;
	if (!err && shared && !lets_go)
		err = -EOPNOTSUPP;
	if (!err)
		err = waits__load(probes->programs);
	if (err)
		return err;
	probes->pass.program = probes->programs->progs.on_sample;
	probes->ring = ring_buffer__new(bpf_map__fd(probes->programs->maps.records), on_record, probes, NULL);
	return probes->ring ? 0 : -errno;
}

static int open_probes(struct probes **probes, uint64_t threshold_ns, bool shared, probes_record *record,
		       void *argument, char *why)
{
	*probes = NULL;
	last_warning[0] = '\0';
	int err = rights_check(why, WHY_ROOM);
	if (err)
		return err;

	struct probes *opened = calloc(1, sizeof(*opened));
	if (!opened) {
		snprintf(why, WHY_ROOM, "out of memory");
		return -ENOMEM;
	}
	opened->record = record;
	opened->argument = argument;
	opened->statistics_fd = -1;
	libbpf_set_print(keep_warning);
	err = load(opened, threshold_ns, shared);
	if (err) {
		rights_explain(err, last_warning, why, WHY_ROOM);
		probes_close(opened);
		return err;
	}
	*probes = opened;
	return 0;
}

int probes_open(struct probes **probes, uint64_t threshold_ns, probes_record *record, void *argument, char *why)
{
	return open_probes(probes, threshold_ns, false, record, argument, why);
}

int probes_open_shared(struct probes **probes, uint64_t threshold_ns, probes_record *record, void *argument, char *why)
{
	return open_probes(probes, threshold_ns, true, record, argument, why);
}

void probes_close(struct probes *probes)
{
	if (!probes)
		return;
	ring_buffer__free(probes->ring);
	waits__destroy(probes->programs);
	kernel_symbols_close(probes->symbols);
	if (probes->statistics_fd >= 0)
		close(probes->statistics_fd);
	free(probes);
}

/* Its records are then in the ring. A map of task storage (Linux, kernel/bpf/memalloc.c) begins with a single element
 * of this size on each CPU and gets more by an interrupt: a thread may find none, and does a moment later. */
static int iterate(struct probes *probes, pid_t tgid)
{
	struct waits__bss *shared = probes->programs->bss;
	long pause_ns = LOOK_PAUSE_NS;
	int err;

	shared->sample_tgid = tgid;
	shared->sample_number++;
	shared->sample_count = 0;
	for (int tries = 1;; tries++) {
		shared->sample_lacks = 0;
		err = task_pass_run(&probes->pass, tgid);
		if (err || !shared->sample_lacks || tries == TRIES)
			break;
		nanosleep(&(struct timespec){ .tv_nsec = pause_ns }, NULL);
		pause_ns *= 2;
	}
	probes->lost_samples += shared->sample_lacks;
	if (!err && !shared->sample_count)
		err = shared->sample_lacks ? -ENOMEM : -ESRCH;
	return err;
}

int probes_hold(struct probes *probes)
{
	int err = probes->watched ? 0 : waits__attach(probes->programs);

	if (err)
		waits__detach(probes->programs);
	else
		probes->watched++;
	return err;
}

void probes_release(struct probes *probes)
{
	if (--probes->watched == 0)
		waits__detach(probes->programs);
}

int probes_watch(struct probes *probes, pid_t tgid)
{
	return probes_watch_for(probes, tgid, 0);
}

int probes_watch_for(struct probes *probes, pid_t tgid, uint32_t owner)
{
	const struct waits_watch watch = { .since_ns = clock_monotonic_ns(), .owner = owner };
	int map = bpf_map__fd(probes->programs->maps.watched);

	if (bpf_map_update_elem(map, &tgid, &watch, BPF_NOEXIST))
		return errno == E2BIG ? -ENOSPC : -errno;
	int err = probes_hold(probes);
	if (err) {
		bpf_map_delete_elem(map, &tgid);
		return err;
	}
	err = iterate(probes, tgid); /* waits that began before now count from now on */
	if (err)
		probes_unwatch(probes, tgid);
	return err;
}

void probes_unwatch(struct probes *probes, pid_t tgid)
{
	/* One that has called exec, or has ended, is not in the map any more, and counts as watched until its owner
	 * lets it go. */
	if (bpf_map_delete_elem(bpf_map__fd(probes->programs->maps.watched), &tgid) && errno != ENOENT)
		return;
	probes_release(probes);
}

bool probes_watches(struct probes *probes, pid_t tgid)
{
	struct waits_watch watch;

	return !bpf_map_lookup_elem(bpf_map__fd(probes->programs->maps.watched), &tgid, &watch);
}

int probes_poll(struct probes *probes)
{
	return ring_buffer__consume(probes->ring);
}

int probes_sample(struct probes *probes, pid_t tgid)
{
	int err = iterate(probes, tgid);
	int records = ring_buffer__consume(probes->ring);

	return err ? err : records < 0 ? records : 0;
}

void probes_read_symbols(struct probes *probes)
{
	if (!probes->symbols_tried)
		kernel_symbols_open(&probes->symbols, "/proc/kallsyms");
	probes->symbols_tried = true;
}

int probes_stack(struct probes *probes, int32_t stack_id, char (*frames)[40], int room)
{
	probes_read_symbols(probes);
	if (!probes->symbols || !probes->current)
		return 0;

	int written = 0;
	for (int32_t i = 0; i < stack_id && i < WAITS_FRAMES && written < room; i++) {
		const char *name = kernel_symbols_name(probes->symbols, probes->current->frames[i]);
		if (name && !kernel_entry_code(name))
			snprintf(frames[written++], sizeof(frames[0]), "%s", name);
	}
	return written;
}

/* 0 or -errno. What this kernel does not count stays 0. */
static int info_of(const struct bpf_program *program, struct bpf_prog_info *info)
{
	__u32 size = sizeof(*info);
	int fd = bpf_program__fd(program);

	memset(info, 0, sizeof(*info));
	return fd < 0 ? -EBADF : bpf_obj_get_info_by_fd(fd, info, &size);
}

void probes_loss(struct probes *probes, struct probes_loss *loss)
{
	const struct waits__bss *shared = probes->programs->bss;
	struct bpf_program *program;
	struct bpf_prog_info info;

	*loss =
	    (struct probes_loss){ .ring = shared->lost_records, .waits = shared->lost_waits + probes->lost_samples };
	bpf_object__for_each_program(program, probes->programs->obj)
	{
		if (!info_of(program, &info))
			loss->missed += info.recursion_misses;
	}
}

uint64_t probes_lost_by(struct probes *probes, uint32_t owner)
{
	struct waits_quota quota = { 0 };

	return bpf_map_lookup_elem(bpf_map__fd(probes->programs->maps.quotas), &owner, &quota) ? 0 : quota.lost;
}

uint64_t probes_own_ns(struct probes *probes)
{
	struct bpf_program *program;
	struct bpf_prog_info info;
	uint64_t sum = 0;

	if (probes->statistics_fd < 0)
		probes->statistics_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	bpf_object__for_each_program(program, probes->programs->obj)
	{
		if (!info_of(program, &info))
			sum += info.run_time_ns;
	}
	return sum;
}
