/* SPDX-License-Identifier: MIT */
#include "analysis/known/ending.h"

#include <signal.h>
#include <sys/wait.h>

enum { SHELL_SIGNAL = 128, SIGNALS = 65 };

static enum ending ending_of_signal(int number)
{
	static const unsigned char endings[SIGNALS] = {
		[SIGKILL] = ENDING_KILLED,  [SIGSEGV] = ENDING_CRASHED, [SIGBUS] = ENDING_CRASHED,
		[SIGILL] = ENDING_CRASHED,  [SIGFPE] = ENDING_CRASHED,	[SIGSYS] = ENDING_CRASHED,
		[SIGTRAP] = ENDING_CRASHED, [SIGABRT] = ENDING_ABORTED,
	};
	return number < SIGNALS && endings[number] ? (enum ending)endings[number] : ENDING_ASKED;
}

enum ending ending_of_status(int status)
{
	if (status < 0)
		return ENDING_UNKNOWN;
	if (WIFSIGNALED(status))
		return ending_of_signal(WTERMSIG(status));
	int code = WEXITSTATUS(status);
	if (!code)
		return ENDING_CLEAN;
	/* A shell, or a handler that keeps to its ways. */
	return code > SHELL_SIGNAL && code < SHELL_SIGNAL + SIGNALS ? ending_of_signal(code - SHELL_SIGNAL)
								      : ENDING_FAILED;
}
