/* SPDX-License-Identifier: MIT */
/*
 * The first questions to a new GPU: does it take the scan kernel, as machine code and as PTX alone, and does each
 * answer what is known? The plugin's own trials, the short one from pinned memory as in the plugin and both from the
 * device's; then a buffer of 64 MiB with few blocks and with the full grid, against the reference. gpu_scan_load
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/scan/scan_trial.h"
#include "rankwatch/operation.h"
#include "tests/unit/plugin/scan_reference.h"
#include "timing.h"

enum { LARGE = 64 << 20, LARGE_STAND_IN = 2 << 20, TRIAL_BLOCKS = 17 };

static void launch(struct scan_gpu *gpu, uint32_t segments, unsigned int blocks)
{
	for (uint32_t i = 0; i < segments; i++) {
		gpu->launch.segments[i].slot = i;
		gpu->launch.segments[i].sequence++;
	}
	gpu->launch.segment_count = segments;
	scan_gpu_launch(gpu, blocks);
	DEVICE_CHECK(cuStreamSynchronize(gpu->stream));
}

static bool try_trial(struct scan_gpu *gpu, enum scan_trial trial, CUdeviceptr buffer, const char *image,
		      const char *where)
{
	const uint32_t segments = scan_trial_segments(trial);
	char wrong[SCAN_TRIAL_WORDS] = "";
	bool right = true;

	for (uint32_t i = 0; i < segments; i++)
		gpu->launch.segments[i] = scan_trial_segment(trial, i, buffer);
	launch(gpu, segments, trial == SCAN_TRIAL_LONG ? SCAN_TRIAL_LONG_BLOCKS : TRIAL_BLOCKS);
	for (uint32_t i = 0; i < segments && right; i++)
		right = gpu->launch.slots[i].sequence == gpu->launch.segments[i].sequence &&
			scan_trial_is_right(trial, i, &gpu->launch.slots[i], wrong);
	return timing_claim(right, "%s: the %s trial in %s memory gives the known answers%s%s", image,
			    trial == SCAN_TRIAL_LONG ? "long" : "short", where, right ? "" : ", but ",
			    right    ? ""
			    : *wrong ? wrong
				     : "there is no result");
}

static bool try_large(struct scan_gpu *gpu, CUdeviceptr buffer, const unsigned char *bytes, size_t size,
		      const char *image)
{
	static const uint8_t types[] = { RW_DTYPE_BFLOAT16, RW_DTYPE_FLOAT32, RW_DTYPE_FLOAT8_E4M3, RW_DTYPE_UINT8 };
	const unsigned int grids[] = { SCAN_BLOCKS, 2 * (unsigned int)gpu->device.processors };
	const struct scan_result *got = &gpu->launch.slots[0];
	struct scan_result want;
	bool right = true;

	for (size_t i = 0; i < sizeof(types) && right; i++) {
		const uint64_t elements = size / reference_width(types[i]);

		reference_scan(types[i], 0, bytes, elements, &want);
		gpu->launch.segments[0] =
		    (struct scan_segment){ .address = buffer, .elements = elements, .dtype = types[i] };
		for (int grid = 0; grid < 2; grid++) {
			launch(gpu, 1, grids[grid]);
			right &= got->nan == want.nan && got->inf == want.inf && got->first_bad == want.first_bad &&
				 got->absmax == want.absmax && got->digest == want.digest &&
				 got->lane_sum == want.lane_sum;
		}
	}
	return timing_claim(right, "%s: %zu MiB give what the reference finds, with %u and with %u blocks", image,
			    size >> 20, grids[0], grids[1]);
}

static bool try_image(struct scan_gpu *gpu, const struct scan_image *image, const unsigned char *bytes, size_t size)
{
	const uint64_t begin_ns = device_host_ns();
	const CUresult result = scan_gpu_load(gpu, image);
	CUdeviceptr pinned, memory;
	char taken[32] = "yes";

	if (result)
		snprintf(taken, sizeof(taken), "no, CUDA error %d", (int)result);
	timing_fact(taken, "the driver takes the scan kernel as %s", image->name);
	/* Machine code of another generation may be refused; the PTX, which is the last, must do. */
	if (result)
		return image[1].data || timing_claim(false, "the driver takes the scan kernel as %s", image->name);
	timing_number((double)(device_host_ns() - begin_ns) / 1e6, "ms", "loading the scan kernel as %s", image->name);
	unsigned char *pattern = (unsigned char *)device_words(SCAN_TRIAL_LONG_BYTES / 8, &pinned);
	bool right = true;

	memory = device_memory(size);
	for (enum scan_trial trial = 0; trial < SCAN_TRIALS; trial++) {
		scan_trial_fill(trial, pattern);
		DEVICE_CHECK(cuMemcpyHtoD(memory, pattern, scan_trial_bytes(trial)));
		if (trial == SCAN_TRIAL_SHORT)
			right &= try_trial(gpu, trial, pinned, image->name, "pinned");
		right &= try_trial(gpu, trial, memory, image->name, "the device's");
	}
	DEVICE_CHECK(cuMemcpyHtoD(memory, bytes, size));
	right &= try_large(gpu, memory, bytes, size, image->name);
	DEVICE_CHECK(cuMemFree(memory));
	return right;
}

/* Finite but for a NaN of every type in each 1 MiB + 1 bytes. */
static unsigned char *make_large(size_t size)
{
	unsigned char *bytes = malloc(size);
	uint32_t state = 1;

	for (size_t i = 0; bytes && i < size; i++) {
		state = state * 1664525 + 1013904223;
		bytes[i] = i % ((1 << 20) + 1) < 8 && i > 64 ? 0xff : (unsigned char)(state >> 24 & 0xbf);
	}
	return bytes;
}

int main(void)
{
	static struct scan_gpu gpu;
	bool right = true;

	setenv("CUDA_CACHE_DISABLE", "1", 1); /* or compiling PTX takes no time the second time */
	scan_gpu_open(&gpu);
	const size_t size = gpu.stand_in ? LARGE_STAND_IN : LARGE;
	unsigned char *bytes = make_large(size);

	if (!bytes)
		return 1;
	for (const struct scan_image *image = scan_images(); image->data; image++)
		right &= try_image(&gpu, image, bytes, size);
	free(bytes);
	return !right;
}
