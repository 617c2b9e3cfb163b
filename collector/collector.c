/* SPDX-License-Identifier: MIT */
#include "collector/collector.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "analysis/view/view.h"
#include "base/foreign_text.h"
#include "blackbox/run_mark.h"
#include "collector/boxes/room.h"
#include "collector/boxes/saver.h"
#include "collector/claim.h"
#include "collector/life.h"
#include "collector/sinks/answers.h"
#include "collector/sinks/broadcast.h"
#include "collector/sinks/lookout.h"
#include "collector/sinks/outlet.h"
#include "collector/sinks/socket.h"
#include "collector/watch.h"
#include "protocol/message.h"

enum {
	ROOM_MS = 1000,
	EVIDENCE_MS = 10000 /* from one copy of it to the next, while boxes live */,
	PUBLISH_MS = 500 /* at the end */,
	WAKE_MS = 10 /* several ranks often end together */
};

struct collector {
	const struct collector_options *options;
	uv_loop_t loop;
	uv_timer_t timer;
	uv_signal_t signals[2];
	struct claim claim;
	struct room room;
	struct saver *saver; /* NULL: boxes are not saved */
	struct analysis *analysis;
	struct broadcast broadcast; /* of a job on several hosts */
	struct watch watch;
	struct socket_sink *socket;
	struct outlet outlet;
	struct answers answers;
	struct lookout lookout;
	struct life life;
	uint64_t next_room_ns, next_evidence_ns;
	size_t marked; /* findings that the mark beside the boxes stands for */
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
	analysis_tell_pace(collector->analysis, &summary.pace);
	lookout_sum(&collector->lookout, &summary.sight);
	host_loss(collector->watch.host, &summary.lost);
	summary.given_up = live_boxes_given_up(collector->watch.boxes);
	for (size_t i = 0; i < MESSAGE_SEVERITIES; i++)
		summary.findings[i] = board_count(&collector->outlet.board, (enum rw_severity)i);
	summary.findings_closed = board_closed(&collector->outlet.board);
	return message_summary(&summary);
}

/* In full, so that others can compare it with theirs. As it was named while its file system does not answer; to be
 * freed. */
static char *directory_name(const struct collector *collector)
{
	const char *directory = collector->claim.directory;
	char *whole = *directory && live_boxes_answer(collector->watch.boxes) ? realpath(directory, NULL) : NULL;

	return whole ? whole : strdup(directory);
}

static void on_client(void *argument, struct socket_client *client)
{
	struct collector *collector = argument;
	struct sight sight;

	host_see(collector->watch.host, &sight);

	char *directory = directory_name(collector);
	char *hello =
	    message_hello(collector->claim.identity.job, &sight, board_open(&collector->outlet.board),
			  saver_directory(collector->saver), collector->outlet.command, collector->outlet.publisher,
			  directory ? directory : "");

	free(directory);
	life_greet(&collector->life);
	if (hello)
		socket_send(client, hello);
	free(hello);
	outlet_report_open(&collector->outlet, client);
}

static void on_request(void *argument, struct socket_client *client, const struct request *request)
{
	struct collector *collector = argument;

	answers_give(&collector->answers, client, request, uv_hrtime());
}

/* As long as no box has come. A directory named on our command line is one to look in; where the ranks record is not
 * known then. */
static void find_room(struct collector *collector, uint64_t now_ns)
{
	if (now_ns < collector->next_room_ns)
		return;
	collector->next_room_ns = now_ns + ROOM_MS * UINT64_C(1000000);
	if (!collector->options->directory && !live_boxes_directory(collector->watch.boxes) &&
	    live_boxes_answer(collector->watch.boxes))
		room_poll(&collector->room, collector->claim.places, collector->claim.place_count);
}

static struct life_work work_of(const struct collector *collector)
{
	const struct socket_sink *socket = collector->socket;

	return (struct life_work){
		.boxes = live_boxes_count(collector->watch.boxes),
		.saving = saver_pending(collector->saver),
		.commands = command_sink_pending(collector->outlet.command),
		.silent = !live_boxes_answer(collector->watch.boxes),
		.clients = socket ? socket_clients(socket) : 0,
		.runs = socket ? socket_runs(socket) : 0,
		.leaving = socket ? socket_leaving(socket) : 0,
	};
}

static void answer_leaving(struct collector *collector, uint64_t now_ns)
{
	struct life_work work = work_of(collector);

	if (!life_owes_summary(&collector->life, &work, now_ns))
		return;
	lookout_report_late(&collector->lookout);

	char *line = summary_line(collector, false), *last = summary_line(collector, true);

	if (line && last)
		socket_answer_leaving(collector->socket, line, last);
	free(line);
	free(last);
	work = work_of(collector);
	if (life_part(&collector->life, &work, now_ns))
		socket_stop_listening(collector->socket);
}

static void end_when_idle(struct collector *collector, uint64_t now_ns)
{
	const struct life_work work = work_of(collector);

	if (life_is_over(&collector->life, &work, now_ns))
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

static const char *boxes_directory(const struct collector *collector)
{
	return live_boxes_answer(collector->watch.boxes) ? live_boxes_directory(collector->watch.boxes) : NULL;
}

/* Beside the boxes at once; with the saved ones now and then, and behind the last of them. */
static void keep_evidence(struct collector *collector, bool last, uint64_t now_ns)
{
	const char *directory = boxes_directory(collector), *name;

	evidence_sink_tick(collector->outlet.evidence, directory, now_ns);
	if (!collector->saver || !directory || (!last && now_ns < collector->next_evidence_ns))
		return;
	name = evidence_sink_news(collector->outlet.evidence);
	if (name)
		saver_save_evidence(collector->saver, directory, name);
	collector->next_evidence_ns = now_ns + EVIDENCE_MS * UINT64_C(1000000);
}

/* An analysis_emit. */
static void on_finding(void *argument, const struct rw_finding *finding)
{
	struct collector *collector = argument;

	broadcast_note(&collector->broadcast, finding);
	outlet_put(&collector->outlet, finding);
}

/* Somebody looks on, or waits for our answer to its leaving. */
static bool is_followed(const struct collector *collector)
{
	return collector->socket && (answers_are_followed(collector->socket) || socket_leaving(collector->socket));
}

/* From now on, not from the next tick on. */
static void set_pause(struct collector *collector, uint64_t now_ns)
{
	unsigned pause_ms = watch_next_ms(&collector->watch, is_followed(collector), now_ns);

	if (pause_ms == uv_timer_get_repeat(&collector->timer))
		return;
	uv_timer_set_repeat(&collector->timer, pause_ms);
	uv_timer_again(&collector->timer);
}

static void on_tick(uv_timer_t *timer)
{
	struct collector *collector = timer->data;
	uint64_t now_ns = uv_hrtime();

	collector->outlet.directory = boxes_directory(collector);
	bool boxes = watch_tick(&collector->watch, now_ns);

	lookout_tick(&collector->lookout, now_ns);
	mark_findings(collector);
	keep_evidence(collector, !live_boxes_count(collector->watch.boxes), now_ns);
	outlet_tick(&collector->outlet);
	broadcast_tick(&collector->broadcast, &collector->outlet.board, live_boxes_count(collector->watch.boxes), boxes,
		       now_ns);
	if (collector->socket) {
		answers_tick(&collector->answers, collector->socket, now_ns);
		socket_mute_others(collector->socket);
	}
	if (boxes)
		answer_leaving(collector, now_ns);
	find_room(collector, now_ns);
	end_when_idle(collector, now_ns);
	set_pause(collector, now_ns);
}

static void on_wake(void *argument)
{
	struct collector *collector = argument;

	if (uv_is_active((uv_handle_t *)&collector->timer) && uv_timer_get_due_in(&collector->timer) > WAKE_MS)
		uv_timer_start(&collector->timer, on_tick, WAKE_MS, uv_timer_get_repeat(&collector->timer));
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
		.wake = on_wake,
		.argument = collector,
	};

	return watch_open(&collector->watch, &request);
}

/* What keeps us from being heard elsewhere must not keep us from watching. */
static void open_broadcast(struct collector *collector)
{
	const struct broadcast_request request = {
		.url = collector->options->nats,
		.identity = &collector->claim.identity,
		.analysis = collector->analysis,
		.host = collector->watch.host,
		.quiet = collector->options->quiet,
	};

	broadcast_open(&collector->broadcast, &request);
	collector->outlet.publisher = collector->broadcast.publisher;
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
	collector->outlet.evidence =
	    evidence_sink_new(collector->claim.identity.job, collector->claim.identity.host, collector->options->quiet);
	collector->answers = (struct answers){ .analysis = collector->analysis,
					       .outlet = &collector->outlet,
					       .host = collector->watch.host,
					       .job = collector->claim.identity.job };
	open_socket(collector);
	collector->lookout = (struct lookout){
		.host = collector->watch.host, .socket = collector->socket, .quiet = collector->options->quiet
	};
	open_broadcast(collector);
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
	collector->life = (struct life){ .until_idle = collector->options->until_idle, .busy_ns = uv_hrtime() };
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

/* On our stderr, and to launchers that are still there: a scheduler that ends a job signals us as well as its ranks. */
static void say_summary(struct collector *collector)
{
	char *line = summary_line(collector, false), *last = summary_line(collector, true);
	json_t *summary = last ? json_loads(last, 0, NULL) : NULL;

	if (summary && !collector->options->quiet)
		message_print_summary(stderr, "rankwatch collect", summary);
	if (line && last && collector->socket)
		socket_report_end(collector->socket, line, last);
	json_decref(summary);
	free(line);
	free(last);
}

/* We end: what runs on is saved as it is now; commands run on meanwhile. */
static void finish(struct collector *collector)
{
	uint64_t begin_ns = uv_hrtime();

	uv_timer_stop(&collector->timer);
	live_boxes_save(collector->watch.boxes);
	keep_evidence(collector, true, begin_ns);
	saver_finish(collector->saver, LIFE_SAVE_MS);
	uint64_t took_ms = (uv_hrtime() - begin_ns) / 1000000;
	command_sink_finish(collector->outlet.command, took_ms < LIFE_SAVE_MS ? LIFE_SAVE_MS - took_ms : 0);
}

static void close_all(struct collector *collector)
{
	if (collector->outlet.evidence)
		evidence_sink_free(collector->outlet.evidence, boxes_directory(collector));
	socket_close(collector->socket);
	watch_close(&collector->watch);
	broadcast_free(&collector->broadcast);
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
	bool stuck = !broadcast_end(&collector.broadcast, uv_hrtime(), PUBLISH_MS);

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
