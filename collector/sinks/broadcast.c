/* SPDX-License-Identifier: MIT */
#include "collector/sinks/broadcast.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/foreign_text.h"
#include "blackbox/process.h"
#include "collector/nats/link.h"

enum { ASKS_A_TICK = 64 };

/* Two digits of the kernel's identifier of this start of the machine a byte; zeros where it cannot be read. */
static void read_boot(uint8_t boot[16])
{
	char text[40];
	size_t digits = 0;

	process_boot_id(text);
	for (const char *at = text; *at && digits < 32; at++) {
		unsigned value;

		if (*at == '-' || sscanf((const char[]){ *at, '\0' }, "%x", &value) != 1)
			continue;
		boot[digits / 2] |= (uint8_t)(digits % 2 ? value : value << 4);
		digits++;
	}
}

static size_t more_suspects(void *argument, struct analysis_suspect *suspects, size_t room)
{
	return node_half_suspects(argument, suspects, room);
}

/* Which start of this host's collector is speaking: docs/messages.md. */
static void open_half(struct broadcast *broadcast, const struct broadcast_request *request)
{
	struct node_identity identity = { .job = request->identity->job,
					  .host = request->identity->host,
					  .start = clock_realtime_ns() };

	read_boot(identity.boot);
	broadcast->half = node_half_new(request->analysis, &identity);
	if (!broadcast->half)
		fputs("rankwatch collect: no memory for messages: findings are published without them\n", stderr);
	else
		host_suspect_too(broadcast->host, more_suspects, broadcast->half);
}

void broadcast_open(struct broadcast *broadcast, const struct broadcast_request *request)
{
	const struct publisher_request publisher = {
		.url = request->url,
		.job = request->identity->job,
		.host = request->identity->host,
		.who = "rankwatch collect",
		.quiet = request->quiet,
	};

	*broadcast = (struct broadcast){ .host = request->host, .quiet = request->quiet };
	if (!request->url)
		return;
	if (!link_is_possible()) {
		fputs("rankwatch collect: this rankwatch was built without NATS (libnats): nothing is published\n",
		      stderr);
		return;
	}
	broadcast->publisher = publisher_open(&publisher);
	if (!broadcast->publisher)
		fputs("rankwatch collect: no memory or no thread for NATS: nothing is published\n", stderr);
	else
		open_half(broadcast, request);
}

void broadcast_note(struct broadcast *broadcast, const struct rw_finding *finding)
{
	if (broadcast->half)
		node_half_note_finding(broadcast->half, finding);
}

static void on_batch(void *argument, const void *bytes, size_t length)
{
	publisher_batch(argument, bytes, length);
}

/* Who judges the job wants to know why a rank of this host is late. */
static void read_asks(struct broadcast *broadcast, uint64_t now_ns)
{
	struct letter *letter;

	for (int i = 0; i < ASKS_A_TICK && (letter = publisher_asked(broadcast->publisher)); i++) {
		const char *why = "";

		if (broadcast->half && node_half_ask(broadcast->half, letter->bytes, letter->length, now_ns, &why) &&
		    !broadcast->complained && !broadcast->quiet) {
			foreign_line(stderr,
				     "rankwatch collect: NATS: a question that came is not taken: %s (said once)", why);
			broadcast->complained = true;
		}
		free(letter);
	}
}

void broadcast_tick(struct broadcast *broadcast, const struct board *board, unsigned ranks, bool judged,
		    uint64_t now_ns)
{
	struct sight sight;

	if (!broadcast->publisher)
		return;
	read_asks(broadcast, now_ns);
	if (broadcast->half && judged)
		node_half_tick(broadcast->half, now_ns, on_batch, broadcast->publisher);
	host_see(broadcast->host, &sight);

	const struct publisher_life life = { .ranks = ranks, .level = sight_level_name(sight.level) };

	publisher_tick(broadcast->publisher, board, &life, now_ns);
}

bool broadcast_end(struct broadcast *broadcast, uint64_t now_ns, unsigned timeout_ms)
{
	if (broadcast->half)
		node_half_end(broadcast->half, now_ns, on_batch, broadcast->publisher);
	bool all_sent = publisher_close(broadcast->publisher, timeout_ms);

	broadcast->publisher = NULL;
	return all_sent;
}

void broadcast_free(struct broadcast *broadcast)
{
	node_half_free(broadcast->half);
	broadcast->half = NULL;
}
