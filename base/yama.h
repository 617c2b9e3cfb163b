/* SPDX-License-Identifier: MIT */
/* Linux's Yama: who may look into the memory of a process of the same user. Documentation/admin-guide/LSM/Yama.rst of
 * the kernel. */
#ifndef BASE_YAMA_H
#define BASE_YAMA_H

/* kernel.yama.ptrace_scope: 0 whoever could attach a debugger (or a kernel without Yama), 1 its ancestors, 2 only
 * CAP_SYS_PTRACE, 3 nobody. */
unsigned yama_scope(void);

#endif
