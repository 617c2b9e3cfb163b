/* SPDX-License-Identifier: MIT */
/* The reader and the feed against a damaged box: nothing that the analysis could not believe may get through. */
#include "tests/fuzz/box_target.h"

#include "feed/feed.h"
#include "tests/fuzz/damaged_box.h"
#include "tests/fuzz/doubting_analysis.h"

#define MS UINT64_C(1000000)

enum { POLLS = 3 };

static struct feed *open_feed(analysis_process_id id)
{
	struct box_reader reader;

	return damaged_box_open(&reader) ? NULL : feed_new(doubting_analysis(), id, &reader);
}

static void poll_changing(struct feed *feed, const uint8_t *data, size_t size)
{
	for (uint64_t poll = 0; poll < POLLS; poll++) {
		if (feed_poll(feed, (200 + 800 * poll) * MS) < 0)
			break;
		damaged_box_change(data, size, true);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	damaged_box_change(data, size, false);

	struct feed *live = open_feed(1), *dead[] = { open_feed(2), open_feed(3) };

	if (dead[0] && dead[1])
		feed_replay(dead, 2, doubting_analysis(), NULL, NULL);
	if (live)
		poll_changing(live, data, size);
	feed_free(live);
	feed_free(dead[0]);
	feed_free(dead[1]);
	damaged_box_restore();
	return 0;
}
