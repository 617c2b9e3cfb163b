/* SPDX-License-Identifier: MIT */
/* Processes that the kernel log says the OOM killer has killed: docs/analysis.md, "Ended together". */
#ifndef ANALYSIS_EXPLAIN_OOM_KILLS_H
#define ANALYSIS_EXPLAIN_OOM_KILLS_H

#include <stdbool.h>
#include <stdint.h>

struct analysis;
struct process;
struct record;

#define OOM_KILL_LAG_NS                                                                                                \
	5000000000u /* the log's clock may be so far from the box's, and a large process takes long to end */

enum { OOM_KILLS = 64 /* the latest; a job that has more of them names nobody by them */ };

struct oom_kills {
	struct {
		int32_t pid;
		uint64_t at_ns;
	} items[OOM_KILLS];
	uint32_t count; /* ever */
};

void oom_kills_note(struct oom_kills *kills, int32_t pid, uint64_t at_ns);
/* It has ended, as the kernel log says by the OOM killer, and nothing that was seen of its end speaks against it. */
bool oom_kills_has(const struct oom_kills *kills, const struct process *process);
/* Puts it in the place of the cause, where it was that; before the sentence is made. */
void oom_kills_explain(const struct analysis *analysis, struct record *record, const struct process *process);

#endif
