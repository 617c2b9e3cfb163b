/* SPDX-License-Identifier: MIT */
/* After which operations hosts end rows while steps are not known: only where all of them do can ranks be compared. */
#include <criterion/criterion.h>

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>

#include <rankwatch/message.h>

#include "analysis/model.h"
#include "analysis/node/node_half.h"

enum { HOSTS = 3, ENDS_MAX = 1 << 16 };

static const uint64_t ms = 1000000;

/* The operations of a communicator of one rank on each host. */
struct course {
	uint64_t quick;          /* so many at first, … */
	uint64_t quick_us;       /* … one in so long */
	uint64_t every_ms;       /* the others */
	uint64_t burst, pause_ms; /* the others come so many at a time, and so long after these; 0: evenly */
	uint64_t reduces;        /* every so many is a ReduceScatter; 0: none */
	uint64_t repeats;        /* so many at first are AllGathers, and of eight sizes by turns; the others
				  * ReduceScatters; 0: not so */
	uint64_t late_host_ms;   /* when the collector of the last host comes; 0: at first */
	uint64_t lasts_ms;
};

struct host {
	struct analysis *analysis;
	struct node_half *half;
	struct rw_box_header box;
	uint64_t ticket;
};

static struct end {
	uint8_t function;
	uint64_t sequence, at_ms;
	uint32_t hosts; /* a bit for each that has ended a row there */
} ends[ENDS_MAX];
static uint32_t end_count, sent_by[HOSTS];
static struct {
	uint32_t host;
	uint64_t now_ms;
} sender;

static void note(uint8_t function, uint64_t sequence)
{
	sent_by[sender.host]++;
	for (uint32_t i = end_count; i--;)
		if (ends[i].function == function && ends[i].sequence == sequence) {
			cr_expect_not(ends[i].hosts & 1u << sender.host, "a row is reported once");
			ends[i].hosts |= 1u << sender.host;
			ends[i].at_ms = sender.now_ms;
			return;
		}
	cr_assert_lt(end_count, ENDS_MAX);
	ends[end_count++] = (struct end){
		.function = function, .sequence = sequence, .at_ms = sender.now_ms, .hosts = 1u << sender.host
	};
}

static void hear(void *argument, const void *bytes, size_t length)
{
	const struct rw_message *messages = (const void *)((const char *)bytes + sizeof(struct rw_batch));

	(void)argument;
	for (size_t i = 0; i < (length - sizeof(struct rw_batch)) / sizeof(*messages); i++)
		if (messages[i].type == RW_MESSAGE_ROW)
			note(messages[i].function, (uint64_t)messages[i].row.row * messages[i].row.calls);
}

static void emit_nothing(void *argument, const struct rw_finding *finding)
{
	(void)argument;
	(void)finding;
}

static void begin(struct host *host, uint32_t index, uint64_t calls)
{
	const struct node_identity identity = { .job = "j", .host = "h", .start = 1 };

	host->box = (struct rw_box_header){
		.host = "h", .job = "j", .created_ns = 1, .world_rank = (int32_t)index, .world_size = HOSTS
	};
	host->analysis = analysis_new(false, emit_nothing, NULL);
	host->half = node_half_new(host->analysis, &identity);
	const struct analysis_process process = { .id = 1, .pid = 7, .box = &host->box };
	const struct rw_communicator communicator = {
		.id = 9, .rank = (int32_t)index, .nranks = HOSTS, .nnodes = HOSTS, .created_ns = 1, .api_count = calls
	};
	cr_assert_eq(analysis_add_process(host->analysis, &process), 0);
	cr_assert_eq(analysis_add_communicator(host->analysis, 1, 0, &communicator), 0);
}

/* Each host sees by polling when an operation begins and ends, up to 4 ms later. */
static void add(struct host *host, const struct rw_operation *operation, uint64_t done_ns, unsigned int *random)
{
	struct rw_operation slot = *operation;

	slot.ticket = ++host->ticket;
	slot.progress = host->ticket;
	slot.api_ns = slot.launch_begin_ns = slot.launch_end_ns = slot.return_ns = done_ns - 500000;
	slot.started_seen_ns = done_ns - 300000;
	slot.done_seen_ns = done_ns + (uint64_t)rand_r(random) % (4 * ms);
	cr_assert_eq(analysis_add_operation(host->analysis, 1, &slot), 0);
}

static uint64_t next_ns(const struct course *course, uint64_t count, uint64_t at_ns)
{
	if (count < course->quick)
		return at_ns + course->quick_us * 1000;
	return at_ns +
	       (course->burst && (count - course->quick) % course->burst == 0 ? course->pause_ms : course->every_ms) *
		   ms;
}

static void play(const struct course *course, unsigned int seed)
{
	struct host hosts[HOSTS] = { 0 };
	struct rw_operation slot = {
		.known = RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_LAUNCH | RW_KNOWN_RETURN | RW_KNOWN_TASK |
			 RW_KNOWN_STARTED | RW_KNOWN_DONE,
		.count = 5,
		.root_or_peer = -1,
		.gpu_source = RW_GPU_SOURCE_WATERMARK,
	};
	uint64_t at_ns = 10 * ms, count = 0, reduces = 0;

	end_count = 0;
	for (uint32_t i = 0; i < HOSTS; i++) {
		sent_by[i] = 0;
		begin(&hosts[i], i, 0);
	}
	for (uint64_t now_ms = 100; now_ms < course->lasts_ms; now_ms += 100) {
		for (; at_ns + 5 * ms <= now_ms * ms; at_ns = next_ns(course, ++count, at_ns)) {
			bool reduce = course->repeats
					  ? count >= course->repeats
					  : course->reduces && count % course->reduces == course->reduces - 1;
			slot.function = reduce ? RW_FUNCTION_REDUCE_SCATTER : RW_FUNCTION_ALL_GATHER;
			slot.sequence = reduce ? reduces : count - reduces;
			slot.count = 5 + (count < course->repeats ? count % 8 : count); /* no step repeats */
			reduces += reduce;
			for (uint32_t i = 0; i < HOSTS; i++)
				if (i < HOSTS - 1 || now_ms > course->late_host_ms)
					add(&hosts[i], &slot, at_ns, &seed);
		}
		sender.now_ms = now_ms;
		for (sender.host = 0; sender.host < HOSTS; sender.host++) {
			analysis_tick(hosts[sender.host].analysis, now_ms * ms);
			node_half_tick(hosts[sender.host].half, now_ms * ms, hear, NULL);
		}
	}
	for (uint32_t i = 0; i < HOSTS; i++) {
		node_half_free(hosts[i].half);
		analysis_free(hosts[i].analysis);
	}
}

/* The longest time from one end of a row on all hosts to the next, or to the end. */
static uint64_t longest_apart_ms(const struct course *course, uint64_t from_ms)
{
	uint64_t longest_ms = 0, last_ms = from_ms;

	for (uint32_t i = 0; i < end_count; i++) {
		if (ends[i].hosts != (1u << HOSTS) - 1 || ends[i].at_ms < last_ms)
			continue;
		longest_ms = ends[i].at_ms - last_ms > longest_ms ? ends[i].at_ms - last_ms : longest_ms;
		last_ms = ends[i].at_ms;
	}
	return course->lasts_ms - last_ms > longest_ms ? course->lasts_ms - last_ms : longest_ms;
}

static uint32_t count_equal(void)
{
	uint32_t equal = 0;

	for (uint32_t i = 0; i < end_count; i++)
		equal += ends[i].hosts == (1u << HOSTS) - 1;
	return equal;
}

static uint32_t count_before(uint64_t until_ms)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < end_count; i++)
		count += ends[i].at_ms < until_ms;
	return count;
}

/* Operations that came quicker at first have not put the next end far away, and pauses do not make rows many. */
Test(row_reports, come_often_enough_and_on_all_hosts_whatever_the_pace)
{
	static const struct {
		struct course course;
		uint64_t apart_ms; /* at most, from the quick ones on */
	} cases[] = {
		{ { .every_ms = 3, .lasts_ms = 30000 }, 2500 },
		{ { .every_ms = 25, .reduces = 2, .lasts_ms = 100000 }, 2500 },
		{ { .every_ms = 300, .lasts_ms = 100000 }, 2500 },
		{ { .every_ms = 7000, .lasts_ms = 100000 }, 7000 },
		{ { .quick = 4000, .quick_us = 1000, .every_ms = 25, .lasts_ms = 100000 }, 12500 },
		{ { .quick = 4000, .quick_us = 1000, .every_ms = 300, .lasts_ms = 200000 }, 12500 },
		{ { .quick = 4000, .quick_us = 1000, .every_ms = 300, .reduces = 7, .lasts_ms = 200000 }, 12500 },
		{ { .quick = 20000, .quick_us = 200, .every_ms = 80, .reduces = 2, .lasts_ms = 100000 }, 12500 },
		{ { .quick = 4000, .quick_us = 1000, .every_ms = 6000, .lasts_ms = 100000 }, 19000 },
		{ { .every_ms = 5, .burst = 200, .pause_ms = 1000, .lasts_ms = 100000 }, 4500 },
		{ { .every_ms = 1, .burst = 500, .pause_ms = 3900, .lasts_ms = 200000 }, 4500 },
		{ { .every_ms = 33, .burst = 60, .pause_ms = 8000, .lasts_ms = 200000 }, 10500 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (unsigned int seed = 1; seed < 3; seed++) {
			const struct course *course = &cases[i].course;
			play(course, seed);
			uint64_t apart_ms = longest_apart_ms(course, course->quick * course->quick_us / 1000);
			cr_expect_leq(apart_ms, cases[i].apart_ms,
				      "course %zu: %" PRIu64 " ms from an end on all hosts to the next", i, apart_ms);
			cr_expect_eq(count_equal(), end_count, "course %zu: of %u ends %u are on all hosts", i, end_count, count_equal());
			cr_expect_leq(end_count, course->lasts_ms / 1000, "course %zu: %u rows, more than one a second", i, end_count);
		}
}

/* Which function ends rows does not depend on which of them a host saw first. */
Test(row_reports, of_a_host_that_looks_later_are_those_of_the_others)
{
	const uint64_t every_ms[] = { 25, 100, 220, 900 };

	for (size_t i = 0; i < sizeof(every_ms) / sizeof(*every_ms); i++)
		for (uint64_t from_ms = 20000; from_ms < 20000 + 4 * every_ms[i]; from_ms += every_ms[i] < 100 ? 100 : every_ms[i]) {
			const struct course course = { .every_ms = every_ms[i], .reduces = 2, .late_host_ms = from_ms, .lasts_ms = 60000 };
			play(&course, 1);
			uint64_t apart_ms = longest_apart_ms(&course, from_ms);
			cr_expect_leq(apart_ms, 4500,
				      "every %" PRIu64 " ms, from %" PRIu64 " ms on: %" PRIu64
				      " ms from an end on all hosts to the next",
				      every_ms[i], from_ms, apart_ms);
		}
}

/* What ended rows while steps were known may not be called any more once nothing repeats. */
Test(row_reports, go_on_where_steps_are_known_no_longer)
{
	const struct course course = { .every_ms = 50, .repeats = 400, .lasts_ms = 90000 };

	play(&course, 1);
	uint64_t apart_ms = longest_apart_ms(&course, 400 * 50);
	cr_expect_gt(count_before(20000), 40, "%u rows of steps", count_before(20000));
	cr_expect_leq(apart_ms, 16000, "%" PRIu64 " ms from an end on all hosts to the next", apart_ms);
}
