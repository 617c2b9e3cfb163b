/* SPDX-License-Identifier: MIT */
/*
 * How long a collector lives: when launchers that leave get their summary, when nobody else is let in, and when it ends
 * by itself. Pure: it is given what there is to do, and the time (CLOCK_MONOTONIC). One owner thread.
 */
#ifndef COLLECTOR_LIFE_H
#define COLLECTOR_LIFE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	LIFE_IDLE_MS = 3000,  /* with nothing to do, and nobody who listens */
	/* the same, while a directory of boxes does not answer: what there is to do is not known */
	LIFE_SILENT_MS = 30000,
	LIFE_LEAVE_MS = 1500, /* how long a launcher that leaves waits for processes of its job that have not ended … */
	LIFE_SAVE_MS = 4500,  /* … and for boxes and commands: between SIGTERM and SIGKILL there may be 5 s */
};

/* All 0 but until_idle and busy_ns at the begin. */
struct life {
	bool until_idle;     /* it ends by itself; else only by a signal */
	uint64_t busy_ns;    /* when there was last something to do: the begin counts */
	uint64_t leaving_ns; /* since when a launcher waits for the summary; 0: none does */
	bool left;           /* the last launcher has gone and has its summary */
	uint64_t ending_ns;  /* and since then there was nothing left to do: nobody else is let in; 0: not so */
};

/* What there is to do now. */
struct life_work {
	bool boxes;             /* of processes that have not ended */
	bool saving, commands;  /* that have not ended */
	bool silent;            /* a directory of boxes has not answered yet */
	unsigned clients;       /* who listen, launchers too */
	/* launchers that have joined and not left; those that have left and wait for the summary */
	unsigned runs, leaving;
};

/* Somebody has come. */
void life_greet(struct life *life);
/* Is the summary due to those that leave? How the job's processes ended counts in it, so they are waited for, but not
 * for one that the job leaves behind. */
bool life_owes_summary(struct life *life, const struct life_work *work, uint64_t now_ns);
/* They have it; work: as it is now. True: nobody else is to be let in, since another run of the same name is another
 * collector's, however soon it comes. */
bool life_part(struct life *life, const struct life_work *work, uint64_t now_ns);
/* Nothing to do, nobody who listens? Then it is over; once it has begun to end, at the latest LIFE_LEAVE_MS later. */
bool life_is_over(struct life *life, const struct life_work *work, uint64_t now_ns);

#endif
