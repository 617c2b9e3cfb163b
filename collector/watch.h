/* SPDX-License-Identifier: MIT */
/*
 * What the collector watches of one job, brought to the analysis in rounds: black boxes, host, GPUs, network ports,
 * ranks without a box. Knows the time only from its caller and the machine only under `root`, so that a recorded job
 * can be watched again (tests/tapes). One owner thread.
 */
#ifndef COLLECTOR_WATCH_H
#define COLLECTOR_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "collector/boxes/live_boxes.h"
#include "collector/host/absentees.h"
#include "collector/host/gpu_health.h"
#include "collector/host/host.h"
#include "collector/host/python_source.h"
#include "collector/sources/machine/port_source.h"

enum { WATCH_TICK_MS = 50 };

struct watch_request {
	uv_loop_t *loop; /* reports when directories of boxes change */
	struct analysis *analysis;
	const char *root;               /* "": this machine, else where its /proc and /sys were recorded */
	const char *job;                /* whose processes are looked for */
	const char *node;               /* NULL, or: what Slurm says to be on a node of another name is not here */
	bool any_job;                   /* boxes of other jobs, too */
	uid_t owner;                    /* of the boxes; (uid_t)-1: anybody */
	char (*places)[BOX_PLACE_PATH]; /* copied */
	int place_count;
	uint64_t now_ns;
	const char *kernel_log; /* NULL: this machine's */
	int ancestor;           /* for struct ancestor_question; 0: none */
	void (*save)(void *argument, const struct box_reader *reader); /* as in live_boxes_request */
	/* A process has ended: call watch_tick() within some ms and not when it would be due. From the loop; may be
	 * NULL. */
	void (*wake)(void *argument);
	void *argument;
};

struct watch {
	struct analysis *analysis;
	struct live_boxes *boxes;
	struct host *host;
	struct gpu_health *gpu_health;
	struct port_source *ports; /* NULL: no thread could be had */
	struct python_source *python; /* NULL: of a recorded machine */
	struct absentees absentees;
	uid_t owner; /* as in the request */
	bool stuck;  /* closed, while a thread still uses the loop: leave with _exit(2) */
	void (*wake)(void *argument);
	void *argument;
	bool left; /* a process, since the last tick */
	char proc[BOX_PLACE_PATH];
	uint64_t ticks; /* made, and left out */
	uint64_t passed, moved_ns; /* of live_boxes_passed(), and when it last changed */
	uint64_t ticked_ns;
	/* when leases and notes are due, and until when the pace stays up: two seconds from an end, or from what is not
	 * calm */
	uint64_t lease_ns, note_ns, lively_ns;
};

/* request->job must live as long. 0 or -errno; close in both cases. */
int watch_open(struct watch *watch, const struct watch_request *request);
/* The loop must run once more after this. */
void watch_close(struct watch *watch);

/* Once, before the first tick: the run so far, from the boxes that are there. */
void watch_catch_up(struct watch *watch, uint64_t now_ns);
/* Call every WATCH_TICK_MS, or after watch_next_ms(), and when the request's wake() was called. Returns whether the
 * boxes were read in this round: they are in every second one. */
bool watch_tick(struct watch *watch, uint64_t now_ns);
/* After a tick at now_ns: in how many ms the next one is due. Where the host is calm the tick between two readings of
 * the boxes is left out, since nothing would be done in it: 100 ms. Where it has been calm for two seconds, ranks make
 * calls, no process has ended in that time and none can end without wake(), and nobody follows the job live
 * (`followed`), every second reading is left out as well: 200 ms. */
unsigned watch_next_ms(struct watch *watch, bool followed, uint64_t now_ns);
/* Reads the boxes out of turn. */
void watch_poll_boxes(struct watch *watch, uint64_t now_ns);

#endif
