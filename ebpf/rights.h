/* SPDX-License-Identifier: MIT */
/* What this process and this kernel lack for BPF, in words. */
#ifndef EBPF_RIGHTS_H
#define EBPF_RIGHTS_H

#include <stddef.h>

/* Looks before loading. 0, or -errno with one sentence in `why`: what is missing and the one thing that would help. */
int rights_check(char *why, size_t room);
/* The kernel refused with `err` (negative) although rights_check() had passed: the likely reason. */
void rights_explain(int err, const char *detail, char *why, size_t room);

#endif
