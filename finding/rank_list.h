/* SPDX-License-Identifier: MIT */
/* A list of ranks as people read it: "3", "0-3,7". From three in a row on it is a range. */
#ifndef FINDING_RANK_LIST_H
#define FINDING_RANK_LIST_H

#include <stddef.h>
#include <stdint.h>

/* Writes "0-3,7" for ascending ranks. When `size` does not suffice, the end is "…" and how many
 * ranks follow. size: at least 32. Returns text. */
char *rank_list_text(char *text, size_t size, const int32_t *ranks, size_t count);

#endif
