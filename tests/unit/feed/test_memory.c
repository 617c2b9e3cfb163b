/* SPDX-License-Identifier: MIT */
/* What a feed takes it gives back: blocks and descriptors, also when a request for memory is refused, each of them
 * once. */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdlib.h>

#include "feed/feed.h"
#include "tests/unit/analysis/jobs/counted_memory.h"
#include "tests/unit/blackbox/fixture.h"
#include "tests/unit/feed/recording.h"

enum {
	OPERATIONS = 300,
	RECORDS = 4 * OPERATIONS,
	LEAST_REQUESTS = 3 /* the feed, the operations that are not finished, and more of these */
};

static struct box_writer writer;
static struct analysis analysis;
static unsigned int asked, refused; /* the which one gets none; 0: all do */

static bool is_refused(const void *site)
{
	(void)site;
	return ++asked == refused;
}

/* A box with operations in flight, read twice. What the played analysis writes down has room before. */
static void play(void)
{
	struct box_reader reader;

	analysis.records = calloc(RECORDS, sizeof(*analysis.records));
	analysis.room = RECORDS;
	cr_assert(analysis.records);
	fixture_open(&reader, &writer);
	asked = 0;
	counted_memory.inside = 1;
	struct feed *feed = feed_new(&analysis, 7, &reader);
	cr_assert_eq(!feed, refused && asked >= refused, "request %u", refused);
	for (uint64_t ns = 1000000; feed && ns <= 2000000; ns += 1000000) {
		int told = feed_poll(feed, ns);
		cr_expect(told >= 0 || told == -ENOMEM, "%d", told);
	}
	feed_free(feed);
	counted_memory.inside = 0;
}

static void expect_nothing_left(void)
{
	long blocks = counted_memory.blocks;
	int descriptors = fixture_descriptors();

	play();
	recording_free(&analysis);
	cr_expect_eq(counted_memory.blocks, blocks, "%ld blocks are left, request %u was refused",
		     counted_memory.blocks - blocks, refused);
	cr_expect_eq(fixture_descriptors(), descriptors);
}

Test(feed_memory, is_given_back_also_when_there_is_none, .fini = fixture_remove)
{
	fixture_create(&writer);
	writer.communicators[0].created_ns = 1;
	writer.header->comms_used = 1;
	for (uint64_t i = 0; i < OPERATIONS; i++)
		fixture_operation(&writer, i, 1000);
	expect_nothing_left();
	counted_memory.refuses = is_refused;
	expect_nothing_left();
	unsigned int requests = asked;
	cr_assert_geq(requests, LEAST_REQUESTS);
	for (refused = 1; refused <= requests; refused++)
		expect_nothing_left();
}
