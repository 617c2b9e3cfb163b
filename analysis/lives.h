/* SPDX-License-Identifier: MIT */
/*
 * A job that is started again (elastic launchers, a check before the run) is another job to the analysis: nothing that
 * was usual, late or awaited before has a meaning for the processes that come now. What is told of the whole run goes
 * on.
 */
#ifndef ANALYSIS_LIVES_H
#define ANALYSIS_LIVES_H

#include <stdbool.h>
#include <stdint.h>

struct analysis;
struct analysis_process;

/* What earlier lives add to the summary of the run. */
struct lives {
	uint64_t operations, untracked, one_sided, dropped, captured, forgotten, steps;
	uint32_t communicators;
};

/* Connects the parts of an analysis that is all zero but for post_mortem and who is told of findings. */
void lives_set_up(struct analysis *analysis);
/* Frees all of its parts. */
void lives_release(struct analysis *analysis);
/* Does this process, which is not added yet, begin another life: are all others dead, and was one of them this rank?
 * Never post-mortem, where boxes come in any order. */
bool lives_is_next(const struct analysis *analysis, const struct analysis_process *process);
/* Closes what is open, and forgets the processes and all that was learnt from them. */
void lives_begin_next(struct analysis *analysis);

#endif
