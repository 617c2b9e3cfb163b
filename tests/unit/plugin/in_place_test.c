/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include <rankwatch/operation.h>

#include "plugin/nccl/in_place.h"

enum { PART = 1000, RANK = 3, BUFFER = 0x100000 };

struct example {
	uint8_t function;
	int32_t root;
	uint64_t send, recv;
	bool in_place;
};

static const struct example examples[] = {
	{ RW_FUNCTION_ALL_REDUCE, -1, BUFFER, BUFFER, true },
	{ RW_FUNCTION_ALL_REDUCE, -1, BUFFER, BUFFER + PART, false },
	{ RW_FUNCTION_ALL_REDUCE, -1, 0, 0, false },
	{ RW_FUNCTION_BROADCAST, 0, BUFFER, BUFFER, true },
	{ RW_FUNCTION_ALL_TO_ALL, -1, BUFFER, BUFFER, true },
	{ RW_FUNCTION_ALL_GATHER, -1, BUFFER + RANK *PART, BUFFER, true },
	{ RW_FUNCTION_ALL_GATHER, -1, BUFFER, BUFFER, false },
	{ RW_FUNCTION_REDUCE_SCATTER, -1, BUFFER, BUFFER + RANK *PART, true },
	{ RW_FUNCTION_REDUCE_SCATTER, -1, BUFFER, BUFFER, false },
	{ RW_FUNCTION_GATHER, RANK, BUFFER + RANK *PART, BUFFER, true },
	{ RW_FUNCTION_GATHER, RANK, BUFFER, BUFFER, false },
	/* Elsewhere than at the root there is one buffer only. */
	{ RW_FUNCTION_GATHER, 0, BUFFER + RANK *PART, BUFFER, false },
	{ RW_FUNCTION_GATHER, 0, BUFFER, BUFFER, false },
	{ RW_FUNCTION_SCATTER, RANK, BUFFER, BUFFER + RANK *PART, true },
	{ RW_FUNCTION_SCATTER, RANK, BUFFER, BUFFER, false },
	{ RW_FUNCTION_SCATTER, 0, BUFFER, BUFFER, false },
};

Test(in_place, is_what_nccl_defines_for_each_function)
{
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		const struct example *example = &examples[i];
		struct in_place_call call = {
			example->function, example->root, RANK, example->send, example->recv, PART
		};

		cr_expect_eq(in_place(&call), example->in_place, "example %zu", i);
	}
}
