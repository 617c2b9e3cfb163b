/* SPDX-License-Identifier: MIT */
/* How a process ended, by what can have ended it. */
#ifndef ANALYSIS_KNOWN_ENDING_H
#define ANALYSIS_KNOWN_ENDING_H

enum ending {
	ENDING_UNKNOWN,
	ENDING_CLEAN,
	ENDING_ASKED, /* by a signal that launchers, schedulers and terminals send */
	ENDING_KILLED,
	ENDING_CRASHED,
	ENDING_ABORTED,
	ENDING_FAILED,
};

/* status: as waitpid(2) gives it; negative: not known. */
enum ending ending_of_status(int status);

#endif
