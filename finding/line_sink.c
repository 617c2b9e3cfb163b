/* SPDX-License-Identifier: MIT */
#include "finding/line_sink.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/foreign_text.h"
#include "base/in_time.h"
#include "finding/jsonl.h"

enum {
	READER_MS = 100,  /* how often a FIFO is tried */
	SILENCE_MS = 2000 /* an open file system has answered by then */
};

/* What the writing process says. */
enum answer {
	ANSWER_OPEN = 1,
	ANSWER_NO_READER,
	ANSWER_WRITTEN, /* one line */
	ANSWER_FAILED,  /* for good: value is an errno */
};

struct message {
	int32_t answer, value;
};

struct line_sink {
	const char *path, *who;
	int fd;       /* socket to the writer, or standard output; -1: nothing is written any more */
	pid_t writer; /* 0: standard output */
	int handle;   /* pidfd of the writer, whose number may be another's when it has ended; -1 before Linux 5.3 */
	enum answer state; /* 0: it is being opened */
	int error;         /* -errno for which it was given up */
	bool waiting_said, full_said;
	uint64_t begun_ms;
	char *queue; /* lines that the writer has not been given yet */
	size_t used, room;
	unsigned long long put, written, left_out; /* lines */
	struct message message;                    /* of the writer, as far as it has come */
	size_t come;
};

/* The writing process. */
struct writer {
	const char *path;
	int in, file; /* file: -1 not open */
};

static void answer(const struct writer *writer, enum answer kind, int value)
{
	const struct message message = { (int32_t)kind, value };

	if (send(writer->in, &message, sizeof(message), MSG_NOSIGNAL) != (ssize_t)sizeof(message))
		_exit(1);
}

static void __attribute__((noreturn)) fail(const struct writer *writer, int err)
{
	answer(writer, ANSWER_FAILED, -err);
	_exit(1);
}

/* Who asked for it may be gone: then nobody wants to wait any longer. */
static void pause_for(const struct writer *writer, int fd, short events)
{
	struct pollfd wait[] = { { .fd = writer->in }, { .fd = fd, .events = events } };

	poll(wait, 2, READER_MS);
	if (wait[0].revents & POLLHUP)
		_exit(1);
}

static void open_file(struct writer *writer)
{
	for (bool said = false; writer->file < 0; said = true) {
		writer->file = jsonl_open(writer->path);
		if (writer->file >= 0)
			break;
		if (writer->file != -ENXIO)
			fail(writer, writer->file);
		if (!said)
			answer(writer, ANSWER_NO_READER, 0);
		pause_for(writer, -1, 0);
	}
	answer(writer, ANSWER_OPEN, 0);
}

/* 0, -EPIPE: the FIFO's reader has gone, or another -errno. */
static int write_line(const struct writer *writer, const char *line, size_t length)
{
	for (size_t done = 0; done < length;) {
		ssize_t count = write(writer->file, line + done, length - done);

		if (count > 0)
			done += (size_t)count;
		else if (count == 0)
			return -ENOSPC;
		else if (errno == EAGAIN)
			pause_for(writer, writer->file, POLLOUT);
		else if (errno != EINTR)
			return -errno;
	}
	return 0;
}

static void __attribute__((noreturn)) write_all(struct writer *writer)
{
	FILE *lines = fdopen(writer->in, "r");
	char *line = NULL;
	size_t room = 0;
	ssize_t length;

	if (writer->file < 0)
		open_file(writer);
	else
		answer(writer, ANSWER_OPEN, 0);
	while (lines && (length = getline(&line, &room, lines)) > 0) {
		int err;

		while ((err = write_line(writer, line, (size_t)length)) == -EPIPE) {
			close(writer->file);
			writer->file = -1;
			open_file(writer);
		}
		if (err)
			fail(writer, err);
		answer(writer, ANSWER_WRITTEN, 0);
	}
	_exit(0);
}

static void __attribute__((noreturn)) become_writer(const char *path, int in, int file)
{
	int kept[] = { in, file };
	bool is_open = file >= 0;

	in_time_become_alone(kept, is_open ? 2 : 1);
	struct writer writer = { .path = path, .in = kept[0], .file = is_open ? kept[1] : -1 };

	write_all(&writer);
}

/* file: opened by us already, else -1. */
static int start_writer(struct line_sink *sink, int file)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	fflush(NULL);
	pid_t writer = fork();
	int err = writer < 0 ? -errno : 0;

	if (!writer)
		become_writer(sink->path, ends[1], file);
	close(ends[1]);
	if (err) {
		close(ends[0]);
		return err;
	}
	sink->fd = ends[0];
	sink->writer = writer;
#ifdef SYS_pidfd_open
	sink->handle = (int)syscall(SYS_pidfd_open, writer, 0);
#endif
	return 0;
}

static void give_up(struct line_sink *sink, int err)
{
	if (sink->fd > STDOUT_FILENO)
		close(sink->fd);
	sink->fd = -1;
	sink->error = err;
}

static void say_failed(struct line_sink *sink, int err)
{
	foreign_line(stderr, "%s: %s: %s: %sfindings are %swritten there", sink->who, sink->path, strerror(-err),
		     sink->written ? "no further " : "", sink->written ? "" : "not ");
	give_up(sink, err);
}

struct line_sink *line_sink_open(const char *path, const char *who)
{
	struct line_sink *sink = calloc(1, sizeof(*sink));
	int file = -1, err = 0;

	if (!sink)
		return NULL;
	*sink = (struct line_sink){
		.path = path, .who = who, .fd = STDOUT_FILENO, .handle = -1, .begun_ms = clock_monotonic_ms()
	};
	if (!strcmp(path, "-"))
		return sink;
	if (in_time_is_own(path)) {
		file = jsonl_open(path);
		err = file == -ENXIO ? 0 : file < 0 ? file : 0;
	}
	if (!err)
		err = start_writer(sink, file);
	if (file >= 0)
		close(file);
	if (err)
		say_failed(sink, err);
	return sink;
}

bool line_sink_is_stdout(const struct line_sink *sink)
{
	return sink && sink->fd == STDOUT_FILENO && !sink->writer;
}

static unsigned long long waiting(const struct line_sink *sink)
{
	return sink->put - sink->written;
}

static void on_open(struct line_sink *sink)
{
	if (sink->waiting_said && sink->state != ANSWER_OPEN && sink->fd >= 0)
		foreign_line(stderr, "%s: %s: is open now; findings that waited: %llu", sink->who, sink->path,
			     waiting(sink));
	sink->waiting_said = false;
	sink->state = ANSWER_OPEN;
}

static void take_answer(struct line_sink *sink)
{
	sink->begun_ms = clock_monotonic_ms();
	switch (sink->message.answer) {
	case ANSWER_OPEN:
		on_open(sink);
		break;
	case ANSWER_NO_READER:
		sink->state = ANSWER_NO_READER;
		break;
	case ANSWER_WRITTEN:
		sink->written++;
		break;
	default:
		say_failed(sink, sink->message.value < 0 ? sink->message.value : -sink->message.value);
	}
}

static void take_answers(struct line_sink *sink)
{
	while (sink->fd >= 0) {
		ssize_t got = recv(sink->fd, (char *)&sink->message + sink->come, sizeof(sink->message) - sink->come,
				   MSG_DONTWAIT);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			return;
		if (got <= 0) {
			say_failed(sink, got ? -errno : -ECHILD);
			return;
		}
		sink->come += (size_t)got;
		if (sink->come < sizeof(sink->message))
			continue;
		sink->come = 0;
		take_answer(sink);
	}
}

static void hand_on(struct line_sink *sink)
{
	while (sink->fd >= 0 && sink->used) {
		ssize_t sent = send(sink->fd, sink->queue, sink->used, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return; /* what is wrong is read from it */
		sink->used -= (size_t)sent;
		memmove(sink->queue, sink->queue + sent, sink->used);
	}
}

static void say_waiting(struct line_sink *sink)
{
	if (sink->waiting_said || sink->fd < 0)
		return;
	if (sink->state == ANSWER_NO_READER) {
		foreign_line(stderr, "%s: %s: a FIFO that nobody reads: findings wait for a reader", sink->who,
			     sink->path);
		sink->waiting_said = true;
	} else if ((!sink->state || waiting(sink)) && clock_monotonic_ms() - sink->begun_ms > SILENCE_MS) {
		foreign_line(stderr, "%s: %s: does not answer: findings wait until it does; the job does not",
			     sink->who, sink->path);
		sink->waiting_said = true;
	}
}

void line_sink_tick(struct line_sink *sink)
{
	if (!sink || !sink->writer)
		return;
	hand_on(sink);
	take_answers(sink);
	say_waiting(sink);
}

bool line_sink_is_busy(const struct line_sink *sink)
{
	if (!sink || !sink->writer || sink->fd < 0)
		return false;
	return !sink->state || waiting(sink) || (sink->state == ANSWER_NO_READER && !sink->waiting_said);
}

static bool make_room(struct line_sink *sink, size_t size)
{
	if (sink->used + size <= sink->room)
		return true;
	size_t room = sink->room ? sink->room * 2 : 16384;

	while (room < sink->used + size)
		room *= 2;
	char *queue = sink->used + size <= LINE_SINK_ROOM ? realloc(sink->queue, room) : NULL;

	if (!queue)
		return false;
	sink->queue = queue;
	sink->room = room;
	return true;
}

static void put_on_stdout(struct line_sink *sink, const char *line)
{
	int err = jsonl_write(STDOUT_FILENO, line);

	sink->put++;
	sink->written += !err;
	if (err)
		say_failed(sink, err);
}

void line_sink_put(struct line_sink *sink, const char *line)
{
	size_t length = strlen(line);

	if (!sink || sink->fd < 0)
		return;
	if (!sink->writer) {
		put_on_stdout(sink, line);
		return;
	}
	if (sink->left_out || !make_room(sink, length + 1)) {
		if (!sink->left_out++)
			foreign_line(stderr, "%s: %s: too many findings wait for it: later ones are left out",
				     sink->who, sink->path);
		return;
	}
	if (!waiting(sink))
		sink->begun_ms = clock_monotonic_ms();
	memcpy(sink->queue + sink->used, line, length);
	sink->queue[sink->used + length] = '\n';
	sink->used += length + 1;
	sink->put++;
	line_sink_tick(sink);
}

/* Until the writer says something, or takes something. */
static void wait_for_writer(const struct line_sink *sink, uint64_t end_ms)
{
	struct pollfd wait = { .fd = sink->fd, .events = (short)(POLLIN | (sink->used ? POLLOUT : 0)) };
	uint64_t now = clock_monotonic_ms();

	if (now < end_ms)
		poll(&wait, 1, (int)(end_ms - now));
}

int line_sink_await(struct line_sink *sink, unsigned timeout_ms)
{
	uint64_t end_ms = clock_monotonic_ms() + timeout_ms;

	while (sink->writer && sink->fd >= 0 && !sink->state && clock_monotonic_ms() < end_ms) {
		wait_for_writer(sink, end_ms);
		line_sink_tick(sink);
	}
	return sink->error;
}

static void say_not_written(const struct line_sink *sink)
{
	unsigned long long missing = waiting(sink) + sink->left_out;

	if (missing && sink->writer)
		foreign_line(stderr, "%s: %s: %llu finding%s not written there%s", sink->who, sink->path, missing,
			     missing == 1 ? " was" : "s were",
			     sink->error                       ? ""
			     : sink->state == ANSWER_NO_READER ? ": nobody read it"
							       : ": it did not answer");
}

/* It ends by itself when its file system lets it; this ends a wait that can be interrupted. */
static void kill_writer(struct line_sink *sink)
{
#ifdef SYS_pidfd_send_signal
	if (sink->handle >= 0)
		syscall(SYS_pidfd_send_signal, sink->handle, SIGKILL, NULL, 0);
#else
	(void)sink;
#endif
}

void line_sink_close(struct line_sink *sink, unsigned timeout_ms)
{
	uint64_t end_ms = clock_monotonic_ms() + timeout_ms;

	if (!sink)
		return;
	while (sink->writer && sink->fd >= 0 && waiting(sink) && clock_monotonic_ms() < end_ms) {
		wait_for_writer(sink, end_ms);
		line_sink_tick(sink);
	}
	say_not_written(sink);
	/* One that has written all sees the end and goes. Another may never come back from its file system. */
	if (waiting(sink) || sink->state != ANSWER_OPEN)
		kill_writer(sink);
	give_up(sink, 0);
	if (sink->handle >= 0)
		close(sink->handle);
	if (sink->writer > 0)
		waitpid(sink->writer, NULL, WNOHANG);
	free(sink->queue);
	free(sink);
}
