/* SPDX-License-Identifier: MIT */
/*
 * What is judged of messages between hosts, as answers_test.c holds what one host reports: jobs that are drawn message by message,
 * so that batches are lost, late, of a collector that started anew, and ages are exactly the limits of the job half. A number is made
 * of every key of every finding, of all that is asked of hosts, and of what is known for those who look.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kept_answers.h"
#include "loose_messages.h"

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
	cr_expect_eq(finding->state == RW_FINDING_OPEN, !is_open, "%s is reported as %d while it is %s: %s", finding->id, (int)finding->state,
		     is_open ? "open" : "not open", finding->text);
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

static void on_rank(void *argument, const struct analysis_rank_view *rank)
{
	(void)argument;
	fprintf(kept.all, "rank %d %s %d, life %d %d, parts %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 ", lost %" PRIu64 ", %" PRIu64
		" operations, does %d in %s %u #%" PRIu64 " since %" PRIu64 ", %s %s, of %u, heard %" PRIu64 ", '%s' '%s'\n",
		rank->rank, rank->host, rank->pid, (int)rank->life, rank->exit_status, rank->parts.own_ns, rank->parts.wait_ns,
		rank->parts.transfer_ns, rank->parts.unseen_ns, rank->lost_ns, rank->operations, (int)rank->doing, rank->comm_name,
		rank->function, rank->sequence, rank->since_ns, rank->thread, rank->system_call, rank->compared, rank->heard_ns, rank->why,
		rank->reason);
}

static void on_communicator(void *argument, const struct analysis_communicator_view *communicator)
{
	(void)argument;
	fprintf(kept.all, "communicator %" PRIx64 " %s of %d:", communicator->id, communicator->name, communicator->size);
	for (uint32_t i = 0; i < communicator->member_count; i++)
		fprintf(kept.all, " %d %" PRIu64, communicator->ranks[i], communicator->calls[i]);
	fputc('\n', kept.all);
}

static void on_flight(void *argument, const struct analysis_flight *flight)
{
	(void)argument;
	fprintf(kept.all, "in flight: %s of %d, %u #%" PRIu64 ", %u × %" PRIu64 ", %d unseen, here", flight->comm_name, flight->comm_size,
		flight->function, flight->sequence, flight->dtype, flight->count, flight->unseen);
	for (size_t i = 0; i < flight->joined_count; i++)
		fprintf(kept.all, " %d %s", flight->joined[i], flight->joined_phase[i]);
	fputs(", missing", kept.all);
	for (size_t i = 0; i < flight->missing_count; i++)
		fprintf(kept.all, " %d", flight->missing[i]);
	fputc('\n', kept.all);
}

static void write_cells(const struct cells *cells)
{
	for (size_t i = 0; cells && i < cells->count; i++) {
		const struct column *column = &cells->columns[i];
		fprintf(kept.all, "cells from %" PRIu64 " to %" PRIu64 ":", column->from_ns, column->until_ns);
		for (uint32_t k = 0; k < column->rank_count; k++)
			fprintf(kept.all, " %.3f %.3f %.3f %.3f %.3f", (double)column->cells[k].own_ms, (double)column->cells[k].wait_ms,
				(double)column->cells[k].transfer_ms, (double)column->cells[k].unseen_ms, (double)column->cells[k].lost_ms);
		fputc('\n', kept.all);
	}
}

static void on_viewed(void *argument, const struct job_view *view, const struct job_half_summary *is)
{
	struct analysis_deadline deadline = { 0 };
	struct analysis_summary summary = { 0 };

	(void)argument;
	fprintf(kept.all,
		"%u hosts, %u silent, %u ranks of %d, %u communicators, generation %u, %" PRIu64 " batches, %" PRIu64 " messages, %" PRIu64
		" missed, %" PRIu64 " unsent, %" PRIu64 " bad, %" PRIu64 " ignored, %" PRIu64 " cuts, %" PRIu64 " unaligned, %u findings\n",
		is->hosts, is->silent_hosts, is->ranks, is->ranks_total, is->communicators, is->generation, is->batches, is->messages,
		is->missed, is->unsent, is->bad, is->ignored, is->cuts, is->unaligned, is->findings_opened);
	job_view_ranks(view, on_rank, NULL);
	job_view_communicators(view, on_communicator, NULL);
	job_view_flights(view, on_flight, NULL);
	job_view_deadline(view, &deadline);
	job_view_summary(view, &summary);
	fprintf(kept.all, "watchdog %" PRIu64 " %s since %" PRIu64 "; %u ranks of %d, %u communicators, %" PRIu64 " operations\n",
		deadline.timeout_ms, deadline.from ? deadline.from : "", deadline.since_ns, summary.processes, summary.ranks_total,
		summary.communicators, summary.operations);
	write_cells(job_view_cells(view));
}

static void on_ended(void *argument)
{
	(void)argument;
	open_now.count = 0;
}

static void play(unsigned int number)
{
	static const struct loose_messages_hooks hooks = { .finding = on_finding, .asked = on_asked, .viewed = on_viewed, .ended = on_ended };

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
