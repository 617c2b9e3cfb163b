/* SPDX-License-Identifier: MIT */
/* What distinguishes one process from every other, also after a reboot. Uses libc only, because it is linked into the
 * plugin. */
#ifndef BLACKBOX_PROCESS_H
#define BLACKBOX_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* First line of a small file, without its newline; "" when it cannot be read. */
void process_read_line(const char *path, char *text, size_t size);
/* /proc/sys/kernel/random/boot_id, 36 characters; "" when it cannot be read. */
void process_boot_id(char boot_id[40]);
/* Inode of /proc/self/ns/pid; 0 when it cannot be read. */
uint64_t process_pid_namespace(void);
/* Field 22 of /proc/<pid>/stat, as this process sees <pid>; 0 = no such process. */
uint64_t process_start_time(pid_t pid);
/* Whether process <pid> with that start time still runs. A zombie, which has ended but was not waited for by its
 * parent, does not run. A process of which only the first thread has ended does. */
bool process_runs(pid_t pid, uint64_t start_time);

#endif
