/* SPDX-License-Identifier: MIT */
/* The sentences of a finding: who, how much, since when; what the cause was; what to do. */
#ifndef ANALYSIS_REPORT_TEXT_H
#define ANALYSIS_REPORT_TEXT_H

#include <stddef.h>

#include "analysis/known/alignment.h"
#include "analysis/known/call_order.h"
#include "analysis/explain/network.h"
#include "analysis/report/record.h"

/* "rank 0 makes every step 1.31 s longer: 64 % of the step, since step 9" */
void text_straggler(struct record *record);
/* "rank 3 works 25 ms longer in a step than the others, a little before each operation: 9 % of the step" */
void text_works_longer(struct record *record);
/* How long a lateness lasted that is over. */
struct text_over {
	uint64_t steps;     /* from the first late step to the last one; 0: not known */
	uint64_t lasted_ns; /* where these have no numbers; 0: not known */
	bool told_late;     /* the finding is opened now, and not closed */
};
/* The same of one that is over, which may have been written by either of them: "rank 0 made 14 steps 1.31 s longer: 64
 * % of the step, from step 9 to 22" and, where it is told late, "; that is over" */
void text_straggler_over(struct record *record, const struct text_over *over);
/* "transfers on ~fsdp take 520 ms a step instead of 110 ms, since step 12; no rank is late"; what: "transfers", or what
 * else they may be; usual_ms 0: each of them took less than what is measured. A notice says that steps take hardly
 * longer. */
void text_transfer(struct record *record, const char *what, double now_ms, double usual_ms);
/* One end of a link. */
struct text_end {
	int32_t rank;
	const char *host;
};
/* Instead of "no rank is late": "rank 3 (a) waits 86 % of that time for the network to rank 4 (b)" */
void text_network(struct record *record, const struct network_answer *answer, struct text_end from, struct text_end to);
/* "rank 3 has not joined AllGather #118 on ~fsdp: ranks 0-2,4-7 have waited 4.2 s" */
void text_hang(struct record *record);
void text_standstill(struct record *record);
enum { TEXT_CIRCLE_LINKS = 3 /* links of a circle that its text lists */ };

/* A rank of a circle: it waits in this operation for the awaited rank. World ranks. */
struct text_circle_link {
	int32_t rank, awaited;
	uint8_t function;
	uint64_t sequence;
	char comm_name[96];
};

/* "ranks 0,1 wait for each other: rank 0 in AllReduce #5 on tp for rank 1, rank 1 in AllGather #7 on dp for rank 0; for
 * 12.0 s", with the advice, and what remains unknown. links: the first TEXT_CIRCLE_LINKS of the circle's `count` links,
 * or all if these are fewer. */
void text_circle(struct record *record, const struct text_circle_link *links, uint32_t count);
/* Of a rank that has another order than all others, who wait for it in the finding's operation; link: where it waits.
 * "rank 2 waits in AllGather #7 on dp, and ranks 0,1,3 wait for it in AllReduce #5 on tp; for 12.0 s" */
void text_crossing(struct record *record, const struct text_circle_link *link);
/* A rank of a circle in the inits of communicators: it waits in that call, of `size` ranks, for the awaited rank. World
 * ranks. */
struct text_init_link {
	int32_t rank, awaited, size;
	const char *call;
};
enum text_init_calls {
	TEXT_INIT_MAKES,  /* they make communicators … */
	TEXT_INIT_SPLITS, /* … and some of them split one */
	TEXT_INIT_OTHERS, /* some of them make none: all ranks of a communicator meet there all the same */
};
/* The same of such a circle. */
void text_init_circle(struct record *record, const struct text_init_link *links, uint32_t count,
		      enum text_init_calls calls);
/* A call of NCCL from which ranks do not come back, where nobody can be told to be missing. */
struct text_stuck_call {
	const char *name, *because, *advice, *missing;
};
/* "ranks 0,1 have waited 31 s in ncclCommDestroy", its cause, advice, and what remains unknown. */
void text_stuck_call(struct record *record, const struct text_stuck_call *call);
/* "rank 3 was killed by signal 9: ranks 0-2,4-7 wait for it in AllGather #118 on ~fsdp" */
void text_gone(struct record *record);
/* "rank 3 was killed by signal 11, 62 ms before ranks 0-2,4-7 ended" */
/* before_ms < 0: how long before is not known. */
void text_ended_first(struct record *record, double before_ms);
/* "rank 2 has not arrived: ranks 0,1,3-7 have waited 11 s for it in ncclCommInitRank of 8 ranks" */
/* call: "ncclCommInitRank"; pid: of the process that has ended. */
void text_init(struct record *record, const char *call, enum analysis_absence absence, int32_t pid);
/* "ranks 0-6 have waited 31 s in ncclCommInitRank of 8 ranks, and no host knows a process of rank 7, which has not
 * come", with the advice, and what remains unknown. world_ranks: ascending. */
void text_init_unknown(struct record *record, const int32_t *world_ranks, uint32_t count);
/* "rank 3 calls ReduceScatter #12 of 16384 fp32 on ~fsdp where ranks 0-2,4-7 call AllGather #36 of 8192 bf16"; the
 * waiting ranks of the finding are those who make the usual call. Inconclusive: the finding's ranks make one or the
 * other. */
void text_desync(struct record *record, const struct call *odd, const struct call *usual);
/* Of a desync of one rank, behind what text_desync() said of it: "; it has left out 2 calls, the first is AllGather of
 * 8192 bf16, in step 25", and what is to be done about that. first: of the calls that were left out, or made more; step
 * -1: not known. */
void text_alignment(struct record *record, const struct alignment *alignment, const struct call *first, int64_t step);
/* Of the communicator's pair: "rank 7 receives 4160 bf16 of the 4096 bf16 that rank 6 sends as #632 on pp". */
void text_pair(struct record *record, const struct job *job, const struct communicator *communicator);

#endif
