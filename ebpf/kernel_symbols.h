/* SPDX-License-Identifier: MIT */
/* Names of kernel functions by address, from /proc/kallsyms (modules included, as loaded when it was read). */
#ifndef EBPF_KERNEL_SYMBOLS_H
#define EBPF_KERNEL_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

struct kernel_symbols;

/* Takes about 0.1 s and 5 MB for a whole kernel: open it once, when first needed. 0, -errno, or -EACCES when the kernel
 * hides the addresses from this process (kptr_restrict without CAP_SYSLOG). */
int kernel_symbols_open(struct kernel_symbols **symbols, const char *path);
void kernel_symbols_close(struct kernel_symbols *symbols); /* accepts NULL */

/* Name of the function that holds `address`, without compiler suffixes (".isra.0"); NULL when not known. Remembers the
 * addresses that it was asked for last: waits have few stacks. One thread. */
const char *kernel_symbols_name(struct kernel_symbols *symbols, uint64_t address);

/* Whether it belongs to the way into the kernel, the same below every system call. */
bool kernel_entry_code(const char *name);

#endif
