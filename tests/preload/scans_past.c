/* SPDX-License-Identifier: MIT */
/*
 * Scans of calls of which the interposer cannot know when NCCL launches them: on communicators whose handle it has not
 * seen, or knows two for, and in groups that are opened or closed past it. The results of the job are right, and
 * outputs hold NaN before their operation: a scan that came too early would tell of them.
 *   scans_past SCENARIO values   any bits: each result is what the program itself finds, or there is a reason why
 *                                there is none. Where NCCL announces no calls, only for those that the interposer knows
 *   scans_past SCENARIO abort    no NaN in any input or result, and a NaN would end the process
 */
#include "tests/preload/job.h"

#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "tests/preload/scan_calls.h"

enum { ROUNDS = 3 };

static const uint8_t functions[] = { RW_FUNCTION_ALL_REDUCE, RW_FUNCTION_BROADCAST, RW_FUNCTION_REDUCE,
				     RW_FUNCTION_REDUCE_SCATTER, RW_FUNCTION_ALL_GATHER };
static const uint8_t types[] = { RW_DTYPE_FLOAT32, RW_DTYPE_BFLOAT16, RW_DTYPE_FLOAT16 };

static bool is_through(ncclComm_t comm)
{
	const struct timespec turn = { .tv_nsec = 200000 };
	ncclResult_t state;

	NCCL(ncclCommGetAsyncError(comm, &state));
	CHECK(state == ncclSuccess || state == ncclInProgress);
	if (state == ncclInProgress)
		nanosleep(&turn, NULL);
	return state == ncclSuccess;
}

static void settle(ncclComm_t comm)
{
	while (!is_through(comm))
		;
}

static void may_go_on(ncclResult_t result)
{
	CHECK(result == ncclSuccess || result == ncclInProgress);
}

/* Does NCCL tell when it launches this, and where? */
static bool is_told(uint8_t function)
{
	return scan_version() >= 22800 && !(function == RW_FUNCTION_BROADCAST && scan_version() >= 22902);
}

/* What nobody sees is counted as such. known: the interposer is certain of a launch before the call's return. */
static void call(const struct scan_caller *caller, uint8_t function, int round, bool known)
{
	struct expected *expected = scan_call(caller, function, types[round % 3], round % 2);

	if (!known && !is_told(function) && expected->out_elements)
		expected->out_lost = RW_UNSCANNABLE_CALLBACK;
}

static struct scan_caller caller_of(const struct job *job, ncclComm_t comm)
{
	struct scan_caller caller = { .comm = comm, .stream = job->stream };

	NCCL(ncclCommUserRank(comm, &caller.rank));
	NCCL(ncclCommCount(comm, &caller.nranks));
	return caller;
}

static void finish(const struct scan_caller *caller)
{
	settle(caller->comm);
	CU(cuStreamSynchronize(caller->stream));
	scan_settle();
}

/* Calls one by one, then in a group. */
static void use(const struct scan_caller *caller)
{
	for (int round = 0; round < ROUNDS; round++)
		for (size_t f = 0; f < sizeof(functions); f++) {
			call(caller, functions[f], round, false);
			finish(caller);
		}
	NCCL(ncclGroupStart());
	for (size_t f = 0; f < sizeof(functions); f++)
		call(caller, functions[f], 0, false);
	may_go_on(ncclGroupEnd());
	finish(caller);
}

static ncclConfig_t not_blocking(void)
{
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;

	config.blocking = 0;
	return config;
}

static ncclComm_t begin(const struct job *job, const ncclUniqueId *id)
{
	ncclConfig_t config = not_blocking();
	ncclComm_t comm = NULL;

	may_go_on(ncclCommInitRankConfig(&comm, job->nranks, *id, job->rank, &config));
	return comm;
}

static void end(ncclComm_t comm)
{
	may_go_on(ncclCommFinalize(comm));
	settle(comm);
	NCCL(ncclCommDestroy(comm));
}

/* Recorded, and the interposer knows its handle: only then are splits of it counted, where its id is known. */
static void check_known(uint32_t index)
{
	CHECK(scan_version() < 22700 || job_communicator(index).splits > 0);
}

/* NCCL fills in the handle of a child when it has made it. */
static void split(struct job *job)
{
	ncclUniqueId id = job_id(job, 1);
	ncclComm_t parent = begin(job, &id), child = NULL;

	settle(parent);
	may_go_on(ncclCommSplit(parent, 0, job->rank, &child, NULL));
	settle(parent);
	CHECK(child);
	struct scan_caller caller = caller_of(job, child);
	use(&caller);
	check_known(1);
	end(child);
	end(parent);
}

/* The program looks for the handle of the child, and not for the parent's state. */
static void awaited_split(struct job *job)
{
	ncclUniqueId id = job_id(job, 1);
	const struct timespec turn = { .tv_nsec = 200000 };
	ncclComm_t parent = begin(job, &id);
	ncclComm_t volatile child = NULL;

	settle(parent);
	may_go_on(ncclCommSplit(parent, 0, job->rank, (ncclComm_t *)&child, NULL));
	while (!child)
		nanosleep(&turn, NULL);
	settle(child);
	struct scan_caller caller = caller_of(job, child);
	use(&caller);
	check_known(1);
	end(child);
	end(parent);
}

/* Where NCCL has written the handle is gone by the time the interposer hears of it: the child stays unknown. */
static void lost_split(struct job *job)
{
	enum { PAGE = 4096 };
	ncclUniqueId id = job_id(job, 1);
	const struct timespec turn = { .tv_nsec = 200000 };
	ncclComm_t parent = begin(job, &id);
	ncclComm_t volatile *place = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(place != MAP_FAILED);
	settle(parent);
	may_go_on(ncclCommSplit(parent, 0, job->rank, (ncclComm_t *)place, NULL));
	while (!*place)
		nanosleep(&turn, NULL);
	ncclComm_t child = *place;
	CHECK(munmap((void *)place, PAGE) == 0);
	settle(child);
	settle(parent);
	struct scan_caller caller = caller_of(job, child);
	use(&caller);
	end(child);
	end(parent);
}

static void use_both(struct job *job, ncclComm_t one, ncclComm_t other)
{
	const ncclComm_t comms[] = { one, other };

	for (int i = 0; i < 2; i++)
		settle(comms[i]);
	for (int i = 0; i < 2; i++) {
		struct scan_caller caller = caller_of(job, comms[i]);

		use(&caller);
	}
	for (int i = 0; i < 2; i++)
		end(comms[i]);
}

/* Two of one size are in the making at once. */
static void pair(struct job *job)
{
	ncclUniqueId one = job_id(job, 1), other = job_id(job, 2);
	ncclComm_t first = begin(job, &one);

	use_both(job, first, begin(job, &other));
}

static void pair_group(struct job *job)
{
	ncclUniqueId one = job_id(job, 1), other = job_id(job, 2);
	ncclConfig_t config = not_blocking();
	ncclComm_t comms[2];

	NCCL(ncclGroupStart());
	may_go_on(ncclCommInitRankConfig(&comms[0], job->nranks, one, job->rank, &config));
	may_go_on(ncclCommInitRankConfig(&comms[1], job->nranks, other, job->rank, &config));
	may_go_on(ncclGroupEnd());
	use_both(job, comms[0], comms[1]);
}

static void make_unseen(struct job *job, ncclConfig_t config)
{
	ncclUniqueId id = job_id(job, 1);
	ncclComm_t comm;

	may_go_on(pncclCommInitRankConfig(&comm, job->nranks, id, job->rank, &config));
	settle(comm);
	struct scan_caller caller = caller_of(job, comm);
	use(&caller);
	end(comm);
}

/* Made past the interposer. */
static void unseen(struct job *job)
{
	make_unseen(job, not_blocking());
}

static void unseen_blocking(struct job *job)
{
	make_unseen(job, (ncclConfig_t)NCCL_CONFIG_INITIALIZER);
}

typedef ncclResult_t group_call(void);

/* A group, and one within it. */
static void use_group(struct job *job, group_call *const open[2], group_call *const close[2], bool inputs_are_seen)
{
	struct scan_caller caller = caller_of(job, job->comm);

	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < 2; i++)
			if (open[i])
				NCCL(open[i]());
		for (size_t f = 0; f < sizeof(functions); f++) {
			struct expected *expected = scan_call(&caller, functions[f], types[round], round % 2);

			if (!inputs_are_seen && expected->in_elements)
				expected->in_lost = RW_UNSCANNABLE_CALLBACK;
			if (!is_told(functions[f]) && expected->out_elements)
				expected->out_lost = RW_UNSCANNABLE_CALLBACK;
		}
		for (int i = 0; i < 2; i++)
			if (close[i])
				NCCL(close[i]());
		finish(&caller);
		/* Behind it, all is as ever. */
		call(&caller, RW_FUNCTION_ALL_REDUCE, round, scan_version() < 22800);
		finish(&caller);
		NCCL(ncclGroupStart());
		call(&caller, RW_FUNCTION_ALL_GATHER, round, scan_version() < 22800);
		NCCL(ncclGroupEnd());
		finish(&caller);
	}
}

static void past(struct job *job)
{
	use_group(job, (group_call *[2]){ pncclGroupStart }, (group_call *[2]){ pncclGroupEnd }, true);
}

static void opened_past(struct job *job)
{
	use_group(job, (group_call *[2]){ pncclGroupStart }, (group_call *[2]){ ncclGroupEnd }, true);
}

static void closed_past(struct job *job)
{
	use_group(job, (group_call *[2]){ ncclGroupStart }, (group_call *[2]){ pncclGroupEnd }, false);
}

/* Of one that does not block, whose tasks come on a thread of NCCL's own. Only the next call shows it, when it
 * returns. */
static void closed_elsewhere(struct job *job)
{
	ncclUniqueId id = job_id(job, 1);
	ncclComm_t comm = begin(job, &id);

	settle(comm);
	struct scan_caller caller = caller_of(job, comm);
	NCCL(ncclGroupStart());
	for (int i = 0; i < 2; i++) {
		struct expected *expected = scan_call(&caller, RW_FUNCTION_ALL_REDUCE, RW_DTYPE_FLOAT32, false);

		expected->in_lost = RW_UNSCANNABLE_CALLBACK;
		if (i == 0)
			may_go_on(pncclGroupEnd());
		finish(&caller);
	}
	use(&caller);
	end(comm);
}

/* The next group is opened past the interposer and closed through it, and the program has written to the buffers of the
 * one before meanwhile. */
static void closed_and_opened(struct job *job)
{
	ncclUniqueId id = job_id(job, 1);
	ncclComm_t comm = begin(job, &id);

	settle(comm);
	struct scan_caller caller = caller_of(job, comm);
	for (int round = 0; round < ROUNDS; round++) {
		NCCL(ncclGroupStart());
		struct expected *lost = scan_call(&caller, RW_FUNCTION_ALL_GATHER, RW_DTYPE_FLOAT32, false);
		lost->in_lost = RW_UNSCANNABLE_CALLBACK;
		may_go_on(pncclGroupEnd());
		finish(&caller);
		memset((void *)lost->in, 0, 4 * lost->in_elements);
		NCCL(pncclGroupStart());
		scan_call(&caller, RW_FUNCTION_ALL_REDUCE, RW_DTYPE_FLOAT32, round % 2);
		may_go_on(ncclGroupEnd());
		finish(&caller);
	}
	use(&caller);
	end(comm);
}

static void around(struct job *job)
{
	use_group(job, (group_call *[2]){ pncclGroupStart, ncclGroupStart },
		  (group_call *[2]){ ncclGroupEnd, pncclGroupEnd }, true);
}

static void within(struct job *job)
{
	struct scan_caller caller = caller_of(job, job->comm);

	for (int round = 0; round < ROUNDS; round++) {
		NCCL(ncclGroupStart());
		NCCL(pncclGroupStart());
		for (size_t f = 0; f < sizeof(functions); f++)
			call(&caller, functions[f], round, true);
		NCCL(pncclGroupEnd());
		NCCL(ncclGroupEnd());
		finish(&caller);
	}
}

static const struct {
	const char *name;
	job_main *main;
	bool communicator; /* one that blocks */
} scenarios[] = {
	{ "split", split, false },
	{ "awaited-split", awaited_split, false },
	{ "lost-split", lost_split, false },
	{ "pair", pair, false },
	{ "pair-group", pair_group, false },
	{ "unseen", unseen, false },
	{ "unseen-blocking", unseen_blocking, false },
	{ "past", past, true },
	{ "opened-past", opened_past, true },
	{ "closed-past", closed_past, true },
	{ "closed-elsewhere", closed_elsewhere, false },
	{ "closed-and-opened", closed_and_opened, false },
	{ "around", around, true },
	{ "within", within, true },
};
static size_t scenario;

static void run_values(struct job *job)
{
	scenarios[scenario].main(job);
	scan_check();
}

static void run_clean(struct job *job)
{
	static struct rw_operation operations[JOB_LEDGER];

	scan_use_numbers();
	scenarios[scenario].main(job);
	size_t count = job_operations(operations, JOB_LEDGER);
	CHECK(count > 0);
	for (size_t i = 0; i < count; i++)
		CHECK(operations[i].scan_in.nan == 0 && operations[i].scan_out.nan == 0);
}

int main(int argc, char **argv)
{
	bool aborts = argc == 3 && strcmp(argv[2], "abort") == 0;

	setenv("RANKWATCH_ON_NAN", aborts ? "abort" : "record", 1);
	for (; argc == 3 && scenario < sizeof(scenarios) / sizeof(scenarios[0]); scenario++)
		if (strcmp(scenarios[scenario].name, argv[1]) == 0)
			return job_run(2, scenarios[scenario].communicator, aborts ? run_clean : run_values);
	fprintf(stderr, "usage: scans_past SCENARIO values|abort\n");
	return 2;
}
