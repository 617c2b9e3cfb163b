/* SPDX-License-Identifier: MIT */
/*
 * Has a rank arrived when its stream has, or when NCCL's kernel runs? On a GPU that something like matrix products
 * fills, a stream memory operation lands at once while the kernel behind it waits for processors. The host watches both
 * words. gpu_full [ROUNDS]
 */
#include <stdio.h>
#include <stdlib.h>

#include "timing.h"

enum { ROUNDS = 20, WAVES = 400, BLOCK_US = 50, LOST_S = 10, WORDS = 2 };

struct full {
	struct scan_gpu gpu; /* gpu.stream is the collective's */
	CUstream products;
	volatile uint64_t *words; /* written in stream order; by the kernel */
	CUdeviceptr words_at;
};

static double seen_us(const struct full *full, int word, uint64_t begin_ns)
{
	while (!full->words[word] && device_host_ns() - begin_ns < LOST_S * 1000000000ULL)
		;
	return (double)(device_host_ns() - begin_ns) / 1000;
}

/* From its launch to the write and to the kernel's first instruction, as the host sees them. */
static void play(struct full *full, bool filled, double *arrival_us, double *kernel_us)
{
	full->words[0] = full->words[1] = 0;
	if (filled)
		device_fill(&full->gpu.device, full->products, full->gpu.stand_in ? 1 : WAVES, BLOCK_US);
	device_pause_us(2000); /* the products have the GPU */
	const uint64_t begin_ns = device_host_ns();

	DEVICE_CHECK(cuStreamWriteValue64(full->gpu.stream, full->words_at, 1, 0));
	device_stamp(&full->gpu.device, full->gpu.stream, full->words_at + 8);
	*arrival_us = seen_us(full, 0, begin_ns);
	*kernel_us = seen_us(full, 1, begin_ns);
	DEVICE_CHECK(cuCtxSynchronize());
}

static void measure(struct full *full, bool filled, size_t rounds)
{
	const char *gpu = filled ? "a filled GPU" : "an idle GPU";
	double arrival_us[ROUNDS], kernel_us[ROUNDS];

	for (size_t i = 0; i < rounds; i++)
		play(full, filled, &arrival_us[i], &kernel_us[i]);
	timing_number(device_median(arrival_us, rounds), "us", "on %s, from the launch to the stream's arrival", gpu);
	timing_number(device_median(kernel_us, rounds), "us", "on %s, from the launch to the kernel's start", gpu);
}

int main(int argc, char **argv)
{
	static struct full full;
	const unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : ROUNDS;

	if (argc > 2 || !rounds || rounds > ROUNDS) {
		fprintf(stderr, "usage: gpu_full [ROUNDS], %d at most\n", ROUNDS);
		return 2;
	}
	scan_gpu_open(&full.gpu);
	full.products = device_stream();
	full.words = device_words(WORDS, &full.words_at);
	measure(&full, false, rounds);
	measure(&full, true, rounds);
	return 0;
}
