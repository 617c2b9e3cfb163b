/* SPDX-License-Identifier: MIT */
/*
 * One run, seen again from its black boxes, and the Xids of the kernel log where they were recorded here: the same
 * analysis as live on one host, of all hosts whose clocks can be compared by what they recorded
 * (console/replay/common_clock.h). Others have an analysis of their own, as each host's collector has: wall clocks are
 * not exact enough to say who was late. One thread.
 */
#ifndef CONSOLE_REPLAY_REPLAY_H
#define CONSOLE_REPLAY_REPLAY_H

#include "console/cli/progress.h"
#include "console/replay/replayed.h"

/* What else is wanted of the analysis while it sees the run. */
struct replay_watch {
	analysis_time_visit *time;
	void *argument;
};

/* Replays `count` entries of one run. Takes over their readers (the entries' fd becomes -1); the entries must outlive
 * the replay. kernel_log: NULL is /dev/kmsg. watch: NULL nothing; when it is called, the processes are there. progress:
 * shows how far it is, and is taken away in the end; may be NULL. 0 or -ENOMEM; close in both cases. */
int replay_open(struct replay *replay, struct box_entry *entries, size_t count, const char *kernel_log,
		const struct replay_watch *watch, struct progress *progress);
void replay_close(struct replay *replay);

/* NULL when no box of this rank was replayed. */
const struct replay_process *replay_find(const struct replay *replay, int32_t rank);
/* Of all machines: sums, but for what each machine knows of the same job (ranks_total, communicators, steps and how
 * long they took), which is the first machine's that knows. communicators: how many different ones. */
void replay_summarise(const struct replay *replay, struct analysis_summary *summary);
/* As analysis_visit_flights(), with the parts of one operation on several machines put together by communicator,
 * function and sequence. Ranks of a machine on which it is not in flight are reported as missing where their boxes show
 * that they had not called it. */
void replay_visit_flights(const struct replay *replay, analysis_flight_visit *visit, void *argument);
/* One process of each boot among `count` processes from `first` on, in their order; returns how many. firsts: room for
 * `count`. */
size_t replay_boots(const struct replay *replay, size_t first, size_t count, const struct replay_process **firsts);
/* "node-0 (ranks 0-3)", "node-0 and 3 more (ranks 0-31)", escaped. Malloc'ed; NULL on lack of memory. */
char *replay_machine_name(const struct replay *replay, const struct replay_machine *machine);
/* World ranks of `count` processes from `first` on, ascending, -1 left out; returns how many. ranks: room for
 * `count`. */
size_t replay_ranks(const struct replay *replay, size_t first, size_t count, int32_t *ranks);

#endif
