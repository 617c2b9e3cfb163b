/* SPDX-License-Identifier: MIT */
/*
 * Answers requests on the socket and sends snapshots to those who subscribed: docs/protocol.md. A snapshot is made when
 * the one before it has left: who reads slowly gets the latest, later; nothing queues up for them.
 */
#ifndef COLLECTOR_SINKS_ANSWERS_H
#define COLLECTOR_SINKS_ANSWERS_H

#include <stdint.h>

#include "analysis/analysis.h"
#include "analysis/job/job_half.h"
#include "collector/host/host.h"
#include "collector/nats/hosts.h"
#include "collector/sinks/outlet.h"
#include "collector/sinks/socket.h"

struct answers {
	struct analysis *analysis; /* NULL: this collector hears all nodes: */
	const struct job_half *half;
	const struct hosts *hosts;
	const struct outlet *outlet;
	const struct host *host;   /* NULL there */
	const char *job;
	struct analysis_account account; /* as it was at account_ns: it takes a while to work out */
	uint64_t account_ns;
};

/* A client has asked; now_ns: CLOCK_MONOTONIC. */
void answers_give(struct answers *answers, struct socket_client *client, const struct request *request,
		  uint64_t now_ns);
/* Has somebody subscribed who wants to hear more often than once a second? */
bool answers_are_followed(struct socket_sink *sink);
/* Sends what is due. With each turn of the loop. */
void answers_tick(struct answers *answers, struct socket_sink *sink, uint64_t now_ns);

#endif
