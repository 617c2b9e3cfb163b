/* SPDX-License-Identifier: MIT */
#include "day_kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "day_host.h"
#include "ebpf/probes.h"

enum { PROCESSES = 64, FRESH = 256, STATE_SLEEPS = 1, STATE_BLOCKED = 2 };

struct process {
	pid_t pid;
	uint64_t writing_since_ns;
	bool watched;
};

struct probes {
	probes_record *record;
	void *argument;
};

static struct process processes[PROCESSES];
static size_t process_count;
static struct rw_kernel_wait fresh[FRESH];
static size_t fresh_count;
static uint64_t now_ns, refused_until_ns, lost;
static struct day_kernel_counts counts;

static struct process *find(pid_t pid)
{
	for (size_t i = 0; i < process_count; i++)
		if (processes[i].pid == pid)
			return &processes[i];
	return NULL;
}

void day_kernel_set_time(uint64_t time_ns)
{
	now_ns = time_ns;
}

void day_kernel_refuse(uint64_t until_ns)
{
	refused_until_ns = until_ns;
}

void day_kernel_begin(pid_t pid)
{
	if (process_count == PROCESSES) {
		fputs("day: more processes than the kernel's stand-in has room for\n", stderr);
		exit(EXIT_FAILURE);
	}
	processes[process_count++] = (struct process){ .pid = pid };
}

/* As from a full ring: what finds no room is lost, and counted. */
static void keep(const struct rw_kernel_wait *record)
{
	const struct process *process = find((pid_t)record->tgid);

	if (!process || !process->watched)
		return;
	if (fresh_count == FRESH)
		lost++;
	else
		fresh[fresh_count++] = *record;
}

static struct rw_kernel_wait new_record(uint32_t kind, pid_t pid, uint64_t start_ns, uint64_t end_ns)
{
	struct rw_kernel_wait record = { .kind = kind,
					 .tgid = (uint32_t)pid,
					 .tid = (uint32_t)pid,
					 .system_call = SYS_futex,
					 .fd = -1,
					 .start_ns = start_ns,
					 .end_ns = end_ns,
					 .blocked_ns = end_ns - start_ns,
					 .longest_ns = end_ns - start_ns,
					 .state = STATE_SLEEPS,
					 .stack_id = -1,
					 .waker_uid = RW_KERNEL_NO_USER };

	strcpy(record.thread, "python-main");
	return record;
}

static void make_writing(struct rw_kernel_wait *record)
{
	record->system_call = SYS_write;
	record->fd = DAY_HOST_FD;
	record->device = 7 << 20;
	record->inode = DAY_HOST_INODE;
	record->state = STATE_BLOCKED;
	record->io_wait = 1;
	strcpy(record->file, strrchr(DAY_HOST_FILE, '/') + 1);
	strcpy(record->file_system, "ext4");
}

void day_kernel_end(pid_t pid, int exit_status)
{
	struct process *process = find(pid);
	struct rw_kernel_wait record = new_record(RW_KERNEL_EXIT, pid, now_ns, now_ns);

	record.exit_code = exit_status;
	keep(&record);
	if (!process)
		return;
	counts.watched -= process->watched;
	*process = processes[--process_count];
}

void day_kernel_set_writing(pid_t pid, uint64_t since_ns, uint64_t until_ns)
{
	struct process *process = find(pid);

	if (!process)
		return;
	if (process->writing_since_ns && !since_ns) {
		struct rw_kernel_wait record = new_record(RW_KERNEL_WAIT, pid, process->writing_since_ns, until_ns);

		make_writing(&record);
		keep(&record);
	}
	process->writing_since_ns = since_ns;
}

void day_kernel_add_short(pid_t pid, uint64_t start_ns, uint64_t end_ns, uint64_t blocked_ns)
{
	struct rw_kernel_wait record = new_record(RW_KERNEL_SHORT_WAITS, pid, start_ns, end_ns);

	record.blocked_ns = blocked_ns;
	record.longest_ns = blocked_ns / 4;
	record.count = 5;
	record.waker_tid = (uint32_t)pid + 1;
	record.waker_tgid = (uint32_t)pid;
	strcpy(record.waker, "tb-writer");
	keep(&record);
}

void day_kernel_lose(uint64_t events)
{
	lost += events;
}

void day_kernel_count(struct day_kernel_counts *now)
{
	*now = counts;
}

int probes_open(struct probes **probes, uint64_t threshold_ns, probes_record *record, void *argument, char *why)
{
	(void)threshold_ns;
	*why = '\0';
	*probes = malloc(sizeof(**probes));
	if (!*probes)
		return -ENOMEM;
	**probes = (struct probes){ record, argument };
	return 0;
}

void probes_close(struct probes *probes)
{
	free(probes);
}

int probes_watch(struct probes *probes, pid_t pid)
{
	struct process *process = find(pid);

	(void)probes;
	if (!process)
		return -ESRCH;
	if (process->watched)
		return -EEXIST;
	if (now_ns < refused_until_ns) {
		counts.refusals++;
		return -ENOMEM;
	}
	process->watched = true;
	counts.watched++;
	return 0;
}

void probes_unwatch(struct probes *probes, pid_t pid)
{
	struct process *process = find(pid);

	(void)probes;
	if (!process || !process->watched)
		return;
	process->watched = false;
	counts.watched--;
}

int probes_poll(struct probes *probes)
{
	int count = (int)fresh_count;

	for (size_t i = 0; i < fresh_count; i++)
		probes->record(probes->argument, &fresh[i]);
	fresh_count = 0;
	counts.records += (uint64_t)count;
	return count;
}

int probes_sample(struct probes *probes, pid_t pid)
{
	const struct process *process = find(pid);

	if (!process || !process->watched)
		return process ? -ENOENT : -ESRCH;
	struct rw_kernel_wait record = new_record(RW_KERNEL_NOW, pid, process->writing_since_ns, now_ns);

	if (process->writing_since_ns)
		make_writing(&record);
	else
		record.blocked_ns = record.longest_ns = 0;
	counts.looks++;
	probes->record(probes->argument, &record);
	return 0;
}

void probes_loss(struct probes *probes, struct probes_loss *loss)
{
	(void)probes;
	*loss = (struct probes_loss){ .ring = lost };
}
