/* SPDX-License-Identifier: MIT */
#include "sim/workload/training/checks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/workload/training/element.h"
#include "sim/workload/training/gpu.h"

enum { VERIFY_EVERY = 4 };

struct check {
	struct expectation expected;
	size_t counts[MESH_RANKS_MAX];
	size_t elements; /* in all */
	void *copy;	 /* pinned */
	size_t room;	 /* bytes */
};

static struct checks_page *page_of(const struct checks *checks, int step)
{
	return &checks->pages[step % checks->page_count];
}

static void *need(void *memory)
{
	GPU_CHECK(memory ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
	return memory;
}

void checks_open(struct checks *checks, int rank, int ahead)
{
	*checks = (struct checks){ .rank = rank, .page_count = ahead + 1 };
	checks->pages = need(calloc(checks->page_count, sizeof(*checks->pages)));
	for (int i = 0; i < checks->page_count; i++)
		checks->pages[i].done = gpu_event();
}

static void close_page(struct checks_page *page)
{
	for (size_t i = 0; i < page->room; i++)
		if (page->items[i].copy)
			GPU_CHECK(cuMemFreeHost(page->items[i].copy));
	free(page->items);
	GPU_CHECK(cuEventDestroy(page->done));
}

void checks_close(struct checks *checks)
{
	for (int i = 0; i < checks->page_count; i++)
		close_page(&checks->pages[i]);
	free(checks->pages);
}

void checks_begin(struct checks *checks, int step)
{
	struct checks_page *page = page_of(checks, step);

	checks->step = page->step = step;
	page->count = 0;
}

bool checks_turn(const struct checks *checks, int index, int count)
{
	return checks->step % VERIFY_EVERY == 1 && checks->step / VERIFY_EVERY % count == index;
}

static struct check *take(struct checks_page *page)
{
	if (page->count == page->room) {
		size_t room = page->room ? 2 * page->room : 16;

		page->items = need(realloc(page->items, room * sizeof(*page->items)));
		memset(page->items + page->room, 0, (room - page->room) * sizeof(*page->items));
		page->room = room;
	}
	return &page->items[page->count++];
}

static void make_room(struct check *check, size_t bytes)
{
	if (check->room >= bytes)
		return;
	if (check->copy)
		GPU_CHECK(cuMemFreeHost(check->copy));
	check->copy = gpu_allocate_pinned(bytes);
	check->room = bytes;
}

void checks_add(struct checks *checks, const struct expectation *expectation, CUdeviceptr data, CUstream stream)
{
	if (checks->off)
		return;
	struct check *check = take(page_of(checks, checks->step));
	int segments = expectation->reduced ? 1 : expectation->sources;

	check->expected = *expectation;
	check->elements = 0;
	for (int i = 0; i < segments; i++) {
		check->counts[i] = expectation->counts ? expectation->counts[i] : expectation->elements;
		check->elements += check->counts[i];
	}
	size_t bytes = check->elements * values_size(expectation->type);
	make_room(check, bytes);
	if (bytes)
		GPU_CHECK(cuMemcpyDtoHAsync(check->copy, data, bytes, stream));
}

void checks_end(struct checks *checks, CUstream stream)
{
	GPU_CHECK(cuEventRecord(page_of(checks, checks->step)->done, stream));
}

static float expected_at(const struct expectation *expected, int step, int segment, size_t index)
{
	int from = expected->reduced ? 0 : segment, to = expected->reduced ? expected->sources : segment + 1;
	float sum = 0, largest = 0;

	for (int i = from; i < to; i++) {
		float value = values_at(expected->type, expected->ranks[i], expected->site, step,
					expected->first + index);

		sum += value;
		largest = value > largest ? value : largest;
	}
	return expected->largest ? largest : sum;
}

/* Index of the first wrong element, -1 if none. */
static long compare(const struct check *check, int step)
{
	const struct expectation *expected = &check->expected;
	ncclDataType_t type = values_nccl_type(expected->type);
	size_t at = 0;

	for (int segment = 0; at < check->elements; segment++)
		for (size_t i = 0; i < check->counts[segment]; i++, at++)
			if (!element_is(type, check->copy, at, expected_at(expected, step, segment, i)))
				return at;
	return -1;
}

static uint64_t digest_more(uint64_t digest, const unsigned char *data, size_t size)
{
	digest ^= 0xcbf29ce484222325;
	for (size_t i = 0; i < size; i++)
		digest = (digest ^ data[i]) * 0x100000001b3;
	return digest;
}

int checks_finish(struct checks *checks, int step)
{
	const struct checks_page *page = page_of(checks, step);

	GPU_CHECK(cuEventSynchronize(page->done));
	for (size_t i = 0; i < page->count; i++) {
		const struct check *check = &page->items[i];
		long wrong = compare(check, step);

		if (wrong >= 0) {
			fprintf(stderr, "workload: rank %d, step %d: %s is wrong from element %ld on\n", checks->rank,
				step, check->expected.what, wrong);
			return -EILSEQ;
		}
		checks->digest = digest_more(checks->digest, check->copy,
					     check->elements * values_size(check->expected.type));
	}
	return 0;
}
