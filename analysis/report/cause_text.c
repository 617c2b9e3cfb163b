/* SPDX-License-Identifier: MIT */
#include "analysis/report/cause_text.h"

#include <stdio.h>
#include <sys/wait.h>

#include "analysis/explain/convoy.h"
#include "analysis/known/job.h"

void cause_text_end(char *text, size_t room, const struct process *process)
{
	int status = process->exit_status;
	if (process->life == ANALYSIS_ALIVE) {
		snprintf(text, room, "its thread has ended, the process lives on");
		return;
	}
	/* Without a status nobody saw the end: a box alone cannot tell a death from a stop that a later death made
	 * final, nor from an end or another program that exit() knows nothing of. */
	if (status < 0)
		snprintf(text, room,
			 process->life == ANALYSIS_EXITED
			     ? "exited"
			     : "fell silent (killed, crashed, stopped, or left by _exit or exec)");
	else if (WIFSIGNALED(status))
		snprintf(text, room, "killed by signal %d", WTERMSIG(status));
	else
		snprintf(text, room, "exited with status %d", WEXITSTATUS(status));
}

/* Those who pass a lock on compute between two turns: how many they are, and how much of a processor that takes from
 * the one that waits. */
static void convoy_text(char *text, size_t room, const struct cause *cause)
{
	int used = snprintf(text, room, cause->like_python ? "%s(2), 5 ms at a time as for Python's lock" : "%s(2)",
			    cause->system_call);

	if (!cause->holders || used < 0 || (size_t)used >= room)
		return;
	text += used;
	room -= (size_t)used;
	const char *most = cause->holders >= CONVOY_HOLDERS ? " or more" : "";

	if (cause->holders_cpu < 0.005 && cause->holders == 1)
		return;
	if (cause->holders_cpu < 0.005)
		snprintf(text, room, "; it has %u%s holders in turn", cause->holders, most);
	else if (cause->holders == 1)
		snprintf(text, room, "; the holder that was seen uses %.0f %% of a CPU", cause->holders_cpu * 100);
	else
		snprintf(text, room, "; its %u%s holders use %.0f %% of a CPU", cause->holders, most,
			 cause->holders_cpu * 100);
}

void cause_text(char *text, size_t room, const struct cause *cause, const struct process *process)
{
	static const char *const texts[RW_CAUSE_COUNT] = {
		[RW_CAUSE_UNKNOWN] = "not known",
		[RW_CAUSE_IO] = "waiting for a disk",
		[RW_CAUSE_CPU] = "waiting for a CPU",
		[RW_CAUSE_LOCK] = "waiting for a lock",
		[RW_CAUSE_MEMORY] = "waiting for memory (page faults, reclaim)",
		[RW_CAUSE_SOCKET] = "waiting for a socket or pipe",
		[RW_CAUSE_STOPPED] = "stopped by a signal, a debugger or the freezer",
		[RW_CAUSE_RUNNING] = "running on the CPU",
		[RW_CAUSE_SLEEP] = "sleeping of its own will",
		[RW_CAUSE_PROCESS] = "waiting for another process",
	};
	if (cause->class_ == RW_CAUSE_GONE)
		cause_text_end(text, room, process);
	else if (*cause->gpu_text)
		snprintf(text, room, "%s", cause->gpu_text);
	else if (cause->convoy && cause->system_call)
		convoy_text(text, room, cause);
	else if (cause->system_call && cause->class_ != RW_CAUSE_CPU && cause->class_ != RW_CAUSE_RUNNING &&
		 cause->class_ != RW_CAUSE_STOPPED)
		snprintf(text, room, cause->second_call ? "%s(2) and %s(2)" : "%s(2)", cause->system_call,
			 cause->second_call);
	else
		snprintf(text, room, "%s", texts[cause->class_] ? texts[cause->class_] : "not known");
}
