/* SPDX-License-Identifier: MIT */
/*
 * `rankwatch report` and the collector on a damaged box: through the reader, the feed and the analysis to the findings
 * as JSON and as text. The good one of rank 1 is what the damaged one of rank 0 is compared with.
 */
#include "tests/fuzz/box_target.h"

#include <stdlib.h>

#include "feed/feed.h"
#include "tests/fuzz/damaged_box.h"
#include "tests/fuzz/printed_finding.h"
#include "tests/fuzz/told.h"

#define MS UINT64_C(1000000)

enum { POLLS = 3, OPERATIONS = 40 };

static void check_flight(void *argument, const struct analysis_flight *flight)
{
	(void)argument;
	if (flight->joined_count && !flight->joined)
		abort();
	told_text(flight->comm_name);
	told_value(flight->function);
	told_value(flight->sequence);
	told_value(flight->count);
	told(flight->joined, flight->joined_count * sizeof(*flight->joined));
	for (size_t i = 0; i < flight->joined_count; i++)
		told_text(flight->joined_phase[i]);
	told(flight->missing, flight->missing_count * sizeof(*flight->missing));
}

static void tell_summary(const struct analysis *analysis)
{
	struct analysis_summary summary;

	analysis_summarise(analysis, &summary);
	told_value(summary.operations);
	told_value(summary.untracked);
	told_value(summary.captured);
	told_value(summary.dropped);
	told_value(summary.communicators);
	told_value(summary.steps);
}

static void add_good_rank(struct analysis *analysis)
{
	static const struct rw_box_header box = { .created_ns = MS, .world_rank = 1, .world_size = 2 };
	const struct analysis_process process = { .id = 9, .pid = 9, .box = &box };
	struct rw_communicator communicator = { .id = 1, .rank = 1, .nranks = 2, .created_ns = 2 * MS };

	analysis_add_process(analysis, &process);
	analysis_add_communicator(analysis, process.id, 0, &communicator);
	for (uint64_t i = 0; i < OPERATIONS; i++) {
		const struct rw_operation operation = {
			.ticket = i + 1, .function = RW_FUNCTION_ALL_REDUCE, .sequence = i, .api_ns = (10 + i) * MS,
			.known = RW_KNOWN_IDENT | RW_KNOWN_API
		};

		analysis_add_operation(analysis, process.id, &operation);
	}
}

static struct analysis *open_analysis(bool post_mortem, struct feed **feed)
{
	struct analysis *analysis = analysis_new(post_mortem, printed_finding, NULL);
	struct box_reader reader;

	if (!analysis)
		abort();
	add_good_rank(analysis);
	*feed = damaged_box_open(&reader) ? NULL : feed_new(analysis, 1, &reader);
	return analysis;
}

static void report(void)
{
	struct feed *feed;
	struct analysis *analysis = open_analysis(true, &feed);

	if (feed)
		feed_replay(&feed, 1, analysis, NULL, NULL);
	analysis_visit_flights(analysis, check_flight, NULL);
	tell_summary(analysis);
	feed_free(feed);
	analysis_free(analysis);
}

static void collect(const uint8_t *data, size_t size)
{
	struct feed *feed;
	struct analysis *analysis = open_analysis(false, &feed);

	for (uint64_t poll = 0; feed && poll < POLLS; poll++) {
		uint64_t now_ns = (200 + 20000 * poll) * MS;

		if (feed_poll(feed, now_ns) < 0)
			break;
		analysis_tick(analysis, now_ns);
		damaged_box_change(data, size, true);
	}
	feed_free(feed);
	analysis_free(analysis);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	damaged_box_change(data, size, false);
	report();
	collect(data, size);
	damaged_box_restore();
	return 0;
}
