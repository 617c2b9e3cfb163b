/* SPDX-License-Identifier: MIT */
#include "console/run/farewell.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rankwatch/blackbox.h>

#include "base/foreign_text.h"
#include "blackbox/place.h"
#include "blackbox/reader.h"
#include "blackbox/saved.h"
#include "console/cli/size.h"
#include "finding/cause_text.h"
#include "finding/incident_text.h"
#include "finding/value.h"
#include "protocol/message.h"

/* In a directory that RANKWATCH_DIR names may be boxes of others, and of earlier runs. */
static bool is_of_run(int directory, const char *name, const char *job, uint64_t began_ns)
{
	struct box_reader reader;
	bool is = false;

	if (!box_is_name(name) || box_reader_open(&reader, directory, name, geteuid(), NULL))
		return false;
	char theirs[BOX_JOB_COMPONENT], ours[BOX_JOB_COMPONENT];

	box_job_component(reader.header.job, theirs);
	box_job_component(job, ours);
	is = reader.header.created_ns >= began_ns && strcmp(theirs, ours) == 0;
	box_reader_close(&reader);
	return is;
}

static bool holds_box(const char *path, const char *job, uint64_t began_ns)
{
	DIR *directory = opendir(path);
	bool found = false;

	if (!directory)
		return false;
	for (const struct dirent *entry; !found && (entry = readdir(directory));)
		found = is_of_run(dirfd(directory), entry->d_name, job, began_ns);
	closedir(directory);
	return found;
}

static bool find_boxes(const char *job, uint64_t began_ns, char path[BOX_PLACE_PATH])
{
	char places[BOX_PLACES][BOX_PLACE_PATH];
	int count = box_places(getenv("RANKWATCH_DIR"), getenv("XDG_RUNTIME_DIR"), geteuid(), job, places);

	for (int i = 0; i < count; i++) {
		if (!holds_box(places[i], job, began_ns))
			continue;
		strcpy(path, places[i]);
		return true;
	}
	return false;
}

static void print_no_room(FILE *out, const char *why)
{
	fputs("rankwatch: no communicator seen. There was no place for black boxes: what ranks recorded in memory of "
	      "their own\n",
	      out);
	foreign_line(out, "  ended with them. Set RANKWATCH_DIR to a directory on a tmpfs (%s).", why);
}

/* Programs without NCCL are run like this, too: one line is enough, and doctor finds out why where there is one. */
static void print_absence(FILE *out, enum farewell_absence absence)
{
	if (absence == FAREWELL_GLOO)
		fputs("rankwatch: no NCCL communicator was seen: the job used gloo (backend=), which is not watched\n",
		      out);
	else if (absence != FAREWELL_FAILED_AT_ONCE)
		fputs("rankwatch: no NCCL communicator was seen. Should there be one? rankwatch doctor -- COMMAND\n",
		      out);
}

static void print_removed(FILE *out, const json_t *body, const struct kept_boxes *own)
{
	const char *saved = json_string_value(json_object_get(body, "saved"));
	char size[24];

	fprintf(out, "  boxes      removed (%u, %s): exit status 0 and no finding; --keep-boxes all keeps them\n",
		own->removed, size_text(size, own->removed_bytes));
	if (saved)
		message_print_where(out, "saved", saved);
}

static void print_held(FILE *out, const struct kept_boxes *others, uint64_t limit)
{
	char held[24], most[24];

	if (limit == KEPT_BOXES_ALL || !others->held)
		return;
	fprintf(out,
		"  kept       %s: %u black box%s of %u ended run%s; beyond %s the oldest are removed (--keep-boxes)\n",
		size_text(held, others->held_bytes), others->held, others->held == 1 ? "" : "es", others->held_runs,
		others->held_runs == 1 ? "" : "s", size_text(most, limit));
}

/* What such a finding means, in whole sentences. */
static void print_help(FILE *out, const json_t *finding)
{
	const char *help = value_text(finding, "help");

	if (help)
		foreign_line(out, "  read on    %s", help);
}

typedef void write_line(FILE *out, const json_t *finding);

static void print_line(FILE *out, const char *label, write_line *write, const json_t *finding)
{
	char *text = NULL;
	size_t size;
	FILE *line = open_memstream(&text, &size);

	if (line) {
		write(line, finding);
		fclose(line);
	}
	if (text && *text)
		foreign_line(out, "             %s %s", label, text);
	free(text);
}

/* Announced before, and scrolled away since: the terminal's last lines say who it was, how sure that is, why, and what
 * to do. */
static void print_worst(FILE *out, const json_t *finding)
{
	const char *kind = value_text(finding, "kind"), *text = value_text(finding, "text");
	const json_t *cause = json_object_get(finding, "cause");

	const char *sure = value_text(finding, "confidence");
	bool certain = !sure || !strcmp(sure, "certain");

	foreign_line(out, "  verdict    %s: %s%s%s%s", kind ? kind : "?", text ? text : "?", certain ? "" : " (",
		     certain ? "" : sure, certain ? "" : ")");
	if (json_is_object(cause) && !cause_text_is_whole_process(cause))
		print_line(out, "because", cause_text_write, finding);
	if (incident_text_is_story(finding))
		print_line(out, "story", incident_text_write, finding);
	if (value_text(finding, "advice"))
		foreign_line(out, "  do         %s", value_text(finding, "advice"));
	print_help(out, finding);
}

static void print_seen(FILE *out, const json_t *summary, const struct tidied *tidied, uint64_t limit,
		       const json_t *worst)
{
	if (tidied->own.removed) {
		message_print_figures(out, "rankwatch", summary);
		print_removed(out, json_object_get(summary, "summary"), &tidied->own);
	} else {
		message_print_summary(out, "rankwatch", summary);
		print_held(out, &tidied->others, limit);
	}
	if (worst)
		print_worst(out, worst);
}

static void print_unwatched(FILE *out, const char *boxes, const json_t *worst)
{
	foreign_line(
	    out, "rankwatch: the job was recorded, but no collector watched it to its end: rankwatch report %s", boxes);
	if (worst)
		print_worst(out, worst);
}

void farewell_print(FILE *out, const char *job, uint64_t began_ns, const json_t *summary, const struct tidied *tidied,
		    uint64_t limit, const json_t *worst, enum farewell_absence absence)
{
	const json_t *body = json_object_get(summary, "summary");
	const char *no_room = json_string_value(json_object_get(body, "no_room"));
	char path[BOX_PLACE_PATH];

	if (body && !json_is_true(json_object_get(body, "last")))
		return;
	if (json_integer_value(json_object_get(body, "ranks_seen")) > 0)
		print_seen(out, summary, tidied, limit, worst);
	else if (find_boxes(job, began_ns, path))
		print_unwatched(out, path, worst);
	else if (no_room)
		print_no_room(out, no_room);
	else
		print_absence(out, absence);
}

void farewell_print_others(FILE *out, const json_t *summary, const struct tidied *tidied)
{
	const json_t *body = json_object_get(summary, "summary");
	json_int_t seen = json_integer_value(json_object_get(body, "ranks_seen")),
		   total = json_integer_value(json_object_get(body, "ranks_total"));
	bool kept =
	    json_is_string(json_object_get(body, "saved")) || json_is_string(json_object_get(body, "directory"));

	if (json_is_true(json_object_get(body, "last")) && seen && seen < total && kept && !tidied->own.removed)
		fprintf(out,
			"  elsewhere  %lld of %lld ranks: rankwatch report DIR judges all, with the boxes of all hosts "
			"in DIR\n",
			(long long)(total - seen), (long long)total);
}

void farewell_print_page(FILE *out, const json_t *summary, const char *page)
{
	const json_t *body = json_object_get(summary, "summary");
	const char *saved = json_string_value(json_object_get(body, "saved"));
	const char *boxes = saved ? saved : json_string_value(json_object_get(body, "directory"));

	if (*page)
		foreign_line(out, "  as a page  %s", page);
	else if (boxes)
		foreign_line(out, "  as a page  rankwatch report --html report.html %s", boxes);
}
