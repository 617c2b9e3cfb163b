/* SPDX-License-Identifier: MIT */
#include "user_tag.h"

#include <stdatomic.h>

static _Atomic uint64_t current;

__attribute__((visibility("default"))) void simNcclUserTag(uint64_t tag)
{
	atomic_store(&current, tag);
}

uint64_t user_tag(void)
{
	return atomic_load(&current);
}
