/* SPDX-License-Identifier: MIT */
/*
 * What is judged of messages between hosts, as answers_test.c holds what one host reports: jobs that are drawn message
 * by message, so that batches are lost, late, of a collector that started anew, and ages are exactly the limits of the
 * job half. A number is made of every key of every finding, of all that is asked of hosts, and of what is known for
 * those who look.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/analysis/jobs/job_shown.h"
#include "tests/unit/analysis/whole/kept_answers.h"
#include "tests/unit/analysis/jobs/loose_messages.h"

enum { JOBS = 450 /* every fault 30 times */, VARIED_JOBS = 225, MOST_IDS = 256 };

/* Of one job: the ids that are open. */
static struct {
	char ids[MOST_IDS][32];
	size_t count;
} open_now;

/* A finding that is open is updated, and not opened again, also when it is about several communicators. */
static void follow(const struct rw_finding *finding)
{
	size_t at = 0;

	while (at < open_now.count && strcmp(open_now.ids[at], finding->id))
		at++;
	bool is_open = at < open_now.count;
	cr_expect_eq(finding->state == RW_FINDING_OPEN, !is_open, "%s is reported as %d while it is %s: %s",
		     finding->id, (int)finding->state, is_open ? "open" : "not open", finding->text);
	if (finding->state == RW_FINDING_CLOSED && is_open)
		memcpy(open_now.ids[at], open_now.ids[--open_now.count], sizeof(open_now.ids[at]));
	else if (!is_open && open_now.count < MOST_IDS)
		snprintf(open_now.ids[open_now.count++], sizeof(open_now.ids[0]), "%s", finding->id);
}

static void on_finding(void *argument, const struct rw_finding *finding)
{
	(void)argument;
	follow(finding);
	(finding->state == RW_FINDING_UPDATE ? kept_keys : kept_finding)(finding); /* of updates only the number */
}

static void on_asked(void *argument, const char *host, const void *bytes, size_t length)
{
	const unsigned char *byte = bytes;
	uint64_t number = 0xcbf29ce484222325;

	(void)argument;
	for (size_t i = 0; i < length; i++)
		number = (number ^ byte[i]) * 0x100000001b3;
	fprintf(kept.all, "asked of %s: %zu bytes, %016" PRIx64 "\n", host, length, number);
}

static void on_viewed(void *argument, const struct job_view *view, const struct job_half_summary *is)
{
	(void)argument;
	job_shown(kept.all, view, is);
}

static void on_ended(void *argument)
{
	(void)argument;
	open_now.count = 0;
}

static void play(unsigned int number)
{
	static const struct loose_messages_hooks hooks = {
		.finding = on_finding, .asked = on_asked, .viewed = on_viewed, .ended = on_ended
	};

	open_now.count = 0;
	loose_messages_play(number, &hooks);
}

static bool play_messages(unsigned int number)
{
	play(number);
	return number + 1 < JOBS;
}

static bool play_varied(unsigned int number)
{
	play(LOOSE_VARIED + number);
	return number + 1 < VARIED_JOBS;
}

Test(message_answers, about_jobs_that_are_drawn_message_by_message)
{
	kept_compare("messages", play_messages);
}

Test(message_answers, about_hosts_at_paces_of_their_own)
{
	kept_compare("varied", play_varied);
}
