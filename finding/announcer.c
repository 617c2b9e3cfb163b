/* SPDX-License-Identifier: MIT */
#include "finding/announcer.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t minute_ns = UINT64_C(60000000000);
static const uint64_t moment_ns = UINT64_C(2000000000);

struct announcement {
	char *key;                  /* kind and ranks */
	json_t *finding;            /* newest */
	json_t *grave;              /* what it was, when it is over as a notice: its newest revision that was more */
	uint64_t seen_ns, shown_ns; /* shown 0: never */
	bool is_new;                /* not shown as it is now */
	bool is_reported_open;          /* what was shown last is still open to its reader */
	bool is_another;            /* since then the rank made other bad values */
	unsigned hastened;          /* how often others were shown before a minute was over */
};

static const char *text_of(const json_t *finding, const char *key)
{
	const char *text = json_string_value(json_object_get(finding, key));

	return text ? text : "";
}

static bool is_closed(const json_t *finding)
{
	return strcmp(text_of(finding, "state"), "closed") == 0;
}

static bool is_notice(const json_t *finding)
{
	return strcmp(text_of(finding, "severity"), "notice") == 0;
}

/* It was more than a notice, and is not over as far as its reader knows. */
static bool is_known(const struct announcer *announcer, const json_t *finding)
{
	for (size_t i = 0; i < announcer->count; i++) {
		const json_t *before = announcer->announcements[i].finding;

		if (before && !is_closed(before) && strcmp(text_of(before, "id"), text_of(finding, "id")) == 0)
			return true;
	}
	return false;
}

/* Of a notice the end, where it was more once. */
static bool is_taken(const struct announcer *announcer, const json_t *finding)
{
	return json_is_integer(json_object_get(finding, "schema")) &&
	       (!is_notice(finding) || (is_closed(finding) && is_known(announcer, finding)));
}

static char *key_of(const json_t *finding)
{
	char *ranks = json_dumps(json_object_get(finding, "ranks"), JSON_COMPACT | JSON_ENCODE_ANY);
	char *key = NULL;

	if (asprintf(&key, "%s %s", text_of(finding, "kind"), ranks ? ranks : "") < 0)
		key = NULL;
	free(ranks);
	return key;
}

/* Takes `key`. NULL on lack of memory. */
static struct announcement *find_or_add(struct announcer *announcer, char *key, uint64_t now_ns)
{
	for (size_t i = 0; key && i < announcer->count; i++) {
		if (strcmp(announcer->announcements[i].key, key) != 0)
			continue;
		free(key);
		return &announcer->announcements[i];
	}
	if (key && announcer->count == announcer->room) {
		size_t room = announcer->room ? announcer->room * 2 : 16;
		struct announcement *more = realloc(announcer->announcements, room * sizeof(*more));

		if (!more) {
			free(key);
			return NULL;
		}
		announcer->announcements = more;
		announcer->room = room;
	}
	if (!key)
		return NULL;
	announcer->announcements[announcer->count] = (struct announcement){ .key = key, .seen_ns = now_ns };
	return &announcer->announcements[announcer->count++];
}

/* A collector that was started anew announces again what it finds open: the same finding is no change. */
static bool is_repeated(const struct announcement *announcement, const json_t *finding)
{
	const json_t *before = announcement->finding;

	return before && strcmp(text_of(finding, "state"), "open") == 0 && !is_closed(before) &&
	       strcmp(text_of(before, "id"), text_of(finding, "id")) == 0;
}

/* At first a slowdown names a communicator, later the link: what is known of the same ranks is another thing. */
static bool names_other(const struct announcement *announcement, const json_t *finding)
{
	const json_t *before = announcement->finding;

	return before && strcmp(text_of(before, "scope"), text_of(finding, "scope")) != 0;
}

static bool is_critical(const json_t *finding)
{
	return strcmp(text_of(finding, "severity"), "critical") == 0;
}

/* Bad values that the rank makes after it was clean again have the id of the first, and are news. */
static bool is_another(const struct announcement *announcement, const json_t *finding)
{
	const json_t *before = announcement->finding;

	return before && is_closed(before) && !is_closed(finding) && is_critical(finding) &&
	       json_is_object(json_object_get(finding, "values")) &&
	       strcmp(text_of(before, "first_seen"), text_of(finding, "first_seen")) != 0;
}

/* Whoever was shown that it began is shown that it is over. */
static bool is_end(const struct announcement *announcement)
{
	return announcement->is_reported_open && is_closed(announcement->finding);
}

/* Of the times that a rank made bad values the first, unless a later one is more severe. */
static bool is_worst(const struct announcement *announcement, const json_t *finding)
{
	const json_t *grave = announcement->grave;

	return !grave || !json_is_object(json_object_get(finding, "values")) ||
	       strcmp(text_of(grave, "first_seen"), text_of(finding, "first_seen")) == 0 ||
	       (is_critical(finding) && !is_critical(grave));
}

/* Twice as long each time, so that a rank which makes them in every other step fills no terminal. */
static uint64_t pause_ns(const struct announcement *announcement)
{
	uint64_t pause_ns = announcement->is_another ? moment_ns << announcement->hastened : minute_ns;

	return pause_ns < minute_ns ? pause_ns : minute_ns;
}

static void count_hastened(struct announcement *announcement)
{
	if (!announcement->is_another && !is_end(announcement))
		announcement->hastened = 0;
	else if (announcement->is_another && pause_ns(announcement) < minute_ns)
		announcement->hastened++;
	announcement->is_another = false;
}

static void show(struct announcer *announcer, struct announcement *announcement, uint64_t now_ns)
{
	count_hastened(announcement);
	announcement->is_new = false;
	announcement->is_reported_open = !is_closed(announcement->finding);
	announcement->shown_ns = now_ns;
	if (announcer->text)
		finding_print(announcer->text, announcement->finding, &announcer->style);
}

/* It is about to take the place of the one before, which its reader has to be shown first. */
static void note_another(struct announcer *announcer, struct announcement *announcement, uint64_t now_ns)
{
	if (announcement->is_new && !announcement->shown_ns)
		show(announcer, announcement, now_ns);
	announcement->is_another = true;
}

void announcer_take(struct announcer *announcer, const json_t *finding, uint64_t now_ns)
{
	struct announcement *announcement;

	if (!is_taken(announcer, finding))
		return;
	announcement = find_or_add(announcer, key_of(finding), now_ns);
	if (!announcement)
		return;
	if (is_another(announcement, finding))
		note_another(announcer, announcement, now_ns);
	announcement->is_new = announcement->is_new || !is_repeated(announcement, finding);
	if (names_other(announcement, finding))
		announcement->shown_ns = 0;
	json_decref(announcement->finding);
	announcement->finding = json_deep_copy(finding);
	if (is_notice(finding) || !is_worst(announcement, finding))
		return;
	json_decref(announcement->grave);
	announcement->grave = json_incref(announcement->finding);
}

static bool knows_cause(const json_t *finding)
{
	const char *class_ = text_of(json_object_get(finding, "cause"), "class");

	return *class_ && strcmp(class_, "unknown") != 0;
}

/* The cause often comes a moment after the finding, and a minute would pass before it could be shown. */
static bool is_due(const struct announcement *announcement, uint64_t now_ns)
{
	if (is_end(announcement))
		return true;
	if (announcement->shown_ns)
		return now_ns - announcement->shown_ns >= pause_ns(announcement);
	return knows_cause(announcement->finding) || now_ns - announcement->seen_ns >= moment_ns;
}

void announcer_tick(struct announcer *announcer, uint64_t now_ns)
{
	for (size_t i = 0; i < announcer->count; i++)
		if (announcer->announcements[i].is_new && is_due(&announcer->announcements[i], now_ns))
			show(announcer, &announcer->announcements[i], now_ns);
}

bool announcer_waits(const struct announcer *announcer)
{
	for (size_t i = 0; i < announcer->count; i++)
		if (announcer->announcements[i].is_new)
			return true;
	return false;
}

json_t *announcer_worst(const struct announcer *announcer)
{
	json_t *worst = NULL;

	for (size_t i = 0; i < announcer->count; i++) {
		json_t *finding = announcer->announcements[i].grave;

		if (finding && (!worst || (is_critical(finding) && !is_critical(worst))))
			worst = finding;
	}
	return json_incref(worst);
}

/* It came back after its end was shown, within the minute in which it is not shown again. */
static bool began_anew(const struct announcement *announcement)
{
	return !announcement->is_reported_open && !is_closed(announcement->finding);
}

void announcer_finish(struct announcer *announcer)
{
	for (size_t i = 0; i < announcer->count; i++) {
		struct announcement *announcement = &announcer->announcements[i];

		if (announcement->is_new && (!announcement->shown_ns || announcement->is_another ||
					     is_end(announcement) || began_anew(announcement)))
			show(announcer, announcement, 1);
		json_decref(announcement->finding);
		json_decref(announcement->grave);
		free(announcement->key);
	}
	free(announcer->announcements);
	announcer->announcements = NULL;
	announcer->count = announcer->room = 0;
}
