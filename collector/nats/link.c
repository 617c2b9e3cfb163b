/* SPDX-License-Identifier: MIT */
#include "collector/nats/link.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <nats/nats.h>

#include "base/clock.h"
#include "collector/nats/kept.h"
#include "protocol/server_url.h"

enum {
	CONNECT_MS = 2000,
	WRITE_MS = 2000, /* a server that takes nothing for so long is as good as none */
	PING_MS = 5000,
	PINGS_OUT = 2,
	LOOK_MS = 200, /* whether the connection is still there, where nothing is to be sent */
	PAUSE_MS = 250,
	PAUSE_MOST_MS = 10000,
	LASTED_MS = 5000, /* a connection that was none for longer is not tried again at once */
	REPEAT_MS = 60000, /* the same trouble is not said more often */
	NEWS = 8,
	DETAIL = 200,
};

struct news {
	char line[LINK_LINE];
	bool is_trouble;
};

struct link {
	pthread_t thread;
	char *url, *name, *subscribe;
	char *kept; /* NULL: none */
	char shown[SERVER_URL_SHOWN];
	/* Of the thread. */
	natsConnection *connection;
	natsSubscription *subscription;
	uint64_t lost_connection_ms; /* since when there is none, 0: there never was one */
	uint64_t said_ms, refused_ms;
	char said[LINK_LINE]; /* the last trouble */
	bool in_trouble;      /* that people know of */
	unsigned seed;
	/* Of both. */
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct letters outbox, inbox;
	struct link_state state;
	struct news news[NEWS];
	size_t news_count;
	bool ending, ended;
	uint64_t end_by_ms;
	unsigned asked, answered; /* link_await() */
};

bool link_is_possible(void)
{
	return true;
}

static void wait_until_ms(struct link *link, uint64_t until_ms)
{
	struct timespec until = { .tv_sec = (time_t)(until_ms / 1000), .tv_nsec = (long)(until_ms % 1000) * 1000000 };

	pthread_cond_timedwait(&link->changed, &link->mutex, &until);
}

static bool is_ending(struct link *link)
{
	pthread_mutex_lock(&link->mutex);
	bool ending = link->ending;

	pthread_mutex_unlock(&link->mutex);
	return ending;
}

static void tell(struct link *link, bool is_trouble, const char *line)
{
	pthread_mutex_lock(&link->mutex);
	if (link->news_count < NEWS) {
		struct news *news = &link->news[link->news_count++];

		snprintf(news->line, sizeof(news->line), "%s", line);
		news->is_trouble = is_trouble;
	}
	pthread_mutex_unlock(&link->mutex);
}

static void tell_trouble(struct link *link, const char *what)
{
	uint64_t now_ms = clock_monotonic_ms();
	char line[LINK_LINE];

	snprintf(line, sizeof(line), "%s: %s", link->shown, what);
	if (link->said_ms && strcmp(line, link->said) == 0 && now_ms - link->said_ms < REPEAT_MS)
		return;
	strcpy(link->said, line);
	link->said_ms = now_ms;
	link->in_trouble = true;
	tell(link, true, line);
}

/* What the library says besides the status. It could name an address with a password. */
static void read_detail(char detail[DETAIL])
{
	natsStatus status;
	const char *text = nats_GetLastError(&status);

	snprintf(detail, DETAIL, "%s", text ? text : "");
	if (strchr(detail, '@') || strstr(detail, "://"))
		detail[0] = '\0';
}

static void tell_failure(struct link *link, natsStatus status)
{
	char detail[DETAIL], what[LINK_LINE - SERVER_URL_SHOWN];
	const char *reason = natsStatus_GetText(status);

	read_detail(detail);
	switch (status) {
	case NATS_NO_SERVER:
		reason = "nobody answers there";
		detail[0] = '\0';
		break;
	case NATS_TIMEOUT:
		reason = "no answer in time";
		detail[0] = '\0';
		break;
	case NATS_CONNECTION_AUTH_FAILED:
		reason = "it refuses the user, the password or the credentials";
		detail[0] = '\0';
		break;
	case NATS_SECURE_CONNECTION_REQUIRED:
		reason = "it wants TLS: give its address as tls://";
		detail[0] = '\0';
		break;
	case NATS_SECURE_CONNECTION_WANTED:
		reason = "it has no TLS, which tls:// asks for";
		detail[0] = '\0';
		break;
	default:
		break;
	}
	snprintf(what, sizeof(what), "%s%s%s; it is tried again meanwhile", reason, *detail ? ": " : "", detail);
	tell_trouble(link, what);
}

static void tell_connected(struct link *link)
{
	char line[LINK_LINE];
	uint64_t now_ms = clock_monotonic_ms();

	if (link->in_trouble && link->lost_connection_ms)
		snprintf(line, sizeof(line), "%s: connected again, after %.1f s", link->shown,
			 (double)(now_ms - link->lost_connection_ms) / 1000);
	else
		snprintf(line, sizeof(line), "%s: connected", link->shown);
	tell(link, link->in_trouble, line);
	link->in_trouble = false;
}

/* Of an asynchronous error the connection keeps the text; without a handler of ours the library might print it. */
static void on_error(natsConnection *connection, natsSubscription *subscription, natsStatus status, void *argument)
{
	(void)connection;
	(void)subscription;
	(void)status;
	(void)argument;
}

static const char *from_environment(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static natsStatus set_credentials(natsOptions *options)
{
	const char *file = from_environment("NATS_CREDS"), *user = from_environment("NATS_USER");
	const char *ca = from_environment("NATS_CA"), *certificate = from_environment("NATS_CERT"),
		   *key = from_environment("NATS_KEY");
	natsStatus status = NATS_OK;

	if (file)
		status = natsOptions_SetUserCredentialsFromFiles(options, file, NULL);
	if (status == NATS_OK && user)
		status = natsOptions_SetUserInfo(options, user, from_environment("NATS_PASSWORD"));
	if (status == NATS_OK && ca)
		status = natsOptions_LoadCATrustedCertificates(options, ca);
	if (status == NATS_OK && certificate && key)
		status = natsOptions_LoadCertificatesChain(options, certificate, key);
	return status;
}

static natsStatus make_options(const struct link *link, natsOptions **made)
{
	natsOptions *options = NULL;
	natsStatus status = natsOptions_Create(&options);

	*made = options;
	if (status == NATS_OK)
		status = natsOptions_SetURL(options, link->url);
	if (status == NATS_OK)
		status = natsOptions_SetName(options, link->name);
	if (status == NATS_OK)
		status = natsOptions_SetTimeout(options, CONNECT_MS);
	if (status == NATS_OK)
		status = natsOptions_SetAllowReconnect(options, false); /* one way to connect: ours */
	if (status == NATS_OK)
		status = natsOptions_SetWriteDeadline(options, WRITE_MS);
	if (status == NATS_OK)
		status = natsOptions_SetPingInterval(options, PING_MS);
	if (status == NATS_OK)
		status = natsOptions_SetMaxPingsOut(options, PINGS_OUT);
	if (status == NATS_OK)
		status = natsOptions_SetNoEcho(options, false);
	if (status == NATS_OK)
		status = natsOptions_SetErrorHandler(options, on_error, NULL);
	if (status == NATS_OK && strstr(link->url, "tls://"))
		status = natsOptions_SetSecure(options, true);
	return status == NATS_OK ? set_credentials(options) : status;
}

static natsStatus subscribe(struct link *link)
{
	if (!link->subscribe)
		return NATS_OK;
	natsStatus status = natsConnection_SubscribeSync(&link->subscription, link->connection, link->subscribe);

	if (status == NATS_OK)
		status = natsSubscription_SetPendingLimits(link->subscription, -1, (int)link->inbox.limit);
	/* Until the server has it, what is published passes us by. */
	return status == NATS_OK ? natsConnection_FlushTimeout(link->connection, CONNECT_MS) : status;
}

static void disconnect(struct link *link)
{
	int64_t dropped = 0;

	if (link->subscription && natsSubscription_GetDropped(link->subscription, &dropped) == NATS_OK) {
		pthread_mutex_lock(&link->mutex);
		link->state.lost_receiving += (uint64_t)dropped;
		pthread_mutex_unlock(&link->mutex);
	}
	natsSubscription_Destroy(link->subscription);
	natsConnection_Destroy(link->connection);
	link->subscription = NULL;
	link->connection = NULL;
	pthread_mutex_lock(&link->mutex);
	link->state.connected = false;
	pthread_mutex_unlock(&link->mutex);
	link->lost_connection_ms = clock_monotonic_ms();
}

static void put_received(struct link *link, natsMsg *message)
{
	size_t length = (size_t)natsMsg_GetDataLength(message);

	pthread_mutex_lock(&link->mutex);
	letters_put(&link->inbox, natsMsg_GetSubject(message), natsMsg_GetData(message), length);
	link->state.received++;
	link->state.received_bytes += length;
	pthread_mutex_unlock(&link->mutex);
	natsMsg_Destroy(message);
}

/* A kept_take. */
static void take_kept(void *argument, natsMsg *message)
{
	put_received(argument, message);
}

/* Before what comes from now on, which waits meanwhile. */
static bool read_kept(struct link *link)
{
	return link->kept && kept_read(link->connection, link->kept, link->state.connections ? NULL : take_kept, link);
}

static bool connect_once(struct link *link)
{
	natsOptions *options;
	natsStatus status = make_options(link, &options);

	if (status == NATS_OK)
		status = natsConnection_Connect(&link->connection, options);
	if (status == NATS_OK)
		status = subscribe(link);
	if (status != NATS_OK)
		tell_failure(link, status);
	natsOptions_Destroy(options);
	if (status != NATS_OK) {
		uint64_t lost_ms = link->lost_connection_ms;

		disconnect(link);
		link->lost_connection_ms = lost_ms ? lost_ms : link->lost_connection_ms;
		return false;
	}
	bool keeps = read_kept(link);
	tell_connected(link);
	pthread_mutex_lock(&link->mutex);
	link->state.connected = true;
	link->state.keeps = keeps;
	link->state.connections++;
	pthread_mutex_unlock(&link->mutex);
	return true;
}

/* Such as: not permitted to publish there. The connection goes on. */
static void look_for_refusal(struct link *link)
{
	const char *text = NULL;
	char what[LINK_LINE];
	natsStatus status = natsConnection_GetLastError(link->connection, &text);

	/* Without JetStream nothing is kept, and no more. */
	if (status != NATS_NOT_PERMITTED || !text || strstr(text, "$JS.") || strstr(text, "_INBOX."))
		return;
	if (link->refused_ms && clock_monotonic_ms() - link->refused_ms < REPEAT_MS)
		return; /* each subject has a sentence of its own */
	link->refused_ms = clock_monotonic_ms();
	snprintf(what, sizeof(what), "%s: it refuses: %s", link->shown, text);
	tell(link, true, what);
}

static bool send_one(struct link *link, struct letter *letter)
{
	natsStatus status =
	    natsConnection_Publish(link->connection, letter->subject, letter->bytes, (int)letter->length);

	pthread_mutex_lock(&link->mutex);
	if (status == NATS_OK) {
		link->state.sent++;
		link->state.sent_bytes += letter->length;
	} else {
		link->state.lost_sending++;
	}
	pthread_mutex_unlock(&link->mutex);
	free(letter);
	return !natsConnection_IsClosed(link->connection);
}

static struct letter *take_next(struct link *link)
{
	pthread_mutex_lock(&link->mutex);
	struct letter *letter = letters_take(&link->outbox);

	pthread_mutex_unlock(&link->mutex);
	return letter;
}

static bool send_all(struct link *link)
{
	for (struct letter *letter; (letter = take_next(link));)
		if (!send_one(link, letter))
			return false;
	return true;
}

static void answer(struct link *link)
{
	pthread_mutex_lock(&link->mutex);
	unsigned asked = link->asked, answered = link->answered;

	pthread_mutex_unlock(&link->mutex);
	if (asked == answered || natsConnection_FlushTimeout(link->connection, CONNECT_MS) != NATS_OK)
		return;
	look_for_refusal(link);
	pthread_mutex_lock(&link->mutex);
	link->answered = asked;
	pthread_cond_broadcast(&link->changed);
	pthread_mutex_unlock(&link->mutex);
}

/* Until something has come, or is to be sent, or a moment has passed. */
static void await_work(struct link *link)
{
	natsMsg *message = NULL;
	natsStatus status = link->subscription ? NATS_OK : NATS_INVALID_SUBSCRIPTION;

	/* After the first, all that are there. */
	for (int64_t wait_ms = LOOK_MS / 2; status == NATS_OK; wait_ms = 1) {
		status = natsSubscription_NextMsg(&message, link->subscription, wait_ms);
		if (status == NATS_OK)
			put_received(link, message);
		if (is_ending(link))
			return;
	}
	/* Else there is no subscription, or one that the server has refused: that answers at once. */
	if (status == NATS_TIMEOUT)
		return;
	pthread_mutex_lock(&link->mutex);
	if (!link->outbox.count && !link->ending && link->asked == link->answered)
		wait_until_ms(link, clock_monotonic_ms() + LOOK_MS);
	pthread_mutex_unlock(&link->mutex);
}

static void serve(struct link *link)
{
	while (!is_ending(link)) {
		if (!send_all(link) || natsConnection_IsClosed(link->connection)) {
			tell_trouble(link, "the connection is lost; it is tried again");
			return;
		}
		answer(link);
		look_for_refusal(link);
		await_work(link);
	}
	uint64_t now_ms = clock_monotonic_ms();

	if (send_all(link) && link->end_by_ms > now_ms)
		natsConnection_FlushTimeout(link->connection, (int64_t)(link->end_by_ms - now_ms));
}

/* Half as long to one and a half times as long: the nodes of a job come back one after the other. */
static void pause_for(struct link *link, uint64_t pause_ms)
{
	uint64_t until_ms = clock_monotonic_ms() + pause_ms / 2 + (uint64_t)rand_r(&link->seed) % (pause_ms + 1);

	pthread_mutex_lock(&link->mutex);
	while (!link->ending && clock_monotonic_ms() < until_ms)
		wait_until_ms(link, until_ms);
	pthread_mutex_unlock(&link->mutex);
}

static void *work(void *argument)
{
	struct link *link = argument;
	uint64_t pause_ms = PAUSE_MS;

	while (!is_ending(link)) {
		uint64_t begin_ms = clock_monotonic_ms();

		if (connect_once(link)) {
			serve(link);
			disconnect(link);
		}
		if (is_ending(link))
			break;
		pause_for(link, pause_ms);
		pause_ms = clock_monotonic_ms() - begin_ms > LASTED_MS + pause_ms && link->state.connections
			       ? PAUSE_MS
			       : pause_ms * 2;
		if (pause_ms > PAUSE_MOST_MS)
			pause_ms = PAUSE_MOST_MS;
	}
	nats_ReleaseThreadMemory();
	pthread_mutex_lock(&link->mutex);
	link->ended = true;
	pthread_cond_broadcast(&link->changed);
	pthread_mutex_unlock(&link->mutex);
	return NULL;
}

static void free_link(struct link *link)
{
	letters_clear(&link->outbox);
	letters_clear(&link->inbox);
	pthread_cond_destroy(&link->changed);
	pthread_mutex_destroy(&link->mutex);
	free(link->url);
	free(link->name);
	free(link->subscribe);
	free(link->kept);
	free(link);
}

/* Signals are the loop's: the thread, and those that the library starts from it, get none. */
static int start_thread(struct link *link)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	int err = pthread_create(&link->thread, NULL, work, link);

	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

struct link *link_open(const struct link_request *request)
{
	struct link *link = calloc(1, sizeof(*link));
	pthread_condattr_t attributes;

	if (!link)
		return NULL;
	link->url = strdup(request->url);
	link->name = strdup(request->name);
	link->subscribe = request->subscribe ? strdup(request->subscribe) : NULL;
	link->kept = request->kept ? strdup(request->kept) : NULL;
	link->outbox.limit = LINK_OUTBOX;
	link->inbox.limit = request->inbox ? request->inbox : LINK_INBOX;
	link->seed = (unsigned)clock_monotonic_ns();
	server_url_show(request->url, link->shown);
	pthread_mutex_init(&link->mutex, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&link->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	if (link->url && link->name && (link->subscribe || !request->subscribe) && start_thread(link) == 0)
		return link;
	free_link(link);
	return NULL;
}

void link_send(struct link *link, const char *subject, const void *bytes, size_t length)
{
	pthread_mutex_lock(&link->mutex);
	letters_put(&link->outbox, subject, bytes, length);
	pthread_cond_broadcast(&link->changed);
	pthread_mutex_unlock(&link->mutex);
}

struct letter *link_receive(struct link *link)
{
	pthread_mutex_lock(&link->mutex);
	struct letter *letter = letters_take(&link->inbox);

	pthread_mutex_unlock(&link->mutex);
	return letter;
}

bool link_news(struct link *link, char line[LINK_LINE], bool *is_trouble)
{
	bool found;

	pthread_mutex_lock(&link->mutex);
	found = link->news_count > 0;
	if (found) {
		memcpy(line, link->news[0].line, LINK_LINE);
		*is_trouble = link->news[0].is_trouble;
		memmove(&link->news[0], &link->news[1], --link->news_count * sizeof(link->news[0]));
	}
	pthread_mutex_unlock(&link->mutex);
	return found;
}

void link_see(struct link *link, struct link_state *state)
{
	pthread_mutex_lock(&link->mutex);
	*state = link->state;
	state->lost_sending += link->outbox.dropped;
	state->lost_receiving += link->inbox.dropped;
	state->waiting = link->outbox.count;
	pthread_mutex_unlock(&link->mutex);
}

bool link_await(struct link *link, unsigned timeout_ms)
{
	uint64_t until_ms = clock_monotonic_ms() + timeout_ms;

	pthread_mutex_lock(&link->mutex);
	unsigned asked = ++link->asked;

	pthread_cond_broadcast(&link->changed);
	while (link->answered != asked && clock_monotonic_ms() < until_ms)
		wait_until_ms(link, until_ms);
	bool answered = link->answered == asked;

	pthread_mutex_unlock(&link->mutex);
	return answered;
}

bool link_close(struct link *link, unsigned timeout_ms)
{
	if (!link)
		return true;
	uint64_t until_ms = clock_monotonic_ms() + timeout_ms;

	pthread_mutex_lock(&link->mutex);
	link->ending = true;
	link->end_by_ms = until_ms;
	pthread_cond_broadcast(&link->changed);
	while (!link->ended && clock_monotonic_ms() < until_ms + LOOK_MS)
		wait_until_ms(link, until_ms + LOOK_MS);
	bool ended = link->ended;

	pthread_mutex_unlock(&link->mutex);
	if (!ended)
		return false;
	pthread_join(link->thread, NULL);
	free_link(link);
	return true;
}
