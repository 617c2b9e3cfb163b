/* SPDX-License-Identifier: MIT */
/*
 * A job of the fault suite, drawn from a number: how its ranks are connected, how their times vary, and what is wrong
 * with it. The truth that verdicts are held against; shares nothing with analysis/.
 */
#ifndef SUITE_DRAW_H
#define SUITE_DRAW_H

#include <stdbool.h>
#include <stddef.h>

enum suite_shape {
	SHAPE_SHARDED, /* FSDP: AllGathers and ReduceScatters of the world */
	SHAPE_BUCKETS, /* DDP: AllReduces of the world */
	SHAPE_HYBRID,  /* HSDP: sharded in groups, AllReduces between these */
	SHAPE_TENSOR,  /* tensor parallel groups, ReduceScatters between these */
	SHAPE_STAGES,  /* a pipeline and its replicas */
	SHAPES,
};

enum suite_tail { TAIL_NORMAL, TAIL_HEAVY, TAIL_LOG_NORMAL, TAILS };

/* What is unusual about a job and nobody's fault. */
enum suite_habit {
	HABIT_NONE,
	HABIT_CHECKPOINT, /* every 40 steps all hosts are busy for two steps' time */
	HABIT_EVALUATION, /* every 50 steps operations of its own */
	HABIT_EXPERTS,	  /* another rank in each step takes 30 % longer */
	HABIT_RAMP,	  /* steps become twice as long (sequence length) */
	HABIT_COLLECTION, /* each rank's host stops for 60 ms, in steps of its own choice, one in 100 */
	HABIT_ONCE,	  /* one host stops for 2 s, once */
	HABITS,
};

enum suite_fault {
	FAULT_HEALTHY,
	/* late: */
	FAULT_EVERY_STEP,
	FAULT_FROM_START,
	FAULT_CREEP,	/* grows for 100 steps */
	FAULT_ONE_IN,	/* one step in `every` */
	FAULT_BLOCKS,	/* ten steps of fifty */
	FAULT_TWO,	/* ranks at once */
	FAULT_BY_TURNS, /* two ranks, each every other step */
	FAULT_HOST,	/* all ranks of one */
	FAULT_SPREAD,	/* its GPU is slower at everything */
	/* ends: */
	FAULT_NEVER,	/* is alive, stands still, and does not come */
	FAULT_STOPPED,
	FAULT_KILLED,
	FAULT_EXITED,
	FAULT_COUNT,	/* calls with another count */
	FAULT_SKIP,	/* leaves out a call */
	/* nobody's: */
	FAULT_EVERYBODY, /* becomes slower alike */
	FAULT_TRANSFERS, /* between hosts take longer */
	FAULTS,
};

/* Where a late rank loses its time, and what is to be seen of that. */
enum suite_cause {
	CAUSE_UNSEEN_HOST, /* nobody looks at its threads */
	CAUSE_FSYNC,	   /* its main thread, eBPF */
	CAUSE_WRITER,	   /* the main thread waits for another one, which is in fsync; eBPF */
	CAUSE_RUN_QUEUE,   /* no CPU; eBPF */
	CAUSE_UNSEEN_GPU,  /* NVML is not there */
	CAUSE_THROTTLED,   /* NVML says so */
	CAUSES,
};

struct suite_draw {
	unsigned seed;
	enum suite_shape shape;
	int ranks, width, layers; /* width: of a group, or stages */
	int per_host;
	bool apart;		  /* each host has a collector of its own, and the job is judged by their messages */
	bool alike;		  /* all layers have operations of one size */
	double step_ms;
	int steps;
	double noise, lasts;	  /* share of the step; how much of it is left a step later */
	enum suite_tail tail;
	bool noise_of_hosts;
	double differences;	  /* ranks differ for good by up to this, either way */
	enum suite_habit habit;
	enum suite_fault fault;
	enum suite_cause cause;
	int fault_step, rank, other; /* other: -1 none */
	int every;
	double times; /* as much as counts: 20 ms or 3 % of the time, 4 % where it is spread, 5 % of transfers */
	double ms;    /* of one late step */
	int place;    /* operation of the step at which it ends */
};

/* Ranks: at most so many. */
struct suite_draw suite_faulty(unsigned seed, int most_ranks);
struct suite_draw suite_healthy(unsigned seed, int most_ranks);
/* One of three numbers is that of a healthy job. */
struct suite_draw suite_draw(unsigned seed, int most_ranks);

/* How long a step of the job takes without a fault, ms. */
double suite_step_ms(const struct suite_draw *draw);
bool suite_is_at_fault(const struct suite_draw *draw, int rank);
/* What the fault adds to this step of this rank, ms. */
double suite_late_ms(const struct suite_draw *draw, int rank, int step);
const char *suite_fault_name(enum suite_fault fault);
const char *suite_shape_name(enum suite_shape shape);
/* One line: shape, ranks, noise, fault. */
void suite_describe(const struct suite_draw *draw, char *text, size_t room);

#endif
