/* SPDX-License-Identifier: MIT */
/* Hands findings to whoever listens: the socket's clients, a file of JSON lines, people at standard output. Keeps what
 * is open for those who come later. */
#ifndef COLLECTOR_SINKS_OUTLET_H
#define COLLECTOR_SINKS_OUTLET_H

#include <stdbool.h>

#include <jansson.h>

#include "collector/nats/publisher.h"
#include "collector/sinks/command.h"
#include "collector/sinks/evidence.h"
#include "collector/sinks/socket.h"
#include "finding/announcer.h"
#include "finding/board.h"
#include "finding/line_sink.h"
#include "finding/written.h"

struct outlet {
	struct board board;
	struct socket_sink *socket; /* set by the owner; NULL none */
	struct command_sink *command; /* so, too */
	struct publisher *publisher;  /* so, too */
	struct evidence_sink *evidence; /* so, too */
	/* set by the owner: where evidence is kept; NULL: not known yet, or it does not answer */
	const char *directory;
	struct line_sink *lines;      /* NULL none … */
	struct written written;       /* … and what went there */
	struct announcer announcer;   /* text for people; quiet: none */
	bool mute; /* set by the owner while what is reported was so once: only what is still open at the end is news */
};

/* path: "-" is stdout, NULL none; must outlive the outlet. 0 or -errno, which is said on stderr. */
int outlet_open(struct outlet *outlet, const char *path, bool quiet);
void outlet_tick(struct outlet *outlet);                         /* with each turn of the loop */
void outlet_put(void *outlet, const struct rw_finding *finding); /* an analysis_emit */
/* So, of a finding which somebody else has reported to whoever hears only of news: no command is run for it. */
void outlet_put_known(void *outlet, const json_t *finding);
/* A finding that another collector has made, as JSON: of what finding_head_read() accepts. */
void outlet_put_json(void *outlet, const json_t *finding);
void outlet_report_open(const struct outlet *outlet, struct socket_client *client);
void outlet_close(struct outlet *outlet); /* not the socket */

#endif
