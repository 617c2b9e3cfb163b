/* SPDX-License-Identifier: MIT */
#include "sim/cuda/kernels/scan_twin.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "plugin/scan/scan_pack.h"

#define TILE_PACKS  (SCAN_TILE_BYTES / SCAN_PACK_BYTES)
#define GROUP_BYTES (SCAN_GROUP_PACKS * SCAN_PACK_BYTES)

/* One segment as the blocks see it. */
struct row {
	const unsigned char *at;
	uint64_t bytes;
	uint32_t tiles;
	struct scan_format format; /* without a fraction where values are not looked at */
};

/* What one block has found in one segment. */
struct share {
	struct scan_sums sums;
	struct scan_top top;
	struct scan_found found;
	uint64_t digest, lane_sum, window;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static struct row row_of(const struct scan_segment *segment)
{
	const struct scan_format format = scan_format_of(segment->dtype);
	struct row row = { .format = segment->flags & SCAN_DIGEST_ONLY ? scan_format_of(RW_DTYPE_UNKNOWN) : format };

	row.at = (const unsigned char *)(uintptr_t)segment->address; /* device memory is host memory here */
	row.bytes = segment->elements * (format.width / 8);
	row.tiles = (uint32_t)((row.bytes + SCAN_TILE_BYTES - 1) / SCAN_TILE_BYTES);
	return row;
}

/* Packs from v on; what lies behind the row is 0 and counts as nothing. */
static void group_load(const struct row *row, uint64_t v, struct scan_pack packs[SCAN_GROUP_PACKS])
{
	const uint64_t left = row->bytes - v * SCAN_PACK_BYTES;
	const size_t size = left < GROUP_BYTES ? left : GROUP_BYTES;

	memcpy(packs, row->at + v * SCAN_PACK_BYTES, size);
	memset((char *)packs + size, 0, GROUP_BYTES - size);
}

static void share_fold(struct share *share, uint64_t next_window)
{
	scan_sums_fold(&share->sums, share->window, &share->digest, &share->lane_sum);
	share->window = next_window;
}

static void scan_group(const struct row *row, uint64_t v, struct share *share)
{
	struct scan_pack packs[SCAN_GROUP_PACKS];

	group_load(row, v, packs);
	scan_sums_add(&share->sums, packs, SCAN_GROUP_PACKS, (uint32_t)(2 * v + 1), 2);
	if (!scan_group_as(row->format, packs, &share->top))
		return;
	for (uint32_t i = 0; i < SCAN_GROUP_PACKS; i++)
		scan_examine_as(row->format, &share->found, &share->top, packs[i], v + i);
}

static void scan_tile(const struct row *row, uint32_t tile, struct share *share)
{
	const uint64_t window = tile / (SCAN_WINDOW_PACKS / TILE_PACKS) * SCAN_WINDOW_PACKS;
	const uint64_t first = (uint64_t)tile * TILE_PACKS;

	if (window != share->window)
		share_fold(share, window);
	for (uint64_t v = first; v < first + TILE_PACKS && v * SCAN_PACK_BYTES < row->bytes; v += SCAN_GROUP_PACKS)
		scan_group(row, v, share);
}

static void partial_add(struct scan_partial *partial, const struct row *row, struct share *share)
{
	const uint64_t magnitude = scan_top_magnitude(row->format, share->top);

	share_fold(share, 0);
	partial->digest += share->digest;
	partial->lane_sum += share->lane_sum;
	partial->nan += share->found.nan;
	partial->inf += share->found.inf;
	partial->saturated += share->found.saturated;
	if (partial->absmax_bits < magnitude)
		partial->absmax_bits = magnitude;
	if (partial->first_bad_inverted < ~share->found.first_bad)
		partial->first_bad_inverted = ~share->found.first_bad;
}

static void run_block(const struct scan_launch *launch, uint32_t block, uint32_t blocks)
{
	uint32_t tile = block; /* of the segment; the blocks take the tiles of all segments in turn */

	for (uint32_t i = 0; i < launch->segment_count; i++) {
		const struct row row = row_of(&launch->segments[i]);
		struct share share = { .found.first_bad = SCAN_NO_INDEX };
		bool any = tile < row.tiles;

		for (; tile < row.tiles; tile += blocks)
			scan_tile(&row, tile, &share);
		tile -= row.tiles;
		if (any)
			partial_add(&launch->scratch->partials[i], &row, &share);
	}
}

static uint32_t saturate(uint64_t count)
{
	return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

static void result_write(struct scan_result *result, const struct scan_segment *segment,
			 const struct scan_partial *partial, uint64_t start_ns)
{
	const struct row row = row_of(segment);

	result->nan = saturate(partial->nan);
	result->inf = saturate(partial->inf);
	result->first_bad = ~partial->first_bad_inverted;
	result->absmax = row.format.fraction ? scan_magnitude_value(row.format, partial->absmax_bits) : 0;
	result->saturated = saturate(partial->saturated);
	result->digest = SCAN_LENGTH_FACTOR * row.bytes + partial->digest;
	result->lane_sum = partial->lane_sum;
	result->gpu_start_ns = start_ns;
	result->gpu_end_ns = now_ns();
}

/* The scratch is zero again before the first sequence is out: whoever sees it may use the scratch for another launch.
 */
static void publish(const struct scan_launch *launch)
{
	struct scan_scratch *scratch = launch->scratch;

	for (uint32_t i = 0; i < launch->segment_count; i++)
		result_write(&launch->slots[launch->segments[i].slot], &launch->segments[i], &scratch->partials[i],
			     ~scratch->start_ns);
	memset(scratch, 0, sizeof(*scratch));
	for (uint32_t i = 0; i < launch->segment_count; i++)
		__atomic_store_n(&launch->slots[launch->segments[i].slot].sequence, launch->segments[i].sequence,
				 __ATOMIC_RELEASE);
}

static void scratch_clear(const struct scan_launch *launch)
{
	memset(launch->scratch->partials, 0, launch->segment_count * sizeof(launch->scratch->partials[0]));
	launch->scratch->start_ns = 0;
}

/* ThreadSanitizer knows no fences. The reader drops what it copied meanwhile. */
__attribute__((no_sanitize("thread"))) static void replay_reopen(struct scan_replay *replay)
{
	__atomic_store_n(&replay->result.sequence, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE); /* the 0 before the fields */
}

static void replay_publish(const struct scan_launch *launch, uint64_t number)
{
	const struct scan_replays *replays = &launch->replays;
	uint64_t place = __atomic_fetch_add(replays->written, launch->segment_count, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < launch->segment_count; i++, place++) {
		struct scan_replay *replay = &replays->ring[place % SCAN_REPLAYS];

		replay_reopen(replay);
		result_write(&replay->result, &launch->segments[i], &launch->scratch->partials[i],
			     ~launch->scratch->start_ns);
		replay->replay = number;
		replay->node = replays->number;
		replay->segment = i;
		__atomic_store_n(&replay->result.sequence, place + 1, __ATOMIC_RELEASE);
	}
}

static void run_blocks(const struct scan_launch *launch, uint32_t blocks)
{
	launch->scratch->start_ns = ~now_ns();
	for (uint32_t block = 0; block < blocks; block++)
		run_block(launch, block, blocks);
}

/* All blocks enter, and then all leave. A second replay meanwhile, on another stream's thread, has no result here; on a
 * GPU the first has none either. */
static void run_replay(const struct scan_launch *launch, uint32_t blocks)
{
	struct scan_node *node = launch->replays.node;
	uint64_t replay = __atomic_fetch_add(&node->entered, blocks, __ATOMIC_ACQ_REL) / blocks;

	if (__atomic_load_n(&node->finished, __ATOMIC_ACQUIRE) == replay) {
		if (!(replay & node->mask)) {
			run_blocks(launch, blocks);
			replay_publish(launch, replay);
		}
		scratch_clear(launch);
		node->mask = __atomic_load_n(launch->replays.mask, __ATOMIC_RELAXED);
	}
	/* Those that ran beside it are over when the last of them is. */
	uint64_t left = __atomic_add_fetch(&node->left, blocks, __ATOMIC_ACQ_REL);
	if (__atomic_load_n(&node->entered, __ATOMIC_ACQUIRE) == left)
		__atomic_store_n(&node->finished, left / blocks, __ATOMIC_RELEASE);
}

void rankwatch_scan__cpu(void **params, const struct cpu_launch *cpu)
{
	const struct scan_launch *launch = params[0];
	const uint32_t blocks = cpu->grid[0];

	if (launch->replays.node) {
		run_replay(launch, blocks);
		return;
	}
	run_blocks(launch, blocks);
	publish(launch);
}
