/* SPDX-License-Identifier: MIT */
#include "collector/sinks/answers.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/job/job_view.h"
#include "analysis/view/view.h"
#include "base/clock.h"
#include "finding/finding_json.h"
#include "protocol/snapshot.h"

#define ACCOUNT_EVERY_NS 5000000000u

enum { LIVE_MS = 1000 /* a subscriber who wants to hear more often watches the job live */ };

/* Where a snapshot is made for one client after the other. */
struct round {
	struct answers *answers;
	struct sight sight;
	uint64_t now_ns;
};

/* view: room for what it points to. */
static struct snapshot_source source_of(const struct answers *answers, struct job_view *view, uint64_t now_ns)
{
	if (answers->half)
		job_half_look(answers->half, view);
	return (struct snapshot_source){
		.analysis = answers->analysis,
		.messages = answers->half ? view : NULL,
		.account = answers->analysis ? &answers->account : NULL,
		.job = answers->job,
		.now_ns = now_ns,
		.realtime_offset_ns = clock_realtime_offset_ns(),
	};
}

/* Takes the message. */
static void send_json(struct socket_client *client, json_t *message)
{
	char *line = message ? json_dumps(message, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;

	json_decref(message);
	if (line)
		socket_send(client, line);
	free(line);
}

static void refuse(struct socket_client *client, int64_t id, const char *why)
{
	send_json(client, json_pack("{s:I, s:s}", "id", (json_int_t)id, "error", why));
}

/* Takes the body. */
static void reply(struct socket_client *client, int64_t id, const char *key, json_t *body, const char *why_not)
{
	if (id >= 0 && body)
		send_json(client, json_pack("{s:I, s:O}", "id", (json_int_t)id, key, body));
	else if (id >= 0)
		refuse(client, id, why_not);
	json_decref(body);
}

static json_t *topics_json(unsigned topics)
{
	json_t *names = json_array();

	for (unsigned i = 0; i < REQUEST_TOPICS; i++)
		if (topics & 1u << i)
			json_array_append_new(names, json_string(request_topic_name(i)));
	return names;
}

static void subscribe(struct socket_client *client, const struct request *request, uint64_t now_ns)
{
	struct socket_subscription *subscription = socket_subscription(client);

	*subscription = (struct socket_subscription){ request->topics, request->every_ms, now_ns, 0 };
	if (request->id >= 0)
		send_json(client, json_pack("{s:I, s:o, s:i}", "id", (json_int_t)request->id, "subscribed",
					    topics_json(request->topics), "every_ms", (int)request->every_ms));
}

static json_t *finding_json(const struct board *board, const char *id)
{
	for (size_t i = 0; i < board->count; i++)
		if (board->entries[i].line && strcmp(board->entries[i].id, id) == 0)
			return json_loads(board->entries[i].line, 0, NULL);
	return NULL;
}

void answers_give(struct answers *answers, struct socket_client *client, const struct request *request, uint64_t now_ns)
{
	struct job_view view;
	struct snapshot_source source = source_of(answers, &view, now_ns);

	switch (request->kind) {
	case REQUEST_SUBSCRIBE:
		subscribe(client, request, now_ns);
		break;
	case REQUEST_GET_RANK:
		reply(client, request->id, "rank", snapshot_rank_json(&source, request->rank), "there is no such rank");
		break;
	case REQUEST_GET_FINDING:
		reply(client, request->id, "finding", finding_json(&answers->outlet->board, request->finding),
		      "no finding of that id is open");
		break;
	default:
		if (request->id >= 0)
			refuse(client, request->id, "not a request that this release knows");
	}
}

static json_t *open_findings_json(const struct board *board)
{
	json_t *ids = json_array();

	for (size_t i = 0; i < board->count; i++)
		if (board->entries[i].line)
			json_array_append_new(ids, json_string(board->entries[i].id));
	return ids;
}

/* From warning up, by kind: also those that are over. */
static json_t *findings_so_far_json(const struct board *board)
{
	json_t *counts = json_object();

	for (int kind = 0; kind < RW_KIND_COUNT; kind++) {
		size_t count = board_count_kind(board, (enum rw_kind)kind);

		if (count)
			json_object_set_new(counts, finding_kind_name((enum rw_kind)kind),
					    json_integer((json_int_t)count));
	}
	return counts;
}

static json_t *hosts_json(const struct hosts *hosts, const struct snapshot_source *source)
{
	static const char *const states[] = { [HOST_HEARD] = "heard", [HOST_SILENT] = "silent", [HOST_LEFT] = "ended" };
	json_t *rows = json_array();

	for (size_t i = 0; i < hosts->count; i++) {
		const struct heard_host *host = &hosts->hosts[i];

		json_array_append_new(rows, json_pack("{s:o, s:s, s:o, s:o, s:I}", "host", snapshot_text(host->name),
						      "state", states[host->state], "heard_unix_ms",
						      snapshot_unix_ms(source, host->heard_ns), "level",
						      snapshot_text(host->level), "ranks", (json_int_t)host->ranks));
	}
	return rows;
}

/* What is known beside the analysis; snapshot: NULL without memory. */
static void add_own(const struct answers *answers, const struct snapshot_source *source, unsigned topics,
		    json_t *snapshot)
{
	json_t *body = json_object_get(snapshot, "snapshot");

	if (topics & REQUEST_FINDINGS) {
		json_object_set_new(body, "findings", open_findings_json(&answers->outlet->board));
		json_object_set_new(body, "findings_so_far", findings_so_far_json(&answers->outlet->board));
	}
	if (topics & REQUEST_HOSTS && answers->hosts)
		json_object_set_new(body, "hosts", hosts_json(answers->hosts, source));
}

/* It follows the causes of the largest losses: not with every snapshot. */
static void refresh_account(struct answers *answers, uint64_t now_ns)
{
	if (!answers->analysis || (answers->account_ns && now_ns - answers->account_ns < ACCOUNT_EVERY_NS))
		return;
	answers->account_ns = now_ns;
	analysis_tell_account(answers->analysis, &answers->account);
}

static void send_if_due(void *argument, struct socket_client *client)
{
	struct round *round = argument;
	struct socket_subscription *subscription = socket_subscription(client);

	if (!subscription->topics || round->now_ns < subscription->due_ns || !socket_is_drained(client))
		return;
	if (subscription->topics & REQUEST_LOSSES)
		refresh_account(round->answers, round->now_ns);
	if (round->answers->host && !round->sight.processes)
		host_see(round->answers->host, &round->sight);
	struct job_view view;
	struct snapshot_source source = source_of(round->answers, &view, round->now_ns);

	source.sight = round->answers->host ? &round->sight : NULL;
	json_t *snapshot = snapshot_json(&source, subscription->topics, subscription->changes);

	add_own(round->answers, &source, subscription->topics, snapshot);
	subscription->changes = (source.messages ? job_view_cells(&view) : analysis_cells(source.analysis))->changes;
	subscription->due_ns = round->now_ns + subscription->every_ms * UINT64_C(1000000);
	send_json(client, snapshot);
}

static void note_follower(void *argument, struct socket_client *client)
{
	const struct socket_subscription *subscription = socket_subscription(client);

	*(bool *)argument |= subscription->topics && subscription->every_ms < LIVE_MS;
}

bool answers_are_followed(struct socket_sink *sink)
{
	bool followed = false;

	socket_each(sink, note_follower, &followed);
	return followed;
}

void answers_tick(struct answers *answers, struct socket_sink *sink, uint64_t now_ns)
{
	struct round round = { .answers = answers, .now_ns = now_ns };

	socket_each(sink, send_if_due, &round);
}
