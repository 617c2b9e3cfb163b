/* SPDX-License-Identifier: MIT */
/* Finds why a rank was late: from the evidence about its threads, a class and the share of the late time that it
 * explains. A wait for another thread of the process is followed to that thread, at most CAUSE_HOPS times.
 * docs/analysis.md, "Cause". */
#ifndef ANALYSIS_EXPLAIN_CAUSE_H
#define ANALYSIS_EXPLAIN_CAUSE_H

#include "analysis/host/evidence.h"
#include "analysis/known/job.h"
#include "analysis/host/python_looks.h"

enum {
	CAUSE_DOES = 160,
	CAUSE_HOPS = 3,
	CAUSE_WINDOWS = 16,
	CAUSE_EVIDENCE = 4,
};
#define CAUSE_SHARE_MIN    0.25 /* share of the windows that a class needs to be the cause */
/* without a waker: a thread whose file waits cover this share of the wait is taken for the waker */
#define CAUSE_INFERRED_MIN 0.5
/* Another class with this share of the first one's time may be the cause as well; samples miss more. */
#define CAUSE_NEAR_EXACT   0.8
#define CAUSE_NEAR_SAMPLED 0.5
#define CAUSE_ONE_PROCESS  0.75 /* the other process that ended this share of a class's waits is reported */

/* A period in which a rank made others wait. */
struct cause_window {
	uint64_t from_ns, to_ns;
};

struct cause_hop {
	uint32_t tid;
	intern_id thread;
	char waits_for[48];
	uint32_t waits_for_tid; /* or the pid of a process; 0: several, or not known */
	char does[CAUSE_DOES];  /* where it waits for a process: what that does meanwhile, "computes"; "" not known */
};

struct cause_evidence {
	uint64_t ns;
	enum rw_level level;
	const char *what;
};

struct cause {
	enum rw_cause_class class_;
	double share;        /* share of the windows; -1: nothing is known */
	enum rw_level level; /* level of the evidence for the class; RW_LEVEL_NONE = no evidence */
	enum rw_level seen;  /* best level at which the thread was observed in the windows */
	/* why the cause is likely at best: a hop without a waker, samples of a wait whose waker was not found, or
	 * another class with nearly as much of the time; static; NULL: it was seen */
	const char *inferred;
	bool idle;           /* the thread sleeps by its own call */
	bool convoy;         /* threads pass a lock on in short turns … */
	bool like_python;    /* … of 5 ms … */
	uint32_t holders;    /* … number of these threads, CONVOY_HOLDERS at most … */
	double holders_cpu;  /* … and the share of a CPU that they use together; 0 or less: not known */
	bool by_process;     /* another process ends the wait: the last hop names it … */
	bool fork_lock;      /* … and it waits for a lock that was held when it was forked */
	uint32_t tid;        /* the thread that should have enqueued */
	intern_id thread;
	intern_id last_thread;   /* the last thread of the chain, to which the class applies … */
	uint32_t last_tid;       /* … 0 not known */
	const char *system_call; /* the one with most of the time; static, or NULL … */
	const char *second_call; /* … and one with at least a quarter of it; NULL: the first stands for all */
	int32_t fd;
	intern_id path, file_system, device;
	intern_id frames[EVIDENCE_FRAMES];
	uint32_t frame_count;
	struct cause_hop hops[CAUSE_HOPS];
	uint32_t hop_count;
	struct cause_evidence evidence[CAUSE_EVIDENCE];
	uint32_t evidence_count;
	struct python_looks_answer python; /* of the thread that should have enqueued */
	uint64_t lost;     /* number of lost events of that time; the caller fills it in */
	bool forgotten;    /* older evidence of that time was dropped for room; the caller fills it in */
	bool queued;       /* NCCL's kernel had to wait for room: what filled its GPU meanwhile was not seen */
	char gpu_text[96]; /* classes gpu and throttle: what the GPU shows … */
	const char *gpu_advice; /* … and what to do; static */
};

/* Fills *cause for these windows, at most CAUSE_WINDOWS. tid is the thread that should have enqueued; 0: not known. */
void cause_find(const struct intern *intern, const struct process *process, uint32_t tid,
		const struct cause_window *windows, uint32_t window_count, struct cause *cause);
/* Whether the process has made progress between the two times: CPU time, finished system calls on files or sockets,
 * waits for a disk; or its child processes have (analysis/host/children.h).
 *
 * on_gpu: others wait for its GPU. Then a thread that computes, or is ready to, may just spin for the GPU, and what the
 * enqueuing thread does is too late to matter. So only other threads in files and disks count, for which the GPU may
 * wait. */
bool cause_progress(const struct intern *intern, const struct process *process, uint32_t tid, bool on_gpu,
		    uint64_t from_ns, uint64_t to_ns);

/* Whether the thread waits for its GPU, by the newest evidence about it between the two times. */
bool cause_is_in_driver(const struct intern *intern, const struct process *process, uint32_t tid, uint64_t from_ns,
			uint64_t to_ns);

/* Whether the thread has waited on the cause's socket before, in a wait that ended by itself by ended_by_ns at the
 * latest. The socket is one that leads out of the process, such as one of a data service. */
bool cause_ended_before(const struct intern *intern, const struct process *process, const struct cause *cause,
			uint64_t ended_by_ns);

#endif
