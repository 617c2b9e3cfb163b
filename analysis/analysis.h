/* SPDX-License-Identifier: MIT */
/*
 * Records in, findings out. Pure: no I/O, no clock, no threads, no globals; the caller says what time it is.
 * The same code runs live in the collector and from black boxes alone in `rankwatch report`.
 *
 * Feed it in any order between processes; within a process in order of tickets. Nothing that is passed in is kept by
 * pointer. Memory is bounded: finished instances are forgotten after the history that the tests of docs/analysis.md need.
 * One instance serves one job on one machine (all times on one CLOCK_MONOTONIC). Not thread safe: one owner.
 */
#ifndef ANALYSIS_ANALYSIS_H
#define ANALYSIS_ANALYSIS_H

#include <stdbool.h>
#include <stdint.h>

#include <rankwatch/blackbox.h>
#include <rankwatch/finding.h>

struct analysis;

/* The caller's number for one process (one black box), never reused within an analysis. */
typedef uint32_t analysis_process_id;

struct analysis_process {
	analysis_process_id id;
	int32_t pid;		/* as the reader sees it */
	bool pid_unproven;      /* the box says so, and its writer could not be looked at */
	uint64_t start_time_ticks;
	const struct rw_box_header *box; /* copied: host, job, ranks, devices, watchdog, environment (RANKWATCH_MESH) */
};

/* What became of a process. */
enum analysis_life {
	ANALYSIS_ALIVE,
	ANALYSIS_STOPPED,	/* all threads in T: SIGSTOP, debugger, frozen */
	ANALYSIS_EXITED,	/* left through exit(): header.end says so, or its exit code was seen */
	ANALYSIS_KILLED,	/* ended by a signal, or its box is orphaned without an end mark */
};

/* Where evidence about a thread came from, and what it is worth. */
enum analysis_wait_kind {
	ANALYSIS_WAIT_INTERVAL,	  /* exact: the thread was in this one wait or system call from start to end */
	ANALYSIS_WAIT_RUN_QUEUE,  /* run_queue_ns within [start, end] spent runnable without a CPU */
	ANALYSIS_WAIT_SAMPLE,	  /* seen once at end_ns; stands for the time since the thread's previous sample */
	ANALYSIS_WAIT_SHORT,	  /* waits within [start, end], blocked_ns in sum, each too short for an interval */
};

/* One piece of evidence about one thread. Strings may be "" when not known; all are copied. */
struct analysis_wait {
	analysis_process_id process;
	enum analysis_wait_kind kind;
	enum rw_level level; /* RW_LEVEL_SELF, _PROC, _ROOT, _EBPF */
	uint32_t tid;
	char thread[16];
	uint64_t start_ns, end_ns;
	uint64_t blocked_ns, run_queue_ns; /* SAMPLE: run_queue_ns = cumulative counter of the thread, 0 = not known */
	uint64_t longest_ns;		   /* of one of its waits, 0 = not known */
	uint64_t cpu_ns;		   /* SAMPLE: cumulative CPU time of the thread, 0 = not known */
	char state;			   /* R S D T t Z; 0 not known */
	int32_t system_call;		   /* number on this machine; -1 outside a system call; -2 not known */
	int32_t fd;			   /* -1 none */
	uint64_t device;		   /* makedev, 0 not known */
	char path[256];
	char file_system[16];
	char device_name[32];
	bool io_wait;
	bool out_of_process_wake; /* the waker is a task of another process … */
	int32_t waker_pid;	  /* … of this one; 0 not known */
	uint32_t waker_tid;	  /* 0 = not known or not to be believed */
	char waker[16];
	char wait_channel[32];
	uint32_t frame_count;
	char frames[12][40]; /* kernel stack, innermost first, scheduler frames removed */
};

/* Text is UTF-8, from the process itself. */
struct analysis_python_place {
	char function[64]; /* "Trainer.save"; "" not known */
	char file[96];     /* a longer path lost its beginning */
	int32_t line;      /* 0 not known */
};

enum { ANALYSIS_PYTHON_THREADS = 32 };

/* One look at the threads of a process that Python's interpreter knows: docs/host-evidence.md, "Python". */
struct analysis_python {
	analysis_process_id process;
	uint64_t at_ns;
	uint32_t tid;	 /* the thread that was asked about, which others wait for … */
	bool waits;	 /* … waited for the interpreter's lock */
	uint32_t holder; /* the thread that held this lock; 0 nobody, or not known */
	bool collecting; /* garbage was collected */
	uint32_t thread_count;
	struct {
		uint32_t tid;
		struct analysis_python_place inner; /* the innermost function */
		struct analysis_python_place own;   /* the innermost that is no library's */
	} threads[ANALYSIS_PYTHON_THREADS];
};

/* One look at a process that is no rank of the job, while a thread of a rank waited for it or was about to. Of its threads
 * the one that ends such waits, or, where that waits for a lock itself, the main thread. */
struct analysis_other {
	analysis_process_id process; /* of the rank */
	uint64_t at_ns;
	int32_t pid;
	uint32_t tid;
	uint32_t waiting_tid; /* the rank's thread that the kernel showed to be waiting for it at that moment; 0: none */
	char name[16];        /* of its main thread */
	bool is_child; /* its parent is the rank's process */
	char state;    /* and these as in a struct analysis_wait of kind SAMPLE */
	int32_t system_call;
	uint64_t cpu_ns, run_queue_ns;
	char path[256];
};

/* A process and thread that others wait for right now: the caller looks at it (task iterator, /proc). */
struct analysis_suspect {
	analysis_process_id process;
	uint32_t tid;	   /* thread that should enqueue; 0 = not known, look at all */
	uint64_t since_ns; /* others have waited since */
};

/* What holds a GPU's clocks below their maximum: NVML's bits (nvmlClocksEventReason…). */
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
 * One GPU of this machine as NVML showed it at at_ns. Numbers are -1 where NVML does not tell. A rank's GPU is found by
 * its UUID, else by its PCI address. The ECC and NVLink counters only ever rise (volatile: since the driver was loaded).
 */
struct analysis_gpu_state {
	char uuid[48]; /* "GPU-…"; "" not known */
	char pci[24];  /* "0000:3b:00.0", domain and case as they come; "" not known */
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
	bool lost, needs_reset;				  /* NVML refuses: NVML_ERROR_GPU_IS_LOST, _RESET_REQUIRED */
};

/* The control group that limits a process's memory most, at at_ns; hits only ever rises. */
struct analysis_memory_state {
	analysis_process_id process;
	uint64_t at_ns;
	uint64_t group; /* equal for processes of one group, not 0 */
	uint64_t limit; /* bytes, not 0 */
	uint64_t held;  /* bytes of it that are no page cache: they can be swapped at best */
	uint64_t hits;  /* how often it was full when more was wanted */
	bool full;      /* is so now, where nobody counts: version 1 on Linux 6.18 */
};

enum analysis_gpu_source { ANALYSIS_GPU_NVML, ANALYSIS_GPU_KERNEL_LOG };

/* An Xid, NVIDIA's number for an error that the driver reports. */
struct analysis_gpu_event {
	enum analysis_gpu_source source;
	char uuid[48], pci[24]; /* as above */
	uint64_t at_ns;		/* kernel log: its clock is good to milliseconds */
	uint32_t xid;
	int32_t pid;	/* as the kernel numbers it; -1 not told */
	char text[128]; /* the driver's words; "" NVML has none */
};

/* What a port of this machine's network has counted; each only ever rises. Their numbers stand in black boxes: new ones come last. Which files: collector/sources/port_files.c; what
 * they mean: docs/host-evidence.md, "Network ports". */
enum analysis_port_counter {
	ANALYSIS_PORT_DOWNED, /* the link went down */
	ANALYSIS_PORT_RECOVERED, /* … or was trained anew without going down */
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
	ANALYSIS_PORT_TCP_RESENT, /* by all of the host's connections */
	ANALYSIS_PORT_COUNTERS,
};

/* One port of this machine as the kernel showed it at at_ns. */
struct analysis_port_state {
	char name[32];  /* of the RDMA device or the network interface, "mlx5_2", "eth0" */
	int32_t number; /* of the RDMA device's ports, from 1; 0: a network interface, or the host's TCP as a whole */
	char model[32]; /* of its adapter; "" not known */
	uint64_t at_ns;
	bool active;
	int64_t mbit_s; /* -1 not known */
	int64_t counts[ANALYSIS_PORT_COUNTERS]; /* -1: it has no such counter */
};

/* What one channel to or from a peer has waited for since the caller told of it last: docs/black-box.md, "Network waits". */
struct analysis_network {
	analysis_process_id process;
	uint32_t index; /* of the process's communicator */
	int32_t peer;	/* rank in the communicator */
	uint8_t channel;
	bool sends;
	uint64_t gpu_ns, peer_ns, network_ns;
	uint64_t from_ns, to_ns; /* the time in which it did */
};

/* A communicator of which network detail is wanted now: the caller leases it from this process. */
struct analysis_detail {
	analysis_process_id process;
	uint64_t comm;
};

/* What is to be seen of a rank that others wait for in the init of a communicator. */
enum analysis_absence {
	ANALYSIS_ABSENT_UNKNOWN, /* it may be on another host */
	ANALYSIS_ABSENT_NONE,    /* it belongs on this host, and no process of it has been seen: it may come yet */
	ANALYSIS_ABSENT_ENDED,   /* a process of it was seen here, and there is none any more */
	ANALYSIS_ABSENT_STOPPED,
	ANALYSIS_ABSENT_IDLE, /* its processes took no CPU time, and read and wrote nothing, since the last look */
	ANALYSIS_ABSENT_BUSY,
};

struct analysis_absentee {
	int32_t world_rank, pid; /* 0: none; ENDED: the one that was seen */
	uint32_t tid;            /* its main thread, as the process itself numbers it; 0: not known */
	enum analysis_absence absence;
};

/* The number of an absentee's process: there is no box of it that could be added. analysis_add_wait() and
 * analysis_add_python() take it while others wait for the rank, and analysis_suspects() tells it. */
#define ANALYSIS_ABSENT_PROCESS 0xC0000000u
static inline analysis_process_id analysis_absent_process(int32_t world_rank)
{
	return ANALYSIS_ABSENT_PROCESS | (analysis_process_id)world_rank;
}

/* Called for each opened, updated and closed finding. The finding is the analysis's; copy or write it at once. */
typedef void analysis_emit(void *argument, const struct rw_finding *finding);

/* One instance in flight or the last finished of a communicator, for `report`. */
struct analysis_flight {
	uint64_t comm;
	const char *comm_name;
	int32_t comm_size; /* 0 not known */
	uint8_t function;
	uint64_t sequence;
	uint8_t dtype;
	uint64_t count;
	const int32_t *joined; /* world ranks that enqueued it */
	const char *const *joined_phase; /* beside `joined`: "enqueued", "launched", "running", "done" */
	size_t joined_count;
	const int32_t *missing; /* ranks of the communicator that were seen in the job and had not enqueued it */
	size_t missing_count;
	int32_t unseen; /* ranks of the communicator of which no box was seen; -1 not known */
};
typedef void analysis_flight_visit(void *argument, const struct analysis_flight *flight);

/* A rank that the others waited for, at least 5 % of the time and more than is usual. */
struct analysis_loss {
	int32_t rank;	/* -1 not known which number it has */
	double share;	/* of the others' time */
	bool at_least;	/* of share and steps: some of the ranks' time is unseen, and they may have waited there, too */
	bool spread_out; /* a little in each operation: of steps and causes nothing is known */
	uint64_t steps, of_steps; /* in so many of so many steps; 0 not known */
	double step_ms;	/* in each of these, on average */
	enum rw_late_kind by; /* its host or its device; none: not known */
	enum rw_cause_class cause_class; /* of a host, in the last of them */
	char cause[96], path[256]; /* "fsync(2)"; "" not known */
};

enum { ANALYSIS_LOSSES = 3 };

/* Where the ranks' time went, as shares of all of it: own work, waiting for other ranks (of it `nobody`: it is not known
 * for whom), transfers, and what nobody saw. */
struct analysis_account {
	bool known;
	double own, wait, transfer, unseen, nobody;
	bool left_out; /* most is unseen, mostly of small operations whose turn was not to have GPU progress */
	struct analysis_loss losses[ANALYSIS_LOSSES]; /* the largest first */
	uint32_t loss_count;
};

enum { ANALYSIS_LOSS_RANKS = 64, ANALYSIS_STAGES_MAX = 256 };

/* Which ranks compute the loss of a pipelined job. */
struct analysis_pipeline {
	bool sends;         /* some rank sends to another, or receives: there may be one */
	uint32_t pipelines; /* side by side; 0: none, or nothing is known of it */
	int32_t stages;     /* ranks of one of them */
	bool open;          /* `ranks` holds those where it begins, too: it may end there */
	bool likely;        /* else certain */
	int32_t ranks[ANALYSIS_LOSS_RANKS]; /* world ranks, ascending; -1 not known which number it has … */
	uint32_t rank_count;
	bool more;          /* … and others */
	int32_t lowest;     /* of all of them … */
	char host[64];      /* … the host … */
	int32_t local_rank; /* … and the number there; -1 not known */
};

enum analysis_memory_course { ANALYSIS_MEMORY_UNKNOWN, ANALYSIS_MEMORY_FLAT, ANALYSIS_MEMORY_GROWS };

/* How memory in use of the ranks' GPUs went, as NVML saw it: of the one that is full soonest, or else that has taken most
 * before it stayed as it is. Steps are 0 where they are not known. */
struct analysis_gpu_memory {
	enum analysis_memory_course course;
	int32_t rank; /* -1 not known which number it has */
	int64_t used, total, grown; /* bytes; FLAT: it has grown by so much up to … */
	uint64_t until_step;        /* … this step (GROWS: since), and then … */
	uint64_t steps;             /* … so many went by, … */
	double seconds;             /* … or so long */
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
	uint64_t every;      /* as many steps lie between all that are kept; 0: not so, or fewer than three */
	double ms;           /* median of them */
	double share;        /* of all time: what they took beyond the usual … */
	double parts[ANALYSIS_PARTS]; /* … and shares of that, by enum analysis_part, on average over the ranks */
	uint32_t operations; /* that each rank called in each of them and that other steps lack: the least */
};

/* Which steps took longer than the others, and whether that was a rank's doing. Steps are those whose numbers are told. */
struct analysis_step_course {
	uint64_t known;       /* steps that are known one by one; 0: nothing is known */
	double usual_ms;      /* median of them … */
	double quarter_ms[2]; /* … a quarter of them is shorter, a quarter longer */
	bool uneven;          /* they differ too much to say which are long */
	uint64_t first;       /* number of the first of all; 0 not known, or those behind it are not */
	double first_ms[ANALYSIS_FIRST_STEPS]; /* of the first steps, which took clearly longer than usual … */
	uint32_t first_count; /* … so many, until one did not */
	struct analysis_long_steps longs[2]; /* behind the first: without and with operations that other steps lack */
};

enum analysis_pace_course {
	ANALYSIS_PACE_UNKNOWN, /* too few steps are known */
	ANALYSIS_PACE_STEADY,  /* no lasting growth can be told from noise */
	ANALYSIS_PACE_LONGER,  /* since a step they take longer */
	ANALYSIS_PACE_GROWS,   /* since a step each takes longer than the one before */
};

/* Whether the job's steps have become longer for good. It is about the job: all ranks may have become slower together. */
struct analysis_pace {
	enum analysis_pace_course course;
	uint64_t known;         /* steps that it rests on, about */
	uint64_t since_step;    /* LONGER, GROWS; 0: GROWS from the first one on */
	uint64_t step;          /* the newest that was judged */
	double before_ms;       /* a step before; of the first one where it grows from there on … */
	double now_ms;          /* … and now */
	double ms_per_step;     /* GROWS */
	double late_share;      /* of what they take longer: the rank that is late most is so by as much more */
	/* GROWS: when the longest wait of a step reaches the shortest watchdog, if both go on; all 0: not foreseen. */
	double wait_ms, wait_ms_per_step;
	double watchdog_ms;
	char watchdog_from[32];
	uint64_t watchdog_step; /* in that step … */
	double watchdog_in_s;   /* … so long after `step` */
};

#define ANALYSIS_NO_RANK UINT32_MAX

/* What one rank's time went to between two moments of its own host's clock. */
struct analysis_stretch {
	uint32_t rank;      /* numbered from 0 as they appear; a process with several devices has several */
	int32_t world_rank; /* -1 not known yet */
	analysis_process_id process;
	enum analysis_part part;
	uint32_t waited_for; /* WAIT: the rank, numbered as above; ANALYSIS_NO_RANK not known */
	uint64_t from_ns, until_ns;
	uint64_t step; /* 0 not known */
};

/* Stretches of a rank come in order of time and do not overlap; those of all ranks some 0.5 s late. */
typedef void analysis_time_visit(void *argument, const struct analysis_stretch *stretch);

/* What `run` prints at the end and `report` at the top. */
struct analysis_summary {
	uint32_t processes; /* of the present life of the job; all else is of all of them */
	uint32_t communicators;
	int32_t ranks_total;	/* -1 unknown */
	uint64_t operations, untracked, dropped, captured;
	uint64_t forgotten;	/* calls of a group that made room before all its ranks had ended them: nobody was judged by them */
	uint64_t steps;		/* steps recognised so far */
	double step_ms, first_step_ms; /* median of the last few steps, and of the first; -1 not known */
	uint32_t findings_opened; /* from `warning` up */
	uint32_t xids;		  /* of the ranks' GPUs in the time of the run, as far as they are kept */
};

/* NULL on lack of memory. post_mortem: the boxes are all there is; processes without an end mark are dead. */
struct analysis *analysis_new(bool post_mortem, analysis_emit *emit, void *argument);
void analysis_free(struct analysis *analysis);

/* Calls visit with each stretch that the account is made of, from now on. NULL (at first): nobody. */
void analysis_watch_time(struct analysis *analysis, analysis_time_visit *visit, void *argument);

/* 0 or -ENOMEM, -EINVAL (field out of range: said in one line by the caller, the record is dropped). Live, a process of a
 * rank that was there before, when all others are dead, begins another life of the job: what was open is closed, and the
 * earlier processes are forgotten but for their share of the summary's sums. */
int analysis_add_process(struct analysis *analysis, const struct analysis_process *process);
/* What the box's header says later than when the process was added: devices, NCCL and by whom its calls come. Before each
 * communicator. 0 or -EINVAL. */
int analysis_set_box(struct analysis *analysis, analysis_process_id process, const struct rw_box_header *box);
/* Upsert of entry `index` of the process's communicator table. */
int analysis_add_communicator(struct analysis *analysis, analysis_process_id process, uint32_t index,
			      const struct rw_communicator *communicator);
/* Upsert by ticket: call again whenever the slot was seen to change. `slot` is a private copy. */
int analysis_add_operation(struct analysis *analysis, analysis_process_id process, const struct rw_operation *slot);
/* The GPU page's words of a communicator as read at now_ns (post-mortem: the last ones there will ever be). */
int analysis_add_progress(struct analysis *analysis, analysis_process_id process, uint32_t index,
			  uint64_t gpu_started, uint64_t gpu_done, uint64_t now_ns);
int analysis_add_wait(struct analysis *analysis, const struct analysis_wait *wait);
/* 0, -EINVAL: no such process, or -ENOMEM. */
int analysis_add_python(struct analysis *analysis, const struct analysis_python *seen);
/* 0, -EINVAL: no such process, or -ENOMEM. */
int analysis_add_other(struct analysis *analysis, const struct analysis_other *seen);
/* `count` events of processes on this host, waits or samples, were lost between two times (CLOCK_MONOTONIC). */
void analysis_add_loss(struct analysis *analysis, uint64_t from_ns, uint64_t to_ns, uint64_t count);
int analysis_add_network(struct analysis *analysis, const struct analysis_network *network);
/* exit_status as in wait(2), -1 not known. at_ns: when it happened or was noticed. */
int analysis_set_life(struct analysis *analysis, analysis_process_id process, enum analysis_life life, int exit_status,
		      uint64_t at_ns);
/* The process itself still ran then: its box's heartbeat. */
/* What scanning has done in the process so far, and what the plugin has taken of it. -EINVAL where the process is not known. */
struct analysis_scanning {
	uint64_t buffers;  /* with a result */
	uint64_t left_out; /* operations, for the sake of cost */
	uint64_t host_ns, gpu_ns;
	uint64_t callback_ns; /* of the job's threads, in the plugin's callbacks: sampled and scaled */
};
int analysis_set_scanning(struct analysis *analysis, analysis_process_id process, const struct analysis_scanning *scanning);
int analysis_set_heartbeat(struct analysis *analysis, analysis_process_id process, uint64_t at_ns);
/* It had ended by then, and no more will be known of how: after its analysis_set_life(). Not from boxes alone. */
int analysis_set_left(struct analysis *analysis, analysis_process_id process, uint64_t by_ns);

/* A driver call of the plugin itself in the program's init, seen since since_ns; NULL: it is in none. remedy: what leaves it
 * out, a string that stays. */
int analysis_set_held(struct analysis *analysis, analysis_process_id process, const char *call, const char *remedy,
		      uint64_t since_ns);

/* The latest state of a GPU, twice a second is often enough. 0, -EINVAL without any address, or -ENOMEM. */
int analysis_add_gpu_state(struct analysis *analysis, const struct analysis_gpu_state *state);
/* 0, -EINVAL without any address, or -ENOMEM. The same number within 5 s, from whichever source, is one Xid. */
int analysis_add_gpu_event(struct analysis *analysis, const struct analysis_gpu_event *event);
/* Every few seconds, in order of time. 0, -EINVAL: no name, or older than its last; -ENOMEM: also beyond so many ports that
 * no machine has. */
int analysis_add_port_state(struct analysis *analysis, const struct analysis_port_state *state);
/* The kernel log says that the OOM killer has killed this process of this machine; pid: as the kernel numbers it. */
void analysis_add_oom_kill(struct analysis *analysis, int32_t pid, uint64_t at_ns);
/* About once a second. 0, -EINVAL or -ENOMEM. */
int analysis_add_memory_state(struct analysis *analysis, const struct analysis_memory_state *state);
/* NVML has been in one call since then; 0: in none. A long one is told as a notice. */
void analysis_set_gpu_silence(struct analysis *analysis, uint64_t since_ns);
/* The call that makes a communicator, in which this process is; since_ns 0: in none (any more). */
int analysis_set_init(struct analysis *analysis, analysis_process_id process, const struct rw_init *init);
/* What the caller found of a rank of analysis_absentees(), at least once a second. */
void analysis_set_absentee(struct analysis *analysis, const struct analysis_absentee *absentee, uint64_t now_ns);

/* Lets time pass: evaluates what only time can show (hangs), emits, closes. Call at least twice a second when live. */
void analysis_tick(struct analysis *analysis, uint64_t now_ns);
/* After everything of black boxes, when processes of theirs have just been seen to live: who waits in the init of a communicator gives no
 * sign of life there, but has waited until now. */
void analysis_tell_births(struct analysis *analysis, uint64_t now_ns);

/* Fills at most `room` suspects; returns how many there are. */
size_t analysis_suspects(const struct analysis *analysis, struct analysis_suspect *suspects, size_t room);

/* Likewise: what detail is wanted of whom. Ask about once a second; what is not renewed lapses. */
size_t analysis_wanted_details(const struct analysis *analysis, struct analysis_detail *details, size_t room);
/* World ranks for which others wait in the init of a communicator of the whole world, ascending, at most `room`; returns
 * how many there are. They may have no black box: the caller looks for their processes. */
size_t analysis_absentees(const struct analysis *analysis, int32_t *world_ranks, size_t room);

/* Visits the oldest unfinished instance of each communicator, in order of their start. */
void analysis_visit_flights(const struct analysis *analysis, analysis_flight_visit *visit, void *argument);
void analysis_summarise(const struct analysis *analysis, struct analysis_summary *summary);
/* Looks for causes, too: at the end, not every second. */
void analysis_tell_account(const struct analysis *analysis, struct analysis_account *told);

/* The same: at the end. */
void analysis_tell_pipeline(const struct analysis *analysis, struct analysis_pipeline *told);

void analysis_tell_gpu_memory(const struct analysis *analysis, struct analysis_gpu_memory *told);

/* As far as the time of each rank was kept step by step: analysis_keep_cells(). */
void analysis_tell_step_course(const struct analysis *analysis, struct analysis_step_course *told);

/* Takes some ten milliseconds: at the end, or when somebody asks. */
void analysis_tell_pace(const struct analysis *analysis, struct analysis_pace *told);

/* Re-announces every open finding as RW_FINDING_OPEN (a new listener, a restarted collector). */
void analysis_replay_open(struct analysis *analysis);

#endif
