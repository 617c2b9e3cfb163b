/* SPDX-License-Identifier: MIT */
/*
 * The collector: finds the black boxes of one job on this node, feeds them and what the kernel shows of their processes
 * to the analysis, and hands findings to whoever listens. One event loop, one thread.
 */
#ifndef COLLECTOR_COLLECTOR_H
#define COLLECTOR_COLLECTOR_H

#include <stdbool.h>
#include <stdint.h>

enum collector_status {
	COLLECTOR_DONE = 0,
	COLLECTOR_FAILED = 1, /* also when another collector serves this job already */
};

struct collector_options {
	const char *job;       /* NULL: by the environment, as the plugin does */
	const char *directory; /* look here too; NULL: RANKWATCH_DIR */
	/* what this host is called; NULL: as the plugin does. There may be one collector for each name */
	const char *host;
	const char *nats;      /* publish findings and messages there, a checked address; NULL: do not */
	const char *findings;  /* append JSON lines to this file, "-" is stdout; NULL: do not */
	const char *save;      /* keep boxes there when their process ends, and at SIGTERM; NULL: do not */
	uint64_t save_limit;   /* bytes of saved boxes, 0 = no limit */
	const char *kernel_log; /* file with records as in /dev/kmsg; NULL: /dev/kmsg */
	int ancestor;          /* for struct ancestor_question; 0: none */
	const char *on_finding; /* shell command for findings from warning up; NULL: none */
	bool until_idle;       /* end when no client and no live box has been there for 3 s */
	bool quiet;            /* print neither findings nor level nor summary; errors are printed always */
};

/* Runs until SIGINT, SIGTERM or idle. Says on stderr what went wrong. */
enum collector_status collector_run(const struct collector_options *options);

#endif
