/* SPDX-License-Identifier: MIT */
/*
 * The scan kernel: scan_kernel.h describes what it does, docs/scan.md what it costs.
 *
 * The blocks take tiles of 64 KiB in turn, over all segments. Of a tile every thread has eight 16-byte loads in flight;
 * then come the digest's sums and the largest magnitude, which shows by itself whether there is anything to count; only
 * then the thread reads its 128 bytes again and counts. What blocks find is added up in the scratch; the last block to
 * come writes the results. No stack, no calls, and never a signal to dependent launches.
 */
#include "plugin/scan/scan_machine.h"
#include "plugin/scan/scan_pack.h"

#define TILE_PACKS   (SCAN_TILE_BYTES / SCAN_PACK_BYTES)
#define FULL_WARP    0xffffffff
#define WINDOW_TILES (uint32_t)(SCAN_WINDOW_PACKS / TILE_PACKS)

static_assert(TILE_PACKS == SCAN_THREADS * SCAN_GROUP_PACKS, "one group of each thread is a tile");

/* Atomic operations take these. */
typedef unsigned long long wide;

/* One segment. format: without a fraction where values are not examined. It lies in shared memory, and volatile keeps
 * it there: the fast path has no register left for what it needs once in a tile. */
struct row {
	const unsigned char *at;
	uint64_t bytes;
	struct scan_format format;
	uint32_t tiles, whole_tiles; /* whole: all bytes there, in 16-byte steps */
};

/* What one thread carries through a segment, in registers. */
struct share {
	struct scan_sums sums;
	struct scan_top top;
};

/* What a warp has found in a segment, in shared memory: written at its end and where something is rare. */
struct warp_share {
	uint64_t digest, lane_sum, magnitude;
	uint64_t first_bad_inverted, nan, inf, saturated;
};

/* Shared memory. 32 warps, so that each lane of the first has one to read; those that do not exist stay 0. */
struct block {
	struct row row;
	struct warp_share warps[32];
	uint64_t replay, place; /* of a node: this one's number; in the ring, of its first result */
};

static __device__ __forceinline__ struct scan_format format_of(const volatile struct row &row)
{
	return { row.format.width, row.format.fraction, row.format.bad, row.format.nan };
}

static __device__ __forceinline__ uint64_t lanes_sum(uint64_t value)
{
	for (int distance = 16; distance; distance /= 2)
		value += __shfl_xor_sync(FULL_WARP, value, distance);
	return value;
}

static __device__ __forceinline__ uint64_t lanes_max(uint64_t value)
{
	for (int distance = 16; distance; distance /= 2) {
		const uint64_t other = __shfl_xor_sync(FULL_WARP, value, distance);
		value = other > value ? other : value;
	}
	return value;
}

static __device__ __forceinline__ struct scan_pack pack_load(const unsigned char *at)
{
	const uint4 words = load_once(at);

	return { { words.x, words.y, words.z, words.w } };
}

/* Any address, `bytes` from 1 to 16, the rest is 0. The last byte first, each shifts the earlier ones up. */
static __device__ __forceinline__ struct scan_pack pack_load_bytes(const unsigned char *at, uint32_t bytes)
{
	struct scan_pack pack = { { 0, 0, 0, 0 } };

#pragma unroll 1
	while (bytes--) {
		pack.word[3] = __funnelshift_l(pack.word[2], pack.word[3], 8);
		pack.word[2] = __funnelshift_l(pack.word[1], pack.word[2], 8);
		pack.word[1] = __funnelshift_l(pack.word[0], pack.word[1], 8);
		pack.word[0] = pack.word[0] << 8 | __ldg(at + bytes);
	}
	return pack;
}

/* 16 bytes at any address that fits a word. */
static __device__ __forceinline__ struct scan_pack pack_load_words(const unsigned char *at)
{
	struct scan_pack pack;

	for (int i = 0; i < 4; i++)
		pack.word[i] = __ldg((const uint32_t *)at + i);
	return pack;
}

/* Pack v of the row, wherever it lies. */
static __device__ __forceinline__ struct scan_pack pack_load_any(const volatile struct row &row, uint64_t v)
{
	const unsigned char *at = row.at + v * SCAN_PACK_BYTES;
	const uint64_t left = row.bytes - v * SCAN_PACK_BYTES;

	if (left < SCAN_PACK_BYTES || (uintptr_t)at % 4)
		return pack_load_bytes(at, left < SCAN_PACK_BYTES ? (uint32_t)left : SCAN_PACK_BYTES);
	return (uintptr_t)at % SCAN_PACK_BYTES ? pack_load_words(at) : pack_load(at);
}

/* This thread's group in a whole tile of an aligned row. Returns whether it holds something to be counted. */
static __device__ __forceinline__ bool group_scan(const volatile struct row &row, uint64_t v, uint32_t factor,
						  struct share *share)
{
	const unsigned char *at = row.at + v * SCAN_PACK_BYTES;
	struct scan_pack packs[SCAN_GROUP_PACKS];

#pragma unroll
	for (uint32_t i = 0; i < SCAN_GROUP_PACKS; i++)
		packs[i] = pack_load(at + i * SCAN_THREADS * SCAN_PACK_BYTES);
	scan_sums_add(&share->sums, packs, SCAN_GROUP_PACKS, factor, 2 * SCAN_THREADS);
	return scan_group_as(format_of(row), packs, &share->top);
}

/* All lanes of the warp call it. */
static __device__ __forceinline__ void warp_add_found(struct warp_share *warp, const struct scan_found &found)
{
	const uint64_t first = lanes_max(~found.first_bad);
	const uint32_t nan = __reduce_add_sync(FULL_WARP, found.nan), inf = __reduce_add_sync(FULL_WARP, found.inf);
	const uint32_t saturated = __reduce_add_sync(FULL_WARP, found.saturated);

	if (threadIdx.x % 32)
		return;
	warp->nan += nan;
	warp->inf += inf;
	warp->saturated += saturated;
	if (warp->first_bad_inverted < first)
		warp->first_bad_inverted = first;
}

/* All lanes of the warp call it. window: the pack that the sums' window begins with. */
static __device__ __forceinline__ void warp_add_sums(struct warp_share *warp, struct scan_sums *sums, uint64_t window)
{
	uint64_t digest = 0, lane_sum = 0;

	scan_sums_fold(sums, window, &digest, &lane_sum);
	digest = lanes_sum(digest);
	lane_sum = lanes_sum(lane_sum);
	if (threadIdx.x % 32)
		return;
	warp->digest += digest;
	warp->lane_sum += lane_sum;
}

/* The group pack by pack: at the end of a row, without alignment, and where there is something to be counted. All lanes
 * of a warp come here when one has to; a top that they have taken already does no harm.
 * sum: the packs are not in the digest yet. */
static __device__ __forceinline__ void group_scan_slowly(const volatile struct row &row, uint64_t v, uint32_t factor,
							 bool sum, struct share *share, struct warp_share *warp)
{
	struct scan_found found = { SCAN_NO_INDEX, 0, 0, 0 };

#pragma unroll 1
	for (uint32_t i = 0; i < SCAN_GROUP_PACKS && v * SCAN_PACK_BYTES < row.bytes; i++) {
		const struct scan_pack pack = pack_load_any(row, v);

		if (sum)
			scan_sums_add(&share->sums, &pack, 1, factor, 0);
		scan_examine_as(format_of(row), &found, &share->top, pack, v);
		v += SCAN_THREADS;
		factor += 2 * SCAN_THREADS;
	}
	__syncwarp();
	if (__any_sync(FULL_WARP, found.nan | found.inf | found.saturated))
		warp_add_found(warp, found);
}

/* This block's tiles of a row, from `tile` on; returns its first tile behind them. */
static __device__ __forceinline__ uint32_t row_scan(const volatile struct row &row, uint32_t tile,
						    struct warp_share *warp)
{
	struct share share = {};

#pragma unroll 1
	for (; tile < row.tiles; tile += gridDim.x) {
		const uint64_t v = (uint64_t)tile * TILE_PACKS + threadIdx.x;
		const uint32_t factor = (uint32_t)(2 * v + 1); /* where the window begins does not show in 32 bits */
		const bool whole = tile < row.whole_tiles;
		bool again = true;

		if (whole)
			again = group_scan(row, v, factor, &share);
		if (__any_sync(FULL_WARP, again))
			group_scan_slowly(row, v, factor, !whole, &share, warp);
		if ((tile + gridDim.x) / WINDOW_TILES != tile / WINDOW_TILES || tile + gridDim.x >= row.tiles)
			warp_add_sums(warp, &share.sums, tile / WINDOW_TILES * SCAN_WINDOW_PACKS);
	}
	const uint64_t magnitude = lanes_max(scan_top_magnitude(format_of(row), share.top));
	if (threadIdx.x % 32 == 0)
		warp->magnitude = magnitude;
	return tile;
}

/* By the first warp, lane i with warp i's share. Counts are rare, so each lane adds its own. */
static __device__ __forceinline__ void partial_add(struct scan_partial *partial, const struct warp_share &warp)
{
	const uint64_t digest = lanes_sum(warp.digest), lane_sum = lanes_sum(warp.lane_sum);
	const uint64_t magnitude = lanes_max(warp.magnitude);

	if (threadIdx.x == 0) {
		atomicAdd((wide *)&partial->digest, (wide)digest);
		atomicAdd((wide *)&partial->lane_sum, (wide)lane_sum);
		atomicMax((wide *)&partial->absmax_bits, (wide)magnitude);
	}
	if (!(warp.nan | warp.inf | warp.saturated))
		return;
	atomicAdd((wide *)&partial->nan, (wide)warp.nan);
	atomicAdd((wide *)&partial->inf, (wide)warp.inf);
	atomicAdd((wide *)&partial->saturated, (wide)warp.saturated);
	atomicMax((wide *)&partial->first_bad_inverted, (wide)warp.first_bad_inverted);
}

static __device__ __forceinline__ uint32_t dtype_of(const struct scan_segment &segment)
{
	return segment.flags & SCAN_DIGEST_ONLY ? (uint32_t)RW_DTYPE_UNKNOWN : segment.dtype;
}

static __device__ __forceinline__ uint64_t bytes_of(const struct scan_segment &segment)
{
	return segment.elements * (scan_format_of(segment.dtype).width / 8);
}

static __device__ __forceinline__ uint32_t tiles_of(const struct scan_segment &segment)
{
	return (uint32_t)((bytes_of(segment) + SCAN_TILE_BYTES - 1) / SCAN_TILE_BYTES);
}

static __device__ __forceinline__ void block_begin(struct block *block, const struct scan_segment &segment)
{
	if (threadIdx.x == 0) {
		block->row.at = (const unsigned char *)segment.address;
		block->row.bytes = bytes_of(segment);
		block->row.format = scan_format_of(dtype_of(segment));
		block->row.tiles = tiles_of(segment);
		block->row.whole_tiles = segment.address % SCAN_PACK_BYTES ? 0 : bytes_of(segment) / SCAN_TILE_BYTES;
	}
	if (threadIdx.x < 32)
		block->warps[threadIdx.x] = {};
	__syncthreads();
}

/* All threads of the block call it. */
static __device__ __forceinline__ uint32_t block_scan(const struct scan_segment &segment, uint32_t tile,
						      struct block *block, struct scan_partial *partial)
{
	block_begin(block, segment);
	tile = row_scan(block->row, tile, &block->warps[threadIdx.x / 32]);
	__syncthreads();
	if (threadIdx.x < 32)
		partial_add(partial, block->warps[threadIdx.x]);
	return tile;
}

static __device__ __forceinline__ void segments_scan(const struct scan_launch &launch, struct block *block)
{
	uint32_t tile = blockIdx.x;

#pragma unroll 1
	for (uint32_t i = 0; i < launch.segment_count; i++) {
		const struct scan_segment &segment = launch.segments[i];
		const uint32_t tiles = tiles_of(segment);

		if (tile < tiles)
			tile = block_scan(segment, tile, block, &launch.scratch->partials[i]);
		tile -= tiles;
	}
}

static __device__ __forceinline__ uint32_t saturate(uint64_t count)
{
	return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

/* The partials came by atomic operations of other blocks: past L1. */
static __device__ __forceinline__ struct scan_partial partial_load(const struct scan_partial *partial)
{
	return { __ldcg(&partial->digest), __ldcg(&partial->lane_sum), __ldcg(&partial->first_bad_inverted),
		 __ldcg(&partial->absmax_bits), __ldcg(&partial->nan), __ldcg(&partial->inf),
		 __ldcg(&partial->saturated) };
}

/* All loads before the first store, which for all that the compiler knows could change what is loaded: one wait for
 * memory instead of seven. */
static __device__ __forceinline__ void result_write(struct scan_result *result, const struct scan_segment &segment,
						    const struct scan_partial *partial, uint64_t start_ns)
{
	const struct scan_format format = scan_format_of(dtype_of(segment));
	const struct scan_partial found = partial_load(partial);

	result->nan = saturate(found.nan);
	result->inf = saturate(found.inf);
	result->first_bad = ~found.first_bad_inverted;
	result->absmax = format.fraction ? scan_magnitude_value(format, found.absmax_bits) : 0;
	result->saturated = saturate(found.saturated);
	result->digest = SCAN_LENGTH_FACTOR * bytes_of(segment) + found.digest;
	result->lane_sum = found.lane_sum;
	result->gpu_start_ns = start_ns;
	result->gpu_end_ns = now_ns();
}

/* Only by the last block. The scratch is zero again before the first sequence is out: whoever sees it may use the
 * scratch for another launch. */
static __device__ __forceinline__ void results_publish(const struct scan_launch &launch)
{
	struct scan_scratch *scratch = launch.scratch;
	const uint32_t i = threadIdx.x;
	const uint64_t start_ns = ~__ldcg(&scratch->start_ns);

	if (i < launch.segment_count) {
		result_write(&launch.slots[launch.segments[i].slot], launch.segments[i], &scratch->partials[i],
			     start_ns);
		scratch->partials[i] = {};
	}
	__syncthreads(); /* all have read the start */
	if (i == 0) {
		scratch->start_ns = 0;
		scratch->blocks_done = 0;
	}
	/* What all threads of the block have cleared comes before each of them releases: no fence of their own. */
	__syncthreads();
	if (i < launch.segment_count)
		store_release(&launch.slots[launch.segments[i].slot].sequence, launch.segments[i].sequence);
}

/* Does this replay read its buffers? All threads of the block call it, and get the same. */
static __device__ __forceinline__ bool replay_enter(const struct scan_replays &replays)
{
	bool wanted = false;

	if (threadIdx.x == 0) {
		struct scan_node *node = replays.node;
		const uint64_t replay = atomicAdd((wide *)&node->entered, (wide)1) / gridDim.x;

		if (__ldcg(&node->finished) != replay)
			atomicMax((wide *)&node->spoiled, (wide)(replay + 1));
		wanted = !(replay & __ldcg(&node->mask));
		__threadfence(); /* whoever sees what this block adds sees that it came */
	}
	return __syncthreads_or(wanted);
}

/* Is this the last block of a replay that no other ran beside, so that only this one uses the scratch? If another one
 * did, its blocks know: they came before this replay was finished. All threads of the block call it. */
static __device__ __forceinline__ bool replay_leave(const struct scan_replays &replays, struct block *block)
{
	bool last = false;

	__syncthreads();
	if (threadIdx.x == 0) {
		__threadfence(); /* the block's additions before the ticket: see launch_leave() */
		const uint64_t left = atomicAdd((wide *)&replays.node->left, (wide)1) + 1;

		block->replay = left / gridDim.x - 1;
		__threadfence(); /* the ticket before the read of who has entered, and before all that the block reads */
		last = left % gridDim.x == 0 && __ldcg(&replays.node->entered) == left;
	}
	return __syncthreads_or(last);
}

/* A reader that polls meanwhile finds 0, then the new sequence: what it copied in between is not whole, and it knows. */
static __device__ __forceinline__ void replay_publish(const struct scan_launch &launch, struct block *block)
{
	const struct scan_replays &replays = launch.replays;
	const uint32_t i = threadIdx.x;

	if (i == 0)
		block->place = atomicAdd((wide *)replays.written, (wide)launch.segment_count);
	__syncthreads();
	if (i >= launch.segment_count)
		return;
	const uint64_t place = block->place + i;
	struct scan_replay *replay = &replays.ring[place % SCAN_REPLAYS];

	store_release(&replay->result.sequence, 0);
	__threadfence_system();
	result_write(&replay->result, launch.segments[i], &launch.scratch->partials[i],
		     ~__ldcg(&launch.scratch->start_ns));
	__threadfence_system();
	replay->replay = block->replay;
	replay->node = replays.number;
	/* Another replay may have come since, and what it adds may be in the result: it is no segment's. */
	replay->segment = __ldcg(&replays.node->spoiled) > block->replay ? (uint32_t)SCAN_SEGMENTS : i;
	__threadfence_system();
	store_release(&replay->result.sequence, place + 1);
}

/* Only by the last block. */
static __device__ __forceinline__ void replay_finish(const struct scan_launch &launch, bool wanted, struct block *block)
{
	const struct scan_replays &replays = launch.replays;

	/* One thread reads, because another replay may come meanwhile, and all must wait at the same places. */
	if (__syncthreads_or(wanted && threadIdx.x == 0 && __ldcg(&replays.node->spoiled) <= block->replay))
		replay_publish(launch, block);
	__syncthreads();
	if (threadIdx.x < launch.segment_count)
		launch.scratch->partials[threadIdx.x] = {};
	if (threadIdx.x == 0) {
		launch.scratch->start_ns = 0;
		replays.node->mask = *(const volatile uint64_t *)replays.mask;
	}
	__syncthreads();
	if (threadIdx.x == 0) {
		__threadfence(); /* what the block has cleared: see launch_leave() */
		atomicMax((wide *)&replays.node->finished, (wide)(block->replay + 1));
	}
}

static __device__ __forceinline__ void buffers_scan(const struct scan_launch &launch, struct block *block)
{
	if (threadIdx.x == 0)
		atomicMax((wide *)&launch.scratch->start_ns, (wide)~now_ns());
	segments_scan(launch, block);
}

/*
 * Is this the last block? All threads of the block call it. One thread's fences speak for the block: the barrier before
 * them puts the additions of the block's other threads before the fence, and the barrier behind them puts the fence
 * before what the other threads read (docs/scan.md, "The end of a launch").
 */
static __device__ __forceinline__ bool launch_leave(const struct scan_launch &launch)
{
	bool last = false;

	__syncthreads();
	if (threadIdx.x == 0) {
		__threadfence(); /* the block's additions before the ticket */
		last = atomicAdd(&launch.scratch->blocks_done, 1u) == gridDim.x - 1;
		__threadfence(); /* the ticket before what other blocks have added */
	}
	return __syncthreads_or(last);
}

extern "C" __global__ void __launch_bounds__(SCAN_THREADS, 2) rankwatch_scan(const struct scan_launch launch)
{
	__shared__ struct block block;
	const bool node = launch.replays.node;
	const bool wanted = !node || replay_enter(launch.replays);

	if (wanted)
		buffers_scan(launch, &block);
	const bool last = node ? replay_leave(launch.replays, &block) : launch_leave(launch);
	if (!last)
		return;
	if (node)
		replay_finish(launch, wanted, &block);
	else
		results_publish(launch);
}
