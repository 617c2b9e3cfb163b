/* SPDX-License-Identifier: MIT */
#include "sim/nccl/calls/user_tag.h"

#include <stdatomic.h>

static _Atomic uint64_t current;
static _Thread_local uint64_t of_call;

__attribute__((visibility("default"))) void simNcclUserTag(uint64_t tag)
{
	atomic_store(&current, tag);
}

void user_tag_of_call(uint64_t tag)
{
	of_call = tag;
}

uint64_t user_tag(void)
{
	return of_call ? of_call : atomic_load(&current);
}
