/* SPDX-License-Identifier: MIT */
#include "sim/cuda/driver/calls.h"

#define RECORD(since, name, suffix, implementation, kind, ...) { #name, #name #suffix, since, CALL_##kind },

const struct call calls[] = { CALLS(RECORD, RECORD, RECORD) };
const size_t calls_count = sizeof(calls) / sizeof(calls[0]);
