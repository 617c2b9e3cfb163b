/* SPDX-License-Identifier: MIT */
/*
 * The contract between those who launch the scan kernel and the kernel itself: arguments, result slots, digest. Read by
 * device code (scan.cu), by its twin on CPUs and by the launcher; plain C and C++, no other header than stdint.h.
 *
 * One launch scans up to SCAN_SEGMENTS buffers. Segment i writes one result to slots[segment.slot] in host memory: all
 * fields first, `sequence` last (release, system scope). A reader takes a slot whose sequence is the one that it gave the
 * segment (acquire) and needs no CUDA call. Nothing but the segments' bytes is read: never a byte before or behind.
 *
 * A launch that became a node of a graph runs at each replay, so it has no slots: it takes the next places of a ring that
 * all nodes of the context share, and no two of its runs may be alike. It has the number of the node, which of its segments,
 * and which replay. Nobody waits for the reader: who reads too late finds later results, by their sequence.
 *
 * Digest: a buffer is a row of 32-bit words, little endian, relative to its start, the last one padded with zeros; word i
 * has v = i / 4, lane j = i % 4:
 *     digest = SCAN_LENGTH_FACTOR * bytes + sum over j of SCAN_LANE_FACTOR[j] * sum over v of (2 v + 1) * word[4 v + j]   mod 2^64
 *     lane_sum = sum over j of SCAN_LANE_FACTOR[j] * sum over v of word[4 v + j]                                        mod 2^64
 * It depends on nothing but the bytes: not on grid, order or alignment. For a part of a buffer that begins at byte 16 o,
 * with digests taken without the length: digest(whole) = sum over parts of (digest(part) + 2 o lane_sum(part)). Every
 * single changed word, every swap of two words of a lane and every two flipped bits of a lane change it for certain.
 */
#ifndef PLUGIN_SCAN_SCAN_KERNEL_H
#define PLUGIN_SCAN_SCAN_KERNEL_H

#include <stdint.h>

enum {
	SCAN_SEGMENTS = 96,      /* of one launch: the arguments stay below CUDA's 4 KiB */
	SCAN_TILE_BYTES = 65536, /* that one block reads at a time */
	SCAN_THREADS = 512,      /* of a block */
	/* Blocks of the plugin's launches at most. The rest of the GPU is the job's, but the scan delays its stream: 48 read 2.2 to 2.5
	 * TB/s of an H100's 3.1, and what a GB takes from matrix products beside it is least with 32 to 64 (docs/benchmarks.md). */
	SCAN_BLOCKS = 48,
	SCAN_REPLAYS = 4096,     /* places of the ring that nodes of graphs write to; a power of two */
};

/* The kernel's name in the module (C linkage). One argument: struct scan_launch by value. Grid: any number of blocks. */
#define SCAN_KERNEL_NAME "rankwatch_scan"

/* Odd, without pattern: binary digits of sqrt(2), sqrt(3), sqrt(5), sqrt(7), sqrt(11), last bit set. */
#define SCAN_LANE_FACTOR_0 UINT64_C(0x6a09e667f3bcc909)
#define SCAN_LANE_FACTOR_1 UINT64_C(0xbb67ae8584caa73b)
#define SCAN_LANE_FACTOR_2 UINT64_C(0x3c6ef372fe94f82b)
#define SCAN_LANE_FACTOR_3 UINT64_C(0xa54ff53a5f1d36f1)
#define SCAN_LENGTH_FACTOR UINT64_C(0x510e527fade682d1)

#define SCAN_NO_INDEX UINT64_MAX

enum scan_flag {
	SCAN_DIGEST_ONLY = 1, /* integers, and bytes of unknown meaning */
};

/* One buffer, 32 bytes. */
struct scan_segment {
	uint64_t address;    /* on the device; any alignment that the type allows */
	uint64_t elements;   /* 0 to 2^40 */
	uint64_t sequence;   /* what the result's sequence shall be; never 0 */
	uint32_t slot;       /* index into slots */
	uint8_t dtype;       /* enum rw_dtype */
	uint8_t flags;       /* enum scan_flag */
	uint16_t reserved;
};

/* What the blocks of one launch add up before the last of them writes the results. Zeroed by the host once; every launch
 * leaves it zeroed. One per launch in flight. */
struct scan_partial {
	uint64_t digest, lane_sum;   /* digest without the length */
	uint64_t first_bad_inverted; /* ~index, so that the largest wins and 0 is none */
	uint64_t absmax_bits;        /* the largest finite magnitude: the value's bits without its sign */
	uint64_t nan, inf, saturated;
};

struct scan_scratch {
	uint64_t start_ns; /* smallest %globaltimer of the blocks, inverted */
	uint32_t blocks_done, reserved;
	struct scan_partial partials[SCAN_SEGMENTS];
};

/* One result, 64 bytes, in pinned host memory. nan, inf, saturated: saturate at UINT32_MAX. */
struct scan_result {
	uint32_t nan, inf;
	uint64_t first_bad; /* element index of the first NaN or Inf, SCAN_NO_INDEX none */
	float absmax;       /* largest finite magnitude, rounded to float; 0 without finite elements, and for integers */
	uint32_t saturated; /* fp8: elements of the largest finite magnitude (e4m3 448, e5m2 57344) */
	uint64_t digest, lane_sum;
	uint64_t gpu_start_ns, gpu_end_ns; /* %globaltimer of the launch */
	uint64_t sequence;                 /* last store */
};

/*
 * What a node of a graph knows of its replays, on the device, zeroed by the host once. Replays come one after the other, as
 * far as the program launches one executable graph of a capture. Two at once share the scratch: they are counted, and have
 * no results.
 */
struct scan_node {
	uint64_t entered, left; /* blocks so far, of all replays: this over the blocks of one is the replay's number */
	uint64_t finished;      /* replays that have left the scratch zeroed */
	uint64_t spoiled;       /* 1 + number of the last that came while another was not finished */
	uint64_t mask;          /* what *mask was when the last one finished: all blocks of a replay see the same */
};

/* One result of a replay, 80 bytes, in pinned host memory. result.sequence: 0 while it is being written, else 1 + how many
 * results were written before it by all nodes, so its place is (sequence - 1) % SCAN_REPLAYS. */
struct scan_replay {
	struct scan_result result;
	uint64_t replay;        /* from 0; those without results count */
	uint32_t node, segment; /* that scan_replays was given; index of the segment, SCAN_SEGMENTS: of none */
};

/* Where the results of a node go. All zero: the launch is none. */
struct scan_replays {
	struct scan_replay *ring; /* device address of pinned memory */
	const uint64_t *mask;     /* the same: a replay whose number has one of these bits reads no buffer, has no result */
	uint64_t *written;        /* on the device: results of all nodes of the context so far */
	struct scan_node *node;   /* on the device */
	uint32_t number;          /* of the node, for scan_replay */
	uint32_t reserved;
};

/* The kernel's argument. */
struct scan_launch {
	struct scan_result *slots;    /* device address of the pinned ring; not of a node */
	struct scan_scratch *scratch; /* on the device; a node's may end behind its last segment's partial */
	struct scan_replays replays;
	uint32_t segment_count, reserved;
	struct scan_segment segments[SCAN_SEGMENTS];
};

#ifdef __cplusplus
static_assert(sizeof(struct scan_segment) == 32 && sizeof(struct scan_result) == 64, "contract");
static_assert(sizeof(struct scan_replay) == 80 && sizeof(struct scan_node) == 40, "contract");
static_assert(sizeof(struct scan_launch) <= 4096, "kernel arguments");
#else
_Static_assert(sizeof(struct scan_segment) == 32 && sizeof(struct scan_result) == 64, "contract");
_Static_assert(sizeof(struct scan_replay) == 80 && sizeof(struct scan_node) == 40, "contract");
_Static_assert(sizeof(struct scan_launch) <= 4096, "kernel arguments");
#endif

#endif
