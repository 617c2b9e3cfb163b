/* SPDX-License-Identifier: MIT */
#include "collector/job_collector.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include <rankwatch/message.h>

#include "analysis/job/job_half.h"
#include "base/clock.h"
#include "base/foreign_text.h"
#include "collector/nats/held.h"
#include "collector/nats/judges.h"
#include "collector/nats/link.h"
#include "collector/nats/mail.h"
#include "collector/nats/subject.h"
#include "collector/sinks/answers.h"
#include "collector/sinks/outlet.h"
#include "collector/sinks/socket.h"
#include "finding/finding_json.h"
#include "finding/value.h"
#include "identity/identity.h"
#include "protocol/address.h"
#include "protocol/message.h"
#include "protocol/turns_text.h"

enum {
	TICK_MS = 100,
	LETTERS_A_TICK = 20000, /* then signals and outputs have their turn */
	IDLE_MS = 3000,
	CLOSE_MS = 500,
	COMMANDS_MS = 4500,
	HELD_UP_MS = 3000, /* without a tick: this program did not run */
	LABEL = 11, /* columns, as in the summary of one host */
};

struct job_collector {
	const struct job_collector_options *options;
	uv_loop_t loop;
	uv_timer_t timer;
	uv_signal_t signals[2];
	struct identity identity;
	struct link *link;
	struct mail mail;
	struct job_half *half;
	struct socket_sink *socket;
	struct outlet outlet;
	struct judges judges;
	struct held held;
	bool stands_by; /* that was said */
	char complaint[JUDGES_WHY]; /* about a judge's sign of life */
	struct answers answers;
	uint64_t idle_ns;     /* since when all have left; 0: not so */
	uint64_t ticked_ns;   /* 0: not yet */
	uint64_t connections; /* of the link, at the last tick */
};

static const char who[] = "rankwatch collect";

static void say_news(struct job_collector *collector)
{
	char line[LINK_LINE];
	bool is_trouble;

	while (link_news(collector->link, line, &is_trouble))
		if (is_trouble || !collector->options->quiet)
			foreign_line(stderr, "%s: NATS: %s", who, line);
}

/* What no node can see alone: an analysis_emit. */
static void on_finding(void *argument, const struct rw_finding *finding)
{
	struct job_collector *collector = argument;
	json_t *json = finding_to_json(finding, clock_realtime_offset_ns());
	char why[FINDING_HEAD_WHY];

	if (!json || merged_take(&collector->mail.merged, "", json, why))
		foreign_line(stderr, "%s: no memory for finding %s", who, finding->id);
	json_decref(json);
}

/* A mail_batch. Whoever may publish for one host only must not speak for another. */
static int on_batch(void *argument, const char *host, const void *bytes, size_t length, uint64_t now_ns,
		    const char **why)
{
	struct job_collector *collector = argument;
	struct rw_batch header;

	if (length >= sizeof(header)) {
		memcpy(&header, bytes, sizeof(header));
		*why = "says that it is from another host than its subject";
		if (strncmp(header.host, host, sizeof(header.host)) != 0)
			return -EPROTO;
	}
	*why = NULL;
	return job_half_take(collector->half, bytes, length, now_ns, why);
}

static void on_client(void *argument, struct socket_client *client)
{
	struct job_collector *collector = argument;
	const struct hosts *hosts = &collector->mail.hosts;
	char *hello = message_hello_all_nodes(collector->identity.job, board_open(&collector->outlet.board),
					      collector->outlet.command, hosts->count, hosts_count(hosts, HOST_SILENT),
					      hosts_ranks(hosts));

	if (hello)
		socket_send(client, hello);
	free(hello);
	outlet_report_open(&collector->outlet, client);
}

static void on_request(void *argument, struct socket_client *client, const struct request *request)
{
	struct job_collector *collector = argument;

	answers_give(&collector->answers, client, request, uv_hrtime());
}

/* A mail_judge. */
static int on_judge(void *argument, const char *name, const json_t *life, uint64_t now_ns, const char **why)
{
	struct job_collector *collector = argument;

	*why = collector->complaint;
	return judges_hear(&collector->judges, name, life, now_ns, collector->complaint);
}

/* An echoes_is_member. */
static bool is_member(void *argument, const char *host, uint64_t comm)
{
	const struct job_collector *collector = argument;

	return job_half_is_member(collector->half, host, comm);
}

/* A merged_emit. */
static void on_change(void *argument, const json_t *finding)
{
	struct job_collector *collector = argument;

	held_put(&collector->held, finding);
}

/* For those who come after us. */
static void publish_told(struct job_collector *collector, const json_t *finding)
{
	char subject[SUBJECT_SIZE];
	struct link_state state;

	link_see(collector->link, &state);
	if (!state.keeps)
		return;
	char *line = json_dumps(finding, JSON_COMPACT | JSON_REAL_PRECISION(12));
	subject_write(subject, SUBJECT_TOLD, collector->identity.job, collector->judges.name);
	if (line)
		link_send(collector->link, subject, line, strlen(line));
	free(line);
}

/* A mail_told. */
static void on_told_elsewhere(void *argument, const char *name, const json_t *finding)
{
	struct job_collector *collector = argument;

	if (strcmp(name, collector->judges.name) != 0 && collector->held.holds)
		held_note(&collector->held, finding);
}

/* A held_emit. */
static void on_told(void *argument, const json_t *finding, bool known)
{
	struct job_collector *collector = argument;

	if (!known)
		publish_told(collector, finding);
	if (known)
		outlet_put_known(&collector->outlet, finding);
	else
		outlet_put_json(&collector->outlet, finding);
}

/* A held_is_told. */
static bool is_told(void *argument, const char *id)
{
	struct job_collector *collector = argument;

	return judges_take_told(&collector->judges, id);
}

/* Without it the findings are told all the same. */
static void open_socket(struct job_collector *collector)
{
	const struct socket_events events = { .came = on_client, .asked = on_request, .argument = collector };
	char why[160] = "its path is too long";
	struct address address;
	int err = address_find(&address, getenv("XDG_RUNTIME_DIR"), geteuid(), collector->identity.job);

	if (!err && !*address.all_nodes)
		err = -ENAMETOOLONG;
	if (!err) {
		memcpy(address.shared, address.all_nodes, sizeof(address.shared));
		memcpy(address.own, address.all_nodes, sizeof(address.own));
		err = socket_open(&collector->socket, &collector->loop, &address, &events, why);
	}
	collector->outlet.socket = collector->socket;
	if (err && !collector->options->quiet)
		foreign_line(stderr, "%s: no socket: %s: \"rankwatch findings\" sees nothing of this collector", who,
			     why);
}

/* A job_half_ask. */
static void on_ask(void *argument, const char *host, const void *bytes, size_t length)
{
	struct job_collector *collector = argument;
	char subject[SUBJECT_SIZE];

	if (!collector->judges.active)
		return; /* the active judge asks, and we hear the answer, too */
	subject_write(subject, SUBJECT_ASKS, collector->identity.job, host);
	link_send(collector->link, subject, bytes, length);
}

static void say_strangers(struct job_collector *collector)
{
	char line[JOB_HALF_NEWS];

	while (job_half_news(collector->half, line))
		foreign_line(stderr, "%s: %s", who, line);
}

static void read_letters(struct job_collector *collector, uint64_t now_ns)
{
	struct letter *letter;

	for (int i = 0; i < LETTERS_A_TICK && (letter = link_receive(collector->link)); i++) {
		mail_take(&collector->mail, letter, now_ns);
		free(letter);
	}
}

/* Whoever is not heard while we are not connected, or do not run, is not silent for that. */
static void note_deafness(struct job_collector *collector, uint64_t now_ns)
{
	bool held_up = collector->ticked_ns && now_ns >= collector->ticked_ns + HELD_UP_MS * UINT64_C(1000000);
	struct link_state state;

	link_see(collector->link, &state);
	if (held_up && !collector->options->quiet)
		foreign_line(stderr,
			     "%s: did not run for %.0f s: that a host was not heard meanwhile counts for nothing", who,
			     (double)(now_ns - collector->ticked_ns) / 1e9);
	if (held_up || !state.connected || state.connections != collector->connections) {
		job_half_deaf(collector->half, now_ns);
		mail_deaf(&collector->mail, now_ns);
		judges_listen(&collector->judges, now_ns);
	}
	collector->connections = state.connections;
	collector->ticked_ns = now_ns;
}

static void say_life(struct job_collector *collector, bool last, uint64_t now_ns)
{
	struct judges *judges = &collector->judges;
	char subject[SUBJECT_SIZE];
	struct link_state state;

	if (!last && now_ns < judges->next_life_ns)
		return;
	char *line = judges_life(judges, held_open(&collector->held, JUDGES_OPEN), last, now_ns);

	link_see(collector->link, &state);
	subject_write(subject, SUBJECT_JUDGES, collector->identity.job, judges->name);
	if (line && state.connected) /* of the past it is of no use to anybody */
		link_send(collector->link, subject, line, strlen(line));
	free(line);
}

/* Whether we tell what we find, or another judge does. */
static void take_turns(struct job_collector *collector, uint64_t now_ns)
{
	struct judges *judges = &collector->judges;
	bool changed = judges_tick(judges, now_ns);
	const struct judge *before = judges_before(judges, now_ns);

	if (before && !collector->stands_by)
		foreign_line(stderr,
			     "%s: another \"rankwatch collect --all-nodes\" of this job is active, %s: this one "
			     "stands by, and reports what it finds when that one is not heard for %d s",
			     who, before->name, JUDGES_SILENT_MS / 1000);
	else if (changed && judges->active && collector->stands_by)
		foreign_line(stderr, "%s: the other one of this job is heard no more: this one is active now", who);
	collector->stands_by = before || (collector->stands_by && !judges->active);
	if (changed) {
		judges->next_life_ns = 0;
		held_set(&collector->held, !judges->active);
	}
	if (changed && judges->active && !collector->socket)
		open_socket(collector);
	say_life(collector, false, now_ns);
}

static void end_when_idle(struct job_collector *collector, uint64_t now_ns)
{
	const struct hosts *hosts = &collector->mail.hosts;

	if (!collector->options->until_idle || !hosts->count || hosts_count(hosts, HOST_LEFT) < hosts->count) {
		collector->idle_ns = 0;
		return;
	}
	if (!collector->idle_ns)
		collector->idle_ns = now_ns;
	if (now_ns - collector->idle_ns >= IDLE_MS * UINT64_C(1000000))
		uv_stop(&collector->loop);
}

static void on_tick(uv_timer_t *timer)
{
	struct job_collector *collector = timer->data;
	uint64_t now_ns = uv_hrtime();

	say_news(collector);
	note_deafness(collector, now_ns);
	read_letters(collector, now_ns);
	take_turns(collector, now_ns);
	mail_tick(&collector->mail, now_ns);
	job_half_tick(collector->half, now_ns);
	job_half_ask_why(collector->half, now_ns, on_ask, collector);
	say_strangers(collector);
	outlet_tick(&collector->outlet);
	if (collector->socket)
		answers_tick(&collector->answers, collector->socket, now_ns);
	end_when_idle(collector, now_ns);
}

static void on_signal(uv_signal_t *handle, int number)
{
	(void)number;
	uv_stop(handle->loop);
}

static int open_link(struct job_collector *collector)
{
	char subject[SUBJECT_SIZE], kept[SUBJECT_SIZE], name[160];

	subject_write_all(subject, collector->identity.job);
	subject_write(kept, SUBJECT_TOLD, collector->identity.job, NULL);
	snprintf(name, sizeof(name), "rankwatch of job %s, on %s", collector->identity.job, collector->identity.host);
	collector->link = link_open(&(struct link_request){
	    .url = collector->options->nats, .name = name, .subscribe = subject, .kept = kept });
	return collector->link ? 0 : -ENOMEM;
}

static int open_all(struct job_collector *collector)
{
	const struct job_collector_options *options = collector->options;
	int err = outlet_open(&collector->outlet, options->findings, options->quiet);

	if (err)
		return err;
	collector->outlet.announcer.style.job = collector->identity.job;
	if (options->on_finding)
		collector->outlet.command =
		    command_sink_open(&collector->loop, options->on_finding, COMMAND_SINK_LIMIT_MS);
	collector->mail = (struct mail){
		.who = who,
		.trouble = stderr,
		.reports = options->quiet ? NULL : stderr,
		.batch = on_batch,
		.judge = on_judge,
		.told = on_told_elsewhere,
		.argument = collector,
		.merged = { .emit = on_change, .argument = collector },
		.echoes = { .is_member = is_member, .argument = collector },
	};
	collector->held = (struct held){ .emit = on_told, .is_told = is_told, .argument = collector, .holds = true };
	collector->judges.started_ms = clock_realtime_ns() / 1000000;
	snprintf(collector->judges.name, sizeof(collector->judges.name), "%.48s" JUDGES_MARK "%d",
		 collector->identity.host, (int)getpid());
	collector->half = job_half_new(collector->identity.job, on_finding, collector);
	if (collector->half)
		job_half_keep_course(collector->half);
	collector->answers = (struct answers){ .half = collector->half,
					       .hosts = &collector->mail.hosts,
					       .outlet = &collector->outlet,
					       .job = collector->identity.job };
	err = collector->half ? open_link(collector) : -ENOMEM;
	if (err)
		fprintf(stderr, "%s: %s\n", who, strerror(-err));
	return err;
}

static void start(struct job_collector *collector)
{
	static const int numbers[] = { SIGINT, SIGTERM };

	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a file at its limit is an error of that file */
	for (int i = 0; i < 2; i++) {
		uv_signal_init(&collector->loop, &collector->signals[i]);
		uv_signal_start(&collector->signals[i], on_signal, numbers[i]);
	}
	uv_timer_init(&collector->loop, &collector->timer);
	collector->timer.data = collector;
	uv_timer_start(&collector->timer, on_tick, TICK_MS, TICK_MS);
	if (!collector->options->quiet)
		foreign_line(stderr, "%s: listens for the hosts of job %s", who, collector->identity.job);
}

static void say_turns(const struct job_half *half)
{
	struct analysis_turns turns;

	job_half_tell_turns(half, &turns);
	json_t *told = turns_json(&turns);
	turns_print(stderr, "  ", LABEL, told);
	json_decref(told);
}

static void say_summary(struct job_collector *collector)
{
	const struct mail *mail = &collector->mail;
	const struct board *board = &collector->outlet.board;
	struct link_state state;

	link_see(collector->link, &state);
	if (collector->options->quiet)
		return;
	foreign_line(stderr,
		     "%s: job %s: heard %zu hosts with %u ranks, %zu of them silent at the end; %zu critical findings, "
		     "%zu warnings; "
		     "%llu of what came was not taken, %llu was lost here",
		     who, collector->identity.job, mail->hosts.count, hosts_ranks(&mail->hosts),
		     hosts_count(&mail->hosts, HOST_SILENT), board_count(board, RW_CRITICAL),
		     board_count(board, RW_WARNING), (unsigned long long)mail->complaints.count,
		     (unsigned long long)state.lost_receiving);
	say_turns(collector->half);
}

/* Where nobody else tells what was found, we do, however short a time we have listened. */
static void take_leave(struct job_collector *collector)
{
	uint64_t now_ns = uv_hrtime();

	if (!judges_before(&collector->judges, now_ns))
		held_set(&collector->held, false);
	outlet_tick(&collector->outlet);
	say_life(collector, true, now_ns);
}

static void close_handle(uv_handle_t *handle, void *argument)
{
	(void)argument;
	if (!uv_is_closing(handle))
		uv_close(handle, NULL);
}

static const char *from_environment(void *argument, const char *name)
{
	(void)argument;
	return getenv(name);
}

static void choose_job(struct job_collector *collector)
{
	struct identity *identity = &collector->identity;

	identity_read(identity, from_environment, NULL, 0, NULL, 0);
	if (collector->options->job)
		snprintf(identity->job, sizeof(identity->job), "%s", collector->options->job);
}

enum collector_status job_collector_run(const struct job_collector_options *options)
{
	struct job_collector collector = { .options = options };
	int err;

	if (!link_is_possible()) {
		fprintf(stderr, "%s: this rankwatch was built without NATS (libnats): it hears no other node\n", who);
		return COLLECTOR_FAILED;
	}
	choose_job(&collector);
	err = uv_loop_init(&collector.loop);
	if (err) {
		fprintf(stderr, "%s: %s\n", who, uv_strerror(err));
		return COLLECTOR_FAILED;
	}
	err = open_all(&collector);
	if (!err) {
		open_socket(&collector);
		start(&collector);
		uv_run(&collector.loop, UV_RUN_DEFAULT);
		uv_timer_stop(&collector.timer);
		on_tick(&collector.timer);
		take_leave(&collector);
		command_sink_finish(collector.outlet.command, COMMANDS_MS);
		say_summary(&collector);
	}
	job_half_free(collector.half);
	mail_free(&collector.mail);
	held_free(&collector.held);
	judges_free(&collector.judges);
	outlet_close(&collector.outlet);
	socket_close(collector.socket);
	bool stuck = !link_close(collector.link, CLOSE_MS);

	uv_walk(&collector.loop, close_handle, NULL);
	uv_run(&collector.loop, UV_RUN_DEFAULT);
	command_sink_close(collector.outlet.command);
	uv_loop_close(&collector.loop);
	fflush(NULL);
	if (stuck)
		_exit(err ? COLLECTOR_FAILED : COLLECTOR_DONE);
	return err ? COLLECTOR_FAILED : COLLECTOR_DONE;
}
