/* SPDX-License-Identifier: MIT */
/*
 * Synthetic histories for the tests of the analysis: a training job of synchronous steps with a host that runs ahead of
 * its GPU, faults, and the evidence that samplers would have seen. Played into an analysis in order of time.
 */
#ifndef TESTS_UNIT_ANALYSIS_JOBS_HISTORY_H
#define TESTS_UNIT_ANALYSIS_JOBS_HISTORY_H

#include "analysis/analysis.h"

enum {
	HISTORY_FAULTS = 8,
	HISTORY_FINDINGS = 256,
	HISTORY_BASE_MS = 1000, /* the job starts then */
};

enum history_fault_kind {
	FAULT_NONE,
	FAULT_HOST,      /* the rank's host stalls by `ms` before its first AllGather of each step */
	FAULT_HOST_EACH, /* … before every operation */
	FAULT_DEVICE,    /* its GPU takes `ms` longer in each step */
	FAULT_ALL,       /* every rank's host stalls (checkpoint) */
	FAULT_GPU_STUCK, /* its GPU comes to nothing any more from the first step on, while its host launches that step
			  */
	FAULT_ENDLESS,   /* its GPU does not end the first operation of the first step, which all others end; with `ms`
			  * its   host enqueues nothing more */
	FAULT_NEVER,     /* does not join from the first step on */
	FAULT_DIES,      /* is killed `ms` after the first step began there, whatever it has launched by then */
	FAULT_KILLED,
	FAULT_EXITED,
	FAULT_STOPPED,
	FAULT_TRANSFER, /* every transfer of the first communicator takes `ms`; with expert parallelism, that of each
			   group's tokens */
	FAULT_FULL, /* NCCL's first kernel of each step waits `ms` for room on the rank's GPU, which other kernels fill;
		       INFINITY: for ever */
	FAULT_COUNT,  /* calls the first AllGather of each step with twice the count, which changes nothing else */
	FAULT_KERNEL, /* its GPU takes `ms` longer in each step, and its host is seen to wait for it */
};

/* What the samplers see of a host stall. */
enum history_evidence {
	EVIDENCE_NOTHING,
	EVIDENCE_FSYNC,         /* the thread itself, with BPF */
	EVIDENCE_FSYNC_WRITER,  /* futex; the waker is tb-writer, which is in fsync; BPF */
	EVIDENCE_FSYNC_GUESSED, /* same, sampled through /proc: no waker */
	EVIDENCE_FSYNC_SELF,    /* same, the box's own samples */
	EVIDENCE_LOCK,          /* futex, the waker holds the lock and sleeps; BPF */
	EVIDENCE_RUN_QUEUE,     /* runnable without a CPU */
	EVIDENCE_SLEEP,         /* sampled in nanosleep */
	EVIDENCE_BUSY,          /* sampled running, with CPU time */
	EVIDENCE_POLL,          /* sampled in poll(2) on a file of NVIDIA's driver */
	EVIDENCE_SOCKET,        /* sampled in recv(2) from a data service */
	EVIDENCE_PIPE,          /* sampled in read(2) from a pipe */
	EVIDENCE_SLEEP_SEEN,    /* clock_nanosleep from its beginning to its end; BPF */
	EVIDENCE_SLEEP_AFTER,   /* sampled in nanosleep once it has launched; what it did before was not seen */
};

struct history_fault {
	enum history_fault_kind kind;
	int rank;
	int first_step, last_step; /* counted from 1; last 0 = to the end */
	double ms;
	enum history_evidence evidence;
	int every; /* only each so many steps; 0 = each … */
	int turn;  /* … of these those that leave this remainder */
	double more_ms; /* with each step behind the first one `ms` grows by so much */
};

/* What NCCL does in the tensor parallel groups, that nobody sees. */
enum history_hidden {
	HIDDEN_NOTHING,
	HIDDEN_CAPTURED,   /* in CUDA graphs */
	HIDDEN_UNTRACKED,
	HIDDEN_UNFOLLOWED, /* their turn is not to have GPU progress */
};

struct history_job {
	int ranks, steps, layers;
	int tensor_parallel; /* ranks per TP group; 0 = none */
	int expert_parallel; /* ranks that send tokens to each other's experts, and back, in each layer (AlltoAll); 0 = none */
	enum history_hidden hidden;
	bool pipeline;       /* stages of one rank each, instead of layers */
	double compute_ms;   /* per layer and pass */
	double jitter_ms;    /* uniform, per layer, of the GPU */
	double stall_chance; /* that one rank's host stalls in a step for up to stall_ms */
	double stall_ms;
	double noise_ms;     /* each rank's GPU takes so much longer in a step, log-normal with sigma 1, … */
	double noise_lasts;  /* … and this much of its logarithm stays from one step to the next: 0 to below 1 */
	double tail_chance;  /* that one rank's host stalls in a step, for at least stall_ms: Pareto with 1.5 */
	double uneven_ms;    /* another rank in each step takes so much longer (MoE) */
	bool runs_ahead; /* the host never waits for its GPU */
	bool no_gpu_times;
	bool one_sided;          /* its boxes have counted ncclWaitSignal and the like */
	bool kernel_times;       /* NCCL reports when kernels begin and end (KernelCh), each GPU by a clock of its own … */
	int kernel_times_lack;   /* … of all ranks but this one; 0: of all */
	int kernel_times_wrong;  /* … of this rank from step 10 on those of a later kernel; 0: of none */
	double queue_ms;         /* each kernel waits up to so long for room */
	double skew_ms;          /* ends of an operation are so far apart, from the first rank to the last */
	int sampled; /* of one operation in so many, alike on all ranks, the GPU's progress is known; 0 = of all */
	unsigned paused;     /* ranks, a bit each, that call a step's last operation after a pause: it has GPU progress
				there all the same */
	bool sampled_firsts; /* only of the first operation of a step, which comes after a pause */
	bool no_sizes; /* NCCL does not tell how many ranks a communicator has */
	bool no_world; /* nor does the launcher */
	int seen;      /* ranks with a black box; 0 = all */
	bool swapped;  /* of rank 1 the communicator is told before that of rank 0, whose process came first */
	int hosts;     /* 0 = 1 */
	unsigned seed;
	/* What the rank's program calls a step as it begins; HISTORY_UNMARKED: it does not say. NULL: none does. */
	uint64_t (*number)(int rank, int step);
	double tail_ms; /* time that passes after the last operation */
	double watchdog_ms[8]; /* of each rank; 0 = 100 s. Not known: below 0 */
	struct history_fault faults[HISTORY_FAULTS];
};

#define HISTORY_UNMARKED UINT64_MAX

struct history_finding {
	char id[24];
	enum rw_finding_state state;
	enum rw_severity severity;
	enum rw_confidence confidence;
	enum rw_kind kind;
	enum rw_scope scope;
	enum rw_level level;
	enum rw_cause_class class_;
	enum rw_late_kind late_kind;
	enum rw_phase phase;
	int rank, rank_count, last_rank;
	double lost_ms, lost_share, share, left_ms, wait_grows_ms, reached_in_ms;
	long reached_step;
	long since_step, step;
	uint64_t time_ns;
	size_t waiting_count, chain_count, missing_count;
	char missing[512];
	char children[160]; /* evidence of its child processes */
	char text[256], cause_text[96], advice[160], comm_name[96], waits_for[48], path[256];
};

struct history;

struct history *history_new(const struct history_job *job);
void history_free(struct history *history);
/* Plays what happened since the last call up to until_ms with a tick every 100 ms; until_ms 0 = all of it. */
void history_play(struct history *history, struct analysis *analysis, double until_ms);
/* What a collector does that starts late: reads one box after the other up to this moment, and ticks in between. */
void history_catch_up(struct history *history, struct analysis *analysis, double until_ms);
/* Findings emitted so far by an analysis made with history_emit and this history. */
void history_emit(void *argument, const struct rw_finding *finding);
const struct history_finding *history_findings(const struct history *history, size_t *count);
/* Start of a step's first operation on the fastest rank, ms; and the end of everything. */
double history_step_ms(const struct history *history, int step);
double history_end_ms(const struct history *history);
/* When the first fault of kind never, killed, exited, stopped, stuck struck. */
double history_struck_ms(const struct history *history);

#endif
