/* SPDX-License-Identifier: MIT */
/* Why a rank was late: evidence about its threads → class, with the share of the late time that it explains. A wait for
 * another thread of the process is followed to that thread, at most CAUSE_HOPS times. docs/analysis.md, "Cause". */
#ifndef ANALYSIS_CAUSE_H
#define ANALYSIS_CAUSE_H

#include "analysis/evidence.h"
#include "analysis/job.h"
#include "analysis/python_looks.h"

enum {
	CAUSE_DOES = 160,
	CAUSE_HOPS = 3,
	CAUSE_WINDOWS = 16,
	CAUSE_EVIDENCE = 4,
};
#define CAUSE_SHARE_MIN    0.25 /* of the windows: a class needs it to be called the cause */
#define CAUSE_INFERRED_MIN 0.5  /* of the wait, without a waker: the thread whose files cover it is taken for it */
/* Another class with this share of the first one's time may as well be it; samples miss more. */
#define CAUSE_NEAR_EXACT   0.8
#define CAUSE_NEAR_SAMPLED 0.5
#define CAUSE_ONE_PROCESS  0.75 /* of a class's waits: the other process that ended so much of them is told */

/* A stretch of time that a rank made others wait. */
struct cause_window {
	uint64_t from_ns, to_ns;
};

struct cause_hop {
	uint32_t tid;
	intern_id thread;
	char waits_for[48];
	uint32_t waits_for_tid; /* or the process's number; 0 several, or not known */
	char does[CAUSE_DOES];  /* of a process: what it does meanwhile, "computes"; "" not known */
};

struct cause_evidence {
	uint64_t ns;
	enum rw_level level;
	const char *what;
};

struct cause {
	enum rw_cause_class class_;
	double share;        /* of the windows; -1 nothing is known */
	enum rw_level level; /* that the class rests on; RW_LEVEL_NONE = no evidence */
	enum rw_level seen;  /* best level at which the thread was looked at in the windows */
	const char *inferred; /* likely at best, and why: a hop without a waker, samples of a wait whose waker was not found,
			       * or another class has nearly as much of the time; static, NULL: it was seen */
	bool idle;           /* the thread sleeps of its own will */
	bool convoy;         /* threads pass a lock on in short turns … */
	bool like_python;    /* … of 5 ms … */
	uint32_t holders;    /* … so many of them, CONVOY_HOLDERS at most … */
	double holders_cpu;  /* … which use so much of a CPU together; 0 or less: not known */
	bool by_process;     /* another process ends the wait: the last hop names it */
	uint32_t tid;        /* the thread that should have enqueued */
	intern_id thread;
	intern_id last_thread;   /* the thread that the class is about … */
	uint32_t last_tid;       /* … 0 not known */
	const char *system_call; /* with most of the time; static, NULL … */
	const char *second_call; /* … and one with a quarter of it at least, NULL: the first stands for all */
	int32_t fd;
	intern_id path, file_system, device;
	intern_id frames[EVIDENCE_FRAMES];
	uint32_t frame_count;
	struct cause_hop hops[CAUSE_HOPS];
	uint32_t hop_count;
	struct cause_evidence evidence[CAUSE_EVIDENCE];
	uint32_t evidence_count;
	struct python_looks_answer python; /* of the thread that should have enqueued */
	uint64_t lost;     /* events of that time that were lost; the caller fills it in */
	bool forgotten;    /* likewise: older evidence of that time had to make room */
	char gpu_text[96]; /* classes gpu and throttle: what the GPU shows … */
	const char *gpu_advice; /* … and what to do; static */
};

/* tid 0: not known which thread should have enqueued. At most CAUSE_WINDOWS windows. */
void cause_find(const struct intern *intern, const struct process *process, uint32_t tid,
		const struct cause_window *windows, uint32_t window_count, struct cause *cause);
/* Did the process get on since from_ns: CPU time, finished system calls on files or sockets, waits for a disk? on_gpu: it
 * is its GPU that others wait for. Then a thread that computes, or would, may as well spin for the GPU, and what the one
 * that enqueued does is too late to matter: only others in files and disks count, whom the GPU may be waiting for. */
bool cause_progress(const struct intern *intern, const struct process *process, uint32_t tid, bool on_gpu,
		    uint64_t from_ns, uint64_t to_ns);

/* Has the thread waited on the same socket before, so that this wait ended by itself by ended_by_ns at the latest? Of a socket that
 * leads out of the process, as one of a data service: the cause's. */
bool cause_ended_before(const struct intern *intern, const struct process *process, const struct cause *cause, uint64_t ended_by_ns);

#endif
