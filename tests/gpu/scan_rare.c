/* SPDX-License-Identifier: MIT */
/*
 * What it costs the scan to count: buffers without, with few and with nothing but values that are not finite, and fp8
 * that is saturated as block scaling saturates it. The counts are checked.
 *   gpu_scan_rare
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rankwatch/operation.h"
#include "timing.h"

enum { CALLS = 5, PIECE = 4 << 20 };

struct rare {
	struct scan_gpu gpu;
	CUdeviceptr memory;
	unsigned char *piece; /* PIECE bytes, repeated through the memory */
	uint64_t bytes;
	unsigned int blocks;
};

struct type {
	const char *name;
	uint8_t dtype;
	uint32_t width, finite, nan, end;
};

static const struct type types[] = {
	{ "bf16", RW_DTYPE_BFLOAT16, 2, 0x3f80, 0x7fc0, 0 },
	{ "fp32", RW_DTYPE_FLOAT32, 4, 0x3f800000, 0x7fc00000, 0 },
	{ "fp8 e4m3", RW_DTYPE_FLOAT8_E4M3, 1, 0x38, 0x7f, 0x7e },
};

/* `value` in each `every`-th element of all, the first one of each such stretch; 0: in none. */
static void fill(const struct rare *rare, const struct type *type, uint32_t value, uint64_t every)
{
	for (uint64_t i = 0; i < PIECE / type->width; i++)
		memcpy(rare->piece + i * type->width, every && i % every == 0 ? &value : &type->finite, type->width);
	for (uint64_t at = 0; at < rare->bytes; at += PIECE) {
		DEVICE_CHECK(cuMemcpyHtoD(rare->memory + at, rare->piece, PIECE));
		if (every > PIECE / type->width && at == 0) /* one in everything */
			memcpy(rare->piece, &type->finite, type->width);
	}
}

static void launch(void *argument)
{
	struct rare *rare = argument;

	scan_gpu_launch(&rare->gpu, rare->blocks);
}

static bool measure(struct rare *rare, const struct type *type, uint32_t value, uint64_t every, const char *what)
{
	const unsigned int grids[] = { SCAN_BLOCKS, 2 * (unsigned int)rare->gpu.device.processors };
	const uint64_t elements = rare->bytes / type->width;
	const uint64_t wanted = !every ? 0 : every > PIECE / type->width ? 1 : elements / every;
	const struct scan_result *result = &rare->gpu.launch.slots[0];

	fill(rare, type, value, every);
	rare->gpu.launch.segment_count = 1;
	rare->gpu.launch.segments[0] =
	    (struct scan_segment){ .address = rare->memory, .elements = elements, .sequence = 1, .dtype = type->dtype };
	for (int i = 0; i < 2; i++) {
		rare->blocks = grids[i];
		timing_number((double)rare->bytes / 1e3 / (timing_us(&rare->gpu, CALLS, launch, rare) + 1e-9), "GB/s",
			      "%s, %s, %u blocks", type->name, what, grids[i]);
	}
	const uint64_t got = value == type->end ? result->saturated : result->nan;
	return timing_claim(got == wanted, "%s, %s: %llu found of %llu", type->name, what, (unsigned long long)got,
			    (unsigned long long)wanted);
}

int main(void)
{
	static struct rare rare;
	bool right = true;

	scan_gpu_open(&rare.gpu);
	rare.bytes = (uint64_t)(rare.gpu.stand_in ? 2 : 256) * PIECE;
	rare.memory = device_memory(rare.bytes);
	rare.piece = malloc(PIECE);
	if (!rare.piece)
		return 1;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		const struct type *type = &types[i];

		right &= measure(&rare, type, type->nan, 0, "no NaN");
		right &= measure(&rare, type, type->nan, UINT64_MAX, "one NaN");
		right &= measure(&rare, type, type->nan, 1 << 20, "1 NaN in 2^20");
		right &= measure(&rare, type, type->nan, 1 << 10, "1 NaN in 2^10");
		right &= measure(&rare, type, type->nan, 1, "nothing but NaN");
		if (type->end)
			right &= measure(&rare, type, type->end, 128, "1 saturated in 128");
	}
	free(rare.piece);
	return !right;
}
