/* SPDX-License-Identifier: MIT */
/*
 * The analysis of one machine: it takes records in and emits findings. It is pure: it has no I/O, no clock, no threads
 * and no globals. The caller passes the time. The same code runs live in the collector, and with black boxes as its
 * only input in `rankwatch report`.
 *
 * - Order: records of different processes may come in any order; records of one process come in the order of their
 *   tickets.
 * - Ownership: the analysis copies what it is given. It keeps no pointer of the caller's.
 * - Memory is bounded: finished instances are forgotten after the history that the tests of docs/analysis.md need.
 * - One instance serves one job on one machine. All times are of one CLOCK_MONOTONIC, in ns where the name says _ns.
 * - It is not thread safe: one owner calls it.
 */
#ifndef ANALYSIS_ANALYSIS_H
#define ANALYSIS_ANALYSIS_H

#include <stdbool.h>
#include <stdint.h>

#include <rankwatch/blackbox.h>
#include <rankwatch/finding.h>

#include "analysis/known/absentee.h"

struct analysis;

/* The caller's number for one process (one black box), never reused within an analysis. */
typedef uint32_t analysis_process_id;

struct analysis_process {
	analysis_process_id id;
	int32_t pid;		/* in the reader's pid namespace */
	bool pid_unproven;      /* pid is from the box only: the writer could not be checked */
	bool past;              /* post mortem: it runs no more, whatever its box says of it at first */
	uint64_t start_time_ticks;
	const struct rw_box_header *box; /* copied: host, job, ranks, devices, watchdog, environment (RANKWATCH_MESH) */
};

/* State of a process. */
enum analysis_life {
	ANALYSIS_ALIVE,
	ANALYSIS_STOPPED,	/* all threads in T: SIGSTOP, debugger, frozen */
	ANALYSIS_EXITED,	/* ended through exit(): header.end says so, or its exit code was seen */
	ANALYSIS_KILLED,	/* ended by a signal, or its box is orphaned without an end mark */
};

/* Kind of evidence about a thread, which decides how exact it is. */
enum analysis_wait_kind {
	ANALYSIS_WAIT_INTERVAL,	  /* exact: the thread was in this one wait or system call from start to end */
	ANALYSIS_WAIT_RUN_QUEUE,  /* the thread was runnable without a CPU for run_queue_ns within [start, end] */
	ANALYSIS_WAIT_SAMPLE,	  /* sampled once, at end_ns; represents the time since the thread's previous sample */
	/* several waits within [start, end], blocked_ns in sum, each too short for an INTERVAL */
	ANALYSIS_WAIT_SHORT,
};

/* One piece of evidence about one thread. Strings may be "" when not known; all are copied. */
struct analysis_wait {
	analysis_process_id process;
	enum analysis_wait_kind kind;
	enum rw_level level; /* RW_LEVEL_SELF, _PROC, _ROOT, _EBPF */
	uint32_t tid;
	char thread[16];
	uint64_t start_ns, end_ns;
	uint64_t blocked_ns, run_queue_ns; /* SAMPLE: run_queue_ns is the thread's cumulative counter, 0 = not known */
	uint64_t longest_ns;		   /* the longest single wait, 0 = not known */
	uint64_t cpu_ns;		   /* SAMPLE: cumulative CPU time of the thread, 0 = not known */
	char state;			   /* R S D T t Z; 0 not known */
	int32_t system_call;		   /* number on this machine; -1 outside a system call; -2 not known */
	int32_t fd;			   /* -1 none */
	uint64_t device;		   /* makedev, 0 not known */
	char path[256];
	char file_system[16];
	char device_name[32];
	bool io_wait;
	bool out_of_process_wake; /* the waker is a thread of another process … */
	int32_t waker_pid;	  /* … which has this pid; 0 not known */
	uint32_t waker_tid;	  /* 0 = not known, or not reliable */
	char waker[16];
	char wait_channel[32];
	uint32_t frame_count;
	char frames[12][40]; /* kernel stack, innermost first, scheduler frames removed */
};

/* A function of a Python program. The texts are UTF-8 and come from the process itself. */
struct analysis_python_place {
	char function[64]; /* "Trainer.save"; "" not known */
	char file[96];     /* of a longer path only the end */
	int32_t line;      /* 0 not known */
};

enum { ANALYSIS_PYTHON_THREADS = 32 };

/* One sample of those threads of a process that its Python interpreter knows: docs/host-evidence.md, "Python". */
struct analysis_python {
	analysis_process_id process;
	uint64_t at_ns;
	uint32_t tid;	 /* the thread in question, for which others wait … */
	bool waits;	 /* … waited for the interpreter's lock */
	uint32_t holder; /* the thread that held this lock; 0 nobody, or not known */
	bool collecting; /* the garbage collector ran */
	uint32_t thread_count;
	struct {
		uint32_t tid;
		struct analysis_python_place inner; /* the innermost function */
		struct analysis_python_place own;   /* the innermost function that is not of a library */
	} threads[ANALYSIS_PYTHON_THREADS];
};

/* One sample of a process that is no rank of the job, taken while a thread of a rank waited for it or was about to. The
 * sampled thread is the one that ends such waits. Where that thread waits for a lock itself, it is the main thread. */
struct analysis_other {
	analysis_process_id process; /* of the rank */
	uint64_t at_ns;
	int32_t pid;
	uint32_t tid;
	uint32_t waiting_tid; /* the rank's thread that waited for it at that moment, as seen in the kernel; 0: none */
	char name[16];        /* of its main thread */
	bool is_child; /* its parent is the rank's process */
	/* it waits for a lock that another thread held when it was forked: nobody in it can release it */
	bool held_at_fork;
	char state;    /* from here on as in a struct analysis_wait of kind SAMPLE */
	int32_t system_call;
	uint64_t cpu_ns, run_queue_ns;
	char path[256];
};

/* What one of a process's descendants used between two readings. */
struct analysis_child {
	int32_t pid;     /* in the reader's pid namespace; 0: those that used most have ended */
	char name[16];   /* of its main thread */
	bool is_child;   /* false: a child of a child, or of one of those */
	uint64_t cpu_ns; /* its own, without that of its children … */
	uint64_t bytes;  /* … and what it read and wrote */
	bool in_disk;    /* it was in an uninterruptible wait (state D) at both readings */
};

/* What the child processes of a rank's process, and theirs in turn, used between two readings of /proc. */
struct analysis_children {
	analysis_process_id process; /* the rank's */
	uint64_t from_ns, at_ns;     /* the two readings */
	/* of all of them; cpu_ns also of those that ended in between and were waited for */
	uint64_t cpu_ns, bytes;
	bool in_disk;                /* one of them was in an uninterruptible wait at both readings */
	struct analysis_child busiest;
};

/* A process and thread that others wait for right now. The caller samples it (task iterator, /proc). */
struct analysis_suspect {
	analysis_process_id process;
	uint32_t tid;	   /* thread that should enqueue; 0 = not known: the caller samples all threads */
	uint64_t since_ns; /* others have waited since */
};

/* What keeps a GPU's clocks below their maximum: the bits of NVML (nvmlClocksEventReason…). */
enum analysis_clock_reason {
	ANALYSIS_CLOCK_IDLE = 0x1,
	ANALYSIS_CLOCK_APPLICATION = 0x2, /* set by nvidia-smi -ac, -lgc */
	ANALYSIS_CLOCK_POWER_CAP = 0x4,	  /* usual under full load */
	ANALYSIS_CLOCK_HW_SLOWDOWN = 0x8,
	ANALYSIS_CLOCK_SYNC_BOOST = 0x10,
	ANALYSIS_CLOCK_SW_THERMAL = 0x20,
	ANALYSIS_CLOCK_HW_THERMAL = 0x40,
	ANALYSIS_CLOCK_HW_POWER_BRAKE = 0x80,
};

/*
 * State of one GPU of this machine as NVML reported it at at_ns. Numbers are -1 where NVML does not report them. A
 * rank's GPU is found by its UUID, else by its PCI address. The ECC and NVLink counters never decrease (volatile: since
 * the driver was loaded).
 */
struct analysis_gpu_state {
	char uuid[48]; /* "GPU-…"; "" not known */
	char pci[24];  /* "0000:3b:00.0", any domain format and letter case; "" not known */
	uint64_t at_ns;
	int32_t index;	       /* NVML's number of it on this machine, or in this container */
	int64_t clock_reasons; /* enum analysis_clock_reason */
	int32_t sm_mhz, sm_mhz_max, celsius, watts, watts_cap;
	int64_t ecc_corrected, ecc_uncorrected;		  /* volatile */
	int64_t ecc_corrected_ever, ecc_uncorrected_ever; /* aggregate */
	int32_t remapped_rows;				  /* so far, corrected and uncorrected */
	int32_t remap_pending, remap_failure;		  /* 0, 1 */
	int64_t nvlink_errors;				  /* CRC, replay, recovery; all links */
	int64_t memory_used, memory_total;		  /* bytes */
	bool lost, needs_reset;				  /* NVML returned NVML_ERROR_GPU_IS_LOST, _RESET_REQUIRED */
};

/* State at at_ns of the control group that limits a process's memory most. hits never decreases. */
struct analysis_memory_state {
	analysis_process_id process;
	uint64_t at_ns;
	uint64_t group; /* identifies the group: equal for its processes, not 0 */
	uint64_t limit; /* bytes, not 0 */
	uint64_t held;  /* bytes in use that are not page cache, so that they can only be swapped */
	uint64_t hits;  /* how often an allocation met the limit */
	bool full;      /* it is full now; for kernels without the counter: version 1 on Linux 6.18 */
};

enum analysis_gpu_source { ANALYSIS_GPU_NVML, ANALYSIS_GPU_KERNEL_LOG };

/* One Xid event. An Xid is NVIDIA's number for an error that the driver reports. */
struct analysis_gpu_event {
	enum analysis_gpu_source source;
	char uuid[48], pci[24]; /* as in struct analysis_gpu_state */
	uint64_t at_ns;		/* from the kernel log: its clock is exact to milliseconds */
	uint32_t xid;
	int32_t pid;	/* as the kernel numbers it; -1 not reported */
	char text[128]; /* the driver's text; "": NVML has none */
};

/* Counters of a network port of this machine; none ever decreases. The values are in black boxes, so new ones are
 * appended. collector/sources/machine/port_files.c and pause_counters.c have the files and names that they are read
 * from; docs/host-evidence.md, "Network ports", says what they mean. */
enum analysis_port_counter {
	ANALYSIS_PORT_DOWNED, /* the link went down */
	ANALYSIS_PORT_RECOVERED, /* the link was retrained without going down */
	ANALYSIS_PORT_SYMBOL_ERRORS,
	ANALYSIS_PORT_INTEGRITY_ERRORS,
	ANALYSIS_PORT_OVERRUNS,
	ANALYSIS_PORT_CHECKSUM_ERRORS,
	ANALYSIS_PORT_RECEIVE_ERRORS,
	ANALYSIS_PORT_REMOTE_ERRORS,
	ANALYSIS_PORT_SEND_ERRORS,
	ANALYSIS_PORT_SEND_DISCARDS,
	ANALYSIS_PORT_ACK_TIMEOUTS,
	ANALYSIS_PORT_OUT_OF_SEQUENCE,
	ANALYSIS_PORT_SEQUENCE_NAKS,
	ANALYSIS_PORT_RECEIVE_DROPS,
	ANALYSIS_PORT_SEND_WAITS,
	ANALYSIS_PORT_ECN_MARKED,
	ANALYSIS_PORT_CNP_SENT,
	ANALYSIS_PORT_CNP_HANDLED,
	ANALYSIS_PORT_ADAPTIVE_RESENT,
	ANALYSIS_PORT_ADAPTIVE_TIMEOUTS,
	ANALYSIS_PORT_RECEIVER_NOT_READY,
	ANALYSIS_PORT_TCP_RESENT, /* segments retransmitted by all connections of the host */
	/* pause frames, of the link and of priorities (PFC): the network asks this host to wait … */
	ANALYSIS_PORT_PAUSES_RECEIVED,
	ANALYSIS_PORT_PAUSES_SENT,     /* … and this host the network */
	ANALYSIS_PORT_PAUSED_US,       /* how long the port was told to pause, summed over priorities */
	ANALYSIS_PORT_COUNTERS,
};

/* State of one port of this machine, as the kernel reported it at at_ns. */
struct analysis_port_state {
	char name[32];  /* of the RDMA device or the network interface, "mlx5_2", "eth0" */
	/* port number of the RDMA device, from 1; 0: a network interface, or the host's TCP as a whole */
	int32_t number;
	char model[32]; /* model of its adapter; "" not known */
	uint64_t at_ns;
	bool active;
	int64_t mbit_s; /* -1 not known */
	int64_t counts[ANALYSIS_PORT_COUNTERS]; /* -1: the port has no such counter */
};

/* What one channel to or from a peer has waited for since the caller's previous record of it: docs/black-box.md,
 * "Network waits". */
struct analysis_network {
	analysis_process_id process;
	uint32_t index; /* of the process's communicator */
	int32_t peer;	/* rank in the communicator */
	uint8_t channel;
	bool sends;
	uint64_t gpu_ns, peer_ns, network_ns;
	uint64_t from_ns, to_ns; /* the period that the record covers */
};

/* A communicator for which network detail is needed now. The caller writes a lease for it into this process's box. */
struct analysis_detail {
	analysis_process_id process;
	uint64_t comm;
};

/* What the caller has found of a rank for which others wait in the init of a communicator. */
enum analysis_absence {
	ANALYSIS_ABSENT_UNKNOWN, /* it may be on another host */
	ANALYSIS_ABSENT_NONE,    /* it belongs on this host, but no process of it has been seen: it may still start */
	ANALYSIS_ABSENT_ENDED,   /* a process of it was seen here, and it has ended */
	ANALYSIS_ABSENT_STOPPED,
	ANALYSIS_ABSENT_IDLE, /* since the last sample its processes used no CPU time, and read and wrote nothing */
	ANALYSIS_ABSENT_BUSY,
};

struct analysis_absentee {
	int32_t world_rank, pid; /* pid 0: none; ENDED: pid of the process that was seen */
	uint32_t tid;            /* its main thread, in the process's own pid namespace; 0: not known */
	enum analysis_absence absence;
};

/* Called for each opened, updated and closed finding. The analysis owns the finding, which is valid during the call
 * only. */
typedef void analysis_emit(void *argument, const struct rw_finding *finding);

/* One instance of a communicator that is in flight, or else the last that finished, for `report`. */
struct analysis_flight {
	uint64_t comm;
	const char *comm_name;
	int32_t comm_size; /* 0 not known */
	uint8_t function;
	uint64_t sequence;
	uint8_t dtype;
	uint64_t count;
	const int32_t *joined; /* world ranks that have enqueued it */
	const char *const *joined_phase; /* parallel to `joined`: "enqueued", "launched", "running", "done" */
	size_t joined_count;
	const int32_t *missing; /* ranks of the communicator that were seen in the job and had not enqueued it */
	size_t missing_count;
	int32_t unseen; /* ranks of the communicator of which no box was seen; -1 not known */
};
typedef void analysis_flight_visit(void *argument, const struct analysis_flight *flight);

/* Why no finding names a rank for which others waited. */
enum analysis_unnamed {
	ANALYSIS_NAMED,            /* a finding does, or did */
	ANALYSIS_UNNAMED_STEPS,    /* no steps were seen that can be compared, and rows of time do not show it */
	ANALYSIS_UNNAMED_SHORT,    /* fewer than the tests take at least */
	ANALYSIS_UNNAMED_EARLY,    /* so few that not every lateness is judged */
	ANALYSIS_UNNAMED_SPREAD,   /* a little in each operation: its rows do not show it yet, or no longer */
	ANALYSIS_UNNAMED_LITTLE,   /* in no step as late as the tests take at least */
	ANALYSIS_UNNAMED_FEW,      /* in too few steps */
	ANALYSIS_UNNAMED_UNSURE,   /* it is suspected, and what it costs is not confirmed */
	ANALYSIS_UNNAMED_ONE,      /* one other rank shows too little of what is usual */
	ANALYSIS_UNNAMED_CHANCE,   /* it does not stand out from the others */
};

/* A rank for which the others waited at least 5 % of the time, and more than is usual. */
struct analysis_loss {
	int32_t rank;	/* world rank; -1 not known */
	double share;	/* of the others' time */
	/* share and steps are lower bounds: some of the ranks' time is unseen, and they may have waited there, too */
	bool at_least;
	bool spread_out; /* it is a little late in each operation: its steps and causes are not known */
	uint64_t steps, of_steps; /* it was late in `steps` of `of_steps` steps; 0 not known */
	double step_ms;	/* lateness in each of these steps, on average */
	enum rw_late_kind by; /* whether its host or its device was late; none: not known */
	/* where its host was late: the cause that the finding about it shows; without one, that in the last of these
	 * steps */
	enum rw_cause_class cause_class;
	char cause[96], path[256]; /* "fsync(2)"; "" not known */
	/* the finding is not `certain`; without one: the cause was inferred, or is what is left of its evidence */
	bool likely;
	enum analysis_unnamed unnamed; /* why no finding names it … */
	/* … and the number of steps that the tests have seen since steps were numbered anew */
	uint64_t compared;
};

enum { ANALYSIS_LOSSES = 3, ANALYSIS_TURNS = 4 /* ranks that are named */ };

/* Waiting that goes round: the others waited now for one rank, now for another, and for none of them much more often
 * than for the next one. Each time for ACCOUNT_TOLD_NS (analysis/match/account.h) or longer in one step. */
struct analysis_turns {
	uint32_t times;      /* how often; 0: it does not go round, or is too little */
	uint64_t of_steps;
	double share;        /* of the ranks' time */
	bool at_least;       /* as of a loss */
	double each_ms;      /* average of a turn */
	uint32_t rank_count; /* number of ranks that were waited for */
	struct {
		int32_t rank; /* world rank; -1 not known */
		uint32_t times;
	} ranks[ANALYSIS_TURNS]; /* those for which they waited most often */
	enum rw_late_kind by;            /* as of a loss, in most of the time */
	enum rw_cause_class cause_class; /* of most ranks of which one is known; UNKNOWN: none is that of most … */
	uint32_t caused, seen;           /* … of how many ranks, and of how many one is known */
	bool likely;                     /* it is inferred of some of these */
	char cause[96];
	uint32_t collecting;             /* of `caused`: in their late time Python collected garbage */
	/* Of Python, where all of `caused` of which one is known were in this; "" not known: */
	char function[96], file[160];
	int32_t line;
};

/* How the ranks spent their time, as shares of all of it: own work, waiting for other ranks, transfers, and unseen
 * time. `nobody` is the part of `wait` of which it is not known for whom. */
struct analysis_account {
	bool known;
	double own, wait, transfer, unseen, nobody;
	bool left_out; /* most time is unseen, mainly because sampling left GPU progress out of small operations */
	struct analysis_loss losses[ANALYSIS_LOSSES]; /* the largest first */
	uint32_t loss_count;
	struct analysis_turns turns; /* only where loss_count is 0 */
};

enum { ANALYSIS_LOSS_RANKS = 64, ANALYSIS_STAGES_MAX = 256 };

/* Which ranks compute the loss of a pipelined job. */
struct analysis_pipeline {
	bool sends;         /* some rank sends to another, or receives: there may be a pipeline */
	uint32_t pipelines; /* number of parallel pipelines; 0: none, or not known */
	int32_t stages;     /* number of ranks of one pipeline */
	bool open;          /* `ranks` includes the ranks where the pipeline begins, too, because it may end there */
	bool likely;        /* false: certain */
	int32_t ranks[ANALYSIS_LOSS_RANKS]; /* world ranks, ascending; -1: number not known … */
	uint32_t rank_count;
	bool more;          /* … and there are more */
	int32_t lowest;     /* the lowest of all of them … */
	char host[64];      /* … its host … */
	int32_t local_rank; /* … and its local rank there; -1 not known */
};

enum analysis_memory_course { ANALYSIS_MEMORY_UNKNOWN, ANALYSIS_MEMORY_FLAT, ANALYSIS_MEMORY_GROWS };

/* How the memory in use on the ranks' GPUs changed, as NVML reported it. It is about the GPU that will be full first,
 * or else about the GPU whose memory had grown most before it stayed constant. Steps are 0 where they are not known. */
struct analysis_gpu_memory {
	enum analysis_memory_course course;
	int32_t rank; /* world rank; -1 not known */
	int64_t used, total, grown; /* bytes; FLAT: it has grown by `grown` up to … */
	uint64_t until_step;        /* … this step (GROWS: since this step), and then … */
	uint64_t steps;             /* … this many steps have passed, … */
	double seconds;             /* … or this many seconds */
	double bytes_per_s, full_in_s;
	uint64_t full_at_step; /* GROWS: at this rate */
};

enum { ANALYSIS_FIRST_STEPS = 16, ANALYSIS_LONG_STEPS = 16 };

enum analysis_part { ANALYSIS_OWN, ANALYSIS_WAIT, ANALYSIS_TRANSFER, ANALYSIS_UNSEEN, ANALYSIS_PARTS };

/* Single steps that took clearly longer than the others. */
struct analysis_long_steps {
	uint64_t count;
	uint64_t steps[ANALYSIS_LONG_STEPS]; /* the newest of them, ascending */
	uint32_t kept;
	/* all kept steps are this many steps apart; 0: they are not, or fewer than three are kept */
	uint64_t every;
	double ms;           /* median of them */
	double share;        /* share of all time that they took beyond the usual … */
	/* … and how that divides by enum analysis_part, as shares, averaged over the ranks */
	double parts[ANALYSIS_PARTS];
	/* minimum number of operations that each rank called in each of them and that other steps lack */
	uint32_t operations;
};

/* Which steps took longer than the others, and whether a rank caused that. Steps have the numbers that reports use. */
struct analysis_step_course {
	uint64_t known;       /* number of steps that are known individually; 0: none */
	double usual_ms;      /* median of them … */
	double quarter_ms[2]; /* … and the quartiles: a quarter of them is shorter, a quarter longer */
	bool uneven;          /* they vary too much to say which are long */
	uint64_t first;       /* number of the very first step; 0: it is not known, or the steps after it are not */
	/* durations of the first steps, which took clearly longer than usual … */
	double first_ms[ANALYSIS_FIRST_STEPS];
	uint32_t first_count; /* … this many, until the first step that did not */
	/* after the first steps: those without and those with operations that other steps lack */
	struct analysis_long_steps longs[2];
};

enum analysis_pace_course {
	ANALYSIS_PACE_UNKNOWN, /* too few steps are known */
	ANALYSIS_PACE_STEADY,  /* no lasting growth is distinguishable from noise */
	ANALYSIS_PACE_LONGER,  /* from some step on they take longer */
	ANALYSIS_PACE_GROWS,   /* from some step on each takes longer than the one before */
};

/* Whether the job's steps have become longer lastingly. It is about the job: all ranks may have become slower
 * together. */
struct analysis_pace {
	enum analysis_pace_course course;
	uint64_t known;         /* number of steps that it is based on, approximately */
	uint64_t since_step;    /* LONGER, GROWS: the step where that begins; 0: GROWS from the first step on */
	uint64_t step;          /* the newest that was judged */
	/* duration of a step before since_step, or of the first step where it grows from there on … */
	double before_ms;
	double now_ms;          /* … and now */
	double ms_per_step;     /* GROWS */
	double late_share;      /* share of the added time by which the rank that is late most has become later */
	/* GROWS: when the longest wait of a step reaches the shortest watchdog, if both continue; all 0: no such
	 * forecast. */
	double wait_ms, wait_ms_per_step;
	double watchdog_ms;
	char watchdog_from[32];
	uint64_t watchdog_step; /* in that step … */
	double watchdog_in_s;   /* … this long after `step` */
};

#define ANALYSIS_NO_RANK UINT32_MAX

/* How one rank spent its time between two moments of its own host's clock. */
struct analysis_stretch {
	/* numbered from 0 in order of appearance; a process with several devices has several ranks */
	uint32_t rank;
	int32_t world_rank; /* -1 not known yet */
	analysis_process_id process;
	enum analysis_part part;
	uint32_t waited_for; /* WAIT: the rank waited for, numbered like `rank`; ANALYSIS_NO_RANK not known */
	uint64_t from_ns, until_ns;
	uint64_t step; /* 0 not known */
};

/* The stretches of one rank come in order of time and do not overlap. All stretches come some 0.5 s late. */
typedef void analysis_time_visit(void *argument, const struct analysis_stretch *stretch);

/* The totals that `run` prints at the end and `report` at the top. */
struct analysis_summary {
	uint32_t processes; /* of the present life of the job; all other fields cover all lives */
	uint32_t communicators;
	int32_t ranks_total;	/* -1 unknown */
	uint64_t operations, untracked, dropped;
	uint64_t one_sided;	/* of `untracked`: ncclPutSignal, ncclSignal, ncclWaitSignal */
	uint64_t captured;	/* calls captured into CUDA graphs whose replays have no times */
	/* calls dropped to free memory before all ranks had ended them: no rank was judged by them */
	uint64_t forgotten;
	uint64_t steps;		/* steps recognised so far */
	/* number of the newest, which is the program's own where it numbers its steps; -1 not known */
	int64_t step;
	double step_ms, first_step_ms; /* median of the last few steps, and of the first; -1 not known */
	uint32_t findings_opened; /* from `warning` up */
	uint32_t xids;		  /* Xids of the ranks' GPUs during the run, as far as they are kept */
};

/* Makes an analysis, which the caller frees with analysis_free(). NULL on lack of memory. `emit` is called with
 * `argument` from within the calls below. post_mortem: the boxes are the only input, and processes without an end mark
 * are dead. */
struct analysis *analysis_new(bool post_mortem, analysis_emit *emit, void *argument);
void analysis_free(struct analysis *analysis);

/* From now on `visit` is called with each stretch that the account is made of. NULL, the default: nothing is called. */
void analysis_watch_time(struct analysis *analysis, analysis_time_visit *visit, void *argument);

/* Adds a process. Returns 0, -ENOMEM, or -EINVAL: a field is out of range, the record is dropped, and the caller
 * reports that in one line.
 *
 * Live, a process of a rank that was there before begins another life of the job if all other processes are dead. Then
 * open findings are closed, and the earlier processes are forgotten except for their part of the summary's sums. */
int analysis_add_process(struct analysis *analysis, const struct analysis_process *process);
/* Updates what the box's header has got since the process was added: devices, NCCL, and which of profiler interface and
 * interposer reports its calls. Call it before each communicator. Returns 0 or -EINVAL. */
int analysis_set_box(struct analysis *analysis, analysis_process_id process, const struct rw_box_header *box);
/* Adds or updates entry `index` of the process's communicator table. */
int analysis_add_communicator(struct analysis *analysis, analysis_process_id process, uint32_t index,
			      const struct rw_communicator *communicator);
/* Adds or updates the operation with the slot's ticket. Call it again whenever the slot was seen to change. `slot` is a
 * private copy of the caller's, not the mapped box. */
int analysis_add_operation(struct analysis *analysis, analysis_process_id process, const struct rw_operation *slot);
/* The words gpu_started and gpu_done of a communicator as read from the GPU page at now_ns (post-mortem: their final
 * values). */
int analysis_add_progress(struct analysis *analysis, analysis_process_id process, uint32_t index,
			  uint64_t gpu_started, uint64_t gpu_done, uint64_t now_ns);
int analysis_add_wait(struct analysis *analysis, const struct analysis_wait *wait);
/* Adds a Python sample. Returns 0, -ENOMEM, or -EINVAL: there is no such process. */
int analysis_add_python(struct analysis *analysis, const struct analysis_python *seen);
/* Adds a sample of another process. Returns 0, -ENOMEM, or -EINVAL: there is no such process. */
int analysis_add_other(struct analysis *analysis, const struct analysis_other *seen);
/* Adds what the child processes of a rank used. Returns 0, -ENOMEM, or -EINVAL: there is no such process, or no time
 * between the two readings. */
int analysis_add_children(struct analysis *analysis, const struct analysis_children *seen);
/* `count` events of processes on this host, waits or samples, were lost between two times (CLOCK_MONOTONIC). */
void analysis_add_loss(struct analysis *analysis, uint64_t from_ns, uint64_t to_ns, uint64_t count);
int analysis_add_network(struct analysis *analysis, const struct analysis_network *network);
/* Sets the state of a process. exit_status is as from wait(2), -1: not known. at_ns: when it happened or was
 * noticed. */
int analysis_set_life(struct analysis *analysis, analysis_process_id process, enum analysis_life life, int exit_status,
		      uint64_t at_ns);
/* What scanning has done in the process so far, and how much time the plugin has used. */
struct analysis_scanning {
	uint64_t buffers;  /* with a result */
	uint64_t left_out; /* operations that were not scanned to limit the cost */
	uint64_t host_ns, gpu_ns;
	uint64_t callback_ns; /* time of the job's threads in the plugin's callbacks: sampled and scaled */
};
/* Returns -EINVAL where the process is not known. */
int analysis_set_scanning(struct analysis *analysis, analysis_process_id process,
			  const struct analysis_scanning *scanning);
/* What the box shows of the communicator's waits for signals: in which place of its table, and its part of the GPU
 * page. Returns -EINVAL where it is not known. */
int analysis_set_signals(struct analysis *analysis, analysis_process_id process, uint32_t index,
			 const struct rw_gpu_progress *page);
/* How many of the process's operations its box does not show, as the header counts them by now. Returns -EINVAL where
 * the process is not known. */
int analysis_set_gaps(struct analysis *analysis, analysis_process_id process, const struct rw_box_header *box);
/* What interrupted the process or its recording up to until_ns: when it did not run, and since when NCCL's event mask
 * has hidden operations. Call it before the operations up to then are added: what is judged is not judged anew. Returns
 * -EINVAL where the process is not known. */
int analysis_set_interruptions(struct analysis *analysis, analysis_process_id process, const struct rw_box_header *box,
			       uint64_t until_ns);
/* The process itself was still running at at_ns, by the heartbeat of its box. */
int analysis_set_heartbeat(struct analysis *analysis, analysis_process_id process, uint64_t at_ns);
/* Its heart has not beaten for half a second: it has no processor, or was stopped. The caller samples it, so that a
 * rank that was stopped itself is not taken for one that waits. */
bool analysis_is_silent(const struct analysis *analysis, analysis_process_id process, uint64_t now_ns);
/* The process had ended by by_ns, and nothing more will be learned of how. Call it after its analysis_set_life(); not
 * where boxes are the only input. */
int analysis_set_left(struct analysis *analysis, analysis_process_id process, uint64_t by_ns);

/* The plugin itself has been in the driver call `call` during the program's init since since_ns; NULL: it is in none.
 * `remedy` says how to avoid the call; the string must stay valid. */
int analysis_set_held(struct analysis *analysis, analysis_process_id process, const char *call, const char *remedy,
		      uint64_t since_ns);

/* The latest state of a GPU; twice a second is often enough. Returns 0, -ENOMEM, or -EINVAL: it has neither UUID nor
 * PCI address. */
int analysis_add_gpu_state(struct analysis *analysis, const struct analysis_gpu_state *state);
/* Adds an Xid event. Returns 0, -ENOMEM, or -EINVAL: it has neither UUID nor PCI address. Events with the same number
 * within 5 s, from any source, are one Xid. */
int analysis_add_gpu_event(struct analysis *analysis, const struct analysis_gpu_event *event);
/* The state of a port, every few seconds, in order of time. Returns 0, -EINVAL: it has no name, or is older than the
 * port's previous state; or -ENOMEM, also beyond a bound on the number of ports that no machine reaches. */
int analysis_add_port_state(struct analysis *analysis, const struct analysis_port_state *state);
/* The kernel log reports that the OOM killer has killed this process of this machine. pid is that of the kernel log. */
void analysis_add_oom_kill(struct analysis *analysis, int32_t pid, uint64_t at_ns);
/* The state of a process's memory limit, about once a second. Returns 0, -EINVAL or -ENOMEM. */
int analysis_add_memory_state(struct analysis *analysis, const struct analysis_memory_state *state);
/* NVML has been in one call since since_ns; 0: it is in none. A long call is reported as a notice. */
void analysis_set_gpu_silence(struct analysis *analysis, uint64_t since_ns);
/* The communicator init call that this process is in; since_ns 0: it is in none (any more). */
int analysis_set_init(struct analysis *analysis, analysis_process_id process, const struct rw_init *init);
/* What the caller has found of a rank of analysis_absentees(). Call it at least once a second for each. */
void analysis_set_absentee(struct analysis *analysis, const struct analysis_absentee *absentee, uint64_t now_ns);

/* The caller itself has not run for a while before now_ns, and what it looks at may not have either: waits count from
 * now on. */
void analysis_resume(struct analysis *analysis, uint64_t now_ns);

/* Advances the time: evaluates what depends on time (hangs), emits and closes findings. Call it at least twice a second
 * when live. */
void analysis_tick(struct analysis *analysis, uint64_t now_ns);
/* Call this after everything from black boxes was added, if their processes have just been seen alive. A process that
 * waits in the init of a communicator leaves no sign of life in its box, but has waited until now. */
void analysis_report_inits(struct analysis *analysis, uint64_t now_ns);

/* Fills at most `room` suspects. Returns how many there are. */
size_t analysis_suspects(const struct analysis *analysis, struct analysis_suspect *suspects, size_t room);

/* Fills at most `room` communicators for which network detail is needed. Returns how many there are. Call it about once
 * a second: a lease that is not renewed expires. */
size_t analysis_wanted_details(const struct analysis *analysis, struct analysis_detail *details, size_t room);
/* Fills at most `room` world ranks for which others wait in the init of a communicator, and which do not wait
 * themselves, ascending. Returns how many there are. They may have no black box: the caller searches for their
 * processes. */
size_t analysis_absentees(const struct analysis *analysis, int32_t *world_ranks, size_t room);
/* Fills at most `room` world ranks that are missing in the init with this id (struct rw_init), or were when all
 * processes had ended, ascending, as far as they are known; also those that wait elsewhere. Returns how many it has
 * filled in. */
size_t analysis_init_missing(const struct analysis *analysis, uint64_t id, int32_t *world_ranks, size_t room);

/* Visits the oldest unfinished instance of each communicator, in order of their start. */
void analysis_visit_flights(const struct analysis *analysis, analysis_flight_visit *visit, void *argument);
void analysis_summarise(const struct analysis *analysis, struct analysis_summary *summary);
/* How the ranks spent their time so far. It searches for causes, too, so call it at the end, not every second. */
void analysis_tell_account(const struct analysis *analysis, struct analysis_account *told);

/* Which ranks compute the loss of a pipelined job. Call it at the end, too. */
void analysis_tell_pipeline(const struct analysis *analysis, struct analysis_pipeline *told);

/* How the memory in use on the ranks' GPUs changed. */
void analysis_tell_gpu_memory(const struct analysis *analysis, struct analysis_gpu_memory *told);

/* Which steps took longer. Needs the time of each rank step by step: analysis_keep_cells(). */
void analysis_tell_step_course(const struct analysis *analysis, struct analysis_step_course *told);

/* Whether the steps have become longer. It takes some ten milliseconds: call it at the end, or on request. */
void analysis_tell_pace(const struct analysis *analysis, struct analysis_pace *told);

/* Emits each open finding again as RW_FINDING_OPEN, for a new listener or a restarted collector. */
void analysis_replay_open(struct analysis *analysis);

#endif
