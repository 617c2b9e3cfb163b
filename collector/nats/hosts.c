/* SPDX-License-Identifier: MIT */
#include "collector/nats/hosts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "finding/value.h"

enum { EVERY_LEAST_MS = 100, EVERY_MOST_MS = 60000 };

/* Where the name is, or is to be put. */
static size_t place_of(const struct hosts *hosts, const char *name)
{
	size_t low = 0, high = hosts->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(hosts->hosts[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct heard_host *find(const struct hosts *hosts, const char *name)
{
	size_t at = place_of(hosts, name);

	return at < hosts->count && strcmp(hosts->hosts[at].name, name) == 0 ? &hosts->hosts[at] : NULL;
}

const struct heard_host *hosts_find(const struct hosts *hosts, const char *name)
{
	return find(hosts, name);
}

static int add(struct hosts *hosts, const char *name, struct heard_host **added)
{
	size_t at = place_of(hosts, name);

	if (hosts->count >= HOSTS_MOST)
		return -EMFILE;
	if (hosts->count == hosts->room) {
		size_t room = hosts->room ? hosts->room * 2 : 16;
		struct heard_host *grown = realloc(hosts->hosts, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		hosts->hosts = grown;
		hosts->room = room;
	}
	*added = &hosts->hosts[at];
	memmove(*added + 1, *added, (hosts->count++ - at) * sizeof(**added));
	**added = (struct heard_host){ 0 };
	snprintf((*added)->name, sizeof((*added)->name), "%s", name);
	return 0;
}

static uint64_t whole(const json_t *life, const char *key, uint64_t most)
{
	json_int_t value = json_integer_value(json_object_get(life, key));

	if (value < 0)
		return 0;
	return (uint64_t)value > most ? most : (uint64_t)value;
}

static const char *wrong_with(const json_t *life)
{
	if (!json_is_object(life))
		return "is no JSON object";
	if (whole(life, "version", UINT32_MAX) != 1)
		return "has another version";
	if (!whole(life, "started", UINT64_MAX) || !whole(life, "number", UINT64_MAX))
		return "has neither a beginning nor a number";
	return NULL;
}

static enum host_news note_life(struct heard_host *host, const json_t *life, bool is_new)
{
	uint64_t started_ms = whole(life, "started", UINT64_MAX), number = whole(life, "number", UINT64_MAX);
	bool restarted = !is_new && started_ms != host->started_ms;
	enum host_state before = host->state;

	if (!is_new && !restarted && number > host->number + 1)
		host->missed += number - host->number - 1;
	host->started_ms = started_ms;
	host->number = number;
	host->lost = whole(life, "lost", UINT64_MAX);
	if (json_is_true(json_object_get(life, "last"))) {
		host->state = HOST_LEFT;
		return is_new || before != HOST_LEFT ? HOST_TAKES_LEAVE : HOST_NOTHING;
	}
	host->state = HOST_HEARD;

	unsigned ranks = (unsigned)whole(life, "ranks", 65536);
	const char *level = value_text(life, "level");

	if (restarted || ranks > host->ranks)
		host->ranks = ranks;
	snprintf(host->level, sizeof(host->level), "%s", level ? level : "");
	if (is_new)
		return HOST_NEW;
	if (restarted)
		return HOST_RESTARTED;
	return before == HOST_SILENT ? HOST_BACK : HOST_NOTHING;
}

static bool is_deaf(const struct hosts *hosts, uint64_t now_ns)
{
	return hosts->heard_ns && now_ns >= hosts->heard_ns + HOSTS_DEAF_MS * UINT64_C(1000000);
}

static void note_heard(struct hosts *hosts, uint64_t now_ns)
{
	if (is_deaf(hosts, now_ns))
		hosts->excused_ns = now_ns;
	hosts->heard_ns = now_ns;
}

/* What an earlier collector of the host had under way must not bring it back from where the newer one is. */
static bool is_stale(const struct heard_host *host, const json_t *life)
{
	uint64_t started_ms = whole(life, "started", UINT64_MAX);

	return started_ms < host->started_ms ||
	       (started_ms == host->started_ms && whole(life, "number", UINT64_MAX) <= host->number);
}

int hosts_hear(struct hosts *hosts, const char *name, const json_t *life, uint64_t now_ns, enum host_news *news,
	       const struct heard_host **heard, char why[HOSTS_WHY])
{
	const char *wrong = wrong_with(life);
	struct heard_host *host = wrong ? NULL : find(hosts, name);
	bool is_new = !host;
	int err = wrong ? -EPROTO : 0;

	*news = HOST_NOTHING;
	*heard = host;
	if (!err && is_new)
		err = add(hosts, name, &host);
	if (err == -EMFILE || err == -ENOMEM)
		wrong = err == -EMFILE ? "comes from more hosts than a job can have" : "finds no memory";
	snprintf(why, HOSTS_WHY, "%s", wrong ? wrong : "");
	if (err)
		return err;
	*heard = host;
	if (!is_new && is_stale(host, life))
		return 0;

	uint64_t every_ms = whole(life, "every_ms", EVERY_MOST_MS);

	host->every_ns = (every_ms < EVERY_LEAST_MS ? EVERY_LEAST_MS : every_ms) * UINT64_C(1000000);
	host->heard_ns = now_ns;
	note_heard(hosts, now_ns);
	*news = note_life(host, life, is_new);
	return 0;
}

void hosts_touch(struct hosts *hosts, const char *name, uint64_t now_ns)
{
	struct heard_host *host = find(hosts, name);

	if (host)
		host->heard_ns = now_ns;
	note_heard(hosts, now_ns);
}

void hosts_excuse(struct hosts *hosts, uint64_t now_ns)
{
	hosts->excused_ns = now_ns;
}

static uint64_t silent_ns(const struct hosts *hosts, const struct heard_host *host, uint64_t now_ns)
{
	uint64_t own_ns = host->heard_ns + HOSTS_SILENT_LIVES * host->every_ns;
	uint64_t since_ns = is_deaf(hosts, now_ns)               ? hosts->heard_ns
			    : host->heard_ns < hosts->excused_ns ? hosts->excused_ns
								 : 0;
	uint64_t back_ns = since_ns ? since_ns + HOSTS_BACK_MS * UINT64_C(1000000) : 0;

	return own_ns < back_ns ? back_ns : own_ns;
}

const struct heard_host *hosts_next_silent(struct hosts *hosts, uint64_t now_ns)
{
	for (size_t i = 0; i < hosts->count; i++) {
		struct heard_host *host = &hosts->hosts[i];

		if (host->state != HOST_HEARD || now_ns < silent_ns(hosts, host, now_ns))
			continue;
		host->state = HOST_SILENT;
		return host;
	}
	return NULL;
}

size_t hosts_count(const struct hosts *hosts, enum host_state state)
{
	size_t count = 0;

	for (size_t i = 0; i < hosts->count; i++)
		count += hosts->hosts[i].state == state;
	return count;
}

unsigned hosts_ranks(const struct hosts *hosts)
{
	unsigned ranks = 0;

	for (size_t i = 0; i < hosts->count; i++)
		ranks += hosts->hosts[i].ranks;
	return ranks;
}

void hosts_free(struct hosts *hosts)
{
	free(hosts->hosts);
	*hosts = (struct hosts){ 0 };
}
