/* SPDX-License-Identifier: MIT */
/* An input of python_target.c: u32 size and text of /proc/PID/maps, then pieces of memory: u64 address, u32 size,
 * bytes. */
#ifndef TESTS_FUZZ_PYTHON_INPUT_H
#define TESTS_FUZZ_PYTHON_INPUT_H

#include <stdint.h>

struct __attribute__((packed)) python_input_piece {
	uint64_t address;
	uint32_t size;
};

#endif
