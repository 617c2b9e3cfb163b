/* SPDX-License-Identifier: MIT */
#include "analysis/report/advice.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* "PID" stands for the number of the process. */
static const char *const by_class[RW_CAUSE_COUNT] = {
	[RW_CAUSE_IO] = "write the log to a local or memory file system, or from another process",
	[RW_CAUSE_CPU] = "give the rank its own CPUs (affinity, cgroup), or move what else runs on them",
	[RW_CAUSE_LOCK] = "find out what the thread that holds the lock does, and keep slow work out of the lock",
	[RW_CAUSE_MEMORY] = "raise the memory limit, or find what fills the memory of this host",
	[RW_CAUSE_SOCKET] =
	    "check the process at the other end of the socket or pipe, and do not wait for it inside the step",
	[RW_CAUSE_STOPPED] = "resume it (kill -CONT PID), and find out who stopped it",
	[RW_CAUSE_RUNNING] = "profile this rank's threads (py-spy dump --pid PID): it computes while others wait",
	[RW_CAUSE_SLEEP] = "find the sleep in its code (py-spy dump --pid PID): time.sleep, a retry, a loop that polls",
	[RW_CAUSE_PROCESS] = "find out what that child does (ps --ppid PID), and do not wait for it inside the step",
};

/* How the process ended: by its status, or by a signal, also one that a shell passes on as 128 + its number. */
static const struct {
	int signal; /* 0: none */
	const char *advice;
} by_signal[] = {
	{ SIGKILL, "check the kernel log for the OOM killer; otherwise find out who sends SIGKILL on this cluster: "
		   "scheduler, time limit, health check" },
	{ SIGTERM, "something asked it to end: check the launcher, the scheduler and its time limit" },
	{ SIGINT, "something asked it to end: check the launcher and the terminal" },
	{ SIGABRT,
	  "read the last lines of this rank's own log: an assertion, std::terminate or the watchdog called abort(3)" },
	{ SIGSEGV, "the program crashed: look for a core file (coredumpctl, ulimit -c), and run it with "
		   "PYTHONFAULTHANDLER=1 for a traceback" },
	{ SIGBUS, "check whether /dev/shm was full or a mapped file was truncated; PYTHONFAULTHANDLER=1 shows where it "
		  "crashed" },
	{ SIGILL, "check that the build is for this CPU; PYTHONFAULTHANDLER=1 and a core file show where it crashed" },
	{ SIGFPE, "the program crashed: look for a core file (coredumpctl, ulimit -c), and run it with "
		  "PYTHONFAULTHANDLER=1 for a traceback" },
};

enum { SHELL_SIGNAL = 128 };

static const char *by_ending(const struct process *process)
{
	int status = process->exit_status, number = 0;

	if (process->life == ANALYSIS_ALIVE)
		return "find out what ended its main thread (py-spy dump --pid PID): the process runs on without it";
	if (status < 0 && process->life == ANALYSIS_EXITED)
		return "read the end of this rank's own log (torchrun --log-dir, --tee 3): it called exit(), and its "
		       "status was not seen";
	if (status < 0)
		return "read the end of this rank's log, and the kernel log (OOM killer)";
	if (WIFSIGNALED(status))
		number = WTERMSIG(status);
	else if (WEXITSTATUS(status) > SHELL_SIGNAL)
		number = WEXITSTATUS(status) - SHELL_SIGNAL;
	for (size_t i = 0; number && i < sizeof(by_signal) / sizeof(*by_signal); i++)
		if (by_signal[i].signal == number)
			return by_signal[i].advice;
	if (!WIFSIGNALED(status) && !WEXITSTATUS(status))
		return "it ended without an error: compare its number of batches with the other ranks' (uneven data, a "
		       "break in its loop)";
	return WIFSIGNALED(status) ? "find out who sent this signal, and read the end of this rank's log"
				   : "read the last exception in this rank's own log (torchrun --log-dir, --tee 3)";
}

/* Where the class alone would say too much or too little. */
static const char *special(const struct cause *cause, const struct process *process)
{
	if (cause->gpu_advice)
		return cause->gpu_advice;
	if (cause->class_ == RW_CAUSE_GONE)
		return by_ending(process);
	if (cause->class_ == RW_CAUSE_IO && cause->hop_count)
		return "write the log to a local or memory file system, or let the writer's queue drop entries when it "
		       "is full";
	if (cause->class_ == RW_CAUSE_RUNNING && cause->python.collecting)
		return "collect garbage on all ranks in the same step (gc.disable(), then gc.collect() every N steps), "
		       "or call gc.freeze() for long-lived objects";
	if (cause->class_ == RW_CAUSE_LOCK && cause->python.holder)
		return "let that thread release Python's lock (GIL) while it works, or move its work into a process";
	if (cause->convoy && cause->like_python)
		return "move the work of its other Python threads into processes: these threads hold Python's lock "
		       "(GIL) in turn";
	if (cause->convoy)
		return "let fewer threads share this lock, or hold it for less time";
	if (cause->class_ == RW_CAUSE_LOCK && !cause->hop_count)
		return "find out what should wake this thread (py-spy dump --pid PID, gdb -p PID)";
	if (cause->fork_lock)
		return "start its child processes by spawn or forkserver (multiprocessing_context of a DataLoader): "
		       "by fork a lock is copied without its holder";
	if (cause->class_ == RW_CAUSE_SOCKET && cause->by_process)
		return "find out what that process does; give the data loader more workers or a larger prefetch_factor";
	return NULL;
}

/* A word PID becomes the number. What takes a living process is for the next time where this one has ended. */
static void put_number(char *text, size_t room, const char *advice, const struct process *process)
{
	int32_t pid = process->past ? 0 : process->pid;
	size_t used = 0;

	if (process->past && strstr(advice, "PID"))
		used = (size_t)snprintf(text, room, "next time, while it runs: ");

	for (const char *at = advice; *at && used + 12 < room;) {
		if (pid > 0 && !strncmp(at, "PID", 3)) {
			used += (size_t)snprintf(text + used, room - used, "%d", pid);
			at += 3;
		} else {
			text[used++] = *at++;
		}
	}
	text[used] = '\0';
}

void advice_find(char *text, size_t room, const struct cause *cause, const struct process *process)
{
	const char *chosen = special(cause, process);

	if (!chosen)
		chosen = by_class[cause->class_];
	put_number(text, room, chosen ? chosen : "inspect this rank's threads (py-spy dump --pid PID, gdb -p PID)",
		   process);
}
