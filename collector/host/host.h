/* SPDX-License-Identifier: MIT */
/*
 * What this host shows of the processes, at the deepest level that rights and kernel allow: BPF for all of them,
 * samples of those that others wait for. Evidence goes to the analysis. One owner thread.
 */
#ifndef COLLECTOR_HOST_HOST_H
#define COLLECTOR_HOST_HOST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "analysis/analysis.h"
#include "base/writer_process.h"
#include "protocol/loss.h"
#include "protocol/sight.h"

struct host;

/* A watched process has ended at at_ns (CLOCK_MONOTONIC); exit_status as in wait(2). */
typedef void host_ended(void *argument, analysis_process_id process, int exit_status, uint64_t at_ns);

/* 0 or -errno. It starts with /proc; host_deepen() goes on from there. root: "", or where a recorded machine has its
 * /proc and /sys. */
int host_open(struct host **host, struct analysis *analysis, const char *root, host_ended *ended, void *argument);
void host_close(struct host *host); /* accepts NULL */

/* Loads the BPF programs if that is possible. Takes a good part of a second: call it when the boxes have been read. */
void host_deepen(struct host *host);
void host_see(const struct host *host, struct sight *sight);

/* The writer stays the caller's, until host_unwatch(). One that turns into what its box's owner may not look at (it
 * execs a set-user-id program) is watched no longer, which is said. */
void host_watch(struct host *host, analysis_process_id process, const struct writer_process *writer);
void host_unwatch(struct host *host, analysis_process_id process);
/* Is a process of this number watched, by whatever name? */
bool host_watches(const struct host *host, pid_t pid);

/* Whom others wait for who are not on this host: they are sampled like the analysis's own suspects. Fills at most
 * `room`, returns how many there are. */
typedef size_t host_more_suspects(void *argument, struct analysis_suspect *suspects, size_t room);
void host_suspect_too(struct host *host, host_more_suspects *more, void *argument);

/* Collects what the kernel has recorded and samples the suspects. Call 20 times a second; 10 times while it is calm. */
void host_poll(struct host *host, uint64_t now_ns);
/* Does the kernel itself record what each process waits for, not so much that its buffer fills, and is nobody to be
 * sampled? */
bool host_is_calm(struct host *host);
/* Names the file system and the device behind a device number as `pid` sees them; leaves the arrays when not known. */
void host_name_mount(struct host *host, pid_t pid, uint64_t device, char file_system[16], char device_name[32]);
void host_loss(const struct host *host, struct loss *loss);

#endif
