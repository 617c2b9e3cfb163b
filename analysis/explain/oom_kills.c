/* SPDX-License-Identifier: MIT */
#include "analysis/explain/oom_kills.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "analysis/model.h"

void oom_kills_note(struct oom_kills *kills, int32_t pid, uint64_t at_ns)
{
	kills->items[kills->count % OOM_KILLS].pid = pid;
	kills->items[kills->count % OOM_KILLS].at_ns = at_ns;
	kills->count++;
}

static bool may_be_killed(const struct process *process)
{
	int status = process->exit_status;
	if (process->life != ANALYSIS_KILLED && process->life != ANALYSIS_EXITED)
		return false;
	if (status < 0)
		return process->life == ANALYSIS_KILLED;
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

bool oom_kills_has(const struct oom_kills *kills, const struct process *process)
{
	uint32_t kept = kills->count < OOM_KILLS ? kills->count : OOM_KILLS;
	if (!process->kernel_pid || !may_be_killed(process))
		return false;
	for (uint32_t i = 0; i < kept; i++)
		if (kills->items[i].pid == process->kernel_pid && kills->items[i].at_ns >= process->created_ns &&
		    kills->items[i].at_ns <= process->last_ns + OOM_KILL_LAG_NS)
			return true;
	return false;
}

void oom_kills_explain(const struct analysis *analysis, struct record *record, const struct process *process)
{
	char what[96];
	if (!oom_kills_has(&analysis->oom_kills, process))
		return;
	snprintf(what, sizeof(what), "Killed process %d, out of memory", process->kernel_pid);
	record_set_words(record, RW_CAUSE_MEMORY, "killed by the OOM killer",
			 "give the rank more memory, or find what takes it: the kernel log says how much it had");
	record_add_evidence(record, "kernel-log", -1, what);
}
