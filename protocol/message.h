/* SPDX-License-Identifier: MIT */
/* What the collector says on its socket besides findings, one JSON object a line: a hello to everybody who comes, and a
 * summary to a launcher that leaves. Clients ignore keys and objects that they do not know. */
#ifndef PROTOCOL_MESSAGE_H
#define PROTOCOL_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "analysis/analysis.h"
#include "protocol/loss.h"
#include "protocol/sight.h"

enum { MESSAGE_SEVERITIES = RW_CRITICAL + 1 };

struct message_summary {
	const char *job;
	struct sight sight;    /* when most ranks were watched */
	const char *directory; /* of the black boxes, NULL: none was found */
	const char *saved;     /* directory of saved boxes, NULL: they are not saved */
	struct analysis_summary analysis;
	struct analysis_account account;
	struct analysis_pipeline pipeline;
	struct analysis_gpu_memory gpu_memory;
	struct analysis_step_course step_course;
	struct analysis_pace pace;
	size_t findings[MESSAGE_SEVERITIES]; /* by highest severity */
	size_t findings_closed;              /* of warnings and critical ones */
	struct loss lost;
	unsigned given_up;                   /* ranks whose box could no longer be read */
	const char *no_room;                 /* why ranks found no place for their boxes, NULL: not known of */
	bool last;                           /* no other launcher of this job is left: print it */
};

/* {"hello":{"protocol":1,"job":…,"pid":…,"open":N,"save":…,"on_finding":…,"publishes":…,"directory":…}} with the keys
 * of sight_json(): N findings that are open now follow. malloc'ed, NULL on lack of memory. save: directory of saved
 * boxes, NULL = they are not saved. on_finding: a command is run for findings. publishes: over NATS. directory: where
 * boxes are looked for first, "" = none was named.
 */
char *message_hello(const char *job, const struct sight *sight, size_t open, const char *save, bool on_finding,
		    bool publishes, const char *directory);
/* The same of who hears all nodes and watches none:
 * {"hello":{…,"open":N,"on_finding":…,"all_nodes":true,"hosts":N,"silent":N,"ranks":N}}, silent: hosts that are heard
 * no more. */
char *message_hello_all_nodes(const char *job, size_t open, bool on_finding, size_t hosts, size_t silent,
			      unsigned ranks);
/* {"watching":{…}} with the keys of sight_json(): ranks have come, or are seen less well than before. Likewise. */
char *message_watching(const struct sight *sight);
enum { COMPARED_IN_MS = 500 };
/* Does the collector that says so look where ranks with this RANKWATCH_DIR (NULL: not set) record? True where it does
 * not say. Asks the file system whether two names are one directory; where it does not answer within COMPARED_IN_MS
 * they are two. */
bool message_hello_looks_in(const json_t *hello, const char *directory);
/* Does this job say hello so? Names that become the same path component are one: these jobs share a socket. */
bool message_hello_is_of(const json_t *hello, const char *job);
/* {"summary":{…}}; likewise. */
char *message_summary(const struct message_summary *summary);

/* A summary as people read it, three or four lines; `who` stands before the first. Text from a job is escaped.
 * "unjudged": true beside the collector's keys (a launcher's word): nothing was found by the collector, and what the
 * black boxes show of the job's end was not to be had. */
void message_print_summary(FILE *out, const char *who, const json_t *summary);
/* The same in two parts: what was seen and found, and where it can be looked at again. */
void message_print_figures(FILE *out, const char *who, const json_t *summary);
void message_print_where(FILE *out, const char *what, const char *directory);

#endif
