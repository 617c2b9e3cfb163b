/* SPDX-License-Identifier: MIT */
#include "day_host.h"

#include <ftw.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TEXT = 512 };

static char root[DAY_HOST_PATH], log_path[DAY_HOST_PATH + 16];
static uint64_t symbol_errors, links_down, memory_hits, log_lines;

static void fail(const char *path)
{
	perror(path);
	exit(EXIT_FAILURE);
}

/* The full path, whose directories are there then. */
static void find_place(const char *name, char path[2 * DAY_HOST_PATH])
{
	snprintf(path, 2 * DAY_HOST_PATH, "%s/%s", root, name);
	for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); *at++ = '/') {
		*at = '\0';
		mkdir(path, 0700);
	}
}

/* In place: who keeps the file open, as one of /proc, reads the new text. */
static void write_bytes(const char *name, const char *bytes, size_t size)
{
	char path[2 * DAY_HOST_PATH];

	find_place(name, path);
	FILE *file = fopen(path, "we");

	if (!file || fwrite(bytes, 1, size, file) != size || fclose(file))
		fail(path);
}

__attribute__((format(printf, 2, 3))) static void write_text(const char *name, const char *format, ...)
{
	char text[TEXT];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	write_bytes(name, text, strlen(text));
}

static void make_link(const char *name, const char *target)
{
	char path[2 * DAY_HOST_PATH];

	find_place(name, path);
	if (symlink(target, path))
		fail(path);
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *place)
{
	(void)status, (void)type, (void)place;
	return remove(path);
}

/* /proc/self is the collector's, which is this program. */
static void make_own(void)
{
	char name[64], own[16];

	snprintf(own, sizeof(own), "%d", (int)getpid());
	snprintf(name, sizeof(name), "proc/%s/mounts", own);
	write_text(name, "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n");
	snprintf(name, sizeof(name), "proc/%s/mountinfo", own);
	write_text(name, "30 1 7:0 / /logs rw - ext4 /dev/loop0 rw\n");
	make_link("proc/self", own);
}

static void make_ports(void)
{
	write_text("sys/class/infiniband/mlx5_0/board_id", "MT_0000000838\n");
	write_text("sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
	write_text("sys/class/infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)\n");
	day_host_count_ports(false);
}

static void make_group(void)
{
	write_text("sys/fs/cgroup/day/memory.max", "%llu\n", 64ULL << 30);
	write_text("sys/fs/cgroup/day/memory.events", "low 0\nhigh 0\nmax %" PRIu64 "\n", memory_hits);
	day_host_use_memory(UINT64_C(20) << 30);
}

void day_host_open(const char *parent)
{
	snprintf(root, sizeof(root), "%s/machine", parent);
	snprintf(log_path, sizeof(log_path), "%s/kmsg", root);
	if (mkdir(root, 0700))
		fail(root);
	write_text("kmsg", "%s", "");
	make_own();
	make_ports();
	make_group();
}

void day_host_close(void)
{
	nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

const char *day_host_root(void)
{
	return root;
}

const char *day_host_log(void)
{
	return log_path;
}

static void write_environment(const struct day_process *process)
{
	char name[64], text[TEXT];
	int size = snprintf(text, sizeof(text),
			    "RANKWATCH_JOB=day%cRANK=%d%cWORLD_SIZE=%d%cLOCAL_RANK=%d%cLOCAL_WORLD_SIZE=%d%c"
			    "TORCHELASTIC_RESTART_COUNT=%" PRIu64, 0, process->rank, 0, process->ranks, 0, process->rank, 0,
			    process->ranks, 0, process->generation);

	snprintf(name, sizeof(name), "proc/%d/environ", (int)process->pid);
	write_bytes(name, text, (size_t)size + 1);
}

static void write_stat(const char *name, int number, const char *thread, uint64_t start_ticks)
{
	write_text(name, "%d (%s) S 1 1 1 0 -1 0 0 0 0 0 5 6 0 0 20 0 2 0 %" PRIu64 " 0\n", number, thread, start_ticks);
}

static void write_system_call(pid_t pid, pid_t tid, bool writing)
{
	char name[64];

	snprintf(name, sizeof(name), "proc/%d/task/%d/syscall", (int)pid, (int)tid);
	write_text(name, "%ld 0x%x 0x0 0x0 0x0 0x0 0x0 0x7ffd00000000 0x7f0000000000\n",
		   writing ? (long)SYS_write : (long)SYS_futex, writing ? DAY_HOST_FD : 0);
	snprintf(name, sizeof(name), "proc/%d/task/%d/wchan", (int)pid, (int)tid);
	write_text(name, writing ? "balance_dirty_pages" : "futex_wait_queue");
}

static void write_thread(const struct day_process *process, pid_t tid, const char *thread)
{
	char name[64];

	snprintf(name, sizeof(name), "proc/%d/task/%d/stat", (int)process->pid, (int)tid);
	write_stat(name, (int)tid, thread, process->start_ticks);
	snprintf(name, sizeof(name), "proc/%d/task/%d/schedstat", (int)process->pid, (int)tid);
	write_text(name, "1000000 0 1\n");
	write_system_call(process->pid, tid, false);
}

/* The file that it has open, and the mount that this is on. */
static void write_file(int pid)
{
	char name[64];

	snprintf(name, sizeof(name), "proc/%d/mountinfo", pid);
	write_text(name, "30 1 7:0 / /logs rw - ext4 /dev/loop0 rw\n");
	snprintf(name, sizeof(name), "proc/%d/fdinfo/%d", pid, DAY_HOST_FD);
	write_text(name, "pos:\t0\nflags:\t0100001\nmnt_id:\t30\nino:\t%d\n", DAY_HOST_INODE);
	snprintf(name, sizeof(name), "proc/%d/fd/%d", pid, DAY_HOST_FD);
	make_link(name, DAY_HOST_FILE);
}

void day_host_begin(const struct day_process *process)
{
	char name[64];
	int pid = (int)process->pid;

	write_environment(process);
	snprintf(name, sizeof(name), "proc/%d/stat", pid);
	write_stat(name, pid, "python-main", process->start_ticks);
	snprintf(name, sizeof(name), "proc/%d/status", pid);
	write_text(name, "Name:\tpython-main\nNSpid:\t%d\n", pid);
	snprintf(name, sizeof(name), "proc/%d/io", pid);
	write_text(name, "rchar: 1000\nwchar: 1000\n");
	snprintf(name, sizeof(name), "proc/%d/cgroup", pid);
	write_text(name, "0::/day\n");
	write_file(pid);
	write_thread(process, process->pid, "python-main");
	write_thread(process, process->pid + 1, "tb-writer");
}

/* Who keeps a file of /proc open reads nothing more from it. */
static int empty_and_remove(const char *path, const struct stat *status, int type, struct FTW *place)
{
	(void)place;
	if (type == FTW_F && S_ISREG(status->st_mode) && truncate(path, 0))
		return -1;
	return remove(path);
}

void day_host_end(pid_t pid)
{
	char path[2 * DAY_HOST_PATH];

	snprintf(path, sizeof(path), "%s/proc/%d", root, (int)pid);
	nftw(path, empty_and_remove, 16, FTW_DEPTH | FTW_PHYS);
}

void day_host_set_writing(pid_t pid, bool writing)
{
	write_system_call(pid, pid, writing);
}

void day_host_count_ports(bool link_down)
{
	links_down += link_down;
	write_text("sys/class/infiniband/mlx5_0/ports/1/counters/link_downed", "%" PRIu64 "\n", links_down);
	write_text("sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error", "%" PRIu64 "\n", ++symbol_errors);
}

void day_host_use_memory(uint64_t bytes)
{
	write_text("sys/fs/cgroup/day/memory.stat", "anon %" PRIu64 "\nfile 1000\nshmem 0\n", bytes);
}

static void add_to_log(const char *text)
{
	FILE *file = fopen(log_path, "ae");

	if (!file || fputs(text, file) < 0 || fclose(file))
		fail(log_path);
}

void day_host_log_xid(int bus, unsigned xid, uint64_t now_ns)
{
	char line[TEXT];

	snprintf(line, sizeof(line),
		 "3,%" PRIu64 ",%" PRIu64 ",-;NVRM: Xid (PCI:0000:%02x:00): %u, pid=1, name=python, an error\n",
		 ++log_lines, now_ns / 1000, bus, xid);
	add_to_log(line);
}

void day_host_log_kill(pid_t pid, uint64_t now_ns)
{
	char line[TEXT];

	snprintf(line, sizeof(line),
		 "3,%" PRIu64 ",%" PRIu64 ",-;Out of memory: Killed process %d (python) total-vm:1kB, UID:0\n",
		 ++log_lines, now_ns / 1000, (int)pid);
	add_to_log(line);
}
