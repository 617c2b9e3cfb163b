/* SPDX-License-Identifier: MIT */
/* Several judges of one job: which of them is active, and what the others tell when they take over. In virtual time. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "collector/nats/held.h"
#include "collector/nats/judges.h"

enum { MS = 1000000, TICK = 100, JUDGES = 3 };

/* Judges that hear each other, except where one is cut off or does not run. */
static struct {
	struct judges judges[JUDGES];
	bool cut_off[JUDGES], held_up[JUDGES], gone[JUDGES];
	uint64_t now_ms;
} play;

static void begin(void)
{
	memset(&play, 0, sizeof(play));
	play.now_ms = 1000;
	for (int i = 0; i < JUDGES; i++) {
		snprintf(play.judges[i].name, sizeof(play.judges[i].name), "h/%d", i);
		play.judges[i].started_ms = 5000 + (uint64_t)i;
		play.gone[i] = i > 0;
		judges_listen(&play.judges[i], play.now_ms * MS);
	}
}

static void end(void)
{
	for (int i = 0; i < JUDGES; i++)
		judges_free(&play.judges[i]);
}

TestSuite(judges, .init = begin, .fini = end);

static void spread(int from, char *line)
{
	json_t *life = line ? json_loads(line, 0, NULL) : NULL;
	char why[JUDGES_WHY];

	for (int i = 0; life && i < JUDGES; i++)
		if (!play.cut_off[from] && !play.cut_off[i] && !play.gone[i] && !play.held_up[i])
			cr_expect_eq(judges_hear(&play.judges[i], play.judges[from].name, life, play.now_ms * MS, why),
				     0);
	json_decref(life);
	free(line);
}

static void pass(unsigned seconds)
{
	for (uint64_t until_ms = play.now_ms + seconds * 1000; play.now_ms < until_ms; play.now_ms += TICK)
		for (int i = 0; i < JUDGES; i++) {
			struct judges *judges = &play.judges[i];
			if (play.gone[i] || play.held_up[i])
				continue;
			if (play.cut_off[i])
				judges_listen(judges, play.now_ms * MS);
			judges_tick(judges, play.now_ms * MS);
			if (play.now_ms * MS >= judges->next_life_ns)
				spread(i, judges_life(judges, json_array(), false, play.now_ms * MS));
		}
}

static void expect_active(int which, const char *when)
{
	for (int i = 0; i < JUDGES; i++)
		if (!play.gone[i] && !play.held_up[i] && !play.cut_off[i])
			cr_expect_eq(play.judges[i].active, i == which, "%s: judge %d is%s active", when, i,
				     play.judges[i].active ? "" : " not");
}

Test(judges, one_that_is_alone_is_active_when_it_has_listened)
{
	pass(2);
	expect_active(-1, "it listens");
	pass(1);
	expect_active(0, "nobody else is there");
	play.cut_off[0] = true;
	pass(30);
	play.cut_off[0] = false;
	cr_expect(play.judges[0].active, "nobody else is there who could be");
	pass(1);
	expect_active(0, "connected again");
}

Test(judges, a_second_one_stands_by_and_takes_over_within_ten_seconds)
{
	pass(5);
	play.gone[1] = play.gone[2] = false;
	judges_listen(&play.judges[1], play.now_ms * MS);
	judges_listen(&play.judges[2], play.now_ms * MS);
	pass(10);
	expect_active(0, "it was first");
	play.held_up[0] = true;
	pass(9);
	expect_active(1, "the first one is stopped");
	play.held_up[0] = false;
	judges_listen(&play.judges[0], play.now_ms * MS);
	pass(4);
	expect_active(0, "it goes on");
	play.gone[0] = true;
	pass(4);
	expect_active(-1, "it may be late");
	pass(3);
	expect_active(1, "it was killed");
	spread(1, judges_life(&play.judges[1], json_array(), true, play.now_ms * MS));
	play.gone[1] = true;
	pass(1);
	expect_active(2, "the next one took leave");
}

/* Whoever is cut off does not know what the others do. */
Test(judges, one_that_is_cut_off_takes_nothing_over)
{
	play.gone[1] = false;
	pass(5);
	play.cut_off[1] = true;
	pass(30);
	cr_expect_not(play.judges[1].active);
	cr_expect(play.judges[0].active);
	play.cut_off[1] = false;
	play.cut_off[0] = true;
	pass(10);
	cr_expect(play.judges[1].active);
	cr_expect_not(play.judges[0].active, "the other one may be");
	play.cut_off[0] = false;
	pass(4);
	expect_active(0, "connected again");
}

Test(judges, take_no_nonsense)
{
	static const char *const lines[] = { "[]", "{}", "{\"version\":2,\"started\":1,\"open\":[]}",
					     "{\"version\":1,\"started\":-1,\"open\":[]}",
					     "{\"version\":1,\"started\":1,\"open\":3}" };
	char why[JUDGES_WHY];

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		json_t *life = json_loads(lines[i], 0, NULL);
		cr_expect_lt(judges_hear(&play.judges[0], "x/1", life, MS, why), 0, "%s", lines[i]);
		json_decref(life);
	}
	json_t *by_host = json_pack("{s:i, s:i, s:[]}", "version", 1, "started", 1, "open");
	cr_expect_lt(judges_hear(&play.judges[0], "node7", by_host, MS, why), 0, "a host is no judge");
	json_decref(by_host);
	for (int i = 0; i < 100; i++) {
		char name[16];
		json_t *life = json_pack("{s:i, s:i, s:b, s:[i, s, n]}", "version", 1, "started", 1, "active", 1,
					 "open", 7, "x", "y");
		json_array_append_new(json_object_get(life, "open"), json_null());
		snprintf(name, sizeof(name), "n/%d", i);
		judges_hear(&play.judges[0], name, life, (uint64_t)i * MS, why);
		json_decref(life);
	}
	cr_expect_eq(play.judges[0].count, JUDGES_MOST);
}

/* What a judge tells, as "id state", with a star where it is known. */
static char told[512];
static const char *elsewhere; /* the id that another one has told */

static void note(void *argument, const json_t *finding, bool known)
{
	size_t used = strlen(told);

	(void)argument;
	snprintf(told + used, sizeof(told) - used, "%s %s%s; ", json_string_value(json_object_get(finding, "id")),
		 json_string_value(json_object_get(finding, "state")), known ? "*" : "");
}

static bool is_told(void *argument, const char *id)
{
	(void)argument;
	return elsewhere && !strcmp(elsewhere, id);
}

static void put(struct held *held, const char *id, const char *state)
{
	json_t *finding = json_pack("{s:s, s:s}", "id", id, "state", state);

	held_put(held, finding);
	json_decref(finding);
}

Test(held, what_waits_is_told_once_in_its_latest_state)
{
	struct held held = { .emit = note, .is_told = is_told, .holds = true };

	told[0] = '\0';
	elsewhere = "b";
	put(&held, "a", "open");
	put(&held, "a", "update");
	put(&held, "b", "open");
	put(&held, "c", "open");
	put(&held, "c", "closed");
	cr_expect_str_eq(told, "");
	held_set(&held, false);
	cr_expect_str_eq(told, "a open; b update*; ");
	told[0] = '\0';
	put(&held, "a", "update");
	put(&held, "d", "open");
	held_set(&held, true);
	put(&held, "a", "closed");
	put(&held, "d", "update");
	json_t *open = held_open(&held, 2);
	cr_expect_eq(json_array_size(open), 2);
	json_decref(open);
	cr_expect_str_eq(told, "a update; d open; ");
	told[0] = '\0';
	held_set(&held, false);
	cr_expect_str_eq(told, "a closed; d update; ");
	held_free(&held);
}

static void note_past(struct held *held, const char *id, const char *state)
{
	json_t *finding = json_pack("{s:s, s:s}", "id", id, "state", state);

	held_note(held, finding);
	json_decref(finding);
}

Test(held, what_others_have_told_and_is_over_is_told_once_and_what_is_open_is_no_news)
{
	struct held held = { .emit = note, .is_told = is_told, .holds = true };

	told[0] = '\0';
	elsewhere = NULL;
	note_past(&held, "a", "open");
	note_past(&held, "b", "open");
	note_past(&held, "a", "closed");
	note_past(&held, "c", "closed");
	note_past(&held, "d", "open");
	put(&held, "c", "open");
	held_set(&held, false);
	cr_expect_str_eq(told, "a update*; a closed*; c open; ");
	told[0] = '\0';
	put(&held, "b", "open");
	put(&held, "b", "closed");
	put(&held, "b", "open");
	held_set(&held, true);
	held_set(&held, false);
	cr_expect_str_eq(told, "b update*; b closed; b open; ");
	held_free(&held);
}

Test(held, of_what_others_have_told_the_newest_is_kept)
{
	struct held held = { .emit = note, .is_told = is_told, .holds = true };
	char id[16];

	for (int i = 0; i < HELD_PAST + 3; i++) {
		snprintf(id, sizeof(id), "%d", i);
		note_past(&held, id, "open");
		note_past(&held, "first", "open");
	}
	cr_expect_eq(json_object_size(held.past), HELD_PAST);
	cr_expect_null(json_object_get(held.past, "3"));
	cr_expect_not_null(json_object_get(held.past, "4"));
	cr_expect_not_null(json_object_get(held.past, "first"));
	held_free(&held);
}
