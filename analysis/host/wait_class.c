/* SPDX-License-Identifier: MIT */
#include "analysis/host/wait_class.h"

#include <string.h>

enum { OUTSIDE = -1 /* of a system call */ };

struct symbol_class {
	const char *prefix;
	enum rw_cause_class class_;
	bool by_waker, idle;
};

/* Kernel functions by the beginning of their name; the first that matches counts, so exceptions stand before rules.
 * Of a stack the innermost frame that is in the table decides. */
static const struct symbol_class symbols[] = {
	{ "do_signal_stop", RW_CAUSE_STOPPED },
	{ "ptrace_stop", RW_CAUSE_STOPPED },
	{ "do_freezer_trap", RW_CAUSE_STOPPED },
	{ "__refrigerator", RW_CAUSE_STOPPED },
	{ "throttle_cfs", RW_CAUSE_CPU },
	{ "futex_", RW_CAUSE_LOCK, .by_waker = true },
	{ "do_futex", RW_CAUSE_LOCK, .by_waker = true },
	{ "hrtimer_nanosleep", RW_CAUSE_SLEEP, .idle = true },
	{ "do_nanosleep", RW_CAUSE_SLEEP, .idle = true },
	{ "common_nsleep", RW_CAUSE_SLEEP, .idle = true },
	{ "__x64_sys_pause", RW_CAUSE_UNKNOWN, .idle = true },
	{ "sigsuspend", RW_CAUSE_UNKNOWN, .idle = true },
	{ "do_sigtimedwait", RW_CAUSE_UNKNOWN, .idle = true },
	{ "ext4_filemap_fault", RW_CAUSE_MEMORY },
	{ "filemap_fault", RW_CAUSE_MEMORY },
	{ "handle_mm_fault", RW_CAUSE_MEMORY },
	{ "do_user_addr_fault", RW_CAUSE_MEMORY },
	{ "do_swap_page", RW_CAUSE_MEMORY },
	{ "swap_", RW_CAUSE_MEMORY },
	{ "shrink_", RW_CAUSE_MEMORY },
	{ "do_try_to_free_pages", RW_CAUSE_MEMORY },
	{ "try_to_free_", RW_CAUSE_MEMORY },
	{ "try_charge_memcg", RW_CAUSE_MEMORY },
	{ "mem_cgroup_handle_over_high", RW_CAUSE_MEMORY },
	{ "reclaim_throttle", RW_CAUSE_MEMORY },
	{ "vm_mmap", RW_CAUSE_MEMORY },
	{ "folio_wait_writeback", RW_CAUSE_IO },
	{ "balance_dirty_pages", RW_CAUSE_IO },
	{ "jbd2_", RW_CAUSE_IO },
	{ "ext4_", RW_CAUSE_IO },
	{ "xfs_", RW_CAUSE_IO },
	{ "btrfs_", RW_CAUSE_IO },
	{ "nfs", RW_CAUSE_IO },
	{ "rpc_", RW_CAUSE_IO },
	{ "ceph_", RW_CAUSE_IO },
	{ "fuse_", RW_CAUSE_IO },
	{ "request_wait_answer", RW_CAUSE_IO },
	{ "cl_sync_io_wait", RW_CAUSE_IO }, /* Lustre */
	{ "ll_", RW_CAUSE_IO },
	{ "gpfs", RW_CAUSE_IO },
	{ "blkdev_", RW_CAUSE_IO },
	{ "submit_bio", RW_CAUSE_IO },
	{ "iomap_", RW_CAUSE_IO },
	{ "generic_file_", RW_CAUSE_IO },
	{ "filemap_", RW_CAUSE_IO },
	{ "file_write_and_wait", RW_CAUSE_IO },
	{ "file_check_and_advance", RW_CAUSE_IO },
	{ "vfs_fsync", RW_CAUSE_IO },
	{ "percpu_rwsem_wait", RW_CAUSE_IO }, /* frozen file system */
	{ "locks_lock_inode", RW_CAUSE_LOCK },
	{ "posix_lock_", RW_CAUSE_LOCK },
	{ "pipe_", RW_CAUSE_SOCKET, .by_waker = true },
	{ "anon_pipe_", RW_CAUSE_SOCKET, .by_waker = true },
	{ "unix_", RW_CAUSE_SOCKET, .by_waker = true },
	{ "tcp_", RW_CAUSE_SOCKET },
	{ "inet_", RW_CAUSE_SOCKET },
	{ "sk_wait", RW_CAUSE_SOCKET },
	{ "sk_stream", RW_CAUSE_SOCKET },
	{ "sock_", RW_CAUSE_SOCKET },
	{ "__skb_", RW_CAUSE_SOCKET },
	{ "do_epoll_wait", RW_CAUSE_SOCKET, .by_waker = true },
	{ "ep_poll", RW_CAUSE_SOCKET, .by_waker = true },
	{ "do_sys_poll", RW_CAUSE_SOCKET, .by_waker = true },
	{ "do_poll", RW_CAUSE_SOCKET, .by_waker = true },
	{ "poll_schedule", RW_CAUSE_SOCKET, .by_waker = true },
	{ "do_select", RW_CAUSE_SOCKET, .by_waker = true },
	{ "eventfd_read", RW_CAUSE_SOCKET, .by_waker = true },
};

static const struct symbol_class *find_symbol(const char *name)
{
	if (!*name)
		return NULL;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++)
		if (!strncmp(name, symbols[i].prefix, strlen(symbols[i].prefix)))
			return &symbols[i];
	return NULL;
}

/* A page fault reads its page with the file system's functions. */
static bool is_page_fault(const struct intern *intern, const struct evidence_piece *piece)
{
	for (uint32_t i = 0; i < piece->frame_count; i++)
		if (!strcmp(intern_text(intern, piece->frames[i]), "handle_mm_fault"))
			return true;
	return piece->system_call == OUTSIDE && (piece->io_wait || piece->state == 'D');
}

static const struct symbol_class *find_place(const struct intern *intern, const struct evidence_piece *piece)
{
	static const struct symbol_class page_fault = { .class_ = RW_CAUSE_MEMORY };
	const struct symbol_class *found = NULL;

	for (uint32_t i = 0; i < piece->frame_count && !found; i++)
		found = find_symbol(intern_text(intern, piece->frames[i]));
	if (!found)
		found = find_symbol(intern_text(intern, piece->wait_channel));
	return (!found || found->class_ == RW_CAUSE_IO) && is_page_fault(intern, piece) ? &page_fault : found;
}

/* NVIDIA's driver names its threads "cuda-EvtHandlr" and, one for each context, "cuda" with a number in hexadecimal. */
static bool is_driver_thread(const char *thread)
{
	return !strcmp(thread, "cuda-EvtHandlr") ||
	       (!strncmp(thread, "cuda", 4) && thread[4] && !thread[4 + strspn(thread + 4, "0123456789abcdef")]);
}

bool wait_is_helper(const char *thread)
{
	static const char *const helpers[] = { "rankwatch", "NCCL", "nccl" };

	for (size_t i = 0; i < sizeof(helpers) / sizeof(*helpers); i++)
		if (!strncmp(thread, helpers[i], strlen(helpers[i])))
			return true;
	return is_driver_thread(thread);
}

/* A file of NVIDIA's driver, by the last part of its path: in a container or a chroot "/dev" may stand behind another
 * directory, and of a file that was closed meanwhile that part is all there is. */
static bool is_gpu_device(const char *path)
{
	static const char *const names[] = { "ctl", "-uvm", "-uvm-tools", "-modeset" };
	static const char directory[] = "/dev/";
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t length = strcspn(name, " "); /* " (deleted)" */

	if (slash && (slash + 1 - path < (long)strlen(directory) ||
		      strncmp(slash + 1 - strlen(directory), directory, strlen(directory)) != 0))
		return false;
	if (length <= 6 || strncmp(name, "nvidia", 6) != 0)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (length - 6 == strlen(names[i]) && !strncmp(name + 6, names[i], length - 6))
			return true;
	return strspn(name + 6, "0123456789") == length - 6;
}

static bool is_channel(const struct intern *intern, const struct evidence_piece *piece)
{
	static const char *const names[] = { "socket:", "pipe:", "anon_inode:" };
	const char *path = intern_text(intern, piece->path);
	const char *file_system = intern_text(intern, piece->file_system);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(path, names[i], strlen(names[i])))
			return true;
	return !strcmp(file_system, "sockfs") || !strcmp(file_system, "pipefs") || !strcmp(file_system, "anon_inodefs");
}

static bool classify_state(const struct evidence_piece *piece, struct wait_class *result)
{
	static const struct {
		char state;
		enum rw_cause_class class_;
	} states[] = {
		{ 'T', RW_CAUSE_STOPPED }, { 't', RW_CAUSE_STOPPED }, { 'Z', RW_CAUSE_GONE },
		{ 'X', RW_CAUSE_GONE },    { 'R', RW_CAUSE_RUNNING },
	};
	/* Of a finished interval only stopped says more than its stack does. */
	for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++) {
		if (states[i].state != piece->state)
			continue;
		if (piece->kind == ANALYSIS_WAIT_SAMPLE || states[i].class_ == RW_CAUSE_STOPPED) {
			result->class_ = states[i].class_;
			return true;
		}
	}
	return false;
}

static struct wait_class classify(const struct intern *intern, const struct evidence_piece *piece)
{
	struct wait_class result = { .class_ = RW_CAUSE_UNKNOWN, .known = true };
	result.system_call = system_call_find(piece->system_call);
	if (piece->kind == ANALYSIS_WAIT_RUN_QUEUE) {
		result.class_ = RW_CAUSE_CPU;
		return result;
	}
	if (classify_state(piece, &result))
		return result;
	if (result.system_call && piece->fd >= 0 && is_gpu_device(intern_text(intern, piece->path))) {
		result.idle = result.gpu = true;
		return result;
	}
	const struct symbol_class *symbol = find_place(intern, piece);
	if (symbol) {
		result.class_ = symbol->class_;
		result.by_waker = symbol->by_waker;
		result.idle = symbol->idle;
	} else if (result.system_call) {
		bool channel = result.system_call->by_file && is_channel(intern, piece);
		result.class_ = channel ? RW_CAUSE_SOCKET : result.system_call->class_;
		result.by_waker = channel || result.system_call->by_waker;
		result.idle = result.class_ == RW_CAUSE_UNKNOWN || result.class_ == RW_CAUSE_SLEEP;
	} else if (piece->io_wait || piece->state == 'D') {
		result.class_ = RW_CAUSE_IO;
		/* samples of a box have the flag with every D */
		result.by_state = piece->level < RW_LEVEL_EBPF || !piece->io_wait;
	} else {
		result.known = piece->system_call >= 0;
	}
	return result;
}

struct wait_class wait_classify(const struct intern *intern, const struct evidence_piece *piece)
{
	struct wait_class result = classify(intern, piece);

	/* It waited for the GPU (a function that the driver calls on the host) or for NCCL: that explains nothing. */
	if (result.by_waker && !piece->out_of_process_wake && wait_is_helper(intern_text(intern, piece->waker)))
		result = (struct wait_class){ .class_ = RW_CAUSE_UNKNOWN, .idle = true };
	return result;
}
