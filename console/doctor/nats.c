/* SPDX-License-Identifier: MIT */
#include "console/doctor/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "collector/nats/link.h"
#include "protocol/server_url.h"
#include "collector/nats/subject.h"
#include "identity/identity.h"

enum { TRY_MS = 5000, POLL_MS = 20, CLOSE_MS = 2500 };

/* As what the server is asked, and never the secret itself: a name without a password is a token. */
static const char *credentials(const struct check_context *context, const char *url)
{
	if (check_get(context, "NATS_CREDS"))
		return "with the credentials in the file that NATS_CREDS names";
	if (check_get(context, "NATS_USER"))
		return "as the user that NATS_USER names";
	if (strchr(url, '@'))
		return "as the user in the address";
	if (check_get(context, "NATS_CERT"))
		return "with the certificate that NATS_CERT names";
	return "without a user";
}

static void pause_briefly(void)
{
	const struct timespec moment = { .tv_nsec = POLL_MS * 1000000 };

	nanosleep(&moment, NULL);
}

/* The last thing that the link had to say of trouble; "" nothing. */
static void read_news(struct link *link, char trouble[LINK_LINE])
{
	char line[LINK_LINE];
	bool is_trouble;

	while (link_news(link, line, &is_trouble))
		if (is_trouble)
			snprintf(trouble, LINK_LINE, "%s", line);
}

/* Our own letter comes back: so we may publish there, and subscribe. */
static bool comes_back(struct link *link, const char *subject, char trouble[LINK_LINE])
{
	uint64_t until_ms = clock_monotonic_ms() + TRY_MS;
	struct link_state state = { 0 };
	bool sent = false, back = false;

	while (!back && !*trouble && clock_monotonic_ms() < until_ms) {
		struct letter *letter = link_receive(link);

		back = letter && strcmp(letter->subject, subject) == 0;
		free(letter);
		link_see(link, &state);
		if (state.connected && !sent) {
			link_send(link, subject, "doctor", strlen("doctor"));
			sent = true;
		}
		read_news(link, trouble);
		pause_briefly();
	}
	if (!back && !*trouble)
		snprintf(trouble, LINK_LINE,
			 state.connected ? "connected, but what is published does not come back: may this user "
					   "subscribe to rankwatch.> and publish there?"
					 : "no answer in time");
	return back;
}

static void try_server(struct check_context *context, const char *url, struct check_result *result)
{
	struct identity identity;
	char subject[SUBJECT_SIZE], all[SUBJECT_SIZE], shown[SERVER_URL_SHOWN], trouble[LINK_LINE] = "";

	identity_read(&identity, context->get, context->get_argument, 0, NULL, 0);
	subject_write(subject, SUBJECT_DOCTOR, identity.job, identity.host);
	subject_write_all(all, identity.job);
	server_url_show(url, shown);

	struct link *link =
	    link_open(&(struct link_request){ .url = url, .name = "rankwatch doctor", .subscribe = all });
	bool back = link && comes_back(link, subject, trouble);

	trouble[strcspn(trouble, ";")] = '\0'; /* that the link tries it again is not for here */
	link_close(link, CLOSE_MS); /* one that is stuck ends with us */
	if (back) {
		check_say(result, VERDICT_OK, "%s: connected %s; it hands on what is published as host %s of job %s",
			  shown, credentials(context, url), identity.host, identity.job);
		return;
	}
	check_say(result, VERDICT_NO, "%s, %s", *trouble ? trouble : "no thread could be had",
		  credentials(context, url));
	check_advise(
	    result,
	    "the job runs and is watched on each node without it, but nobody hears all nodes; docs/operating.md, "
	    "\"Many nodes\"");
}

static void nats_run(struct check_context *context, struct check_result *result)
{
	const char *url = context->nats ? context->nats : check_get(context, "RANKWATCH_NATS");
	char why[SERVER_URL_WHY];

	if (!url) {
		check_say(result, VERDICT_NONE, "no server is named: each node is watched alone");
		check_advise(result,
			     "for a job on many nodes: RANKWATCH_NATS, or --nats; docs/operating.md, \"Many nodes\"");
	} else if (server_url_check(url, why)) {
		check_say(result, VERDICT_NO, "RANKWATCH_NATS is not nats://[USER:PASSWORD@]HOST[:PORT]: %s", why);
	} else if (!link_is_possible()) {
		check_say(result, VERDICT_NO, "this rankwatch was built without NATS");
		check_advise(result, "install libnats-dev and build again with meson setup -Dnats=enabled");
	} else {
		try_server(context, url, result);
	}
}

const struct check nats_check = { .name = "nats", .run = nats_run };
