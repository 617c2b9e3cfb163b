/* SPDX-License-Identifier: MIT */
/*
 * The machine of a day's job in virtual time, as the collector finds it below a root directory: /proc of its processes,
 * their control group, network ports in /sys, and a kernel log. One machine, one thread.
 */
#ifndef TESTS_STRESS_DAY_HOST_H
#define TESTS_STRESS_DAY_HOST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { DAY_HOST_PATH = 160, DAY_HOST_FD = 7, DAY_HOST_INODE = 4711 };
/* on ext4 on device 7:0: each process has it open, and a late rank writes to it */
#define DAY_HOST_FILE "/logs/events.out.tfevents.0"

/* What the environment of a process says of its rank. */
struct day_process {
	pid_t pid;
	int rank, ranks;
	uint64_t generation, start_ticks;
};

/* Makes the machine in a new directory below `parent`. A file that cannot be written ends the program, here and
 * below. */
void day_host_open(const char *parent);
void day_host_close(void);
const char *day_host_root(void);
const char *day_host_log(void); /* path of the kernel log */

/* A process with the threads `pid` and `pid` + 1, both asleep in futex(2). */
void day_host_begin(const struct day_process *process);
void day_host_end(pid_t pid);
/* From now on its thread `pid` is in write(2) on its file, or again in futex(2). */
void day_host_set_writing(pid_t pid, bool writing);

/* Counts what the machine's ports count by themselves; link_down: one of them also lost its link. */
void day_host_count_ports(bool link_down);
/* The control group's memory rises or falls. */
void day_host_use_memory(uint64_t bytes);
/* A line of the driver's about the GPU with this PCI bus number, and one of the OOM killer's. */
void day_host_log_xid(int bus, unsigned xid, uint64_t now_ns);
void day_host_log_kill(pid_t pid, uint64_t now_ns);

#endif
