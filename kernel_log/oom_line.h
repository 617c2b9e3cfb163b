/* SPDX-License-Identifier: MIT */
/* A line of the kernel log in which the OOM killer says whom it has killed: mm/oom_kill.c, since Linux 2.6. The bytes
 * are foreign: only what the kernel wrote counts. */
#ifndef KERNEL_LOG_OOM_LINE_H
#define KERNEL_LOG_OOM_LINE_H

#include <stdint.h>

/* One record of /dev/kmsg without its newline, ended by a NUL. pid: as the kernel numbers it. 0; -ENOENT: another line.
 */
int oom_line_parse(const char *line, int32_t *pid, uint64_t *stamp_us);

#endif
