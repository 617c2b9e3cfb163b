/* SPDX-License-Identifier: MIT */
#include "collector/nats/publisher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/foreign_text.h"
#include "collector/nats/link.h"
#include "collector/nats/subject.h"

enum { REPEATED = 256 /* findings, at most */, ASKED = 1 << 20 /* bytes */ };

struct publisher {
	struct link *link;
	const char *who;
	bool quiet;
	char host[SUBJECT_NAME];
	char subjects[SUBJECT_TOPICS][SUBJECT_SIZE];
	uint64_t started_ms, number;
	uint64_t next_life_ns, next_repeat_ns;
	uint64_t connections; /* of the link, when findings were said last */
};

struct publisher *publisher_open(const struct publisher_request *request)
{
	struct publisher *publisher = calloc(1, sizeof(*publisher));
	char name[SUBJECT_NAME + 16];

	if (!publisher)
		return NULL;
	publisher->who = request->who;
	publisher->quiet = request->quiet;
	publisher->started_ms = clock_realtime_ns() / 1000000;
	snprintf(publisher->host, sizeof(publisher->host), "%s", request->host);
	for (int i = 0; i < SUBJECT_TOPICS; i++)
		subject_write(publisher->subjects[i], (enum subject_topic)i, request->job, request->host);
	snprintf(name, sizeof(name), "rankwatch %s", publisher->host);
	publisher->link = link_open(&(struct link_request){
	    .url = request->url, .name = name, .subscribe = publisher->subjects[SUBJECT_ASKS], .inbox = ASKED });
	if (publisher->link)
		return publisher;
	free(publisher);
	return NULL;
}

static void send_line(struct publisher *publisher, enum subject_topic topic, const char *line)
{
	link_send(publisher->link, publisher->subjects[topic], line, strlen(line));
}

void publisher_finding(struct publisher *publisher, const char *line)
{
	if (publisher)
		send_line(publisher, SUBJECT_FINDINGS, line);
}

void publisher_batch(struct publisher *publisher, const void *bytes, size_t length)
{
	if (publisher)
		link_send(publisher->link, publisher->subjects[SUBJECT_MESSAGES], bytes, length);
}

struct letter *publisher_asked(struct publisher *publisher)
{
	return publisher ? link_receive(publisher->link) : NULL;
}

static json_t *open_ids(const struct board *board)
{
	json_t *ids = json_array();

	if (board_open(board) > PUBLISHER_IDS)
		return ids;
	for (size_t i = 0; i < board->count; i++)
		if (board->entries[i].line)
			json_array_append_new(ids, json_string(board->entries[i].id));
	return ids;
}

char *publisher_life_line(const struct board *board, const struct publisher_life *life, const char *host,
			  uint64_t started_ms, uint64_t number, uint64_t lost, bool last)
{
	char *escaped = foreign_text(host), *line = NULL;
	json_t *object = escaped
			     ? json_pack("{s:i, s:s, s:I, s:I, s:i, s:i, s:s, s:o, s:i, s:I, s:b}", "version", 1,
					 "host", escaped, "started", (json_int_t)started_ms, "number",
					 (json_int_t)number, "every_ms", (int)PUBLISHER_LIFE_MS, "ranks",
					 (int)life->ranks, "level", life->level, "open", open_ids(board), "open_count",
					 (int)board_open(board), "lost", (json_int_t)lost, "last", last)
			     : NULL;

	if (object)
		line = json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(object);
	free(escaped);
	return line;
}

static void say_news(struct publisher *publisher)
{
	char line[LINK_LINE];
	bool is_trouble;

	while (link_news(publisher->link, line, &is_trouble))
		if (is_trouble || !publisher->quiet)
			foreign_line(stderr, "%s: NATS: %s", publisher->who, line);
}

static void repeat_findings(struct publisher *publisher, const struct board *board)
{
	size_t said = 0;

	for (size_t i = 0; i < board->count && said < REPEATED; i++) {
		if (!board->entries[i].line)
			continue;
		send_line(publisher, SUBJECT_FINDINGS, board->entries[i].line);
		said++;
	}
}

static void say_life(struct publisher *publisher, const struct board *board, const struct publisher_life *life,
		     bool last)
{
	struct link_state state;

	link_see(publisher->link, &state);

	char *line = publisher_life_line(board, life, publisher->host, publisher->started_ms, ++publisher->number,
					 state.lost_sending, last);

	if (line)
		send_line(publisher, SUBJECT_HOSTS, line);
	free(line);
}

void publisher_tick(struct publisher *publisher, const struct board *board, const struct publisher_life *life,
		    uint64_t now_ns)
{
	struct link_state state;

	if (!publisher)
		return;
	say_news(publisher);
	link_see(publisher->link, &state);
	/* Where a reader can be reached again, it may be another one. Signs of life of the past are of no use to
	 * anybody. */
	if (!state.connected)
		return;
	if (state.connections != publisher->connections || now_ns >= publisher->next_repeat_ns) {
		repeat_findings(publisher, board);
		publisher->next_repeat_ns = now_ns + PUBLISHER_REPEAT_MS * UINT64_C(1000000);
		publisher->next_life_ns = 0;
	}
	publisher->connections = state.connections;
	if (now_ns < publisher->next_life_ns)
		return;
	say_life(publisher, board, life, false);
	publisher->next_life_ns = now_ns + PUBLISHER_LIFE_MS * UINT64_C(1000000);
}

bool publisher_close(struct publisher *publisher, unsigned timeout_ms)
{
	static const struct board nothing;
	struct link_state state;

	if (!publisher)
		return true;
	link_see(publisher->link, &state);
	if (state.connected)
		say_life(publisher, &nothing, &(struct publisher_life){ .level = "none" }, true);
	if (state.lost_sending)
		fprintf(stderr, "%s: NATS: %llu findings and batches of messages were not published\n", publisher->who,
			(unsigned long long)state.lost_sending);
	bool closed = link_close(publisher->link, timeout_ms);

	free(publisher);
	return closed;
}
