/* SPDX-License-Identifier: MIT */
#include "finding/python_text.h"

#include <string.h>

#include "finding/value.h"

static const json_t *python_of(const json_t *finding)
{
	return json_object_get(json_object_get(finding, "cause"), "python");
}

bool python_text_is(const json_t *finding)
{
	const json_t *python = python_of(finding);

	return value_number(python, "seen", 0) > 0 || value_number(json_object_get(python, "lock"), "waits", 0) > 0 ||
	       value_number(python, "collecting", 0) > 0;
}

/* Trainer.save (train.py:212) */
static void write_place(FILE *out, const json_t *place)
{
	const char *function = value_text(place, "function"), *file = value_text(place, "file");
	const char *slash = file ? strrchr(file, '/') : NULL;
	double line = value_number(place, "line", 0);

	fputs(function ? function : "?", out);
	if (!file)
		return;
	fprintf(out, " (%s", slash && slash[1] ? slash + 1 : file);
	if (line >= 1)
		fprintf(out, ":%.0f", line);
	fputc(')', out);
}

/* Functions of Python's library and of PyTorch that turn objects into bytes; Lib/pickle.py,
 * Lib/multiprocessing/reduction.py of CPython and torch/serialization.py. What pickles in C alone has no function that
 * could be seen. */
static bool is_pickling(const json_t *place)
{
	static const struct {
		const char *file, *function; /* how they end and begin */
	} known[] = {
		{ "/pickle.py", "" },
		{ "/multiprocessing/reduction.py", "ForkingPickler." },
		{ "/torch/serialization.py", "_save" },
		{ "/torch/serialization.py", "_legacy_save" },
	};
	const char *file = value_text(place, "file"), *function = value_text(place, "function");
	size_t length = file ? strlen(file) : 0;

	for (size_t i = 0; function && i < sizeof(known) / sizeof(known[0]); i++) {
		size_t end = strlen(known[i].file);

		if (length >= end && !strcmp(file + length - end, known[i].file) &&
		    !strncmp(function, known[i].function, strlen(known[i].function)))
			return true;
	}
	return false;
}

static void write_times(FILE *out, double times, double looks)
{
	if (times < looks)
		fprintf(out, ", %.0f of %.0f samples", times, looks);
}

/* What it was in, whoever held the lock. */
static void write_function(FILE *out, const json_t *finding)
{
	const json_t *python = python_of(finding), *inside = json_object_get(python, "inside");
	const json_t *where = json_array_get(json_object_get(finding, "where"), 0);
	json_int_t tid = json_integer_value(json_object_get(json_object_get(finding, "cause"), "tid"));

	fputs(tid && tid == json_integer_value(json_object_get(where, "pid")) ? "its main thread in "
									      : "that thread in ",
	      out);
	write_place(out, json_object_get(python, "at"));
	if (value_text(inside, "function")) {
		fputs(", there in ", out);
		write_place(out, inside);
		if (is_pickling(inside))
			fputs(", which pickles", out);
	}
	write_times(out, value_number(python, "seen", 0), value_number(python, "looks", 0));
}

static void write_lock(FILE *out, const json_t *python)
{
	const json_t *lock = json_object_get(python, "lock"), *at = json_object_get(lock, "at");
	double waits = value_number(lock, "waits", 0), held = value_number(lock, "held", 0);

	fputs("it waits for Python's lock (GIL)", out);
	write_times(out, waits, value_number(python, "looks", 0));
	if (held <= 0)
		return; /* nobody knows who has it */
	if (value_number(lock, "tid", 0) > 0)
		fprintf(out, ", which tid %.0f holds", value_number(lock, "tid", 0));
	else
		fputs(", which others hold in turn", out);
	if (value_text(at, "function")) {
		fputs(" in ", out);
		write_place(out, at);
	}
	write_times(out, held, waits);
}

void python_text_write(FILE *out, const json_t *finding)
{
	const json_t *python = python_of(finding);
	const char *before = "";

	if (value_number(python, "seen", 0) > 0) {
		write_function(out, finding);
		before = "; ";
	}
	if (value_number(json_object_get(python, "lock"), "waits", 0) > 0) {
		fputs(before, out);
		write_lock(out, python);
		before = "; ";
	}
	if (value_number(python, "collecting", 0) > 0) {
		fprintf(out, "%sgarbage is collected (gc)", before);
		write_times(out, value_number(python, "collecting", 0), value_number(python, "looks", 0));
	}
}
