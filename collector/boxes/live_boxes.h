/* SPDX-License-Identifier: MIT */
/*
 * The black boxes of one job: found in their directories as they come, fed to the analysis while their process lives,
 * concluded when it ends. Files that are no boxes of ours are refused with one line each, once.
 */
#ifndef COLLECTOR_BOXES_LIVE_BOXES_H
#define COLLECTOR_BOXES_LIVE_BOXES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "analysis/analysis.h"
#include "base/writer_process.h"
#include "blackbox/place.h"
#include "blackbox/reader.h"

enum { LIVE_BOXES_PLACES = BOX_PLACES + 1 };

struct live_boxes_request {
	uv_loop_t *loop;
	struct analysis *analysis;
	const char *job;                /* NULL: boxes of any job */
	uid_t owner;                    /* (uid_t)-1: anybody's */
	char (*places)[BOX_PLACE_PATH]; /* copied */
	int place_count;
	uint64_t now_ns; /* boxes that are older may be of an earlier run */
	/* A box of a process has come (writer: to be looked at, lent until it has ended; NULL: not to be), and its
	 * process has ended. */
	void (*appeared)(void *watcher, analysis_process_id process, const struct writer_process *writer);
	void (*ended)(void *watcher, analysis_process_id process);
	/* The process of a box has just ended, which live_boxes_poll() sees when it is called next. From the loop. */
	void (*left)(void *watcher);
	/* As feed_mount, for the mount name space of `pid`. */
	void (*mount)(void *watcher, pid_t pid, uint64_t device, char file_system[16], char device_name[32]);
	void *watcher;
	/* The box of a process that has ended, or of one that lives when live_boxes_save() asks; the reader is lent for
	 * the call. NULL: boxes are not saved. */
	void (*save)(void *argument, const struct box_reader *reader);
	void *argument;
};

struct live_boxes;

/* 0 or -errno. A directory that does not exist yet is waited for. */
int live_boxes_open(struct live_boxes **boxes, const struct live_boxes_request *request);
/* The loop must run once more after this. Accepts NULL. */
void live_boxes_close(struct live_boxes *boxes);

/* Once, before the first live_boxes_poll(): looks for boxes and passes on what they hold so far in the order of time,
 * so that a collector that was started late, or again, sees the run as it was. */
void live_boxes_catch_up(struct live_boxes *boxes, uint64_t now_ns);
/* Looks for new files when a directory changed or a second has passed, passes on what is new in each box, concludes
 * boxes whose process ended. Call about ten times a second, or where live_boxes_report_ends() five times. */
void live_boxes_poll(struct live_boxes *boxes, uint64_t now_ns);
/* How many operations have been passed on so far: while the job goes on they become more. */
uint64_t live_boxes_passed(const struct live_boxes *boxes);
/* Is request.left called for each process that is watched, so that none has to be asked whether it has ended? */
bool live_boxes_report_ends(const struct live_boxes *boxes);
/* How the process ended, as wait(2), and when, from a source that saw it; live_boxes_poll() then need not wait for
 * it. */
void live_boxes_set_exit(struct live_boxes *boxes, analysis_process_id process, int exit_status, uint64_t at_ns);

/* Notes in the box of each process that lives how the memory of its GPU went. */
void live_boxes_note_gpus(struct live_boxes *boxes);
/* Likewise what this machine's network ports showed around findings, and now. */
void live_boxes_note_ports(struct live_boxes *boxes, uint64_t now_ns);
/* Leases network detail of a communicator from a process that lives; what cannot be had (another user's box) is
 * left. */
void live_boxes_lease(struct live_boxes *boxes, analysis_process_id process, uint32_t slot, uint64_t communicator,
		      uint64_t expires_ns);

/* Hands every box whose process still lives to request.save. */
void live_boxes_save(struct live_boxes *boxes);

unsigned live_boxes_count(const struct live_boxes *boxes);
/* Ranks that were watched until their box could no longer be read. */
unsigned live_boxes_given_up(const struct live_boxes *boxes);
/* The directory in which the first box was found; NULL: none yet. Valid until live_boxes_close(). */
const char *live_boxes_directory(const struct live_boxes *boxes);
/* False: the file system of one of the directories has not answered yet. */
bool live_boxes_answer(const struct live_boxes *boxes);
/* Who owns the boxes; (uid_t)-1: none is live. Boxes of several users: one of them. */
uid_t live_boxes_owner(const struct live_boxes *boxes);

#endif
