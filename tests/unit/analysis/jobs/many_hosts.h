/* SPDX-License-Identifier: MIT */
/*
 * A job on many hosts: each host has an analysis and a node half of its own, with a clock of its own; what they send is
 * shuffled, some of it lost, and taken by one job half. Made record by record from a model that shares nothing with
 * analysis/.
 */
#ifndef TESTS_UNIT_ANALYSIS_JOBS_MANY_HOSTS_H
#define TESTS_UNIT_ANALYSIS_JOBS_MANY_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rankwatch/message.h>

#include "analysis/job/job_half.h"

enum many_hosts_shape {
	MANY_FLAT,     /* one communicator of all ranks, layer by layer (FSDP) */
	MANY_MESH,     /* tensor parallelism inside of a group, data parallelism from group to group; nothing joins all
			* ranks */
	MANY_PIPELINE, /* a stage is a group: rank i of one sends to rank i of the next; replicas reduce, stage by stage */
	MANY_CUBE,     /* as a pipeline, with tensor parallelism inside of each group: TP × PP × DP */
	MANY_HYBRID,   /* sharded inside of a group, layer by layer, and each layer's gradients reduced from group to
			* group (HSDP) */
	MANY_TWICE,    /* two communicators of all ranks, used in turn */
};

enum many_hosts_fault {
	MANY_HEALTHY,
	MANY_SLOW_RANK,
	MANY_SLOW_HOST,      /* all its ranks */
	MANY_ALL_SLOWER,
	MANY_HALF_SLOWER,    /* every other host */
	MANY_HUNG,           /* the rank calls nothing any more */
	MANY_STOPPED,
	MANY_KILLED,
	MANY_HOST_LOST,      /* its ranks and its collector */
	MANY_COLLECTOR_LOST, /* only that */
	MANY_DESYNC,         /* the rank makes another call than the others, once */
	MANY_LINK,           /* what all have come to does not end */
	MANY_OTHER_CALL,     /* the rank makes another call than the others, once, and all goes on */
	MANY_HALF_OTHER,     /* so do all ranks of every other host */
	MANY_PAUSE,          /* the rank does something else for `pause_s`, and goes on */
	MANY_TWO_SLOW,       /* the rank, and another one */
	MANY_OTHER_BITS,     /* the rank has another result of each operation that spans hosts, as far as it is scanned */
	MANY_SLOW_LINK,      /* what the rank takes part in from group to group takes longer, for all who take part */
	MANY_FULL_GPU,       /* other kernels fill the rank's GPU: its stream comes in time, and NCCL's kernel begins later */
	MANY_SENDS,          /* pipeline: each stage sends to the next one, the last one to the first, and none has received */
	MANY_CIRCLE,         /* mesh and twice: of two communicators, every other rank calls the second one's operation
			      * first */
};

/* Where the slow rank works longer. */
enum many_hosts_place {
	MANY_ALL_OVER,    /* before each operation before which it works */
	MANY_BEFORE_DATA, /* before what replicas share, from group to group */
	MANY_BEFORE_SEND, /* before it sends to the next stage */
};

struct many_hosts_job {
	int hosts, per_host, stages; /* stages: of a pipeline, each a group */
	int width;                   /* ranks of a group (tensor parallel, or a shard); 0: those of a host */
	enum many_hosts_shape shape;
	int operations;              /* of a step; micro-batches of a pipeline */
	double step_ms;              /* without its transfers */
	int train, evaluate;         /* flat: after so many steps so many passes forward only; 0: never */
	double jitter;               /* of each operation's work: uniform, this share of it */
	double noise, lasts;         /* of a rank in a step: standard deviation, and what is left of it in the next */
	double differences;          /* ranks differ for good by up to this, either way … */
	double host_differences;     /* … and hosts, with all their ranks, by up to this */
	double uneven;               /* the last stage works so much longer than the first */
	double starved_ms;           /* while the rank waits, its plugin gets no CPU for so long between two polls; 0:
				      * as all others */
	int sampled;                 /* of one operation in so many there is GPU progress; 0: of all */
	int scanned;                 /* the result of one operation in so many is scanned; 0: of none */
	bool evidence;               /* somebody looks at the threads of who stands: it sleeps */
	bool in_fsync;               /* what a slow rank does longer, its host does, in fsync(2); whoever its host
				      * suspects is looked at */
	bool some_sleep;             /* with in_fsync: every second rank sleeps instead */
	bool second_thread;          /* launches all but the first calls, as autograd's does; the main thread is what is
				      * looked at */
	bool throttled;              /* the GPU of the slow rank is too hot, as its host sees; … */
	bool one_throttled;          /* … of a slow host only that of its first rank */
	enum many_hosts_fault fault;
	int rank;                    /* whose, or of the host's */
	int other_rank;              /* of two */
	bool broadcasts;             /* in each step the first of the ranks that hold the same parameters broadcasts and
				      * goes on: what it sends is buffered */
	bool kernel_times;           /* NCCL reports when its kernels began and ended */
	bool beside;                 /* mesh: what replicas share is on a stream of its own; its kernel has no room
				      * while one of the group's waits */
	double slow;                 /* by this share of its work; a slow link and a full GPU by this share of the step */
	enum many_hosts_place place;
	double at_s, pause_s, seconds;
	double lose;                 /* this share of the batches never comes … */
	double delay_ms;             /* … and the others come so much later, at most */
	double twice;                /* this share of them comes once more, as late */
	bool mixed;                  /* the messages of each batch come in another order than they were written in */
	bool deaf;                   /* hosts hear nothing of what they are asked */
	bool mute;                   /* hosts report none of their own findings, so that only the job half judges */
	double drop;                 /* this share of the calls is seen by no collector */
	double join_s;               /* the collector of the first host comes so late; 0: in time */
	int interposed;              /* so many hosts see a call in each step that is announced to nobody */
	double restart_s;            /* the collector of the first host starts anew; 0 never */
	int generation;
	uint32_t watchdog_ms;        /* of all ranks but the fault's; 0: 600 s as its own */
	unsigned seed;
};

enum { MANY_FINDINGS = 64, MANY_RANKS = 64 };

struct many_hosts_finding {
	enum rw_finding_state state;
	enum rw_kind kind;
	enum rw_scope scope;
	enum rw_standing standing;
	enum rw_severity severity;
	enum rw_confidence confidence;
	enum rw_late_kind late_kind;
	enum rw_cause_class class_;
	int32_t ranks[MANY_RANKS];
	size_t rank_count, waiting_count;
	double at_s, share;
	char host[64], text[512], cause[96], evidence[512];
};

struct many_hosts_result {
	struct many_hosts_finding findings[MANY_FINDINGS];
	size_t count; /* of the job half, in their order */
	uint64_t erred; /* sequence of the other call that the rank made */
	size_t asked, answered; /* asks of the job half, and pieces of answers that were sent */
	struct many_hosts_finding of_nodes[MANY_FINDINGS];
	size_t node_count; /* of the hosts' own analyses, those from warning up that are not inconclusive, as they were
			    * opened */
	struct job_half_summary summary;
	size_t bytes;
	uint64_t sent_messages, sent_bytes, longest;
};

void many_hosts_play(const struct many_hosts_job *job, struct many_hosts_result *result);
/* The first of these that is not closed, of this kind; NULL none. From `warning` up, if `told`. */
const struct many_hosts_finding *many_hosts_find(const struct many_hosts_result *result, enum rw_kind kind, bool told);
/* How many name somebody from warning up, and are not inconclusive. */
size_t many_hosts_accused(const struct many_hosts_result *result);
/* Each batch that a node sends, in order. */
void many_hosts_watch(void (*watch)(const void *bytes, size_t length));
/* Each finding as it is told: of the job half, or of a host's own analysis. NULL (at first): nobody hears. */
void many_hosts_listen(void (*hear)(const struct rw_finding *finding, bool of_node));

/* What the job half knows in the end, with the course of ranks' time. NULL (at first): nobody looks, and no course is
 * kept. */
void many_hosts_look(void (*look)(const struct job_half *half));

#endif
