/* SPDX-License-Identifier: MIT */
/*
 * What collectors know, as text for Prometheus: OpenMetrics 1.0
 * (https://prometheus.io/docs/specs/om/open_metrics_spec/), or the older text format 0.0.4 for who does not ask for it.
 * docs/metrics.md lists the metrics. Nothing here reads a clock, a file or a socket.
 */
#ifndef CONSOLE_METRICS_EXPOSITION_H
#define CONSOLE_METRICS_EXPOSITION_H

#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

enum exposition_format { EXPOSITION_OPENMETRICS, EXPOSITION_TEXT };

/* One job on this node, or on all nodes: the messages of its collector (docs/protocol.md). Not owned. */
struct exposition_job {
	const json_t *hello;    /* its body */
	const json_t *findings; /* array of those that are open */
	/* its body, with the topics "ranks", "gpus" or "hosts" and, if wanted, "communicators"; NULL: the collector did
	 * not answer */
	const json_t *snapshot;
	double cpu_seconds;     /* that the collector has taken so far; negative: not known */
};

/* Writes every metric of every job. Text of a job (names of jobs and hosts) is escaped where it stands in a label. */
void exposition_write(FILE *out, enum exposition_format format, const struct exposition_job *jobs, size_t count);
/* The content type of an answer. */
const char *exposition_content_type(enum exposition_format format);
/* What the client's Accept header asks for; NULL: it sent none. */
enum exposition_format exposition_accepted(const char *accept);

#endif
