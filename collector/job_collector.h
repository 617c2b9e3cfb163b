/* SPDX-License-Identifier: MIT */
/*
 * The collector of a whole job: hears over NATS what the collectors of its nodes publish, judges their messages
 * together, and hands findings on as they do. It reads no black box and needs no right on any node; it may run
 * anywhere, come late, end and come again, and there may be several, of which one is active (collector/nats/judges.h).
 * One event loop, one thread, and that of the link.
 */
#ifndef COLLECTOR_JOB_COLLECTOR_H
#define COLLECTOR_JOB_COLLECTOR_H

#include <stdbool.h>

#include "collector/collector.h"

struct job_collector_options {
	const char *job;        /* NULL: by the environment, as the plugin does */
	const char *nats;       /* address, checked */
	const char *findings;   /* as in struct collector_options, all of these */
	const char *on_finding;
	bool until_idle;        /* end when the collectors of all hosts that were heard have ended */
	bool quiet;
};

/* Runs until SIGINT, SIGTERM or idle. Says on stderr what went wrong. */
enum collector_status job_collector_run(const struct job_collector_options *options);

#endif
