/* SPDX-License-Identifier: MIT */
/* What surrounds a NATS server, without one: subjects, addresses, queues, who is heard, one list of many nodes'
 * findings. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rankwatch/finding.h>

#include "collector/nats/complaints.h"
#include "collector/nats/echoes.h"
#include "collector/nats/finding_head.h"
#include "collector/nats/hosts.h"
#include "collector/nats/letters.h"
#include "collector/nats/mail.h"
#include "collector/nats/merged.h"
#include "finding/evidence_text.h"
#include "collector/nats/partial.h"
#include "collector/nats/publisher.h"
#include "collector/nats/roll.h"
#include "protocol/server_url.h"
#include "collector/nats/subject.h"

#define S UINT64_C(1000000000)

Test(subject, escapes_what_means_something_in_a_subject)
{
	char subject[SUBJECT_SIZE];

	subject_write(subject, SUBJECT_FINDINGS, "slurm-81123.0", "node7.example.com");
	cr_expect_str_eq(subject, "rankwatch.v1.slurm-81123%2E0.findings.node7%2Eexample%2Ecom");
	subject_write(subject, SUBJECT_MESSAGES, "a b*>%\n", NULL);
	cr_expect_str_eq(subject, "rankwatch.v1.a%20b%2A%3E%25%0A.messages.*");
	subject_write(subject, SUBJECT_HOSTS, "", "");
	cr_expect_str_eq(subject, "rankwatch.v1.%.hosts.%");
	subject_write_all(subject, ">");
	cr_expect_str_eq(subject, "rankwatch.v1.%3E.*.*");
}

Test(subject, comes_back_as_it_was)
{
	static const char *const hosts[] = { "a", "", "%", "node7.example.com", "\xff\x01*> .", "-_9" };
	char subject[SUBJECT_SIZE], host[SUBJECT_NAME], longest[SUBJECT_NAME];
	enum subject_topic topic;

	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		subject_write(subject, SUBJECT_HOSTS, "job", hosts[i]);
		cr_assert_eq(subject_read(subject, &topic, host), 0, "%s", subject);
		cr_expect_eq(topic, SUBJECT_HOSTS);
		cr_expect_str_eq(host, hosts[i]);
	}
	memset(longest, '.', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	subject_write(subject, SUBJECT_MESSAGES, longest, longest);
	cr_assert_eq(subject_read(subject, &topic, host), 0);
	cr_expect_str_eq(host, longest);
}

Test(subject, refuses_what_nobody_of_us_writes)
{
	static const char *const subjects[] = {
		"",
		"rankwatch",
		"rankwatch.v2.j.findings.h",
		"rankwatch.v1.j.gossip.h",
		"rankwatch.v1.j.findings",
		"rankwatch.v1.j.findings.",
		"rankwatch.v1.j.findings.h.h",
		"rankwatch.v1.j.findings.%4",
		"rankwatch.v1.j.findings.%41", /* A is written as A */
		"rankwatch.v1.j.findings.%2e", /* in capitals */
		"rankwatch.v1.j.findings.%00",
		"rankwatch.v1.j.findings.a b",
		"other.v1.j.findings.h",
	};
	char host[SUBJECT_NAME], large[2 * SUBJECT_SIZE];
	enum subject_topic topic;

	for (size_t i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++)
		cr_expect_eq(subject_read(subjects[i], &topic, host), -EPROTO, "%s", subjects[i]);
	snprintf(large, sizeof(large), "rankwatch.v1.j.findings.%0*d", SUBJECT_NAME, 1);
	cr_expect_eq(subject_read(large, &topic, host), -EPROTO, "a name that is too long");
	snprintf(large, sizeof(large), "rankwatch.v1.j.findings.%0*d", SUBJECT_SIZE, 1);
	cr_expect_eq(subject_read(large, &topic, host), -EPROTO);
}

Test(server_url, takes_what_names_a_server)
{
	static const char *const urls[] = {
		"nats://h",          "nats://h:4222",           "tls://h.example:4222",  "nats://u:p@h",
		"nats://u:p@ss@h:1", "nats://token@[::1]:4222", "nats://a:1,nats://b:2", "nats://[::1]"
	};
	char why[SERVER_URL_WHY];

	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++)
		cr_expect_eq(server_url_check(urls[i], why), 0, "%s: %s", urls[i], why);
}

Test(server_url, refuses_what_does_not_and_keeps_its_secret)
{
	static const char *const urls[] = { "", "h:4222", "http://h", "nats://", "nats://u:secret@", "nats://u:secret@h:0",
					    "nats://h:65536", "nats://h:x", "nats://h:", "nats://secret@h/path", "nats://a,secret",
					    "nats://h h", "nats://a,", "secret:secret@h" };
	char why[SERVER_URL_WHY], large[SERVER_URL_LENGTH + 8] = "nats://";

	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		cr_expect_eq(server_url_check(urls[i], why), -EINVAL, "%s", urls[i]);
		cr_expect(*why);
		cr_expect_not(strstr(why, "secret"), "%s", why);
	}
	memset(large + 7, 'a', sizeof(large) - 8);
	cr_expect_eq(server_url_check(large, why), -EINVAL);
}

Test(server_url, is_shown_without_user_and_password)
{
	char shown[SERVER_URL_SHOWN], large[SERVER_URL_LENGTH] = "nats://secret@";

	server_url_show("nats://u:se@cret@h:1,tls://token@[::1]:2,nats://c", shown);
	cr_expect_str_eq(shown, "nats://h:1,tls://[::1]:2,nats://c");
	server_url_show("secret", shown);
	cr_expect_not(strstr(shown, "secret"), "%s", shown);
	memset(large + 14, 'a', sizeof(large) - 15);
	server_url_show(large, shown);
	cr_expect_eq(strlen(shown), SERVER_URL_SHOWN - 1);
	cr_expect_not(strstr(shown, "secret"), "%s", shown);
}

Test(letters, keep_the_newest_within_their_limit)
{
	struct letters letters = { .limit = 1000 };
	char text[100] = "";

	for (int i = 0; i < 100; i++) {
		snprintf(text, sizeof(text), "%d", i);
		letters_put(&letters, "s", text, sizeof(text));
		cr_assert_leq(letters.size, letters.limit);
	}
	cr_expect_gt(letters.count, 4);
	cr_expect_eq(letters.count + letters.dropped, 100);

	int expected = 100 - (int)letters.count;

	for (struct letter *letter; (letter = letters_take(&letters)); free(letter)) {
		cr_expect_eq(letter->length, sizeof(text));
		cr_expect_eq(atoi(letter->bytes), expected++);
	}
	cr_expect_eq(expected, 100);
	cr_expect_eq(letters.size, 0);
	cr_expect_eq(letters.count, 0);
}

Test(letters, one_that_is_too_large_pushes_nobody_out)
{
	struct letters letters = { .limit = 300 };
	char text[400] = "";

	letters_put(&letters, "s", "a", 1);
	letters_put(&letters, "s", text, sizeof(text));
	cr_expect_eq(letters.count, 1);
	cr_expect_eq(letters.dropped, 1);
	letters_put(&letters, "s", NULL, 0);
	cr_expect_eq(letters.count, 2);
	letters_clear(&letters);
	cr_expect_null(letters.first);
}

static json_t *life(unsigned started, unsigned number, bool last)
{
	return json_pack("{s:i, s:i, s:i, s:i, s:i, s:s, s:b}", "version", 1, "started", started, "number", number,
			 "every_ms", 2000, "ranks", 4, "level", "proc", "last", last);
}

static enum host_news hear(struct hosts *hosts, const char *host, json_t *object, uint64_t now_ns)
{
	const struct heard_host *heard;
	enum host_news news;
	char why[HOSTS_WHY];

	cr_expect_eq(hosts_hear(hosts, host, object, now_ns, &news, &heard, why), 0, "%s", why);
	json_decref(object);
	return news;
}

Test(hosts, come_go_silent_come_back_and_take_leave)
{
	struct hosts hosts = { 0 };

	cr_expect_eq(hear(&hosts, "b", life(1000, 1, false), 1 * S), HOST_NEW);
	cr_expect_eq(hear(&hosts, "a", life(1000, 1, false), 2 * S), HOST_NEW);
	cr_expect_eq(hosts_ranks(&hosts), 8);
	hosts_touch(&hosts, "a", 6 * S);
	hosts_touch(&hosts, "a", 10 * S);
	cr_expect_null(hosts_next_silent(&hosts, 10 * S));

	const struct heard_host *silent = hosts_next_silent(&hosts, 11 * S);

	cr_assert(silent);
	cr_expect_str_eq(silent->name, "b");
	cr_expect_null(hosts_next_silent(&hosts, 11 * S), "that is said once");
	cr_expect_eq(hear(&hosts, "b", life(1000, 9, false), 12 * S), HOST_BACK);
	cr_expect_eq(hosts_find(&hosts, "b")->missed, 7);
	cr_expect_eq(hear(&hosts, "b", life(1000, 3, false), 12 * S), HOST_NOTHING, "an old one that was under way");
	cr_expect_eq(hear(&hosts, "b", life(2000, 1, false), 13 * S), HOST_RESTARTED);
	cr_expect_eq(hear(&hosts, "b", life(1000, 10, true), 13 * S), HOST_NOTHING, "the one before");
	cr_expect_eq(hear(&hosts, "b", life(2000, 2, true), 14 * S), HOST_TAKES_LEAVE);
	hosts_touch(&hosts, "a", 20 * S);
	cr_expect_eq(hear(&hosts, "c", life(1000, 1, false), 24 * S), HOST_NEW);
	cr_expect_eq(hear(&hosts, "c", life(1000, 2, false), 28 * S), HOST_NOTHING);
	cr_expect_null(hosts_next_silent(&hosts, 30 * S - 1),
		       "who has taken leave is not silent, who says anything neither");
	cr_expect_str_eq(hosts_next_silent(&hosts, 30 * S)->name, "a");
	hosts_free(&hosts);
}

Test(hosts, are_not_silent_because_we_heard_nobody)
{
	struct hosts hosts = { 0 };

	hear(&hosts, "a", life(1000, 1, false), 1 * S);
	hear(&hosts, "b", life(1000, 1, false), 2 * S);
	cr_expect_null(hosts_next_silent(&hosts, 31 * S), "nobody is heard: it may be us");
	hear(&hosts, "a", life(1000, 2, false), 31 * S);
	cr_expect_null(hosts_next_silent(&hosts, 31 * S), "one is heard again: the other may be about to be");
	hosts_excuse(&hosts, 33 * S);
	for (unsigned second = 35; second < 63; second += 2) {
		hear(&hosts, "a", life(1000, second, false), second * S);
		cr_expect_null(hosts_next_silent(&hosts, second * S), "we were not connected until 33 s; it is %u",
			       second);
	}
	hear(&hosts, "a", life(1000, 63, false), 63 * S);
	const struct heard_host *silent = hosts_next_silent(&hosts, 63 * S);
	cr_assert(silent);
	cr_expect_str_eq(silent->name, "b");
	cr_expect_null(hosts_next_silent(&hosts, 92 * S));
	silent = hosts_next_silent(&hosts, 93 * S);
	cr_assert(silent);
	cr_expect_str_eq(silent->name, "a", "alone it is lost, too, after half a minute");
	hosts_free(&hosts);
}

Test(hosts, believe_no_nonsense)
{
	static const char *const lines[] = { "[]",
					     "{}",
					     "3",
					     "{\"version\":2,\"started\":1,\"number\":1}",
					     "{\"version\":1,\"started\":-1,\"number\":1}",
					     "{\"version\":1,\"started\":1,\"number\":\"1\"}" };
	struct hosts hosts = { 0 };
	const struct heard_host *heard;
	enum host_news news;
	char why[HOSTS_WHY];

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		json_t *object = json_loads(lines[i], JSON_DECODE_ANY, NULL);

		cr_expect_eq(hosts_hear(&hosts, "a", object, S, &news, &heard, why), -EPROTO, "%s", lines[i]);
		cr_expect(*why);
		json_decref(object);
	}
	cr_expect_eq(hosts_hear(&hosts, "a", NULL, S, &news, &heard, why), -EPROTO);
	cr_expect_eq(hosts.count, 0);

	json_t *object =
	    json_loads("{\"version\":1,\"started\":1,\"number\":1,\"every_ms\":-5,\"ranks\":99999999999}", 0, NULL);

	cr_expect_eq(hear(&hosts, "a", object, S), HOST_NEW);
	cr_expect_leq(hosts_ranks(&hosts), 65536);
	hosts_free(&hosts);
}

Test(hosts, are_bounded)
{
	struct hosts hosts = { 0 };
	const struct heard_host *heard;
	enum host_news news;
	char why[HOSTS_WHY], name[16];
	json_t *object = life(1, 1, false);
	int err = 0;

	for (int i = 0; i <= HOSTS_MOST && !err; i++) {
		snprintf(name, sizeof(name), "%d", i);
		err = hosts_hear(&hosts, name, object, S, &news, &heard, why);
	}
	cr_expect_eq(err, -EMFILE);
	cr_expect_eq(hosts.count, HOSTS_MOST);
	json_decref(object);
	hosts_free(&hosts);
}

struct told {
	unsigned count;
	char state[16], text[64], ports[512];
	json_int_t revision;
};

static void on_finding(void *argument, const json_t *finding)
{
	struct told *told = argument;

	told->count++;
	snprintf(told->state, sizeof(told->state), "%s", json_string_value(json_object_get(finding, "state")));
	snprintf(told->text, sizeof(told->text), "%s", json_string_value(json_object_get(finding, "text")));
	told->revision = json_integer_value(json_object_get(finding, "revision"));
	memset(told->ports, 0, sizeof(told->ports));
	FILE *ports = fmemopen(told->ports, sizeof(told->ports) - 1, "w");

	evidence_text_write(ports, finding, "port");
	fclose(ports);
}

static json_t *finding(const char *id, const char *state, const char *text, const char *cause)
{
	return json_pack("{s:i, s:s, s:s, s:s, s:s, s:[i], s:s, s:o?, s:[{s:s}], s:{s:s}}", "schema", 1, "id", id,
			 "state", state, "severity", "warning", "kind", "straggler", "ranks", 3, "text", text, "cause",
			 cause ? json_pack("{s:s}", "class", cause) : NULL, "where", "host", "h1", "incident", "id",
			 id);
}

static void put(struct merged *merged, const char *host, json_t *object)
{
	char why[FINDING_HEAD_WHY];

	cr_expect_eq(merged_take(merged, host, object, why), 0, "%s", why);
	json_decref(object);
}

Test(merged, one_finding_of_many_nodes_is_told_once)
{
	struct told told = { 0 };
	struct merged merged = { .emit = on_finding, .argument = &told };

	put(&merged, "h0", finding("0a-0", "update", "by h0", NULL));
	cr_expect_eq(told.count, 1);
	cr_expect_str_eq(told.state, "open", "whoever comes late hears of it as of a new one");
	put(&merged, "h0", finding("0a-0", "update", "by h0", NULL));
	put(&merged, "h2", finding("0a-0", "open", "by h2", NULL));
	cr_expect_eq(told.count, 1, "said again, and by another that knows no more");
	put(&merged, "h2", finding("0a-0", "update", "by h2, with a cause", "io"));
	cr_expect_eq(told.count, 2);
	cr_expect_str_eq(told.state, "update");
	cr_expect_str_eq(told.text, "by h2, with a cause");
	put(&merged, "h0", finding("0a-0", "update", "by h0 again", NULL));
	cr_expect_eq(told.count, 2);
	put(&merged, "h2", finding("0a-0", "closed", "over for h2", "io"));
	cr_expect_eq(told.count, 3);
	cr_expect_str_eq(told.state, "update");
	cr_expect_str_eq(told.text, "by h0 again");
	put(&merged, "h0", finding("0a-0", "closed", "over", NULL));
	cr_expect_eq(told.count, 4);
	cr_expect_str_eq(told.state, "closed");
	cr_expect_eq(told.revision, 4);
	cr_expect_eq(merged.voice_count + merged.told_count, 0);
	put(&merged, "h0", finding("0a-0", "closed", "over", NULL));
	cr_expect_eq(told.count, 4);
	merged_free(&merged);
}

Test(merged, the_ranks_own_host_is_believed_before_another_and_a_node_before_the_job)
{
	struct told told = { 0 };
	struct merged merged = { .emit = on_finding, .argument = &told };

	put(&merged, "", finding("0a-0", "open", "by the job half", NULL));
	put(&merged, "h0", finding("0a-0", "open", "by h0", NULL));
	cr_expect_str_eq(told.text, "by h0");
	put(&merged, "h1", finding("0a-0", "open", "by its own host", NULL));
	cr_expect_str_eq(told.text, "by its own host");
	cr_expect_eq(told.count, 3);
	merged_free(&merged);
}

/* ports: "a|b", what a host's ports showed. */
static json_t *with_ports(json_t *finding, const char *ports)
{
	json_t *evidence = json_pack("[{s:s, s:n, s:s}]", "source", "messages", "ms", "what", "no ports");
	char *copy = strdup(ports), *rest = copy, *what;

	while ((what = strsep(&rest, "|")))
		json_array_append_new(evidence, json_pack("{s:s, s:n, s:s}", "source", "port", "ms", "what", what));
	free(copy);
	json_object_set_new(finding, "evidence", evidence);
	return finding;
}

Test(merged, what_the_ports_of_each_host_showed_is_told)
{
	struct told told = { 0 };
	struct merged merged = { .emit = on_finding, .argument = &told };

	put(&merged, "h1", finding("0a-0", "open", "by h1", NULL));
	cr_expect_str_eq(told.ports, "");
	put(&merged, "h2", with_ports(finding("0a-0", "open", "by h2", NULL), "eth0: link went down once"));
	cr_expect_eq(told.count, 2, "its ports are news, though another tells it");
	cr_expect_str_eq(told.text, "by h1");
	cr_expect_str_eq(told.ports, "h2, eth0: link went down once");
	put(&merged, "h3",
	    with_ports(finding("0a-0", "open", "by h3", NULL), "ib0: symbol errors +31|ib1: symbol errors +30"));
	cr_expect_str_eq(told.ports, "h2, eth0: link went down once; h3, ib0: symbol errors +31; h3, ib1: symbol errors +30");
	put(&merged, "h1", with_ports(finding("0a-0", "update", "by h1", NULL), "h1, e1: is down|e2: is down"));
	cr_expect_str_eq(told.ports, "h1, e1: is down; h2, eth0: link went down once; h3, ib0: symbol errors +31",
			 "the teller's first, and each host's weightiest before any second one");
	cr_expect_eq(told.count, 4);
	put(&merged, "h2", finding("0a-0", "closed", "over for h2", NULL));
	put(&merged, "h1", finding("0a-0", "closed", "over for h1", NULL));
	cr_expect_str_eq(told.text, "by h3");
	put(&merged, "h3", with_ports(finding("0a-0", "closed", "over", NULL), "ib0: symbol errors +31"));
	cr_expect_str_eq(told.state, "closed");
	cr_expect_str_eq(told.ports, "h3, ib0: symbol errors +31; h2, eth0: link went down once; h1, e1: is down",
			 "what was said stays to the end");
	merged_free(&merged);
}

Test(merged, an_end_that_was_lost_is_made_up_for)
{
	struct told told = { 0 };
	struct merged merged = { .emit = on_finding, .argument = &told };
	json_t *ids = json_pack("[s]", "0b-0");

	put(&merged, "h0", finding("0a-0", "open", "first", NULL));
	put(&merged, "h0", finding("0b-0", "open", "second", NULL));
	put(&merged, "h1", finding("0c-0", "open", "third", NULL));
	merged_keep_only(&merged, "h0", ids);
	cr_expect_eq(told.count, 4);
	cr_expect_str_eq(told.state, "closed");
	cr_expect_str_eq(told.text, "first");
	cr_expect_eq(merged.told_count, 2);
	json_decref(ids);
	merged_free(&merged);
}

Test(merged, what_is_no_finding_is_not_taken)
{
	static const char *const lines[] = {
		"{}",
		"{\"schema\":2,\"id\":\"0a-0\",\"state\":\"open\",\"severity\":\"warning\",\"kind\":\"x\",\"ranks\":[],"
		"\"text\":\"\"}",
		"{\"schema\":1,\"id\":\"0a-0\\u001b\",\"state\":\"open\",\"severity\":\"warning\",\"kind\":\"x\","
		"\"ranks\":[],\"text\":\"\"}",
		"{\"schema\":1,\"id\":\"0123456789abcdef01234567-0\",\"state\":\"open\",\"severity\":\"warning\","
		"\"kind\":\"x\",\"ranks\":[],\"text\":\"\"}",
		"{\"schema\":1,\"id\":\"0a-0\",\"state\":\"ajar\",\"severity\":\"warning\",\"kind\":\"x\",\"ranks\":[],"
		"\"text\":\"\"}",
		"{\"schema\":1,\"id\":\"0a-0\",\"state\":\"open\",\"severity\":\"dire\",\"kind\":\"x\",\"ranks\":[],"
		"\"text\":\"\"}",
		"{\"schema\":1,\"id\":\"0a-0\",\"state\":\"open\",\"severity\":\"warning\",\"kind\":3,\"ranks\":[],"
		"\"text\":\"\"}",
		"{\"schema\":1,\"id\":\"0a-0\",\"state\":\"open\",\"severity\":\"warning\",\"kind\":\"x\",\"ranks\":3,"
		"\"text\":\"\"}",
		"{\"schema\":1,\"id\":\"0a-0\",\"state\":\"open\",\"severity\":\"warning\",\"kind\":\"x\","
		"\"ranks\":[]}",
	};
	struct told told = { 0 };
	struct merged merged = { .emit = on_finding, .argument = &told };
	char why[FINDING_HEAD_WHY];

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		json_t *object = json_loads(lines[i], 0, NULL);

		cr_assert(object, "%s", lines[i]);
		cr_expect_eq(merged_take(&merged, "h", object, why), -EPROTO, "%s", lines[i]);
		cr_expect(*why);
		json_decref(object);
	}
	cr_expect_eq(merged_take(&merged, "h", NULL, why), -EPROTO);
	cr_expect_eq(told.count, 0);
}

Test(merged, a_kind_that_is_not_known_is_handed_on)
{
	struct told told = { 0 };
	struct merged merged = { .emit = on_finding, .argument = &told };
	json_t *object = finding("0a-0", "open", "news", NULL);

	json_object_set_new(object, "kind", json_string("newer"));
	put(&merged, "h", object);
	cr_expect_eq(told.count, 1);
	merged_free(&merged);
}

Test(merged, is_bounded)
{
	struct told told = { 0 };
	struct merged merged = { .emit = on_finding, .argument = &told };
	char why[FINDING_HEAD_WHY], id[24];
	int err = 0;

	for (int i = 0; i <= MERGED_MOST && !err; i++) {
		snprintf(id, sizeof(id), "%x-0", i);

		json_t *object = finding(id, "open", "x", NULL);

		err = merged_take(&merged, "h", object, why);
		json_decref(object);
	}
	cr_expect_eq(err, -EMFILE);
	cr_expect_eq(told.count, MERGED_MOST);
	merged_free(&merged);
}

/* Of all nodes as of one: what a rank makes after it was clean again counts, also of a kind that we do not know. */
Test(publisher, counts_values_that_are_bad_again)
{
	static const char *const kinds[] = { "nan", "of next year" };
	static const struct {
		const char *state;
		int second;
	} told[] = { { "open", 1 }, { "closed", 1 }, { "open", 5 } };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct board board = { 0 };
		struct rw_finding head;
		char why[FINDING_HEAD_WHY], first_seen[32];

		for (size_t k = 0; k < sizeof(told) / sizeof(*told); k++) {
			snprintf(first_seen, sizeof(first_seen), "2026-11-20T19:03:%02d.000Z", told[k].second);
			json_t *json = json_pack("{s:i, s:s, s:s, s:s, s:s, s:[i], s:s, s:s, s:{}}", "schema", 1, "id",
						 "0000000a-0", "state", told[k].state, "severity", "critical", "kind",
						 kinds[i], "ranks", 5, "text", "t", "first_seen", first_seen, "values");

			cr_assert_eq(finding_head_read(json, &head, why), 0, "%s", why);
			cr_expect_eq(board_put(&board, &head, "{}"), 0);
			json_decref(json);
		}
		cr_expect_eq(board_count(&board, RW_CRITICAL), 2, "%s", kinds[i]);
		cr_expect_eq(board_closed(&board), 1);
		board_free(&board);
	}
}

Test(publisher, says_that_it_lives_and_what_is_open)
{
	struct board board = { 0 };
	struct rw_finding open = { .id = "0a-0", .state = RW_FINDING_OPEN },
			  closed = { .id = "0b-0", .state = RW_FINDING_CLOSED };
	const struct publisher_life life_ = { .ranks = 4, .level = "proc" };

	board_put(&board, &open, "{}");
	board_put(&board, &closed, "{}");

	char *line = publisher_life_line(&board, &life_, "host\xff", 5, 6, 7, false);
	json_t *object = json_loads(line, 0, NULL);
	struct hosts hosts = { 0 };

	cr_assert(object, "%s", line);
	cr_expect_eq(json_array_size(json_object_get(object, "open")), 1);
	cr_expect_eq(json_integer_value(json_object_get(object, "open_count")), 1);
	cr_expect_eq(hear(&hosts, "h", object, S), HOST_NEW);
	cr_expect_eq(hosts_find(&hosts, "h")->lost, 7);
	hosts_free(&hosts);
	free(line);
	board_free(&board);
}

Test(publisher, lists_no_part_of_what_is_open)
{
	struct board board = { 0 };
	struct rw_finding open = { .state = RW_FINDING_OPEN };
	const struct publisher_life life_ = { .level = "proc" };

	for (int i = 0; i <= PUBLISHER_IDS; i++) {
		snprintf(open.id, sizeof(open.id), "%x-0", i);
		board_put(&board, &open, "{}");
	}

	char *line = publisher_life_line(&board, &life_, "h", 5, 6, 7, false);
	json_t *object = json_loads(line, 0, NULL);

	cr_expect_eq(json_array_size(json_object_get(object, "open")), 0);
	cr_expect_eq(json_integer_value(json_object_get(object, "open_count")), PUBLISHER_IDS + 1);
	json_decref(object);
	free(line);
	board_free(&board);
}

Test(complaints, are_said_once_and_counted)
{
	struct complaints complaints = { 0 };
	char why[32];

	cr_expect(complaints_add(&complaints, "a"));
	cr_expect_not(complaints_add(&complaints, "a"));
	for (int i = 0; i < 2 * COMPLAINTS_KINDS; i++) {
		snprintf(why, sizeof(why), "%d", i);
		cr_expect_eq(complaints_add(&complaints, why), i < COMPLAINTS_KINDS - 1);
	}
	cr_expect_eq(complaints.count, 2 + 2 * COMPLAINTS_KINDS);
}

Test(roll, names_the_first_and_counts_the_rest)
{
	struct roll roll = { 0 };
	char name[SUBJECT_NAME];

	cr_expect_null(roll_take(&roll));
	roll_add(&roll, "a");
	roll_add(&roll, "b");
	cr_expect_str_eq(roll_take(&roll), "a, b");
	cr_expect_null(roll_take(&roll));
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	for (int i = 0; i < 1000; i++)
		roll_add(&roll, name);
	cr_expect(strstr(roll_take(&roll), " and 992 more"));
}

static json_t *slowdown(const char *id, const char *ranks, const char *scope, const char *text)
{
	char line[1024];

	snprintf(line, sizeof(line), "{\"schema\":1,\"id\":\"%s\",\"state\":\"open\",\"severity\":\"warning\",\"confidence\":"
		 "\"likely\",\"kind\":\"slowdown\",\"scope\":\"%s\",\"ranks\":%s,\"job\":{\"generation\":2},\"operation\":{"
		 "\"comm\":\"0x9\",\"comm_size\":4},\"text\":\"%s\"}", id, scope, ranks, text);
	return json_loads(line, 0, NULL);
}

/* The text of what becomes of the finding; and its id, "" where it is the same. */
static const char *become(json_t *finding, char id[24])
{
	static char text[600];
	json_t *changed = partial_finding(finding);

	snprintf(id, 24, "%s", changed == finding ? "" : json_string_value(json_object_get(changed, "id")));
	snprintf(text, sizeof(text), "%s", json_string_value(json_object_get(changed, "text")));
	if (changed != finding)
		cr_expect_str_eq(json_string_value(json_object_get(changed, "confidence")), "inconclusive");
	json_decref(changed);
	json_decref(finding);
	return text;
}

Test(partial, slow_transfers_of_hosts_that_see_a_part_each_are_one_finding)
{
	char one[24], other[24], whole[24], link[24];

	cr_expect_str_eq(become(slowdown("0a-2", "[0]", "job", "one of them"), one), "one of them");
	become(slowdown("0b-2", "[1,2]", "job", "x"), other);
	cr_expect(*one);
	cr_expect_str_eq(one, other);
	cr_expect_str_eq(become(slowdown("0c-2", "[0,1,2,3]", "job", "all"), whole), "all");
	cr_expect_str_eq(whole, "", "one that sees all of them knows");
	become(slowdown("0d-2", "[0]", "link", "x"), link);
	cr_expect_str_eq(link, "", "of a link, too");
}

/* A NaN that went from host to host, as one node says it. */
static json_t *bad_value(const char *id, const char *state, const char *side, const char *confidence, int sequence,
			 bool whole)
{
	const char *seen = strcmp(confidence, "inconclusive") ? "maker" : strcmp(side, "input") ? "unscanned" : "input";

	return json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:[i], s:s, s:{s:s, s:s, s:b}, s:{s:s, s:s, s:i}}", "schema",
			 1, "id", id, "state", state, "severity", "critical", "kind", "nan", "confidence", confidence,
			 "ranks", 0, "text", "NaN", "values", "side", side, "seen", seen, "whole", whole, "operation",
			 "comm", "0x9", "function", "AllReduce", "sequence", sequence);
}

static bool echoes_take(struct echoes *echoes, const char *host, json_t *finding, uint64_t now_ns)
{
	bool passed = echoes_pass(echoes, host, finding, now_ns);

	json_decref(finding);
	return passed;
}

Test(echoes, who_sees_receivers_only_is_not_told_where_another_saw_the_birth)
{
	struct echoes echoes = { 0 };
	char host[SUBJECT_NAME], id[24];

	cr_expect_not(echoes_take(&echoes, "h0", bad_value("0a-0", "open", "output", "inconclusive", 42, false), 10 * S));
	cr_expect_null(echoes_due(&echoes, host, 12 * S), "it waits");
	cr_expect(echoes_take(&echoes, "h1", bad_value("0b-0", "open", "input", "certain", 40, false), 12 * S));
	cr_expect_null(echoes_due(&echoes, host, 30 * S));
	cr_expect_not(
	    echoes_take(&echoes, "h0", bad_value("0a-0", "update", "output", "inconclusive", 42, false), 40 * S),
	    "nor later");
	cr_expect(echoes_take(&echoes, "h1", bad_value("0b-0", "closed", "input", "certain", 40, false), 50 * S));
	cr_expect_not(
	    echoes_take(&echoes, "h0", bad_value("0a-0", "update", "output", "inconclusive", 42, false), 60 * S),
	    "nor then");
	cr_expect_not(echoes_take(&echoes, "h0", bad_value("0a-0", "closed", "output", "inconclusive", 42, false), 61 * S),
		      "what was not told has no end");
	cr_expect_not(echoes_refuted(&echoes, host, id));
	cr_expect_eq(echoes.count, 0);
	echoes_free(&echoes);
}

Test(echoes, is_told_where_nobody_saw_the_birth)
{
	struct echoes echoes = { 0 };
	char host[SUBJECT_NAME], id[24];

	cr_expect_not(echoes_take(&echoes, "h0", bad_value("0a-0", "open", "output", "inconclusive", 42, false), 10 * S));
	/* Another story, and the same host's own. */
	cr_expect(echoes_take(&echoes, "h1", bad_value("0b-0", "open", "input", "inconclusive", 7, true), 11 * S));
	cr_expect(echoes_take(&echoes, "h0", bad_value("0c-0", "open", "input", "certain", 42, false), 11 * S));
	json_t *finding = echoes_due(&echoes, host, 15 * S);
	cr_assert_not_null(finding);
	cr_expect_str_eq(host, "h0");
	cr_expect_str_eq(json_string_value(json_object_get(finding, "id")), "0a-0");
	json_decref(finding);
	cr_expect_null(echoes_due(&echoes, host, 16 * S), "once");
	cr_expect(echoes_take(&echoes, "h0", bad_value("0a-0", "update", "output", "inconclusive", 42, false), 20 * S));
	cr_expect_not(echoes_refuted(&echoes, host, id));
	/* The node that saw it was cut off until now. */
	cr_expect(echoes_take(&echoes, "h2", bad_value("0d-0", "open", "input", "inconclusive", 42, true), 30 * S));
	cr_expect(echoes_refuted(&echoes, host, id));
	cr_expect_str_eq(id, "0a-0");
	cr_expect_not(echoes_refuted(&echoes, host, id), "once");
	cr_expect_not(echoes_take(&echoes, "h0", bad_value("0a-0", "update", "output", "inconclusive", 42, false), 40 * S));
	echoes_free(&echoes);
}

Test(echoes, who_sees_all_ranks_or_knows_who_it_was_is_told_at_once)
{
	struct echoes echoes = { 0 };

	cr_expect(echoes_take(&echoes, "h0", bad_value("0a-0", "open", "output", "inconclusive", 42, true), S));
	cr_expect(echoes_take(&echoes, "h0", bad_value("0b-0", "open", "input", "certain", 42, false), S));
	cr_expect(echoes_take(&echoes, "h1", bad_value("0c-0", "open", "output", "likely", 43, false), S));
	/* That it was no echo after all. */
	cr_expect_not(echoes_take(&echoes, "h2", bad_value("0d-0", "open", "output", "inconclusive", 99, false), 200 * S));
	cr_expect(echoes_take(&echoes, "h2", bad_value("0d-0", "update", "input", "likely", 99, false), 201 * S));
	cr_expect_eq(echoes.count, 0);
	echoes_free(&echoes);
}

/* Names a rank of its own as the first that had it, because it does not see what came before. Another host saw who
 * brought it. */
Test(echoes, who_does_not_see_what_came_before_is_not_told_where_another_saw_the_birth)
{
	struct echoes echoes = { 0 };
	char host[SUBJECT_NAME], id[24];

	cr_expect_not(echoes_take(&echoes, "h0", bad_value("0a-0", "open", "input", "inconclusive", 42, false), 10 * S));
	/* Such a one of another host is no better. */
	cr_expect_not(echoes_take(&echoes, "h2", bad_value("0c-0", "open", "input", "inconclusive", 42, false), 10 * S));
	cr_expect_null(echoes_due(&echoes, host, 12 * S));
	cr_expect(echoes_take(&echoes, "h1", bad_value("0d-0", "open", "input", "certain", 3, false), 12 * S));
	cr_expect_null(echoes_due(&echoes, host, 30 * S));
	cr_expect_not(echoes_refuted(&echoes, host, id));
	echoes_free(&echoes);
	/* Where nobody saw it, each is told, and both together. */
	cr_expect_not(echoes_take(&echoes, "h0", bad_value("1a-0", "open", "input", "inconclusive", 42, false), 110 * S));
	cr_expect_not(echoes_take(&echoes, "h2", bad_value("1c-0", "open", "input", "inconclusive", 42, false), 113 * S));
	cr_expect_null(echoes_due(&echoes, host, 115 * S - 1));
	for (int i = 0; i < 2; i++) {
		json_t *finding = echoes_due(&echoes, host, 115 * S);
		cr_assert_not_null(finding);
		json_decref(finding);
	}
	echoes_free(&echoes);
}

static json_t *clean_inputs(const char *id)
{
	json_t *finding = bad_value(id, "open", "output", "inconclusive", 42, false);

	json_object_set_new(finding, "ranks", json_array());
	json_object_set_new(json_object_get(finding, "values"), "seen", json_string("result"));
	return finding;
}

/* All have the bad result. The inputs on h1 and h2 were clean, and that on h0 was not scanned: rank 0 only can have
 * brought it. */
Test(echoes, whose_inputs_were_clean_is_not_told_where_those_of_another_were_not_seen)
{
	struct echoes echoes = { 0 };
	char host[SUBJECT_NAME], id[24];

	cr_expect_not(echoes_take(&echoes, "h1", clean_inputs("0e-0"), 10 * S));
	cr_expect_not(echoes_take(&echoes, "h0", bad_value("0a-0", "open", "output", "inconclusive", 42, false), 11 * S));
	cr_expect_not(echoes_take(&echoes, "h2", clean_inputs("0e-0"), 12 * S));
	json_t *finding = echoes_due(&echoes, host, 40 * S);
	cr_assert_not_null(finding);
	cr_expect_str_eq(host, "h0");
	cr_expect_str_eq(json_string_value(json_object_get(finding, "id")), "0a-0");
	json_decref(finding);
	cr_expect_null(echoes_due(&echoes, host, 41 * S));
	cr_expect_not(echoes_refuted(&echoes, host, id));
	/* Who brought it is known after all. */
	cr_expect(echoes_take(&echoes, "h1", bad_value("0f-0", "open", "input", "certain", 9, false), 42 * S));
	cr_expect(echoes_refuted(&echoes, host, id));
	cr_expect_str_eq(id, "0a-0");
	echoes_free(&echoes);
}

/* A collector of an earlier version does not say what it saw. */
Test(echoes, who_does_not_say_what_it_saw_is_told_at_once)
{
	struct echoes echoes = { 0 };
	char host[SUBJECT_NAME], id[24];
	json_t *finding = bad_value("0a-0", "open", "output", "inconclusive", 42, false),
	       *maker = bad_value("0b-0", "open", "input", "likely", 3, false);

	json_object_del(json_object_get(finding, "values"), "seen");
	json_object_del(json_object_get(maker, "values"), "seen");
	cr_expect(echoes_take(&echoes, "h0", finding, 10 * S));
	cr_expect_not(echoes_take(&echoes, "h1", bad_value("0c-0", "open", "output", "inconclusive", 42, false), 10 * S));
	cr_expect(echoes_take(&echoes, "h2", maker, 10 * S));
	cr_expect_null(echoes_due(&echoes, host, 30 * S), "that it is sure says that it saw who made the value");
	cr_expect_not(echoes_refuted(&echoes, host, id));
	echoes_free(&echoes);
}

/* Ranks 0 and 1 share communicator 1, 2 and 3 share 2, 0 and 2 share 3, 1 and 3 share 4: hosts of one rank each. */
static bool is_in_mesh(void *argument, const char *host, uint64_t comm)
{
	static const char *const members[] = { "", "h0h1", "h2h3", "h0h2", "h1h3" };

	(void)argument;
	return comm < 5 && strstr(members[comm], host);
}

static json_t *value_in(int comm, int rank, int sequence, int step)
{
	char id[24], name[16];
	snprintf(id, sizeof(id), "%d%d-0", comm, rank);
	snprintf(name, sizeof(name), "0x%d", comm);
	json_t *finding = bad_value(id, "open", "output", "inconclusive", sequence, false);

	json_object_set_new(json_object_get(finding, "operation"), "comm", json_string(name));
	json_object_set_new(json_object_get(finding, "operation"), "step", step ? json_integer(step) : json_null());
	return finding;
}

static void expect_told(struct echoes *echoes, const char *expected)
{
	char host[SUBJECT_NAME], told[64] = "", id[24];

	for (uint64_t second = 10; second < 30; second++)
		for (json_t *finding; (finding = echoes_due(echoes, host, second * S)); json_decref(finding)) {
			strcat(told, host);
			strcat(told, " ");
		}
	cr_expect_str_eq(told, expected);
	cr_expect_not(echoes_refuted(echoes, host, id));
	echoes_free(echoes);
}

Test(echoes, who_took_part_later_than_it_met_the_value_elsewhere_comes_before)
{
	struct echoes echoes = { .is_member = is_in_mesh };

	/* From 0 or 2 to the other one, and from each to its neighbour. */
	echoes_take(&echoes, "h3", value_in(2, 3, 23, 8), 10 * S);
	echoes_take(&echoes, "h0", value_in(3, 0, 35, 8), 10 * S);
	echoes_take(&echoes, "h2", value_in(3, 2, 35, 8), 11 * S);
	echoes_take(&echoes, "h1", value_in(1, 1, 23, 9), 11 * S);
	expect_told(&echoes, "h0 h2 ");

	/* Another step's is another value; without steps the time counts. */
	echoes = (struct echoes){ .is_member = is_in_mesh };
	echoes_take(&echoes, "h3", value_in(2, 3, 23, 8), 10 * S);
	echoes_take(&echoes, "h2", value_in(3, 2, 35, 5), 10 * S);
	expect_told(&echoes, "h3 h2 ");
	echoes = (struct echoes){ .is_member = is_in_mesh };
	echoes_take(&echoes, "h3", value_in(2, 3, 23, 0), 10 * S);
	echoes_take(&echoes, "h2", value_in(3, 2, 35, 5), 10 * S);
	expect_told(&echoes, "h2 ");
}

/* By what each of them saw first, each comes before the other: somebody has to tell. */
Test(echoes, of_hosts_that_come_before_each_other_one_is_told)
{
	struct echoes echoes = { .is_member = is_in_mesh };

	echoes_take(&echoes, "h0", value_in(1, 0, 23, 8), 10 * S);
	echoes_take(&echoes, "h1", value_in(4, 1, 35, 8), 10 * S);
	echoes_take(&echoes, "h3", value_in(2, 3, 7, 8), 10 * S);
	echoes_take(&echoes, "h2", value_in(3, 2, 9, 8), 10 * S);
	expect_told(&echoes, "h2 ");
}

Test(echoes, many_receivers_do_not_push_out_a_birth)
{
	struct echoes echoes = { 0 };
	char host[SUBJECT_NAME], id[24], name[16];

	cr_expect(echoes_take(&echoes, "h1", bad_value("0b-0", "open", "input", "certain", 40, false), 10 * S));
	for (int i = 0; i < 2 * ECHOES_BIRTHS; i++) {
		snprintf(id, sizeof(id), "%x-0", i);
		snprintf(name, sizeof(name), "r%d", i);
		cr_expect_not(echoes_take(&echoes, name, bad_value(id, "open", "output", "inconclusive", 42, false), 11 * S));
	}
	cr_expect_null(echoes_due(&echoes, host, 20 * S));
	echoes_free(&echoes);
}

Test(echoes, is_bounded)
{
	struct echoes echoes = { 0 };
	char id[24];

	for (int i = 0; i <= ECHOES_HEARD; i++) {
		snprintf(id, sizeof(id), "%x-0", i);
		cr_expect_eq(echoes_take(&echoes, "h0", bad_value(id, "open", "output", "inconclusive", i, false), S),
			     i == ECHOES_HEARD, "what there is no room for is told");
	}
	echoes_free(&echoes);
}

/* What a reader of all hosts tells of bad values and slow transfers. */
struct story {
	struct mail mail;
	size_t count, opened, closed;
	json_t *last; /* the last that was told */
};

static void on_story(void *argument, const json_t *finding)
{
	struct story *story = argument;

	story->count++;
	story->opened += !strcmp(json_string_value(json_object_get(finding, "state")), "open");
	story->closed += !strcmp(json_string_value(json_object_get(finding, "state")), "closed");
	json_decref(story->last);
	story->last = json_deep_copy(finding);
}

static void begin_story(struct story *story)
{
	*story = (struct story){ .mail = { .who = "test", .trouble = stderr,
					   .merged = { .emit = on_story, .argument = story } } };
}

static void end_story(struct story *story)
{
	mail_free(&story->mail);
	json_decref(story->last);
}

static void send_letter(struct story *story, enum subject_topic topic, const char *host, json_t *object,
			uint64_t now_ns)
{
	char subject[SUBJECT_SIZE], *line = json_dumps(object, 0);

	subject_write(subject, topic, "j", host);
	mail_take(&story->mail, &(struct letter){ .subject = subject, .bytes = line, .length = strlen(line) }, now_ns);
	free(line);
	json_decref(object);
}

/* A sign of life of a host that has only this finding open; NULL: none. */
static void send_life(struct story *story, const char *host, unsigned number, const char *id, uint64_t now_ns)
{
	json_t *object = life(1000, number, false);

	json_object_set_new(object, "open", id ? json_pack("[s]", id) : json_array());
	json_object_set_new(object, "open_count", json_integer(id != NULL));
	send_letter(story, SUBJECT_HOSTS, host, object, now_ns);
}

/* What host `host` saw, which is two of eight ranks: `rank` and the next one. Both inputs were overwritten before they
 * were scanned. */
static json_t *part_of(const char *id, const char *host, int rank, int sequence)
{
	json_t *part = bad_value(id, "open", "output", "inconclusive", sequence, false);

	json_object_set_new(part, "ranks", json_pack("[i, i]", rank, rank + 1));
	json_object_set_new(part, "victims", json_array());
	json_object_set_new(
	    part, "where",
	    json_pack("[{s:i, s:s}, {s:i, s:s}]", "rank", rank, "host", host, "rank", rank + 1, "host", host));
	json_object_set_new(part, "job", json_pack("{s:i, s:i, s:i}", "generation", 3, "ranks_seen", 2, "ranks_total", 8));
	json_object_set_new(part, "missing", json_pack("[s]", "the input of the AllReduce"));
	json_object_set_new(part, "evidence", json_array());
	json_object_set_new(json_object_get(part, "operation"), "comm_name", json_string("dp"));
	json_object_set_new(json_object_get(part, "operation"), "step", json_integer(7));
	json_object_set_new(part, "incident", json_pack("{s:s, s:[{s:s}]}", "id", id, "chain", "finding", id));
	return part;
}

static const char *last_text(const struct story *story, const char *key)
{
	static char text[2048];
	char *dumped = json_dumps(json_object_get(story->last, key), JSON_ENCODE_ANY | JSON_COMPACT);

	snprintf(text, sizeof(text), "%s", dumped ? dumped : "");
	free(dumped);
	return text;
}

static const struct {
	const char *host, *id;
	int rank;
} parts[] = { { "h0", "0a-3", 0 }, { "h1", "0b-3", 2 }, { "h2", "0c-3", 4 }, { "h3", "0d-3", 6 } };

/* In each order of the hosts that is a rotation, and the reverse of it. */
static void tell_parts(struct story *story, unsigned order, size_t count, uint64_t now_ns)
{
	for (size_t i = 0; i < count; i++) {
		size_t at = (order % 2 ? count - 1 - i : i + order / 2) % count;

		send_letter(story, SUBJECT_FINDINGS, parts[at].host,
			    part_of(parts[at].id, parts[at].host, parts[at].rank, 42), now_ns + i * S / 4);
	}
}

Test(mail, hosts_that_saw_an_equal_part_of_a_bad_value_tell_one_finding)
{
	for (unsigned order = 0; order < 8; order++) {
		struct story story;

		begin_story(&story);
		tell_parts(&story, order, 4, 10 * S);
		mail_tick(&story.mail, 14 * S);
		cr_expect_eq(story.count, 0, "another host may have seen who made it");
		mail_tick(&story.mail, 16 * S);
		cr_assert_eq(story.count, 1, "order %u: %zu", order, story.count);
		cr_expect_str_eq(last_text(&story, "state"), "\"open\"");
		cr_expect_str_eq(last_text(&story, "confidence"), "\"inconclusive\"");
		cr_expect_str_eq(last_text(&story, "ranks"), "[0,1,2,3,4,5,6,7]");
		cr_expect_str_eq(last_text(&story, "text"),
				 "\"NaN in the result of AllReduce #42 on dp in step 7, made by one of ranks 0-7\"");
		cr_expect_eq(json_array_size(json_object_get(story.last, "where")), 8);
		cr_expect_eq(json_array_size(json_object_get(story.last, "missing")), 4);
		cr_expect(strstr(last_text(&story, "evidence"), "host h2 saw it on ranks 4,5"), "%s", last_text(&story, "evidence"));
		cr_expect(strstr(last_text(&story, "missing"), "host h1: the input of the AllReduce"), "%s",
			  last_text(&story, "missing"));
		cr_expect_str_eq(last_text(&story, "job"), "{\"generation\":3,\"ranks_seen\":8,\"ranks_total\":8}");
		json_t *id = json_incref(json_object_get(story.last, "id")), *incident = json_object_get(story.last, "incident");
		cr_expect(
		    json_equal(id, json_object_get(json_array_get(json_object_get(incident, "chain"), 0), "finding")),
		    "its own link has its id");
		/* Said again, and by hosts that list it as open: nothing is news. */
		tell_parts(&story, order, 4, 20 * S);
		for (size_t i = 0; i < 4; i++)
			send_life(&story, parts[i].host, 1, parts[i].id, 21 * S);
		mail_tick(&story.mail, 22 * S);
		cr_expect_eq(story.count, 1, "order %u: %s", order, last_text(&story, "state"));
		/* It is over, host by host; the last end was lost on the way. */
		for (size_t i = 0; i < 3; i++) {
			json_t *end = part_of(parts[i].id, parts[i].host, parts[i].rank, 42);
			json_object_set_new(end, "state", json_string("closed"));
			send_letter(&story, SUBJECT_FINDINGS, parts[i].host, end, (30 + i) * S);
			mail_tick(&story.mail, (30 + i) * S);
		}
		cr_expect_eq(story.closed, 0, "not for all hosts");
		send_life(&story, "h3", 2, NULL, 40 * S);
		cr_expect_eq(story.closed, 1);
		cr_expect(json_equal(id, json_object_get(story.last, "id")));
		cr_expect_str_eq(last_text(&story, "ranks"), "[0,1,2,3,4,5,6,7]", "what was said stays to the end");
		cr_expect_eq(story.opened, 1);
		cr_expect_eq(story.mail.merged.voice_count + story.mail.merged.told_count, 0);
		json_decref(id);
		end_story(&story);
	}
}

Test(mail, who_comes_late_with_its_part_is_added)
{
	struct story story;

	begin_story(&story);
	tell_parts(&story, 0, 2, 10 * S);
	mail_tick(&story.mail, 16 * S);
	cr_expect_str_eq(
	    last_text(&story, "text"),
	    "\"NaN in the result of AllReduce #42 on dp in step 7, made by one of ranks 0-3, or by a rank that none of "
	    "these hosts sees\"");
	send_letter(&story, SUBJECT_FINDINGS, "h2", part_of("0c-3", "h2", 4, 42), 16 * S + 1);
	mail_tick(&story.mail, 16 * S + 2);
	cr_expect_eq(story.count, 1, "at most once a second");
	mail_tick(&story.mail, 17 * S);
	cr_assert_eq(story.count, 2);
	cr_expect_str_eq(last_text(&story, "state"), "\"update\"");
	cr_expect_str_eq(last_text(&story, "ranks"), "[0,1,2,3,4,5]");
	end_story(&story);
}

/* "a communicator of 4 ranks (2 seen)" is what one host sees. */
Test(mail, a_communicator_without_a_name_has_its_size_for_one)
{
	struct story story;

	begin_story(&story);
	for (size_t i = 0; i < 2; i++) {
		json_t *part = part_of(parts[i].id, parts[i].host, parts[i].rank, 42);
		json_object_set_new(json_object_get(part, "operation"), "comm_name",
				    json_string("a communicator of 4 ranks (2 seen)"));
		json_object_set_new(json_object_get(part, "operation"), "comm_size", json_integer(4));
		send_letter(&story, SUBJECT_FINDINGS, parts[i].host, part, 10 * S);
	}
	mail_tick(&story.mail, 16 * S);
	cr_expect(strstr(last_text(&story, "text"), "AllReduce #42 on a communicator of 4 ranks in step 7, "), "%s",
		  last_text(&story, "text"));
	cr_expect(strstr(last_text(&story, "operation"), "\"comm_name\":\"a communicator of 4 ranks\""), "%s",
		  last_text(&story, "operation"));
	end_story(&story);
}

/* Anybody may publish anything. */
Test(mail, parts_with_damaged_keys_do_no_harm)
{
	static const char *const keys[] = { "ranks", "victims",   "where",    "missing",  "evidence",
					    "job",   "operation", "severity", "incident", "text" };
	static const char *const values[] = { "null",
					      "[]",
					      "{}",
					      "[-1, 5, 5, 99999999999, null, \"x\", [], {}]",
					      "\"\\u001b\"",
					      "1e300",
					      "{\"chain\":3,\"ranks_seen\":-7}" };

	for (size_t k = 0; k < sizeof(keys) / sizeof(*keys); k++)
		for (size_t v = 0; v < sizeof(values) / sizeof(*values); v++) {
			struct story story;
			begin_story(&story);
			for (size_t i = 0; i < 3; i++) {
				json_t *part = part_of(parts[i].id, i == 1 ? "h\xff" : parts[i].host, parts[i].rank, 42);
				if (i < 2)
					json_object_set_new(part, keys[k], json_loads(values[v], JSON_DECODE_ANY, NULL));
				send_letter(&story, SUBJECT_FINDINGS, i == 1 ? "h\xff" : parts[i].host, part, 10 * S);
			}
			mail_tick(&story.mail, 16 * S);
			cr_expect_geq(story.opened, 1, "%s: %s", keys[k], values[v]);
			end_story(&story);
		}
}

/* More hosts than are described, in a bounded line. */
Test(mail, of_many_hosts_some_are_described_and_the_others_counted)
{
	struct story story;
	char host[16], id[16];

	begin_story(&story);
	for (int i = 0; i < 200; i++) {
		snprintf(host, sizeof(host), "h%03d", i);
		snprintf(id, sizeof(id), "%x-3", i);
		send_letter(&story, SUBJECT_FINDINGS, host, part_of(id, host, 2 * i, 42), 10 * S);
	}
	mail_tick(&story.mail, 16 * S);
	cr_assert_eq(story.count, 1);
	cr_expect_eq(json_array_size(json_object_get(story.last, "ranks")), 400);
	cr_expect_eq(json_array_size(json_object_get(story.last, "where")), VALUE_PARTS_WHERE);
	cr_expect_eq(json_array_size(json_object_get(story.last, "evidence")), VALUE_PARTS_HOSTS + 1);
	cr_expect_eq(json_array_size(json_object_get(story.last, "missing")), VALUE_PARTS_HOSTS + 1);
	cr_expect(strstr(last_text(&story, "evidence"), "192 more hosts saw it"), "%s", last_text(&story, "evidence"));
	end_story(&story);
}

Test(mail, parts_of_other_values_are_other_findings)
{
	struct story story;

	begin_story(&story);
	send_letter(&story, SUBJECT_FINDINGS, "h0", part_of("0a-3", "h0", 0, 42), 10 * S);
	send_letter(&story, SUBJECT_FINDINGS, "h1", part_of("0b-3", "h1", 2, 43), 10 * S);
	json_t *inf = part_of("0c-3", "h2", 4, 42), *replay = part_of("0d-3", "h3", 6, 42);
	json_object_set_new(inf, "kind", json_string("inf"));
	json_object_set_new(json_object_get(replay, "operation"), "replay", json_integer(4));
	send_letter(&story, SUBJECT_FINDINGS, "h2", inf, 10 * S);
	send_letter(&story, SUBJECT_FINDINGS, "h3", replay, 10 * S);
	mail_tick(&story.mail, 16 * S);
	cr_expect_eq(story.opened, 4, "another operation, another kind, another replay: %zu", story.opened);
	end_story(&story);
}

/* A host has found out that what it saw belongs to an earlier operation. */
Test(mail, a_part_that_moves_to_another_value_leaves_the_first)
{
	struct story story;

	begin_story(&story);
	tell_parts(&story, 0, 3, 10 * S);
	mail_tick(&story.mail, 16 * S);
	send_letter(&story, SUBJECT_FINDINGS, "h2", part_of("0c-3", "h2", 4, 41), 20 * S);
	mail_tick(&story.mail, 21 * S);
	cr_expect_eq(story.count, 3, "the first again, and the other one");
	cr_expect_eq(story.opened, 2);
	send_letter(&story, SUBJECT_FINDINGS, "h2", part_of("0c-3", "h2", 4, 42), 22 * S);
	mail_tick(&story.mail, 23 * S);
	cr_expect_eq(story.count, 5);
	cr_expect_eq(story.closed, 1);
	cr_expect_str_eq(last_text(&story, "ranks"), "[0,1,2,3,4,5]");
	end_story(&story);
}

/* One host's part turns out to be an echo, or the whole of it. */
Test(mail, a_part_that_another_host_knows_more_about_is_taken_back)
{
	struct story story;

	begin_story(&story);
	tell_parts(&story, 0, 2, 10 * S);
	mail_tick(&story.mail, 16 * S);
	cr_assert_eq(story.opened, 1);
	/* It was an input of rank 4, as its host has found out; who brought it there is not known yet. */
	json_t *input = part_of("0c-3", "h2", 4, 42);
	json_object_set_new(json_object_get(input, "values"), "seen", json_string("input"));
	send_letter(&story, SUBJECT_FINDINGS, "h2", input, 17 * S);
	mail_tick(&story.mail, 23 * S);
	cr_expect_eq(story.opened, 1, "the same value");
	cr_expect_str_eq(last_text(&story, "ranks"), "[4,5]");
	send_letter(&story, SUBJECT_FINDINGS, "h2", bad_value("0c-3", "update", "input", "certain", 42, true), 25 * S);
	mail_tick(&story.mail, 26 * S);
	cr_expect_eq(story.opened, 2);
	cr_expect_eq(story.closed, 1, "what was told of the parts");
	cr_expect_str_eq(last_text(&story, "id"), "\"0c-3\"");
	end_story(&story);
}

/* Hosts list what they have open by their own ids. */
Test(mail, slow_transfers_of_several_hosts_stay_open)
{
	struct story story;

	begin_story(&story);
	send_letter(&story, SUBJECT_FINDINGS, "h0", slowdown("0a-2", "[0]", "job", "x"), 10 * S);
	send_letter(&story, SUBJECT_FINDINGS, "h1", slowdown("0b-2", "[1,2]", "job", "x"), 10 * S);
	send_life(&story, "h0", 1, "0a-2", 11 * S);
	send_life(&story, "h1", 1, "0b-2", 11 * S);
	cr_expect_eq(story.opened, 1);
	cr_expect_eq(story.closed, 0);
	json_t *end = slowdown("0a-2", "[0]", "job", "x");
	json_object_set_new(end, "state", json_string("closed"));
	send_letter(&story, SUBJECT_FINDINGS, "h0", end, 12 * S);
	cr_expect_eq(story.closed, 0);
	send_life(&story, "h1", 2, NULL, 13 * S);
	cr_expect_eq(story.closed, 1);
	end_story(&story);
}

static void count_told(void *argument, const char *name, const json_t *finding)
{
	unsigned *count = argument;

	(void)name;
	*count += json_is_string(json_object_get(finding, "id"));
}

Test(mail, only_a_judge_tells_what_judges_have_told)
{
	struct story story;
	unsigned count = 0;

	begin_story(&story);
	story.mail.told = count_told;
	story.mail.argument = &count;
	send_letter(&story, SUBJECT_TOLD, "h0/7", bad_value("0a-3", "closed", "input", "certain", 1, false), S);
	cr_expect_eq(count, 1);
	send_letter(&story, SUBJECT_TOLD, "h0", bad_value("0a-3", "closed", "input", "certain", 1, false), S);
	send_letter(&story, SUBJECT_TOLD, "h0/7", json_pack("{s:s}", "id", "0a-3"), S);
	send_letter(&story, SUBJECT_TOLD, "h0/7", json_array(), S);
	cr_expect_eq(count, 1, "a host, and what is no finding");
	cr_expect_eq(story.mail.complaints.count, 3);
	cr_expect_eq(story.count, 0);
	end_story(&story);
}
