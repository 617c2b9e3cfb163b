/* SPDX-License-Identifier: MIT */
/*
 * Whether the scan kernel finds on a GPU what the reference finds: random buffers of every type, length and alignment.
 *   gpu_scan_check [ROUNDS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan_gpu.h"
#include "tests/unit/plugin/scan_contents.h"
#include "tests/unit/plugin/scan_reference.h"

enum { ROOM = 5 * SCAN_TILE_BYTES / 2, ROUNDS = 2000 };

static bool result_is_right(const struct scan_result *got, const struct scan_segment *segment, const void *bytes)
{
	struct scan_result want;

	reference_scan(segment->dtype, 0, bytes, segment->elements, &want);
	return got->sequence == segment->sequence && got->nan == want.nan && got->inf == want.inf &&
	       got->saturated == want.saturated && got->first_bad == want.first_bad && got->absmax == want.absmax &&
	       got->digest == want.digest && got->lane_sum == want.lane_sum;
}

/* One segment of any type, length and alignment. */
static bool check_round(struct scan_gpu *gpu, CUdeviceptr memory, unsigned char *bytes, uint64_t round)
{
	const uint8_t dtype = scan_any_dtype();
	const size_t width = reference_width(dtype);
	const uint64_t elements = scan_below((scan_below(4) ? 4096 : ROOM - 16) / width + 1);
	const uint64_t shift = scan_below(16);
	struct scan_segment *segment = &gpu->launch.segments[0];

	scan_fill(bytes, elements, dtype);
	if (elements)
		DEVICE_CHECK(cuMemcpyHtoD(memory + shift, bytes, elements * width));
	*segment = (struct scan_segment){
		.address = memory + shift, .elements = elements, .sequence = round + 1, .dtype = dtype
	};
	gpu->launch.segment_count = 1;
	scan_gpu_launch(gpu, 1 + (unsigned int)scan_below(4 * (uint64_t)gpu->device.processors));
	DEVICE_CHECK(cuStreamSynchronize(gpu->stream));
	if (result_is_right(&gpu->launch.slots[0], segment, bytes))
		return true;
	fprintf(stderr, "gpu_scan_check: type %d, %llu elements at 16 n + %llu: not what the reference finds\n", dtype,
		(unsigned long long)elements, (unsigned long long)shift);
	return false;
}

static uint64_t check(struct scan_gpu *gpu, uint64_t rounds)
{
	CUdeviceptr memory = device_memory(ROOM);
	unsigned char *bytes = malloc(ROOM);
	uint64_t wrong = 0;

	if (!bytes)
		return rounds;
	for (uint64_t round = 0; round < rounds; round++)
		wrong += !check_round(gpu, memory, bytes, round);
	free(bytes);
	return wrong;
}

int main(int argc, char **argv)
{
	static struct scan_gpu gpu;
	char *end = "";
	uint64_t rounds = argc > 1 ? strtoull(argv[1], &end, 10) : ROUNDS;
	const bool help = argc == 2 && !strcmp(argv[1], "--help");

	if (help || argc > 2 || *end || !rounds) {
		fprintf(help ? stdout : stderr,
			"usage: gpu_scan_check [ROUNDS]: the scan kernel against the reference, %d random buffers\n",
			ROUNDS);
		return help ? 0 : 2;
	}
	scan_gpu_open(&gpu);
	uint64_t wrong = check(&gpu, rounds);
	printf("{\"what\":\"scans unlike the reference, of %llu\",\"value\":%llu,\"unit\":\"scans\"}\n",
	       (unsigned long long)rounds, (unsigned long long)wrong);
	return wrong ? 1 : 0;
}
