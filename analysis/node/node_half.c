/* SPDX-License-Identifier: MIT */
#include "analysis/node/node_half.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/batch.h"
#include "analysis/model.h"
#include "analysis/node/init_reports.h"
#include "analysis/node/orders.h"
#include "analysis/node/outbox.h"
#include "analysis/node/reasons.h"
#include "analysis/node/results.h"
#include "analysis/node/roster.h"
#include "analysis/node/row_reports.h"
#include "analysis/node/standing.h"

enum {
	FOUND_MAX = 64, /* open findings that are said again */
	FOUND_RANKS = 64, /* of one of them */
};

static const uint64_t alive_ns = 1000000000, standing_every_ns = 1000000000;

/* A finding of this host, by each of its ranks. */
struct found {
	char id[24];
	struct said said;
	uint64_t revision;
	uint32_t count;
	struct rw_message messages[FOUND_RANKS];
};

struct node_half {
	struct analysis *analysis;
	struct roster roster;
	struct outbox outbox;
	struct reasons reasons;
	uint64_t sent_ns, looked_ns;
	struct found found[FOUND_MAX];
	uint32_t found_count;
};

static void note_passage(void *argument, const struct account_passage *passage)
{
	struct node_half *half = argument;

	row_reports_note(&half->roster, &half->analysis->job, passage, &half->outbox);
	reasons_note(&half->reasons, passage);
}

static void note_values(void *argument, const struct instance *instance, uint64_t now_ns)
{
	struct node_half *half = argument;

	results_note(&half->roster, &half->analysis->job, instance, &half->outbox, now_ns);
}

struct node_half *node_half_new(struct analysis *analysis, const struct node_identity *identity)
{
	struct node_half *half = calloc(1, sizeof(*half));

	if (!half)
		return NULL;
	half->analysis = analysis;
	analysis->has_judge = true;
	outbox_begin(&half->outbox, identity);
	analysis->account.visit_passage = note_passage;
	analysis->account.passage_argument = half;
	analysis->values.visit = note_values;
	analysis->values.visit_argument = half;
	return half;
}

static struct found *found_of(struct node_half *half, const char *id)
{
	for (uint32_t i = 0; i < half->found_count; i++)
		if (!strcmp(half->found[i].id, id))
			return &half->found[i];
	if (half->found_count == FOUND_MAX)
		return NULL;
	struct found *found = &half->found[half->found_count++];
	snprintf(found->id, sizeof(found->id), "%s", id);
	return found;
}

static void write_finding(struct rw_message *message, const struct rw_finding *finding, int32_t rank, uint64_t now_ns)
{
	uint64_t age_ms = now_ns > finding->first_seen_ns ? (now_ns - finding->first_seen_ns) / 1000000 : 0;
	const char *cause = finding->cause.present && finding->cause.text ? finding->cause.text : "";

	*message = (struct rw_message){ .type = RW_MESSAGE_FINDING, .rank = rank };
	if (finding->job.generation > 0)
		message->generation = (uint16_t)finding->job.generation;
	struct rw_message_finding *told = &message->finding;
	told->kind = (uint8_t)finding->kind;
	told->state = (uint8_t)finding->state;
	told->severity = (uint8_t)finding->severity;
	told->confidence = (uint8_t)finding->confidence;
	told->scope = (uint8_t)finding->scope;
	told->class_ = finding->cause.present ? (uint8_t)finding->cause.class_ : RW_CAUSE_UNKNOWN;
	told->late_kind = finding->late.present ? (uint8_t)finding->late.kind : RW_LATE_NONE;
	told->lost_ppm = finding->late.present && finding->late.lost_share >= 0 && finding->late.lost_share <= 1000
			     ? (uint32_t)(finding->late.lost_share * 1e6)
			     : UINT32_MAX;
	told->age_ms = age_ms < RW_MESSAGE_AGE_MAX ? (uint32_t)age_ms : RW_MESSAGE_AGE_MAX;
	snprintf(told->cause, sizeof(told->cause), "%s", cause);
}

void node_half_note_finding(struct node_half *half, const struct rw_finding *finding)
{
	struct found *found = found_of(half, finding->id);

	if (!found)
		return;
	found->revision++;
	found->count = 0;
	for (size_t i = 0; i < finding->rank_count && found->count < FOUND_RANKS; i++)
		if (finding->ranks[i] >= 0)
			write_finding(&found->messages[found->count++], finding, finding->ranks[i], finding->time_ns);
}

static bool is_closed(const struct found *found)
{
	return !found->count || found->messages[0].finding.state == RW_FINDING_CLOSED;
}

static void tell_found(struct node_half *half, uint64_t now_ns)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < half->found_count; i++) {
		struct found *found = &half->found[i];
		bool due = roster_is_due_again(&found->said, found->revision, now_ns);
		for (uint32_t k = 0; due && k < found->count; k++)
			outbox_add(&half->outbox, &found->messages[k]);
		if (is_closed(found))
			continue;
		if (kept != i)
			half->found[kept] = *found;
		kept++;
	}
	half->found_count = kept;
}

void node_half_tick(struct node_half *half, uint64_t now_ns, node_half_send *send, void *argument)
{
	roster_tick(&half->roster, &half->analysis->job, &half->outbox, now_ns);
	standing_tell_ends(&half->roster, &half->analysis->job, &half->outbox, now_ns);
	tell_found(half, now_ns);
	orders_tick(&half->roster, &half->analysis->job, &half->outbox, now_ns);
	reasons_tick(&half->reasons, half->analysis, &half->outbox, now_ns);
	if (now_ns >= half->looked_ns + standing_every_ns) {
		half->looked_ns = now_ns;
		standing_tick(&half->roster, half->analysis, &half->outbox, now_ns);
		init_reports_tick(half->analysis, &half->outbox, now_ns);
	}
	if (!half->outbox.count && now_ns < half->sent_ns + alive_ns)
		return;
	half->sent_ns = now_ns;
	outbox_send(&half->outbox, 0, send, argument);
}

int node_half_ask(struct node_half *half, const void *bytes, size_t length, uint64_t now_ns, const char **why)
{
	struct rw_batch header;
	const char *refused = batch_refuse(bytes, length, &header);

	if (!refused && strcmp(header.job, half->outbox.header.job) != 0)
		refused = "it is of another job";
	if (!refused && strcmp(header.host, half->outbox.header.host) != 0)
		refused = "it is for another host";
	if (why && refused)
		*why = refused;
	if (refused)
		return -EINVAL;
	for (uint32_t i = 0; i < header.count; i++) {
		struct rw_message message;
		if (!batch_message(bytes, i, &message))
			continue;
		if (message.type == RW_MESSAGE_ASK && message.ask.flags & RW_ASK_ABSENCE)
			init_reports_ask(half->analysis, &message, now_ns);
		else if (message.type == RW_MESSAGE_ASK)
			reasons_ask(&half->reasons, &half->analysis->job, &message, now_ns);
		else if (message.type == RW_MESSAGE_ASK_CALLS)
			orders_answer(&half->analysis->job, &message, &half->outbox);
	}
	return 0;
}

size_t node_half_suspects(const struct node_half *half, struct analysis_suspect *suspects, size_t room)
{
	size_t count = standing_suspects(half->analysis, suspects, room), left = room > count ? room - count : 0;

	return count + reasons_suspects(&half->reasons, half->analysis, left ? suspects + count : NULL, left);
}

void node_half_end(struct node_half *half, uint64_t now_ns, node_half_send *send, void *argument)
{
	roster_tick(&half->roster, &half->analysis->job, &half->outbox, now_ns);
	tell_found(half, now_ns);
	outbox_send(&half->outbox, RW_BATCH_LAST, send, argument);
}

void node_half_free(struct node_half *half)
{
	if (!half)
		return;
	if (half->analysis->account.passage_argument == half) {
		half->analysis->account.visit_passage = NULL;
		half->analysis->account.passage_argument = NULL;
		half->analysis->values.visit = NULL;
		half->analysis->values.visit_argument = NULL;
	}
	roster_free(&half->roster);
	outbox_free(&half->outbox);
	free(half);
}
