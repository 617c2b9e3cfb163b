/* SPDX-License-Identifier: MIT */
#include "collector/sinks/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/descriptor_limit.h"

struct queued {
	struct queued *next;
	size_t length;
	char line[]; /* with its newline */
};

struct command_sink {
	uv_loop_t *loop;
	char *command; /* what the shell is given */
	uint64_t limit_ms;
	struct queued *first, **last; /* the first one's command runs */
	unsigned pending, handles;    /* handles: of the command that runs, not closed yet */
	bool late, failure_said, drop_said;
	uv_process_t process;
	uv_pipe_t input;
	uv_write_t write;
	uv_timer_t timer;
};

/* The collector's own limit of open files may be far above what programs expect that use select(2). */
static char *with_usual_limits(const char *command)
{
	unsigned long long descriptors = descriptor_limit_before();
	char *whole = NULL;

	if (!descriptors)
		return strdup(command);
	return asprintf(&whole, "ulimit -S -n %llu; %s", descriptors, command) < 0 ? NULL : whole;
}

struct command_sink *command_sink_open(uv_loop_t *loop, const char *command, uint64_t limit_ms)
{
	struct command_sink *sink = calloc(1, sizeof(*sink));

	if (!sink)
		return NULL;
	*sink = (struct command_sink){ .loop = loop, .command = with_usual_limits(command), .limit_ms = limit_ms };
	if (!sink->command) {
		free(sink);
		return NULL;
	}
	sink->last = &sink->first;
	return sink;
}

/* Not the command itself: it may hold a password, and this goes into the job's log. */
static void say_failure(struct command_sink *sink, const char *what)
{
	if (!sink->failure_said)
		fprintf(stderr, "rankwatch: the command of --on-finding: %s (said once)\n", what);
	sink->failure_said = true;
}

static void start_first(struct command_sink *sink);

static void on_closed(uv_handle_t *handle)
{
	struct command_sink *sink = handle->data;
	struct queued *done = sink->first;

	if (--sink->handles)
		return;
	sink->first = done->next;
	if (!sink->first)
		sink->last = &sink->first;
	sink->pending--;
	free(done);
	start_first(sink);
}

static void close_handle(void *handle)
{
	if (!uv_is_closing(handle))
		uv_close(handle, on_closed);
}

static void close_handles(struct command_sink *sink)
{
	close_handle(&sink->process);
	close_handle(&sink->input);
	close_handle(&sink->timer);
}

static void on_exit_of(uv_process_t *process, int64_t status, int number)
{
	struct command_sink *sink = process->data;
	char what[80];

	if (sink->late)
		snprintf(what, sizeof(what), "killed: it took longer than %g s", (double)sink->limit_ms / 1e3);
	else if (number)
		snprintf(what, sizeof(what), "ended by signal %d", number);
	else
		snprintf(what, sizeof(what), "exit status %d", (int)status);
	if (number || status)
		say_failure(sink, what);
	close_handles(sink);
}

/* Its session is its own: whatever it started goes, too. */
static void kill_command(struct command_sink *sink)
{
	if (sink->process.pid > 0)
		kill(-sink->process.pid, SIGKILL);
}

static void on_late(uv_timer_t *timer)
{
	struct command_sink *sink = timer->data;

	sink->late = true;
	kill_command(sink);
}

/* A command that does not read its input is none of our business. */
static void on_written(uv_write_t *write, int status)
{
	struct command_sink *sink = write->data;

	(void)status;
	close_handle(&sink->input);
}

static int spawn(struct command_sink *sink, int input)
{
	uv_stdio_container_t stdio[] = {
		{ .flags = UV_INHERIT_FD, .data.fd = input },
		{ .flags = UV_IGNORE },
		{ .flags = UV_IGNORE },
	};
	uv_process_options_t options = {
		.file = "/bin/sh",
		.args = (char *[]){ "sh", "-c", sink->command, NULL },
		.flags = UV_PROCESS_DETACHED,
		.stdio = stdio,
		.stdio_count = 3,
		.exit_cb = on_exit_of,
	};

	return uv_spawn(sink->loop, &sink->process, &options);
}

static void feed(struct command_sink *sink)
{
	uv_buf_t line = uv_buf_init(sink->first->line, (unsigned)sink->first->length);

	uv_timer_start(&sink->timer, on_late, sink->limit_ms, 0);
	if (uv_write(&sink->write, (uv_stream_t *)&sink->input, &line, 1, on_written))
		close_handle(&sink->input);
}

/* A pipe, not one of libuv's, which are sockets: a command may open /dev/stdin. */
static void start_first(struct command_sink *sink)
{
	int ends[2] = { -1, -1 };

	if (!sink->first)
		return;
	sink->late = false;
	sink->handles = 3;
	uv_timer_init(sink->loop, &sink->timer);
	uv_pipe_init(sink->loop, &sink->input, 0);
	int err = pipe2(ends, O_CLOEXEC) ? -errno : uv_pipe_open(&sink->input, ends[1]);
	int spawned = spawn(sink, ends[0]);

	sink->process.data = sink->input.data = sink->timer.data = sink->write.data = sink;
	close(ends[0]);
	if (spawned) {
		say_failure(sink, uv_strerror(err ? err : spawned));
		close_handles(sink);
		return;
	}
	feed(sink);
}

void command_sink_put(struct command_sink *sink, const char *line)
{
	size_t length = strlen(line);
	struct queued *queued;

	if (!sink)
		return;
	queued = sink->pending <= COMMAND_SINK_QUEUE ? malloc(sizeof(*queued) + length + 1) : NULL;
	if (!queued) {
		if (!sink->drop_said)
			fputs("rankwatch: the command of --on-finding is slower than findings come: some are left out "
			      "(said once)\n",
			      stderr);
		sink->drop_said = true;
		return;
	}
	queued->next = NULL;
	queued->length = length + 1;
	memcpy(queued->line, line, length);
	queued->line[length] = '\n';
	*sink->last = queued;
	sink->last = &queued->next;
	if (++sink->pending == 1)
		start_first(sink);
}

unsigned command_sink_pending(const struct command_sink *sink)
{
	return sink ? sink->pending : 0;
}

static void on_deadline(uv_timer_t *timer)
{
	*(bool *)timer->data = true;
}

void command_sink_finish(struct command_sink *sink, uint64_t timeout_ms)
{
	uv_timer_t timer;
	bool over = false;

	if (!command_sink_pending(sink))
		return;
	uv_timer_init(sink->loop, &timer);
	timer.data = &over;
	uv_timer_start(&timer, on_deadline, timeout_ms, 0);
	while (sink->pending && !over)
		uv_run(sink->loop, UV_RUN_ONCE);
	uv_close((uv_handle_t *)&timer, NULL);
	uv_run(sink->loop, UV_RUN_NOWAIT);
	if (!sink->pending)
		return;
	kill_command(sink);
	fprintf(stderr, "rankwatch: the command of --on-finding was not run to its end for %u findings: no time\n",
		sink->pending);
}

void command_sink_close(struct command_sink *sink)
{
	while (sink && sink->first) {
		struct queued *queued = sink->first;

		sink->first = queued->next;
		free(queued);
	}
	if (sink)
		free(sink->command);
	free(sink);
}
