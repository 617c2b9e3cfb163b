/* SPDX-License-Identifier: MIT */
/*
 * A trace as every format has it: processes, tracks in them, and on the tracks slices, instants and counters. A sink
 * writes it in one format, piece by piece, and keeps nothing of what it is handed but what its own file says. Texts are
 * printable UTF-8 (base/foreign_text.h). Times are ns on the CLOCK_MONOTONIC of the trace's first host. One thread.
 */
#ifndef CONSOLE_TRACE_EVENT_H
#define CONSOLE_TRACE_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What an argument is called. The names of a collective's arguments are those that PyTorch's Kineto gives them. */
enum trace_key {
	TRACE_COLLECTIVE_NAME,
	TRACE_IN_ELEMENTS,
	TRACE_OUT_ELEMENTS,
	TRACE_GROUP_SIZE,
	TRACE_DTYPE,
	TRACE_RANK,
	TRACE_GROUP_NAME,
	TRACE_GROUP_RANKS,
	TRACE_SEQUENCE,
	TRACE_DEVICE,
	TRACE_STREAM,
	TRACE_CORRELATION,
	TRACE_COMMUNICATOR,
	TRACE_STREAM_HANDLE,
	TRACE_STATE,
	TRACE_ALGORITHM,
	TRACE_PROTOCOL,
	TRACE_CHANNELS,
	TRACE_PEER,
	TRACE_UNTRACKED,
	TRACE_NAN_IN,
	TRACE_INF_IN,
	TRACE_NAN_OUT,
	TRACE_INF_OUT,
	TRACE_CLIPPED,
	TRACE_IN_LINE,
	TRACE_SYSTEM_CALL,
	TRACE_DESCRIPTOR,
	TRACE_PATH,
	TRACE_WAIT_CHANNEL,
	TRACE_THREAD_STATE,
	TRACE_LOOKS,
	TRACE_TIMES,
	TRACE_FINDING,
	TRACE_SEVERITY,
	TRACE_CONFIDENCE,
	TRACE_TEXT,
	TRACE_CAUSE,
	TRACE_ADVICE,
	TRACE_KEYS,
};
extern const char *const trace_key_names[TRACE_KEYS];

struct trace_argument {
	enum trace_key key;
	const char *text; /* NULL: it is a number */
	int64_t number;
};

enum { TRACE_ARGUMENTS = 32 };

struct trace_arguments {
	struct trace_argument list[TRACE_ARGUMENTS];
	size_t count;
};

static inline void trace_add_number(struct trace_arguments *arguments, enum trace_key key, int64_t number)
{
	if (arguments->count < TRACE_ARGUMENTS)
		arguments->list[arguments->count++] = (struct trace_argument){ key, NULL, number };
}

/* The text must stay until the event is written. NULL: nothing is added. */
static inline void trace_add_text(struct trace_arguments *arguments, enum trace_key key, const char *text)
{
	if (text && arguments->count < TRACE_ARGUMENTS)
		arguments->list[arguments->count++] = (struct trace_argument){ key, text, 0 };
}

struct trace_head {
	int64_t realtime_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC of the first host */
	uint64_t begin_ns;          /* a time of the trace, for the pair of clocks */
	int32_t rank, world_size;   /* of the first process; -1 not known */
	const char *job;
};

/* Processes are written in the order in which people shall see them. */
struct trace_process {
	uint32_t number; /* from 1, in that order */
	const char *name;
};

struct trace_track {
	uint32_t process, number; /* number: from 1 within the process, in the order in which people shall see them */
	bool counter;
	const char *name;
};

enum trace_category { TRACE_CALL, TRACE_KERNEL, TRACE_QUEUE, TRACE_THREAD, TRACE_A_FINDING, TRACE_STEP,
	TRACE_CATEGORIES };

struct trace_slice {
	const struct trace_track *track;
	enum trace_category category;
	uint64_t begin_ns, end_ns;
	const char *name;
	uint64_t sequence;       /* reported with the name where has_sequence */
	bool has_sequence, open; /* open: had not ended when the record ended */
	uint64_t flow;           /* equal on all slices of one instance; 0 none */
	const struct trace_arguments *arguments;
};

struct trace_sink;

struct trace_format {
	const char *name;
	/* 0 or -ENOMEM. */
	int (*open)(struct trace_sink *sink, const struct trace_head *head);
	void (*process)(struct trace_sink *sink, const struct trace_process *process);
	void (*track)(struct trace_sink *sink, const struct trace_track *track);
	/* Slices of a track come one after another, by begin, and lie inside each other or apart. */
	void (*slice)(struct trace_sink *sink, const struct trace_slice *slice);
	void (*instant)(struct trace_sink *sink, const struct trace_slice *instant); /* end_ns, flow: not used */
	void (*counter)(struct trace_sink *sink, const struct trace_track *track, uint64_t at_ns, int64_t value);
	/* An event that somebody else has written in this format; NULL: it takes none. */
	void (*raw)(struct trace_sink *sink, const char *event);
	/* Ends the trace and frees what open() made. */
	void (*close)(struct trace_sink *sink);
};

/* What is wanted of a trace: what reaches into it is written whole, but for findings of the job. */
struct trace_window {
	uint64_t from_ns, until_ns;
};

static inline bool trace_window_has(const struct trace_window *window, uint64_t begin_ns, uint64_t end_ns)
{
	return begin_ns <= window->until_ns && end_ns >= window->from_ns;
}

struct trace_sink {
	const struct trace_format *format;
	struct trace_window window; /* 0 to UINT64_MAX: all */
	FILE *out;               /* errors: ferror(out) */
	void *own;               /* the format's */
	uint64_t flows_left_out; /* slices whose flow found no room */
	bool no_memory;
};

extern const struct trace_format trace_chrome, trace_perfetto;

#endif
