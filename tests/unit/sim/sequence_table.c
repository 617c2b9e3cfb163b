/* SPDX-License-Identifier: MIT */
#include "sequence_table.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sequence_add(struct sequence *sequence, const struct sequence_line *line)
{
	if (sequence->count == SEQUENCE_LINES)
		abort();
	sequence->lines[sequence->count++] = *line;
}

static char *skip_space(char *at)
{
	while (isspace((unsigned char)*at))
		at++;
	return at;
}

static char *skip_word(char *at)
{
	while (*at && !isspace((unsigned char)*at))
		at++;
	return at;
}

/* THREAD[ COMMUNICATOR] [?] TEXT */
static void parse(struct sequence *sequence, char *text)
{
	struct sequence_line line = { 0 };
	char *end = skip_word(text), *rest = skip_space(end);

	text[strcspn(text, "\n")] = '\0';
	snprintf(line.thread, sizeof(line.thread), "%.*s", (int)(end - text), text);
	if (rest[0] >= 'a' && rest[0] <= 'z' && rest[1] == ' ') {
		snprintf(line.thread, sizeof(line.thread), "%.*s %c", (int)(end - text), text, rest[0]);
		rest = skip_space(rest + 1);
	}
	line.anywhere = rest[0] == '?';
	if (line.anywhere)
		rest = skip_space(rest + 1);
	snprintf(line.text, sizeof(line.text), "%s", rest);
	sequence_add(sequence, &line);
}

bool sequence_read(struct sequence *sequence, const char *file, const char *phase)
{
	FILE *stream = fopen(file, "re");
	char text[160], wanted[64];
	bool inside = false, found = false;

	sequence->count = 0;
	snprintf(wanted, sizeof(wanted), "phase %s\n", phase);
	while (stream && fgets(text, sizeof(text), stream)) {
		if (strncmp(text, "phase ", 6) == 0)
			found |= inside = strcmp(text, wanted) == 0;
		else if (inside && text[0] != '#' && text[0] != '\n')
			parse(sequence, text);
	}
	if (stream)
		fclose(stream);
	return found;
}

static bool is_turn_state(const char *text)
{
	return strcmp(text, ". ProxyCtrl Active") == 0 || strcmp(text, ". ProxyCtrl Idle") == 0;
}

static bool is_known(const struct sequence *sequence, const struct sequence_line *line)
{
	for (int i = 0; i < sequence->count; i++) {
		const struct sequence_line *other = &sequence->lines[i];
		if (strcmp(other->thread, line->thread) == 0 && strcmp(other->text, line->text) == 0)
			return true;
	}
	return false;
}

static void add_simple(struct sequence *out, const struct sequence_line *given, int channels)
{
	struct sequence_line line = *given;
	char append_end[64];

	snprintf(append_end, sizeof(append_end), ". ProxyCtrl AppendEnd %d", channels);
	if (channels && strcmp(line.text, append_end) == 0)
		strcpy(line.text, ". ProxyCtrl AppendEnd channels");
	/* One line stands for all channels. */
	if (strstr(line.text, "KernelCh of") && is_known(out, &line))
		return;
	sequence_add(out, &line);
}

static int channel_starts(const struct sequence *recorded, const char *thread)
{
	int starts = 0;

	for (int i = 0; i < recorded->count; i++)
		starts += strcmp(recorded->lines[i].thread, thread) == 0 &&
			  strncmp(recorded->lines[i].text, "> KernelCh", 10) == 0;
	return starts;
}

/* Of one thread, with one line for all channels. */
static void simplify(struct sequence *out, const struct sequence *recorded, const char *thread)
{
	int channels = channel_starts(recorded, thread);

	out->count = 0;
	for (int i = 0; i < recorded->count; i++) {
		if (strcmp(recorded->lines[i].thread, thread) == 0)
			add_simple(out, &recorded->lines[i], channels);
	}
}

/* Start, the state and stop: "? Active" in the table. */
static bool is_turn(const struct sequence *sequence, int at, const char *name)
{
	const struct sequence_line *lines = &sequence->lines[at];

	return at + 2 < sequence->count && strcmp(lines[0].text, "> ProxyCtrl") == 0 && is_turn_state(lines[1].text) &&
	       strcmp(strrchr(lines[1].text, ' ') + 1, name) == 0 && strcmp(lines[2].text, "< ProxyCtrl") == 0;
}

static void take_out(struct sequence *sequence, int at, int count)
{
	memmove(&sequence->lines[at], &sequence->lines[at + count],
		(size_t)(sequence->count - at - count) * sizeof(sequence->lines[0]));
	sequence->count -= count;
}

/* A turn may be missing, anything else not. */
static bool take_anywhere(struct sequence *sequence, const char *text)
{
	bool turn = strcmp(text, "Active") == 0 || strcmp(text, "Idle") == 0;

	for (int at = 0; at < sequence->count; at++) {
		bool here = turn ? is_turn(sequence, at, text) : strcmp(sequence->lines[at].text, text) == 0;
		if (!here)
			continue;
		take_out(sequence, at, turn ? 3 : 1);
		return true;
	}
	return turn;
}

/* A star in the table stands for one word. */
static bool matches(const char *text, const char *pattern)
{
	while (*text && *pattern) {
		if (*pattern == '*') {
			text += strcspn(text, " ");
			pattern++;
		} else if (*text++ != *pattern++) {
			return false;
		}
	}
	return !*text && !*pattern;
}

/* "* N": it sleeps, and the kernels of N tasks have ended. */
static bool is_behind(const struct sequence *simple, const char *text)
{
	int ended = 0;

	for (int i = 0; i < simple->count; i++)
		ended += strncmp(simple->lines[i].text, "< KernelCh", 10) == 0;
	return simple->count && ended == atoi(text + 1) &&
	       strcmp(simple->lines[simple->count - 1].text, ". ProxyCtrl Sleep") == 0;
}

static bool thread_is(const struct sequence *recorded, const struct sequence *expected, const char *thread)
{
	static struct sequence left;
	int at = 0;

	simplify(&left, recorded, thread);
	for (int i = 0; i < expected->count; i++) {
		const struct sequence_line *line = &expected->lines[i];
		if (strcmp(line->thread, thread) != 0)
			continue;
		if (line->text[0] == '*')
			return is_behind(&left, line->text);
		if (line->anywhere && !take_anywhere(&left, line->text))
			return false;
	}
	for (int i = 0; i < expected->count; i++) {
		const struct sequence_line *line = &expected->lines[i];
		if (strcmp(line->thread, thread) != 0 || line->anywhere)
			continue;
		if (at == left.count || !matches(left.lines[at++].text, line->text))
			return false;
	}
	return at == left.count;
}

bool sequence_is(const struct sequence *recorded, const struct sequence *expected)
{
	bool same = true;

	for (int i = 0; i < expected->count && same; i++)
		same = thread_is(recorded, expected, expected->lines[i].thread);
	for (int i = 0; i < recorded->count && same; i++)
		same = thread_is(recorded, expected, recorded->lines[i].thread);
	return same;
}

static void show_thread(const struct sequence *sequence, const char *thread, const char *title)
{
	fprintf(stderr, "%s, %s:\n", title, thread);
	for (int i = 0; i < sequence->count; i++) {
		if (strcmp(sequence->lines[i].thread, thread) == 0)
			fprintf(stderr, "\t%s%s\n", sequence->lines[i].anywhere ? "? " : "", sequence->lines[i].text);
	}
}

static bool is_first(const struct sequence *sequence, int at)
{
	for (int i = 0; i < at; i++) {
		if (strcmp(sequence->lines[i].thread, sequence->lines[at].thread) == 0)
			return false;
	}
	return true;
}

static bool has_thread(const struct sequence *sequence, const char *thread)
{
	for (int i = 0; i < sequence->count; i++) {
		if (strcmp(sequence->lines[i].thread, thread) == 0)
			return true;
	}
	return false;
}

static void show_difference(const struct sequence *recorded, const struct sequence *expected, const char *thread)
{
	if (thread_is(recorded, expected, thread))
		return;
	show_thread(expected, thread, "NCCL");
	show_thread(recorded, thread, "here");
}

void sequence_show(const struct sequence *recorded, const struct sequence *expected, const char *phase)
{
	fprintf(stderr, "phase %s:\n", phase);
	for (int i = 0; i < expected->count; i++) {
		if (is_first(expected, i))
			show_difference(recorded, expected, expected->lines[i].thread);
	}
	for (int i = 0; i < recorded->count; i++) {
		if (is_first(recorded, i) && !has_thread(expected, recorded->lines[i].thread))
			show_difference(recorded, expected, recorded->lines[i].thread);
	}
}
