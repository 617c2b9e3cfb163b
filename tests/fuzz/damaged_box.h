/* SPDX-License-Identifier: MIT */
/*
 * A box of rank 0 of 2, damaged and repaired. The input is not a box (900 KiB) but a list of changes to a good one:
 *
 *   u8   bit 7: made between two polls, else before the box is opened; bits 0-6: length, 0 = cut the file at offset
 *   u32  offset, little endian, taken modulo the size of the file
 *   u8[] the new bytes
 *
 * tests/fuzz/seeds.py writes the kept corpus.
 */
#ifndef TESTS_FUZZ_DAMAGED_BOX_H
#define TESTS_FUZZ_DAMAGED_BOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blackbox/reader.h"

/* Makes the changes of one kind. The first call makes the box; without /dev/shm the test is skipped. */
void damaged_box_change(const uint8_t *data, size_t size, bool between_polls);
void damaged_box_restore(void);
/* 0 or -errno, with a sentence that says why. */
int damaged_box_open(struct box_reader *reader);

#endif
