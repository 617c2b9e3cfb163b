/* SPDX-License-Identifier: MIT */
/*
 * Keeps a collector at hand for one job: connects to the one that runs, starts one when none does, and another when it
 * dies. Never waits. Every failure is a line on stderr; the job goes on in any case.
 */
#ifndef CONSOLE_RUN_SUPERVISOR_H
#define CONSOLE_RUN_SUPERVISOR_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "console/client/collector_client.h"
#include "console/client/sink_choice.h"

struct supervisor {
	const char *program; /* this rankwatch */
	const char *job;
	const char *kernel_log; /* likewise: the file it reads and not /dev/kmsg; NULL: /dev/kmsg */
	/* of a collector that we start, but for findings; set by the owner, NULL: none */
	const struct sink_choice *sinks;
	const char *nats; /* likewise: where it publishes; NULL: nowhere */
	const sigset_t *mask; /* for the collector: the one that we were started with */
	struct collector_client client;
	void (*message)(void *argument, const json_t *message);
	void *argument;
	pid_t pid;      /* of the collector that we started, 0 = none */
	int errors_fd;  /* its stderr, -1 none */
	int asked_fd;   /* it asks us there for what only the job's ancestor may read: base/ancestor.h; -1 none */
	char said[256]; /* its last line: one that comes again and again is printed once */
	struct line_buffer errors;
	uint64_t started_ns, next_start_ns, pause_ns;
	uint64_t silent_since_ns;
	uint64_t connected_ns;
	uint64_t foreign_ns; /* when another job's collector, or a silent one, was met; 0 = never */
	bool joined, silence_said;
	bool elsewhere, elsewhere_said; /* the client's collector watches another run of the same name */
	bool leaving; /* set by the owner when the job has ended: no other collector is started */
};

/* program, job and mask must outlive the supervisor. message: as collector_client_open(). */
void supervisor_open(struct supervisor *supervisor, const char *program, const char *job, const sigset_t *mask,
		     void (*message)(void *argument, const json_t *message), void *argument);
/* Connects if it is not connected and a collector is there, also at the path that another job's had a moment ago.
 * Starts none. */
void supervisor_seek(struct supervisor *supervisor, uint64_t now_ns);
/* Connects, starts, joins as is due. Call about ten times a second unless it is settled. */
void supervisor_tick(struct supervisor *supervisor, uint64_t now_ns);
/* It has joined a collector: nothing is due before a descriptor is readable or a child ends. */
bool supervisor_is_settled(const struct supervisor *supervisor);
/* When the client's descriptor or one of the collector's is readable. */
void supervisor_read(struct supervisor *supervisor, uint64_t now_ns);
/* Takes note of a child that wait(2) returned; false when it is not the collector. */
bool supervisor_note(struct supervisor *supervisor, pid_t pid, int status, uint64_t now_ns);
/* Disconnects. A collector that still runs is left to those who use it; it ends by itself. */
void supervisor_close(struct supervisor *supervisor);

#endif
