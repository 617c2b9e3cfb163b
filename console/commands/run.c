/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/foreign_text.h"
#include "console/cli/command.h"
#include "console/cli/option.h"
#include "console/cli/terminal.h"
#include "console/client/nats_choice.h"
#include "console/client/sink_choice.h"
#include "console/install/library_fault.h"
#include "console/replay/kernel_xids.h"
#include "console/run/farewell.h"
#include "console/run/gloo.h"
#include "console/run/job.h"
#include "console/run/launcher.h"
#include "console/run/other_hosts.h"
#include "console/run/on_finding.h"
#include "console/run/post_mortem.h"
#include "console/run/saved_page.h"
#include "console/run/start_line.h"
#include "console/run/supervisor.h"
#include "console/run/tidy.h"
#include "finding/announcer.h"
#include "finding/line_sink.h"
#include "finding/written.h"
#include "protocol/sight.h"

enum {
	KEY_NO_PRELOAD = 0x100,
	KEY_KERNEL_LOG,
	TICK_MS = 100,
	SUMMARY_MS = 5000,
	HELLO_MS = 2000,
	PAGE_MS = 15000,
	POST_MORTEM_MS = 10000,
	COMMANDS_MS = 4500, /* as a collector waits for its last ones */
	COLLECTOR_END_MS = 1000,
	LINES_MS = 2000
};

struct options {
	const char *job, *kernel_log;
	bool no_preload, json, quiet;
	struct sink_choice sinks;
	struct nats_choice nats;
	char **command;
	int command_count;
};

struct run {
	struct options options;
	struct install install;
	struct job_environment environment;
	struct job job;
	struct supervisor supervisor;
	struct announcer announcer;
	struct written written; /* into `lines` */
	struct line_sink *lines; /* findings as JSON; NULL: nowhere */
	bool muted;              /* another launcher of this job and node prints findings, and how they are watched */
	bool place_known;        /* the collector has said which of the two we are */
	json_t *sight;           /* held back until then; NULL nothing is */
	bool unwatched;          /* what it takes was not to be had: the job runs without us */
	json_t *summary;
	json_t *earlier; /* of a collector that has ended since */
	uint64_t earlier_ns;
	uint64_t began_ns; /* before the job */
	bool saving_said, on_finding_said, publishing_said, muted_said;
	bool publishes;          /* the collector does, to whoever hears all hosts */
	char watching[SIGHT_LINE]; /* as it was said last */
	bool gloo;
	uint64_t gloo_poll_ns;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;
	const struct option_field fields[] = {
		{ 'j', .text = &options->job }, { 'J', .flag = &options->json }, { 'q', .flag = &options->quiet },
		{ KEY_KERNEL_LOG, .text = &options->kernel_log }, { KEY_NO_PRELOAD, .flag = &options->no_preload },
		{ 0 },
	};

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->sinks;
		state->child_inputs[1] = &options->nats;
		return 0;
	case ARGP_KEY_ARGS:
		options->command = state->argv + state->next;
		options->command_count = state->argc - state->next;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no command to run");
		return EINVAL;
	default:
		return option_take(fields, key, argument, state);
	}
}

static const uint64_t at_once_ns = UINT64_C(10000000000), gloo_after_ns = UINT64_C(2000000000);

/* A collector that another launcher started does what that one asked for. */
static void check_saving(struct run *run, const json_t *hello)
{
	if (!run->options.sinks.save || run->saving_said || json_string_value(json_object_get(hello, "save")))
		return;
	run->saving_said = true;
	fprintf(stderr, "rankwatch run: the collector of this job does not save black boxes: it could not, or another "
			"launcher started it without --save; \"rankwatch save\" does\n");
}

static void check_on_finding(struct run *run, const json_t *hello)
{
	if (!run->options.sinks.on_finding || run->on_finding_said ||
	    json_is_true(json_object_get(hello, "on_finding")))
		return;
	run->on_finding_said = true;
	fprintf(stderr,
		"rankwatch run: the collector of this job runs already, without --on-finding: no command is run\n");
}

static void check_publishing(struct run *run, const json_t *hello)
{
	if (!run->options.nats.url || run->publishing_said || json_is_true(json_object_get(hello, "publishes")))
		return;
	run->publishing_said = true;
	fprintf(
	    stderr,
	    "rankwatch run: the collector of this job does not publish: it could not, or another launcher started it "
	    "without --nats\n");
}

static const char *from_environment(void *argument, const char *name)
{
	(void)argument;
	return getenv(name);
}

/* Of which nobody hears who is watched here. */
static bool has_other_hosts(const struct run *run, struct other_hosts *hosts)
{
	return !run->publishes && other_hosts_find(hosts, run->options.command, from_environment, NULL);
}

static void say_other_hosts(const struct run *run)
{
	struct other_hosts hosts;

	if (has_other_hosts(run, &hosts))
		other_hosts_print(stderr, &hosts, terminal_break_width(STDERR_FILENO));
}

static void say_others_at_the_end(const struct run *run, const struct tidied *tidied, bool has_finding)
{
	struct other_hosts hosts;

	if ((has_finding || job_exit_status(&run->job)) && has_other_hosts(run, &hosts))
		farewell_print_others(stderr, run->summary, tidied);
}

/* What a collector that was started anew says again is no news. */
static void print_watching(struct run *run, const json_t *sight)
{
	bool is_first = !*run->watching;
	char line[SIGHT_LINE];

	sight_describe(sight, SIGHT_LINE - 1, line);
	if (run->options.quiet || strcmp(line, run->watching) == 0)
		return;
	strcpy(run->watching, line);

	const char *file = run->options.sinks.findings;
	const struct start_line start = {
		.who = "rankwatch",
		.job = is_first ? run->environment.job : NULL,
		.findings = run->options.json ? "go to standard output" : "come here",
		.file = run->options.json ? NULL : file && !strcmp(file, "-") ? "standard output" : file,
	};

	start_line_print(stderr, &start, sight, terminal_break_width(STDERR_FILENO));
	if (is_first)
		say_other_hosts(run);
}

/* Ranks may come before the collector knows that we are a launcher, and not the first one: that one says it. */
static void say_watching(struct run *run)
{
	if (!run->place_known)
		return;
	if (run->sight && !run->muted)
		print_watching(run, run->sight);
	json_decref(run->sight);
	run->sight = NULL;
}

static void hold_sight(struct run *run, const json_t *sight)
{
	json_decref(run->sight);
	run->sight = json_deep_copy(sight);
	say_watching(run);
}

/* Where the job's output goes they are printed once; a file may be this launcher's alone. */
static bool goes_to_stdout(const struct run *run)
{
	const char *file = run->options.sinks.findings;

	return run->options.json || (file && !strcmp(file, "-"));
}

/* Who looks at a terminal of its own waits for them in vain. */
static void say_muted(struct run *run)
{
	if (run->muted_said || run->options.quiet || !isatty(STDERR_FILENO))
		return;
	run->muted_said = true;
	foreign_line(stderr,
		     "rankwatch: findings of job %s are printed where its first launcher on this node runs; here: "
		     "rankwatch findings --follow",
		     run->environment.job);
}

static void mute(struct run *run, bool muted)
{
	run->muted = muted;
	run->announcer.text = muted || run->options.quiet || run->options.json ? NULL : stderr;
	if (muted)
		say_muted(run);
}

static void take_place(struct run *run, bool muted)
{
	mute(run, muted);
	run->place_known = true;
	say_watching(run);
}

static void put_finding(struct run *run, const json_t *finding)
{
	announcer_take(&run->announcer, finding, clock_monotonic_ns());

	char *line = run->lines ? written_line(&run->written, finding) : NULL;

	if (line && !(run->muted && goes_to_stdout(run)))
		line_sink_put(run->lines, line);
	free(line);
}

static json_int_t ranks_seen(const json_t *message)
{
	return json_integer_value(json_object_get(json_object_get(message, "summary"), "ranks_seen"));
}

/* The summary of a collector that has ended is not the last one: it was started anew, or this is another. It is kept,
 * but one of a collector that saw no rank does not replace an earlier one. */
static void on_hello(struct run *run, const json_t *hello)
{
	if (run->summary && (!run->earlier || ranks_seen(run->summary))) {
		json_decref(run->earlier);
		run->earlier = run->summary;
		run->earlier_ns = clock_monotonic_ns();
	} else {
		json_decref(run->summary);
	}
	run->summary = NULL;
	mute(run, false);
	run->place_known = false;
	check_saving(run, hello);
	check_on_finding(run, hello);
	check_publishing(run, hello);
	run->publishes = json_is_true(json_object_get(hello, "publishes"));
}

static void on_message(void *argument, const json_t *message)
{
	struct run *run = argument;
	const json_t *sight = json_object_get(message, "watching"), *hello = json_object_get(message, "hello"),
		     *muted = json_object_get(message, "muted");

	if (hello)
		on_hello(run, hello);
	if (muted)
		take_place(run, json_is_true(muted));
	if (sight)
		hold_sight(run, sight);
	if (json_object_get(message, "summary")) {
		json_decref(run->summary);
		run->summary = json_deep_copy(message);
	} else {
		put_finding(run, message);
	}
}

static void reap(struct run *run)
{
	int status;

	for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
		if (!job_note(&run->job, pid, status))
			supervisor_note(&run->supervisor, pid, status, clock_monotonic_ns());
}

/* Is nothing due before a signal or a word of the collector comes? Then nobody need wake up to look. */
static bool is_idle(const struct run *run)
{
	if (run->job.ended)
		return false;
	if (run->unwatched)
		return true;
	return supervisor_is_settled(&run->supervisor) && !announcer_waits(&run->announcer) &&
	       !line_sink_is_busy(run->lines);
}

/* Until a rank is seen, or gloo: after two seconds, four, eight … */
static bool looks_for_gloo(const struct run *run)
{
	return !run->unwatched && !run->options.quiet && !run->job.ended && !run->watching[0] && !run->gloo;
}

static void look_for_gloo(struct run *run, uint64_t now_ns)
{
	if (!run->gloo_poll_ns)
		run->gloo_poll_ns = now_ns + gloo_after_ns;
	if (!looks_for_gloo(run) || now_ns < run->gloo_poll_ns)
		return;
	run->gloo = gloo_is_used("/proc", run->job.pid);
	run->gloo_poll_ns = now_ns + (now_ns - run->began_ns);
}

/* How long nothing is due, in milliseconds; -1: until something happens. */
static int pause_ms(const struct run *run, uint64_t now_ns)
{
	if (!is_idle(run))
		return TICK_MS;
	if (!looks_for_gloo(run))
		return -1;
	uint64_t left_ms = run->gloo_poll_ns > now_ns ? (run->gloo_poll_ns - now_ns) / 1000000 + 1 : TICK_MS;
	return left_ms < INT_MAX ? (int)left_ms : INT_MAX;
}

/* One round of the loop: signals, the collector's words, what is due. */
static void turn(struct run *run)
{
	struct pollfd wait[] = {
		{ .fd = run->job.signal_fd, .events = POLLIN },
		{ .fd = run->supervisor.client.fd, .events = POLLIN },
		{ .fd = run->supervisor.errors_fd, .events = POLLIN },
		{ .fd = run->supervisor.asked_fd, .events = POLLIN },
	};

	look_for_gloo(run, clock_monotonic_ns());
	poll(wait, sizeof(wait) / sizeof(*wait), pause_ms(run, clock_monotonic_ns()));
	if (job_read_signals(&run->job))
		reap(run);
	supervisor_read(&run->supervisor, clock_monotonic_ns());
	line_sink_tick(run->lines);
	announcer_tick(&run->announcer, clock_monotonic_ns());
}

static bool is_last(const struct run *run)
{
	return json_is_true(json_object_get(json_object_get(run->summary, "summary"), "last"));
}

/* After a job that was shorter than a turn of the collector nobody else is left to say how it was watched. */
static void take_leave(struct run *run)
{
	uint64_t now_ns = clock_monotonic_ns(), hello_ns = now_ns + HELLO_MS * UINT64_C(1000000),
		 deadline_ns = now_ns + SUMMARY_MS * UINT64_C(1000000);

	/* A job can be shorter than the pause in which the shared path is left alone because another job's collector
	 * had it, and ours has it by now; and on a busy machine a collector that takes connections can be slow to say
	 * its first word. */
	supervisor_seek(&run->supervisor, now_ns);
	while (!run->supervisor.joined && run->supervisor.client.fd >= 0 && clock_monotonic_ns() < hello_ns)
		turn(run);
	if (!run->supervisor.joined)
		return;
	/* Where a scheduler that cancels the job has ended the collector, too, this fails. Its summary is read all the
	 * same: it may have come already. */
	collector_client_send(&run->supervisor.client, "{\"leave\":\"run\"}");
	while (!run->summary && run->supervisor.client.fd >= 0 && clock_monotonic_ns() < deadline_ns)
		turn(run);
	if (is_last(run) && !run->place_known)
		take_place(run, false);
}

/* The collector ends by itself once nobody needs it; to see it go keeps its last words before ours. */
static void await_collector(struct run *run)
{
	uint64_t deadline_ns = clock_monotonic_ns() + COLLECTOR_END_MS * UINT64_C(1000000);

	collector_client_close(&run->supervisor.client);
	if (!is_last(run))
		return;
	while (run->supervisor.pid && clock_monotonic_ns() < deadline_ns)
		turn(run);
}

/* Who ends a job may end its collector first. One that is started then may find no rank any more, but the first one has
 * reported what there was to see. */
static void recall_earlier(struct run *run)
{
	uint64_t asked_ns = run->job.asked_to_end_ns;

	if (!asked_ns || !run->earlier || run->earlier_ns + SUMMARY_MS * UINT64_C(1000000) < asked_ns ||
	    ranks_seen(run->summary))
		return;
	json_decref(run->summary);
	run->summary = run->earlier;
	run->earlier = NULL;
}

static json_int_t found(const json_t *summary)
{
	const json_t *findings = json_object_get(summary, "findings");

	return json_integer_value(json_object_get(findings, "warning")) +
	       json_integer_value(json_object_get(findings, "critical")) +
	       json_integer_value(json_object_get(summary, "given_up"));
}

/* Exit status 0, watched to the end, nothing found, and what was to be saved is. */
static bool ended_well(const struct run *run)
{
	const json_t *summary = json_object_get(run->summary, "summary");

	return summary && !found(summary) && !job_exit_status(&run->job) &&
	       (!run->options.sinks.save || json_is_string(json_object_get(summary, "saved")));
}

/* When no other launcher of the job is left that could need them. */
static void tidy(struct run *run, struct tidied *tidied)
{
	const json_t *summary = json_object_get(run->summary, "summary");
	const struct tidy_request request = {
		.job = run->environment.job,
		.began_ns = run->began_ns,
		.limit = run->options.sinks.keep_bytes,
		.ended_well = ended_well(run),
	};

	*tidied = (struct tidied){ 0 };
	if (summary && !json_is_true(json_object_get(summary, "last")))
		return;
	if (tidy_boxes(&request, tidied) == -ETIMEDOUT)
		fputs("rankwatch run: the directory of the black boxes does not answer: none is removed\n", stderr);
	kept_boxes_print(stderr, "rankwatch run", &tidied->others);
}

/* A program that has refused its arguments, or not found a file, has said so: what it did not get to is no news. */
static enum farewell_absence absence(const struct run *run)
{
	if (job_exit_status(&run->job) && clock_monotonic_ns() - run->began_ns < at_once_ns)
		return FAREWELL_FAILED_AT_ONCE;
	return run->gloo ? FAREWELL_GLOO : FAREWELL_UNEXPLAINED;
}

static void count_findings(json_t *summary, const json_t *findings)
{
	json_t *counts = json_object_get(summary, "findings"), *finding;
	size_t i;

	json_array_foreach(findings, i, finding)
	{
		const char *severity = json_string_value(json_object_get(finding, "severity"));

		if (severity && counts)
			json_object_set_new(counts, severity,
					    json_integer(json_integer_value(json_object_get(counts, severity)) + 1));
	}
}

static void take_post_mortem(struct run *run, const json_t *findings)
{
	json_t *finding;
	size_t i;

	if (json_array_size(findings) && run->announcer.text)
		fputs("rankwatch: nothing was found while the job ran; its black boxes show how it ended:\n",
		      run->announcer.text);
	count_findings(json_object_get(run->summary, "summary"), findings);
	json_array_foreach(findings, i, finding) put_finding(run, finding);
}

/* Another launcher of the job that is left has more to see. */
static bool needs_post_mortem(const struct run *run)
{
	bool nobody_hears = run->options.quiet && !run->lines && !run->options.sinks.on_finding;

	if (!job_exit_status(&run->job) || nobody_hears || (run->summary && !is_last(run)))
		return false;
	json_t *worst = announcer_worst(&run->announcer);

	json_decref(worst);
	return !worst;
}

/* A job can fail before a collector has found anything, or after the last collector was killed. */
static void judge_boxes(struct run *run)
{
	json_t *summary = json_object_get(run->summary, "summary"), *findings;
	const struct post_mortem_request request = {
		.job = run->environment.job,
		.kernel_log = run->options.kernel_log,
		.began_ns = run->began_ns,
		.timeout_ms = POST_MORTEM_MS,
		.signal_fd = run->job.signal_fd,
	};
	const struct on_finding_request commands = {
		.command = run->options.sinks.on_finding,
		.mask = &run->job.mask,
		.timeout_ms = COMMANDS_MS,
		.signal_fd = run->job.signal_fd,
	};

	if (!needs_post_mortem(run))
		return;
	if (post_mortem(&request, &findings) && summary)
		json_object_set_new(summary, "unjudged", json_true());
	take_post_mortem(run, findings);
	on_finding_run(&commands, findings);
	json_decref(findings);
}

/* After the last words: who ends us meanwhile has had them. The collector had saved all boxes before its summary came.
 */
static void write_page(struct run *run)
{
	const json_t *summary = json_object_get(run->summary, "summary");
	char path[PATH_MAX] = "";
	const struct saved_page_request request = {
		.program = run->install.program,
		.directory = json_string_value(json_object_get(summary, "saved")),
		.kernel_log = run->options.kernel_log,
		.mask = &run->job.mask,
		.timeout_ms = PAGE_MS,
		.signal_fd = run->job.signal_fd,
	};

	if (!json_is_true(json_object_get(summary, "last")))
		return;
	if (request.directory)
		saved_page_write(&request, path);
	if (!run->options.quiet)
		farewell_print_page(stderr, run->summary, path);
}

static void watch(struct run *run)
{
	struct tidied tidied;
	bool was_started;

	supervisor_open(&run->supervisor, run->install.program, run->environment.job, &run->job.mask, on_message, run);
	run->supervisor.sinks = &run->options.sinks;
	run->supervisor.kernel_log = run->options.kernel_log;
	run->supervisor.nats = run->options.nats.url;
	while (!run->job.ended) {
		supervisor_tick(&run->supervisor, clock_monotonic_ns());
		turn(run);
	}
	run->supervisor.leaving = true;
	if (job_exit_status(&run->job))
		tidy_mark_failed(run->environment.job);
	take_leave(run);
	await_collector(run);
	recall_earlier(run);
	supervisor_close(&run->supervisor);
	was_started = job_was_started(&run->job);
	if (was_started)
		judge_boxes(run);
	json_t *worst = announcer_worst(&run->announcer);

	announcer_finish(&run->announcer);
	written_free(&run->written);
	tidy(run, &tidied);
	if (!run->options.quiet && was_started) {
		farewell_print(stderr, run->environment.job, run->began_ns, run->summary, &tidied,
			       run->options.sinks.keep_bytes, worst, absence(run));
		say_others_at_the_end(run, &tidied, worst != NULL);
	}
	if (worst && was_started)
		write_page(run);
	json_decref(worst);
}

static void open_outputs(struct run *run)
{
	const char *findings = run->options.json ? "-" : run->options.sinks.findings;

	run->lines = findings ? line_sink_open(findings, "rankwatch run") : NULL;
	if (findings && !run->lines)
		foreign_line(stderr, "rankwatch run: %s: no memory: findings are not written there", findings);
	run->announcer = (struct announcer){
		.text = run->options.quiet || run->options.json ? NULL : stderr,
		.style = { .colour = terminal_has_colour(STDERR_FILENO),
			   .clock = true,
			   .width = terminal_break_width(STDERR_FILENO) },
	};
}

/* What keeps us from watching must not keep the job from running. NULL: the job runs without us. */
static const struct job_environment *prepare(struct run *run)
{
	int err = install_find(&run->install);
	const char *fault = err ? strerror(-err) : library_fault(run->install.plugin);

	if (fault) {
		foreign_line(stderr, "rankwatch run: %s: %s: the job runs unwatched",
			     *run->install.plugin ? run->install.plugin : INSTALL_PLUGIN_NAME, fault);
		return NULL;
	}
	const char *obstacle = run->options.no_preload ? NULL : install_no_preload_because(&run->install);
	if (obstacle)
		foreign_line(stderr, "rankwatch run: %s is not preloaded: %s", run->install.plugin, obstacle);
	if (job_environment_fill(&run->environment, &run->install, run->options.job,
				 !run->options.no_preload && !obstacle)) {
		fputs("rankwatch run: no memory: the job runs unwatched\n", stderr);
		return NULL;
	}
	if (run->environment.configuration_silent)
		fputs("rankwatch run: NCCL's configuration file (NCCL_CONF_FILE, ~/.nccl.conf) does not answer: a "
		      "profiler plugin that "
		      "it may name is not run behind rankwatch\n",
		      stderr);
	if (run->environment.chains)
		foreign_line(
		    stderr,
		    "rankwatch run: NCCL_PROFILER_PLUGIN is %s (%s): it runs behind rankwatch (RANKWATCH_CHAIN)",
		    run->environment.other.value, run->environment.other.from);
	return &run->environment;
}

static void check_nats(const struct run *run)
{
	const char *complaint = nats_choice_complaint(&run->options.nats);

	if (complaint)
		fprintf(stderr,
			"rankwatch run: " NATS_CHOICE_VARIABLE
			" is not nats://[USER:PASSWORD@]HOST[:PORT]: %s: nothing is "
			"published\n",
			complaint);
	if (run->options.nats.url && run->environment.names_job && !run->options.job)
		foreign_line(
		    stderr,
		    "rankwatch run: no other node knows the name of this job, %s: --job or RANKWATCH_JOB gives it "
		    "one by which all of its nodes are heard together",
		    run->environment.job);
}

static int run_job(struct run *run)
{
	const struct job_environment *environment = prepare(run);
	int err;

	run->began_ns = clock_monotonic_ns();
	err = job_start(&run->job, run->options.command, environment);
	if (err) {
		fprintf(stderr, "rankwatch run: the job cannot be started: %s\n", strerror(-err));
		return COMMAND_FAILED;
	}
	open_outputs(run);        /* the job does not wait for any file of ours */
	signal(SIGPIPE, SIG_IGN); /* not before: the job must not inherit it */
	if (environment) {
		check_nats(run);
		watch(run);
	} else {
		run->unwatched = true;
		run->supervisor = (struct supervisor){ .client = { .fd = -1 }, .errors_fd = -1, .asked_fd = -1 };
		while (!run->job.ended)
			turn(run);
	}
	return job_exit_status(&run->job);
}

static int run(const struct command *command, int argc, char **argv)
{
	struct run run = { 0 };
	int status;

	command_parse(command, argc, argv, ARGP_IN_ORDER, &run.options);
	if (launcher_is(run.options.command[0])) {
		fputs("rankwatch run: ", stderr);
		launcher_print_advice(stderr, run.options.command_count, run.options.command, "rankwatch run --");
		return COMMAND_MISUSE;
	}
	status = run_job(&run);
	line_sink_close(run.lines, LINES_MS);
	json_decref(run.summary);
	json_decref(run.earlier);
	json_decref(run.sight);
	job_environment_clear(&run.environment);
	return status;
}

static const struct argp_option run_options[] = {
	{ "job", 'j', "NAME", 0, "Name the job; otherwise the scheduler's variables do, else a name is made up", 0 },
	{ "json", 'J', NULL, 0, "Findings as JSON lines on standard output instead of text on standard error", 0 },
	{ "kernel-log", KEY_KERNEL_LOG, "FILE", 0, KERNEL_LOG_DOC, 0 },
	{ "no-preload", KEY_NO_PRELOAD, NULL, 0, "Do not preload the library: NCCL alone loads it", 0 },
	{ "quiet", 'q', NULL, 0, "Print no findings and no summary; --findings still writes", 0 },
	{ 0 },
};

static const struct argp_child run_children[] = { { .argp = &sink_choice_argp }, { .argp = &nats_choice_argp }, { 0 } };

static const struct argp run_argp = {
	.options = run_options,
	.parser = parse,
	.children = run_children,
	.args_doc = "COMMAND [ARGUMENT...]",
	.doc =
	    "Runs COMMAND so that every rank in it records itself, watches the ranks of this node, and says on "
	    "standard error which one makes the others wait or brings bad values, and why. Exit status and signals are "
	    "COMMAND's own; it never waits for rankwatch.\v"
	    "With srun, mpirun or in a container it belongs inside, in front of the program. Several on one node share "
	    "one collector.\n\n"
	    "Examples:\n"
	    "  rankwatch run -- torchrun --nproc-per-node 8 train.py\n"
	    "  srun rankwatch run --findings findings.jsonl -- python train.py\n",
};

const struct command run_command = {
	.name = "run",
	.summary = "run a job and name the rank that holds it up",
	.argp = &run_argp,
	.runs_foreign = true,
	.run = run,
};
