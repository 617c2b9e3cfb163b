/* SPDX-License-Identifier: MIT */
#ifndef BLACKBOX_WRITE_ALL_H
#define BLACKBOX_WRITE_ALL_H

#include <stddef.h>

/* 0 or -errno; -ENOSPC where write(2) takes nothing. */
int write_all(int fd, const void *bytes, size_t size);

#endif
