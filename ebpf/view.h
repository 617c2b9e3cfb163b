/* SPDX-License-Identifier: MIT */
/* The kernel's view of watched processes, whoever has the BPF programs: rankwatchd, one set for the whole machine, or
 * this process itself. One owner thread; the callback runs inside view_poll(), view_watch() and view_sample(). */
#ifndef EBPF_VIEW_H
#define EBPF_VIEW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ebpf/probes.h"

struct view;

enum { VIEW_WHY = 256 };

/* helper: path of rankwatchd's socket, NULL: it is not asked. Where it is there and helps, no programs are loaded here.
 * On failure -errno and a sentence in `why` (VIEW_WHY bytes): why neither is possible, and what would help. */
int view_open(struct view **view, const char *helper, uint64_t threshold_ns, probes_record *record, void *argument,
	      char *why);
void view_close(struct view *view); /* accepts NULL */
bool view_is_helpers(const struct view *view);

/* As probes_watch(). pidfd: of the process, the caller's; the helper believes nothing else. why (VIEW_WHY bytes): ""
 * where the error says it all. */
int view_watch(struct view *view, pid_t pid, int pidfd, char *why);
void view_unwatch(struct view *view, pid_t pid);
/* As probes_poll(). -ENOTCONN: the helper has gone and nothing is watched any more; view_watch() asks for it again. */
int view_poll(struct view *view);
int view_sample(struct view *view, pid_t pid); /* as probes_sample() */
int view_stack(struct view *view, int32_t stack_id, char (*frames)[40], int room);
void view_loss(struct view *view, struct probes_loss *loss);
uint64_t view_own_ns(struct view *view); /* of the programs here, as probes_own_ns(); 0 with the helper's */
/* CPU time of somebody else that view_sample() and view_watch() have taken so far: the helper's. */
uint64_t view_cost_ns(const struct view *view);

#endif
