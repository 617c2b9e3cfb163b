/* SPDX-License-Identifier: MIT */
/* What tells one process from every other one, also after a reboot. libc only: linked into the plugin. */
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
/* Does <pid>, started then, still run? Not one that has ended, whose parent has not asked how: nothing of it is left but
 * its number. One whose first thread alone has ended runs. */
bool process_runs(pid_t pid, uint64_t start_time);

#endif
