/* SPDX-License-Identifier: MIT */
/* The contract of scan_kernel.h, for each that keeps it: see scan_runner.h. */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "plugin/scan/scan_trial.h"
#include "rankwatch/operation.h"
#include "scan_contents.h"
#include "scan_reference.h"
#include "scan_runner.h"
#include "tests/sanitized.h"

#define ROOM     (5 * SCAN_TILE_BYTES / 2)
#define SEQUENCE 77
/* A sanitizer follows every jump between the 512 threads of a block: a launch takes a fifth of a second. */
#define STRIDE   (SANITIZED ? 15 : 1)

static struct scan_scratch scratch;
static struct scan_result slots[2 * SCAN_SEGMENTS];
static struct scan_launch launch;
static unsigned char *room; /* ROOM bytes, no page before or behind may be touched */

static void open_room(size_t bytes)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes + page - 1) / page * page;
	unsigned char *all = mmap(NULL, whole + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert(all != MAP_FAILED);
	room = all + page;
	cr_assert_eq(mprotect(room, whole, PROT_READ | PROT_WRITE), 0);
	memset(&scratch, 0, sizeof(scratch));
	launch = (struct scan_launch){ .slots = slots, .scratch = &scratch };
}

static void setup(void)
{
	open_room(ROOM);
}

static void setup_long(void)
{
	open_room(SCAN_TRIAL_LONG_BYTES);
}

static struct scan_segment segment_of(const void *at, uint64_t elements, uint8_t dtype)
{
	return (struct scan_segment){
		.address = (uintptr_t)at, .elements = elements, .sequence = SEQUENCE, .dtype = dtype
	};
}

static struct scan_result scan_with(const void *at, uint64_t elements, uint8_t dtype, uint32_t blocks)
{
	launch.segment_count = 1;
	launch.segments[0] = segment_of(at, elements, dtype);
	memset(&slots[0], 0xee, sizeof(slots[0]));
	scan_run(&launch, blocks);
	return slots[0];
}

static void expect_zeroed_scratch(void)
{
	static const struct scan_scratch zero;

	cr_assert_eq(memcmp(&scratch, &zero, sizeof(zero)), 0);
}

static void expect_result(const struct scan_result *got, const struct scan_segment *segment)
{
	struct scan_result want;

	reference_scan(segment->dtype, segment->flags, (const void *)(uintptr_t)segment->address, segment->elements,
		       &want);
	cr_assert(
	    got->nan == want.nan && got->inf == want.inf && got->saturated == want.saturated &&
		got->first_bad == want.first_bad && got->absmax == want.absmax,
	    "type %d, %lu elements at %lx: nan %u not %u, inf %u not %u, saturated %u not %u, first bad %lu not %lu, "
	    "absmax %g not %g",
	    segment->dtype, segment->elements, segment->address, got->nan, want.nan, got->inf, want.inf, got->saturated,
	    want.saturated, got->first_bad, want.first_bad, got->absmax, want.absmax);
	cr_assert(got->digest == want.digest && got->lane_sum == want.lane_sum, "type %d, %lu elements at %lx",
		  segment->dtype, segment->elements, segment->address);
	cr_assert_eq(got->sequence, segment->sequence);
	cr_assert(got->gpu_start_ns <= got->gpu_end_ns);
}

/* Short ones mostly; the longest fill the room. */
static uint64_t any_length(size_t width)
{
	return scan_below((scan_below(4) ? 4096 : ROOM - 16) / width + 1);
}

Test(scan, every_type_at_any_length_and_place_gives_what_the_reference_gives, .init = setup, .timeout = 120)
{
	for (int round = 0; round < scan_runner_rounds; round++) {
		const uint8_t dtype = scan_any_dtype();
		const size_t width = reference_width(dtype);
		const uint64_t elements = any_length(width);
		unsigned char *at = scan_below(2) ? room + scan_below(16) : room + ROOM - elements * width;

		scan_fill(at, elements, dtype);
		const struct scan_result got = scan_with(at, elements, dtype, 1 + (uint32_t)scan_below(5));
		expect_result(&got, &launch.segments[0]);
	}
	expect_zeroed_scratch();
}

Test(scan, no_byte_before_or_behind_is_read_at_any_alignment, .init = setup, .timeout = 120)
{
	memset(room, 0x41, ROOM);
	for (uint32_t bytes = 0; bytes < 48; bytes += STRIDE) {
		struct scan_result got = scan_with(room, bytes, RW_DTYPE_FLOAT8_E4M3, 1);
		expect_result(&got, &launch.segments[0]);
		got = scan_with(room + ROOM - bytes, bytes, RW_DTYPE_FLOAT8_E4M3, 1);
		expect_result(&got, &launch.segments[0]);
	}
	for (uint32_t shift = 0; shift < 16; shift += STRIDE) {
		const struct scan_result got = scan_with(room + shift, ROOM - shift, RW_DTYPE_UINT8, 2);
		expect_result(&got, &launch.segments[0]);
	}
}

Test(scan, a_batch_puts_every_result_into_its_slot_and_touches_no_other, .init = setup, .timeout = 120)
{
	const uint32_t segments = SANITIZED ? SCAN_SEGMENTS / 8 : SCAN_SEGMENTS;
	struct scan_result untouched;
	unsigned char *at = room;

	memset(&untouched, 0xee, sizeof(untouched));
	memset(slots, 0xee, sizeof(slots));
	launch.segment_count = segments;
	for (uint32_t i = 0; i < segments; i++) {
		const uint8_t dtype = scan_any_dtype();
		const uint64_t elements = i % 5 ? scan_below(1600 / reference_width(dtype)) : 0;

		scan_fill(at, elements, dtype);
		launch.segments[i] = segment_of(at, elements, dtype);
		launch.segments[i].sequence = 1000 + i;
		launch.segments[i].slot = (i * 35 % SCAN_SEGMENTS) * 2;
		launch.segments[i].flags = i % 7 ? 0 : SCAN_DIGEST_ONLY;
		at += elements * reference_width(dtype);
	}
	scan_run(&launch, 3);
	for (uint32_t i = 0; i < segments; i++) {
		expect_result(&slots[launch.segments[i].slot], &launch.segments[i]);
		cr_assert_eq(memcmp(&slots[2 * i + 1], &untouched, sizeof(untouched)), 0);
	}
	expect_zeroed_scratch();
}

/* A fence for each of 512 threads would cost more than a small scan. */
Test(scan, a_launch_has_two_fences_for_each_block_and_one_release_for_each_result, .init = setup)
{
	const uint32_t segments = 5, blocks = 3;

	memset(room, 0, ROOM);
	launch.segment_count = segments;
	for (uint32_t i = 0; i < segments; i++) {
		launch.segments[i] = segment_of(room, ROOM / 4, RW_DTYPE_FLOAT32);
		launch.segments[i].slot = i;
	}
	scan_run(&launch, blocks);
	const struct scan_runner_fences fences = scan_runner_fences();
	if (fences.device < 0)
		cr_skip_test("the twin has no threads");
	cr_expect_eq(fences.device, 2 * blocks);
	cr_expect_eq(fences.system, 0);
	cr_expect_eq(fences.releases, segments);
}

Test(scan, a_launch_without_segments_leaves_everything_alone, .init = setup)
{
	launch.segment_count = 0;
	memset(slots, 0xee, sizeof(slots));
	scan_run(&launch, 2);
	for (size_t i = 0; i < sizeof(slots); i++)
		cr_assert_eq(((unsigned char *)slots)[i], 0xee);
	expect_zeroed_scratch();
}

Test(scan, the_digest_depends_on_nothing_but_the_bytes, .init = setup, .timeout = 120)
{
	const uint64_t bytes = ROOM - 16;

	for (uint64_t i = 0; i < bytes; i++)
		room[i] = (unsigned char)scan_any_number();
	const uint64_t digest = scan_with(room, bytes, RW_DTYPE_UINT8, 1).digest;
	for (uint32_t blocks = 2; blocks <= 8; blocks += STRIDE)
		cr_assert_eq(scan_with(room, bytes, RW_DTYPE_UINT8, blocks).digest, digest);
	for (uint32_t shift = 1; shift < 16; shift += 3 * STRIDE) {
		memmove(room + shift, room + (shift > 3 ? shift - 3 : 0), bytes);
		cr_assert_eq(scan_with(room + shift, bytes, RW_DTYPE_UINT8, 2).digest, digest);
	}
}

static uint64_t digest_of(uint64_t bytes)
{
	return scan_with(room, bytes, RW_DTYPE_UINT8, 1).digest;
}

Test(scan, every_flipped_bit_and_every_swap_within_a_lane_changes_the_digest, .init = setup, .timeout = 120)
{
	const uint32_t words = scan_runner_rounds > 1000 ? 256 : 8;
	uint32_t *word = (uint32_t *)(void *)room;

	for (uint32_t i = 0; i < words; i++)
		word[i] = (uint32_t)scan_any_number();
	const uint64_t digest = digest_of(words * 4);
	for (uint32_t i = 0; i<words * 32; i += scan_runner_rounds> 1000 ? 1 : 5 * STRIDE) {
		word[i / 32] ^= 1u << i % 32;
		cr_assert_neq(digest_of(words * 4), digest);
		word[i / 32] ^= 1u << i % 32;
	}
	for (uint32_t i = 4; i < words; i++) {
		const uint32_t mine = word[i];

		word[i] = word[i % 4], word[i % 4] = mine;
		cr_assert_neq(digest_of(words * 4), digest);
		word[i % 4] = word[i], word[i] = mine;
	}
	cr_assert_eq(digest_of(words * 4), digest);
}

Test(scan, zeros_of_different_length_have_different_digests, .init = setup)
{
	memset(room, 0, 64);
	for (uint32_t bytes = 1; bytes <= 16; bytes += STRIDE)
		cr_assert_neq(digest_of(bytes), digest_of(bytes - 1));
}

Test(scan, the_digest_of_a_whole_follows_from_those_of_its_parts, .init = setup)
{
	const uint64_t parts[] = { 4096, SCAN_TILE_BYTES, 16, 1237 };
	uint64_t digest = 0, lane_sum = 0, offset = 0;

	for (uint64_t i = 0; i < ROOM; i++)
		room[i] = (unsigned char)scan_any_number();
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const struct scan_result part = scan_with(room + offset, parts[i], RW_DTYPE_UINT8, 2);
		digest += part.digest - SCAN_LENGTH_FACTOR * parts[i] + 2 * (offset / 16) * part.lane_sum;
		lane_sum += part.lane_sum;
		offset += parts[i];
	}
	const struct scan_result whole = scan_with(room, offset, RW_DTYPE_UINT8, 2);
	cr_assert_eq(whole.digest, digest + SCAN_LENGTH_FACTOR * offset);
	cr_assert_eq(whole.lane_sum, lane_sum);
}

Test(scan, the_first_bad_index_is_the_first_among_all_blocks, .init = setup, .timeout = 120)
{
	const uint16_t infinity = 0x7c00, nan = 0xfe01;
	const uint64_t elements = ROOM / 2;
	uint64_t first = elements;

	memset(room, 0, ROOM);
	memcpy(room + (elements - 1) * 2, &nan, 2);
	for (int i = 0; i < 12; i++) {
		const uint64_t index = scan_below(first);

		memcpy(room + index * 2, i % 2 ? &nan : &infinity, 2);
		first = index < first ? index : first;
		cr_assert_eq(scan_with(room, elements, RW_DTYPE_FLOAT16, 1 + i % 4).first_bad, first);
		if (first < 2)
			break;
	}
}

Test(scan, counts_stop_at_the_largest_number_instead_of_wrapping, .init = setup)
{
	memset(room, 0x7e, 64);
	memset(room, 0x7f, 5);
	scratch.partials[0].nan = UINT32_MAX - UINT64_C(2); /* as if other blocks had found so many */
	scratch.partials[0].inf = UINT64_C(1) << 40;
	const struct scan_result got = scan_with(room, 64, RW_DTYPE_FLOAT8_E4M3, 1);
	cr_assert_eq(got.nan, UINT32_MAX);
	cr_assert_eq(got.inf, UINT32_MAX);
	cr_assert_eq(got.saturated, 59);
	expect_zeroed_scratch();
}

/* step: from each segment to the next that is played. */
static void expect_known_answers(enum scan_trial trial, uint32_t blocks, uint32_t step)
{
	const uint32_t segments = (scan_trial_segments(trial) + step - 1) / step;
	char wrong[SCAN_TRIAL_WORDS];

	memset(slots, 0, sizeof(slots));
	scan_trial_fill(trial, room);
	launch.segment_count = segments;
	for (uint32_t i = 0; i < segments; i++) {
		launch.segments[i] = scan_trial_segment(trial, i * step, (uintptr_t)room);
		launch.segments[i].slot = i;
		launch.segments[i].sequence = SEQUENCE;
	}
	scan_run(&launch, blocks);
	for (uint32_t i = 0; i < segments; i++)
		cr_expect(scan_trial_is_right(trial, i * step, &slots[i], wrong), "segment %u: %s", i * step, wrong);
}

Test(scan, the_first_launch_gives_the_known_answers, .init = setup, .timeout = 120)
{
	for (uint32_t blocks = 1; blocks < 8; blocks += 3 * STRIDE)
		expect_known_answers(SCAN_TRIAL_SHORT, blocks, 1);
}

Test(scan, the_long_trial_gives_the_known_answers, .init = setup_long, .timeout = 240)
{
	expect_known_answers(SCAN_TRIAL_LONG, SCAN_TRIAL_LONG_BLOCKS, scan_runner_rounds > 1000 ? 1 : STRIDE);
}
