/* SPDX-License-Identifier: MIT */
/* Post-mortem: the run again, from its boxes. */
#include "feed/feed_state.h"

#define STEP_NS UINT64_C(100000000)
/* After this much time in which nothing happened the rest of the silence is skipped but for its end. */
#define QUIET_NS UINT64_C(10000000000)

static void start(struct feed *feed)
{
	feed->life = box_reader_life(&feed->reader, NULL);
	/* Once: what a living process adds from now on is not part of the story. */
	feed->error = box_reader_refresh(&feed->reader);
}

/* Passes one box up to now_ns. */
static void step(struct feed *feed, uint64_t now_ns)
{
	int err = feed_advance(feed, now_ns, now_ns);

	if (!err && feed->next_ns == UINT64_MAX)
		err = feed_pass_gpu_page(feed, now_ns);
	if (err && !feed->error)
		feed->error = err;
	if (feed->error)
		feed->next_ns = UINT64_MAX;
}

/* Passes every box that has something to say by now_ns. Returns when the next thing happens, UINT64_MAX when nothing
 * does. */
static uint64_t step_all(struct feed *const *feeds, size_t count, uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX;

	for (size_t i = 0; i < count; i++) {
		if (feeds[i]->next_ns <= now_ns)
			step(feeds[i], now_ns);
		if (feeds[i]->next_ns < next_ns)
			next_ns = feeds[i]->next_ns;
	}
	return next_ns;
}

static bool ends_now(const struct feed *feed)
{
	return feed->next_ns == UINT64_MAX && !feed->passed_all;
}

/* Those of which all is passed have ended. When the first of them does, the analysis looks once more before it hears of
 * it: within one step all may end, and with them the waits that show whom they waited for until then. Returns the time
 * of the latest poll. */
static uint64_t end_all(struct feed *const *feeds, size_t count, struct analysis *analysis, uint64_t ticked_ns)
{
	uint64_t first_ns = UINT64_MAX;

	for (size_t i = 0; i < count; i++)
		if (ends_now(feeds[i]) && feeds[i]->last_ns < first_ns)
			first_ns = feeds[i]->last_ns;
	if (first_ns < OPERATION_TIME_MAX && first_ns > ticked_ns) { /* no later time is one */
		analysis_tick(analysis, first_ns);
		ticked_ns = first_ns;
	}
	for (size_t i = 0; i < count; i++) {
		if (!ends_now(feeds[i]))
			continue;
		feeds[i]->passed_all = true;
		feed_end(feeds[i]);
	}
	return ticked_ns;
}

/* The oldest operation that a box still holds. */
static uint64_t first_claim(const struct feed *feed)
{
	const struct rw_box_header *header = &feed->reader.header;

	return header->head > header->ring_slots ? header->head - header->ring_slots : 0;
}

static void show_progress(struct feed *const *feeds, size_t count, feed_replay_progress *progress, void *argument)
{
	uint64_t passed = 0, all = 0;

	for (size_t i = 0; progress && i < count; i++) {
		uint64_t first = first_claim(feeds[i]), head = feeds[i]->reader.header.head;

		all += head - first;
		if (feeds[i]->ended || feeds[i]->next_ns == UINT64_MAX)
			passed += head - first;
		else if (feeds[i]->next_claim > first)
			passed += feeds[i]->next_claim - first;
	}
	if (progress)
		progress(argument, passed, all);
}

void feed_replay(struct feed *const *feeds, size_t count, struct analysis *analysis, feed_replay_progress *progress,
		 void *argument)
{
	for (size_t i = 0; i < count; i++)
		start(feeds[i]);

	uint64_t next_ns = step_all(feeds, count, 0), now_ns = next_ns, busy_ns = next_ns, ticked_ns = 0;

	end_all(feeds, count, analysis, ticked_ns);
	while (next_ns != UINT64_MAX) {
		next_ns = step_all(feeds, count, now_ns);
		ticked_ns = end_all(feeds, count, analysis, ticked_ns);
		ticked_ns = ticked_ns < now_ns ? now_ns : ticked_ns + 1;
		analysis_tick(analysis, ticked_ns);
		show_progress(feeds, count, progress, argument);
		if (next_ns == UINT64_MAX)
			return;

		bool soon = next_ns - now_ns <= STEP_NS;

		if (soon)
			busy_ns = now_ns;
		if (soon || now_ns - busy_ns < QUIET_NS) {
			now_ns += STEP_NS;
		} else {
			ticked_ns = next_ns - 1;
			analysis_tick(analysis, ticked_ns);
			now_ns = busy_ns = next_ns;
		}
	}
}
