/* SPDX-License-Identifier: MIT */
#include "collector/collector.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "analysis/node/node_half.h"
#include "analysis/view.h"
#include "base/clock.h"
#include "base/foreign_text.h"
#include "blackbox/process.h"
#include "blackbox/run_mark.h"
#include "collector/answers.h"
#include "collector/claim.h"
#include "protocol/message.h"
#include "collector/nats/link.h"
#include "collector/nats/publisher.h"
#include "collector/outlet.h"
#include "collector/room.h"
#include "collector/saver.h"
#include "collector/sinks/socket.h"
#include "collector/watch.h"

enum { ROOM_EVERY = 20 /* ticks */, IDLE_MS = 3000, LEAVE_MS = 1500, PUBLISH_MS = 500 /* at the end */,
       ASKS_A_TICK = 64, SAVE_MS = 4500 /* of the time between SIGTERM and SIGKILL, which may be 5 s */ };

struct collector {
	const struct collector_options *options;
	uv_loop_t loop;
	uv_timer_t timer;
	uv_signal_t signals[2];
	struct claim claim;
	struct room room;
	struct saver *saver; /* NULL: boxes are not saved */
	struct analysis *analysis;
	struct node_half *half; /* of a job on several hosts, what they are judged by together; NULL: nothing is published */
	struct watch watch;
	struct socket_sink *socket;
	struct outlet outlet;
	struct answers answers;
	struct sight_news news;
	bool launcher_told; /* of what was told last */
	bool complained;    /* of an ask that is none */
	uint64_t busy_ns;
	size_t marked;       /* findings that the mark beside the boxes stands for */
	uint64_t leaving_ns; /* since when a launcher waits for the summary, 0 = none does */
	bool left;           /* the last launcher has gone and has its summary */
	uint64_t ending_ns;  /* and since then there was nothing left to do: nobody else is let in; 0 = not so */
};

static void on_save(void *argument, const struct box_reader *reader)
{
	struct collector *collector = argument;

	saver_save(collector->saver, reader);
}

static char *summary_line(struct collector *collector, bool last)
{
	struct message_summary summary = {
		.job = collector->claim.identity.job,
		.sight = collector->news.most,
		.directory = live_boxes_directory(collector->watch.boxes),
		.saved = saver_has_all(collector->saver) ? saver_directory(collector->saver) : NULL,
		.no_room = *collector->room.why ? collector->room.why : NULL,
		.last = last,
	};

	analysis_summarise(collector->analysis, &summary.analysis);
	analysis_tell_account(collector->analysis, &summary.account);
	analysis_tell_pipeline(collector->analysis, &summary.pipeline);
	analysis_tell_gpu_memory(collector->analysis, &summary.gpu_memory);
	analysis_tell_step_course(collector->analysis, &summary.step_course);
	if (!summary.sight.processes)
		host_see(collector->watch.host, &summary.sight);
	host_loss(collector->watch.host, &summary.lost);
	summary.given_up = live_boxes_given_up(collector->watch.boxes);
	for (size_t i = 0; i < MESSAGE_SEVERITIES; i++)
		summary.findings[i] = board_count(&collector->outlet.board, (enum rw_severity)i);
	summary.findings_closed = board_closed(&collector->outlet.board);
	return message_summary(&summary);
}

static void on_client(void *argument, struct socket_client *client)
{
	struct collector *collector = argument;
	struct sight sight;

	host_see(collector->watch.host, &sight);

	char *hello =
	    message_hello(collector->claim.identity.job, &sight, board_open(&collector->outlet.board),
			  saver_directory(collector->saver), collector->outlet.command, collector->outlet.publisher,
			  collector->claim.directory);

	collector->left = false;
	if (hello)
		socket_send(client, hello);
	free(hello);
	outlet_tell_open(&collector->outlet, client);
}

static void on_request(void *argument, struct socket_client *client, const struct request *request)
{
	struct collector *collector = argument;

	answers_give(&collector->answers, client, request, uv_hrtime());
}

static void print_sight(const struct sight *sight)
{
	char line[SIGHT_LINE];
	json_t *said = sight_json(sight);

	sight_describe(said, SIGHT_LINE - 1 - strlen("rankwatch collect: "), line);
	json_decref(said);
	fprintf(stderr, "rankwatch collect: %s\n", line);
}

/* One launcher of the job says it; those who only listen hear it as well. */
static void tell_sight(struct collector *collector, const struct sight *sight, bool is_news)
{
	char *line = is_news || !collector->launcher_told ? message_watching(sight) : NULL;

	if (line && collector->socket && is_news)
		socket_send_listeners(collector->socket, line);
	if (line && collector->socket)
		collector->launcher_told = socket_send_launcher(collector->socket, line);
	if (is_news && !collector->options->quiet)
		print_sight(sight);
	free(line);
}

static void look_how_deep(struct collector *collector, uint64_t now_ns)
{
	struct sight sight;

	host_see(collector->watch.host, &sight);

	bool is_news = sight_news_take(&collector->news, &sight, now_ns);

	bool is_due = !collector->launcher_told && collector->news.told_processes && sight.processes &&
		      collector->socket && socket_runs(collector->socket);

	if (is_news || is_due)
		tell_sight(collector, &sight, is_news);
}

/* A job that was over before the ranks had settled. */
static void tell_late(struct collector *collector)
{
	if (!collector->news.told_processes && collector->news.most.processes)
		tell_sight(collector, &collector->news.most, true);
	collector->news.told_processes = collector->news.most.processes;
}

/* As long as no box has come. A directory named on our command line is one to look in; where the ranks record is not
 * known then. */
static void look_for_room(struct collector *collector)
{
	if (!collector->options->directory && !live_boxes_directory(collector->watch.boxes))
		room_look(&collector->room, collector->claim.places, collector->claim.place_count);
}

static bool has_work(const struct collector *collector)
{
	return live_boxes_count(collector->watch.boxes) || saver_pending(collector->saver) ||
	       command_sink_pending(collector->outlet.command);
}

/* The last launcher has its summary, and with it what this collector saw: another run of the same name is another
 * collector's, however soon it comes. */
static void begin_end(struct collector *collector, uint64_t now_ns)
{
	socket_stop_listening(collector->socket);
	collector->ending_ns = now_ns;
}

/* The job of a launcher has ended: how its processes ended counts in the summary. They are waited for, but not for one
 * that the job leaves behind. */
static void answer_leaving(struct collector *collector, uint64_t now_ns)
{
	if (!collector->socket || socket_leaving(collector->socket) == 0) {
		collector->leaving_ns = 0;
		return;
	}
	if (!collector->leaving_ns)
		collector->leaving_ns = now_ns;
	if (live_boxes_count(collector->watch.boxes) && now_ns - collector->leaving_ns < LEAVE_MS * UINT64_C(1000000))
		return;
	/* A launcher's end may be the end of its node's share of the job, and of us. */
	if ((saver_pending(collector->saver) || command_sink_pending(collector->outlet.command)) &&
	    now_ns - collector->leaving_ns < SAVE_MS * UINT64_C(1000000))
		return;

	tell_late(collector);

	char *line = summary_line(collector, false), *last = summary_line(collector, true);

	if (line && last)
		socket_answer_leaving(collector->socket, line, last);
	free(line);
	free(last);
	collector->left = socket_runs(collector->socket) == 0;
	if (collector->left && collector->options->until_idle && !has_work(collector))
		begin_end(collector, now_ns);
}

/* Nothing to watch, nobody to tell? Then it is over; when it has begun to end, at the latest LEAVE_MS later. */
static void end_when_idle(struct collector *collector, uint64_t now_ns)
{
	bool has_clients = collector->socket && socket_clients(collector->socket);

	if (!collector->ending_ns && (has_work(collector) || has_clients)) {
		collector->busy_ns = now_ns;
		return;
	}
	if (!collector->options->until_idle)
		return;
	if (collector->ending_ns ? !has_clients || now_ns - collector->ending_ns > LEAVE_MS * UINT64_C(1000000)
				 : collector->left || now_ns - collector->busy_ns > IDLE_MS * UINT64_C(1000000))
		uv_stop(&collector->loop);
}

/* Boxes of a run with findings are kept longer than others when memory is tidied, also where we end without a word. */
static void mark_findings(struct collector *collector)
{
	const char *directory = live_boxes_directory(collector->watch.boxes);
	size_t found =
	    board_count(&collector->outlet.board, RW_WARNING) + board_count(&collector->outlet.board, RW_CRITICAL);

	if (!directory || found <= collector->marked)
		return;
	run_mark_leave(directory, RUN_MARK_FINDINGS);
	collector->marked = found;
}

/* An analysis_emit. */
static void on_finding(void *argument, const struct rw_finding *finding)
{
	struct collector *collector = argument;

	if (collector->half)
		node_half_note_finding(collector->half, finding);
	outlet_put(&collector->outlet, finding);
}

static void on_batch(void *argument, const void *bytes, size_t length)
{
	publisher_batch(argument, bytes, length);
}

static size_t more_suspects(void *argument, struct analysis_suspect *suspects, size_t room)
{
	return node_half_suspects(argument, suspects, room);
}

/* Who judges the job wants to know why a rank of this host is late. */
static void read_asks(struct collector *collector, uint64_t now_ns)
{
	struct letter *letter;

	for (int i = 0; i < ASKS_A_TICK && (letter = publisher_asked(collector->outlet.publisher)); i++) {
		const char *why = "";

		if (collector->half && node_half_ask(collector->half, letter->bytes, letter->length, now_ns, &why) &&
		    !collector->complained && !collector->options->quiet) {
			foreign_line(stderr, "rankwatch collect: NATS: a question that came is not taken: %s (said once)", why);
			collector->complained = true;
		}
		free(letter);
	}
}

/* Behind the analysis's own tick. */
static void publish(struct collector *collector, bool boxes, uint64_t now_ns)
{
	struct sight sight;

	if (!collector->outlet.publisher)
		return;
	read_asks(collector, now_ns);
	if (collector->half && boxes)
		node_half_tick(collector->half, now_ns, on_batch, collector->outlet.publisher);
	host_see(collector->watch.host, &sight);

	const struct publisher_life life = { .ranks = (unsigned)live_boxes_count(collector->watch.boxes),
					     .level = sight_level_name(sight.level) };

	publisher_tick(collector->outlet.publisher, &collector->outlet.board, &life, now_ns);
}

static void on_tick(uv_timer_t *timer)
{
	struct collector *collector = timer->data;
	uint64_t now_ns = uv_hrtime();

	bool boxes = watch_tick(&collector->watch, now_ns);

	look_how_deep(collector, now_ns);
	mark_findings(collector);
	outlet_tick(&collector->outlet);
	publish(collector, boxes, now_ns);
	if (collector->socket)
		answers_tick(&collector->answers, collector->socket, now_ns);
	if (boxes)
		answer_leaving(collector, now_ns);
	if (collector->watch.ticks % ROOM_EVERY == 1)
		look_for_room(collector);
	end_when_idle(collector, now_ns);
}

static void on_signal(uv_signal_t *handle, int number)
{
	(void)number;
	uv_stop(handle->loop);
}

static void open_socket(struct collector *collector)
{
	const struct socket_events events = { .came = on_client, .asked = on_request, .argument = collector };
	char why[160] = "its path is too long";
	int err = collector->claim.address_err;

	if (!err)
		err = socket_open(&collector->socket, &collector->loop, &collector->claim.address, &events, why);
	collector->outlet.socket = collector->socket;
	if (err)
		foreign_line(stderr,
			     "rankwatch collect: no socket: %s: \"rankwatch findings\" and \"run\" see nothing of "
			     "this collector",
			     why);
}

static int open_watch(struct collector *collector)
{
	const struct collector_options *options = collector->options;
	const struct watch_request request = {
		.loop = &collector->loop,
		.analysis = collector->analysis,
		.root = "",
		.job = collector->claim.identity.job,
		.node = options->host,
		.any_job = options->directory && !options->job,
		.owner = geteuid() == 0 && options->directory ? (uid_t)-1 : geteuid(),
		.places = collector->claim.places,
		.place_count = collector->claim.place_count,
		.now_ns = uv_hrtime(),
		.kernel_log = options->kernel_log,
		.ancestor = options->ancestor,
		.save = on_save,
		.argument = collector,
	};

	return watch_open(&collector->watch, &request);
}

/* Which start of this host's collector is speaking: docs/messages.md. Zeros where the kernel does not say. */
/* Two digits of the kernel's identifier a byte; 0 what cannot be read. */
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

static void open_half(struct collector *collector)
{
	struct node_identity identity = { .job = collector->claim.identity.job,
					  .host = collector->claim.identity.host,
					  .start = clock_realtime_ns() };

	read_boot(identity.boot);
	collector->half = node_half_new(collector->analysis, &identity);
	if (!collector->half)
		fputs("rankwatch collect: no memory for messages: findings are published without them\n", stderr);
	else
		host_suspect_too(collector->watch.host, more_suspects, collector->half);
}

/* What keeps us from being heard elsewhere must not keep us from watching. */
static void open_publisher(struct collector *collector)
{
	const struct publisher_request request = {
		.url = collector->options->nats,
		.job = collector->claim.identity.job,
		.host = collector->claim.identity.host,
		.who = "rankwatch collect",
		.quiet = collector->options->quiet,
	};

	if (!request.url)
		return;
	if (!link_is_possible()) {
		fputs("rankwatch collect: this rankwatch was built without NATS (libnats): nothing is published\n", stderr);
		return;
	}
	collector->outlet.publisher = publisher_open(&request);
	if (!collector->outlet.publisher)
		fputs("rankwatch collect: no memory or no thread for NATS: nothing is published\n", stderr);
	else
		open_half(collector);
}

static int open_all(struct collector *collector)
{
	int err = outlet_open(&collector->outlet, collector->options->findings, collector->options->quiet);

	if (err)
		return err;
	collector->outlet.announcer.style.job = collector->claim.identity.job; /* our first line says it */
	collector->analysis = analysis_new(false, on_finding, collector);
	if (!collector->analysis)
		err = -ENOMEM;
	if (!err && collector->options->on_finding)
		collector->outlet.command =
		    command_sink_open(&collector->loop, collector->options->on_finding, COMMAND_SINK_LIMIT_MS);
	if (!err && collector->options->save)
		collector->saver = saver_open(&collector->loop, collector->options->save, collector->claim.identity.job,
					      collector->options->save_limit);
	if (!err)
		err = open_watch(collector);
	if (err)
		fprintf(stderr, "rankwatch collect: %s\n", strerror(-err));
	if (err)
		return err;
	analysis_keep_cells(collector->analysis);
	collector->answers = (struct answers){ .analysis = collector->analysis,
					       .outlet = &collector->outlet,
					       .host = collector->watch.host,
					       .job = collector->claim.identity.job };
	open_socket(collector);
	open_publisher(collector);
	return 0;
}

static void start(struct collector *collector)
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
	uv_timer_start(&collector->timer, on_tick, WATCH_TICK_MS, WATCH_TICK_MS);
	collector->busy_ns = uv_hrtime();
}

static void say_level(const struct collector *collector)
{
	static const char *const levels[] = {
		[RW_LEVEL_SELF] = "its black boxes alone",
		[RW_LEVEL_PROC] = "/proc of the same user",
		[RW_LEVEL_ROOT] = "/proc as root",
		[RW_LEVEL_EBPF] = "eBPF",
	};
	struct sight sight;
	char gpus[GPU_HEALTH_TEXT];

	gpu_health_describe(collector->watch.gpu_health, gpus);
	host_see(collector->watch.host, &sight);
	if (!collector->options->quiet)
		foreign_line(stderr, "rankwatch collect: job %s, host seen through %s%s%s; GPUs %s",
			     collector->claim.identity.job, levels[sight.level], *sight.why ? ", because " : "",
			     sight.why, gpus);
}

static void say_summary(struct collector *collector)
{
	char *line = summary_line(collector, true);
	json_t *summary = line ? json_loads(line, 0, NULL) : NULL;

	if (summary && !collector->options->quiet)
		message_print_summary(stderr, "rankwatch collect", summary);
	json_decref(summary);
	free(line);
}

/* We end: what runs on is saved as it is now; commands run on meanwhile. */
static void finish(struct collector *collector)
{
	uint64_t begin_ns = uv_hrtime();

	uv_timer_stop(&collector->timer);
	live_boxes_save(collector->watch.boxes);
	saver_finish(collector->saver, SAVE_MS);
	uint64_t took_ms = (uv_hrtime() - begin_ns) / 1000000;
	command_sink_finish(collector->outlet.command, took_ms < SAVE_MS ? SAVE_MS - took_ms : 0);
}

static void close_all(struct collector *collector)
{
	socket_close(collector->socket);
	watch_close(&collector->watch);
	node_half_free(collector->half);
	analysis_free(collector->analysis);
	outlet_close(&collector->outlet);
	lock_release(&collector->claim.lock);
}

static void close_handle(uv_handle_t *handle, void *argument)
{
	(void)argument;
	if (!uv_is_closing(handle))
		uv_close(handle, NULL);
}

static void catch_up(struct collector *collector)
{
	collector->outlet.mute = true;
	watch_catch_up(&collector->watch, uv_hrtime());
	collector->outlet.mute = false;
	analysis_replay_open(collector->analysis);
}

enum collector_status collector_run(const struct collector_options *options)
{
	struct collector collector = { .options = options, .claim.lock = { .fd = -1 } };
	int err;

	claim_find(&collector.claim, options->directory, options->job, options->host);
	err = claim_take(&collector.claim, options->quiet);
	if (err)
		return COLLECTOR_FAILED;
	err = uv_loop_init(&collector.loop);
	if (err) {
		fprintf(stderr, "rankwatch collect: %s\n", uv_strerror(err));
		lock_release(&collector.claim.lock);
		return COLLECTOR_FAILED;
	}
	err = open_all(&collector);
	if (!err) {
		start(&collector);
		catch_up(&collector); /* what is open in the boxes comes first: loading BPF takes its time */
		host_deepen(collector.watch.host);
		say_level(&collector);
		uv_run(&collector.loop, UV_RUN_DEFAULT);
		watch_poll_boxes(&collector.watch, uv_hrtime());
		mark_findings(&collector);
		finish(&collector);
		say_summary(&collector);
	}
	/* Behind the last word of the analysis, in front of whoever waits for our end. */
	if (collector.half && !err)
		node_half_end(collector.half, uv_hrtime(), on_batch, collector.outlet.publisher);
	bool stuck = !publisher_close(collector.outlet.publisher, PUBLISH_MS);

	collector.outlet.publisher = NULL;
	close_all(&collector);
	uv_walk(&collector.loop, close_handle, NULL);
	uv_run(&collector.loop,
	       saver_pending(collector.saver) || collector.watch.stuck ? UV_RUN_NOWAIT : UV_RUN_DEFAULT);
	if (collector.watch.stuck || stuck) {
		fflush(NULL);
		_exit(err ? COLLECTOR_FAILED : COLLECTOR_DONE);
	}
	saver_close(collector.saver);
	command_sink_close(collector.outlet.command);
	uv_loop_close(&collector.loop);
	return err ? COLLECTOR_FAILED : COLLECTOR_DONE;
}
