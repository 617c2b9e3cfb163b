/* SPDX-License-Identifier: MIT */
/*
 * What the interposer leaves in a black box when it is called as NCCL: drawn courses of calls, groups and
 * communicators, with a NCCL that fails, does not block, or splits, and with or without its profiler interface. As in
 * course_test.c, it says that nothing changes unnoticed. A change that is meant: `ninja -C build plugin-courses`.
 */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "course.h"
#include "played_nccl.h"
#include "tests/abi/player.h"

enum { COMMUNICATORS = 6, ACTS = 140, LONG_ACTS = 4000, SHOWN_EVERY = 250, CALLS = 64, ANSWERS = 7 };

static int abi; /* of the profiler interface; 0: there is none */
static void *comms[COMMUNICATORS];
static struct {
	void *comm;
	struct player player;
} listening[32];
static struct played_call called[CALLS];
static void *handles[CALLS], *group;
static int call_count;
static bool announces; /* the profiler interface tells of the calls, as it does of most */

static struct player *player_of(const void *comm)
{
	for (size_t i = 0; i < sizeof(listening) / sizeof(*listening); i++)
		if (listening[i].comm == comm)
			return &listening[i].player;
	return NULL;
}

static void on_init(void *comm, int nranks, int rank)
{
	struct player *player = player_of(comm);

	for (size_t i = 0; !player; i++)
		if (!listening[i].comm) {
			listening[i].comm = comm;
			player = &listening[i].player;
		}
	player_init(player, dlopen(NULL, RTLD_NOW), abi, 0x5eed + (uint64_t)nranks, rank, nranks);
}

static void on_end(void *comm)
{
	for (size_t i = 0; i < sizeof(listening) / sizeof(*listening); i++)
		if (listening[i].comm == comm) {
			player_finalize(&listening[i].player);
			listening[i].comm = NULL;
		}
}

static void on_call(const struct played_call *call)
{
	struct player *player = player_of(call->comm);

	if (!player || call_count == CALLS || !announces)
		return;
	called[call_count] = *call;
	if (abi >= 5) {
		if (!group)
			group = player_api_group(player);
		player->stream = call->stream;
		handles[call_count] = call->peer < 0 ? player_call(player, group, call->function, call->count,
								   "ncclFloat32", course.capturing)
						     : player_p2p_call(player, group, call->function, call->count);
		player_stop(player, handles[call_count]);
	}
	call_count++;
}

static void on_launch(void)
{
	for (int i = 0; i < call_count; i++) {
		struct player *player = player_of(called[i].comm);

		if (!player)
			continue;
		player->send = called[i].send;
		player->recv = called[i].recv;
		course_pass();
		if (abi < 5) {
			if (called[i].peer < 0)
				player_collective(player, called[i].function, called[i].count, "ncclFloat32");
			else
				player_p2p(player, called[i].function, called[i].count, called[i].peer);
			continue;
		}
		player_stop(player, player_launch(player, called[i].stream));
		void *plan = player_plan(player);
		player_stop(player, called[i].peer < 0 ? player_task(player, handles[i], called[i].function, called[i].count)
						       : player_p2p_task(player, handles[i], called[i].function, called[i].count, called[i].peer));
		player_stop(player, plan);
	}
	if (group)
		player_stop(player_of(called[0].comm), group);
	group = NULL;
	call_count = 0;
}

static void drawn_result(void)
{
	uint32_t number = course_draw(16);

	played_nccl.result = number == 0 ? 3 : number == 1 ? NCCL_IN_PROGRESS : 0;
	played_nccl.state = course_draw(2) ? NCCL_IN_PROGRESS : 0;
	course.capturing = course_draw(12) == 0;
	course.write_error = course_draw(80) == 0 ? 905 : 0;
	course.context = (driver_context)(uintptr_t)(course_draw(6) ? 0x10 : 0x20);
	played_nccl.device = 0;
}

static void one_call(void *comm)
{
	const void *send = (const void *)(uintptr_t)(0x10000 + 0x100 * course_draw(8));
	void *recv = (void *)(uintptr_t)(0x20000 + 0x100 * course_draw(8));
	size_t count = course_draw(20) ? (size_t)1 << course_draw(20) : 0;
	void *stream = (void *)(uintptr_t)(0x1000 * (1 + (course_draw(5) == 0)));
	int type = (int)course_draw(14) - 1, op = (int)course_draw(8) - 1, root = (int)course_draw(3);
	int result = 0;

	switch (course_draw(11)) {
	case 0: result = ncclAllReduce(send, recv, count, type, op, comm, stream); break;
	case 1: result = ncclReduce(send, recv, count, type, op, root, comm, stream); break;
	case 2: result = ncclReduceScatter(send, recv, count, type, op, comm, stream); break;
	case 3: result = ncclAllGather(send, recv, count, type, comm, stream); break;
	case 4: result = ncclAlltoAll(send, recv, count, type, comm, stream); break;
	case 5: result = ncclBroadcast(send, recv, count, type, root, comm, stream); break;
	case 6: result = ncclBcast(recv, count, type, root, comm, stream); break;
	case 7: result = ncclGather(send, recv, count, type, root, comm, stream); break;
	case 8: result = ncclScatter(send, recv, count, type, root, comm, stream); break;
	case 9: result = ncclSend(send, count, type, root, comm, stream); break;
	default: result = ncclRecv(recv, count, type, root, comm, stream); break;
	}
	cr_expect_eq(result, played_nccl.result, "NCCL's own answer is handed on");
}

static void make(void **comm, unsigned int number)
{
	struct nccl_unique_id ids[2] = { { .bytes = { (char)number, 1 } }, { .bytes = { 2 } } };
	struct nccl_config config = { .size = course_draw(3) ? sizeof(config) : offsetof(struct nccl_config, name),
				      .blocking = NCCL_CONFIG_UNDEFINED, .name = number % 2 ? "named" : NULL };
	int nranks = 1 + (int)course_draw(6), rank = (int)course_draw((uint32_t)nranks), excluded[1] = { 0 };
	void *parent = comms[course_draw(COMMUNICATORS)];
	struct nccl_config *wanted;

	if (course_draw(3) == 0)
		config.blocking = (int)course_draw(2);
	played_nccl.nranks = nranks;
	played_nccl.rank = rank;
	switch (course_draw(5)) {
	case 0: ncclCommInitRank(comm, nranks, ids[0], rank); break;
	case 1: ncclCommInitRankConfig(comm, nranks, ids[0], rank, &config); break;
	case 2:
		/* Of two arguments each compiler draws another one first. */
		wanted = course_draw(4) ? &config : NULL;
		ncclCommInitRankScalable(comm, nranks, rank, (int)course_draw(3), ids, wanted);
		break;
	case 3: ncclCommSplit(parent, (int)(number % 4) - 1, rank, comm, number % 3 ? NULL : &config); break;
	default: ncclCommShrink(parent, excluded, 1, comm, &config, 0); break;
	}
}

static void show_init(void)
{
	struct recording *recording = recording_get();
	const struct rw_init *init = recording ? &recording->box.header->init : NULL;

	if (init && init->since_ns)
		fprintf(course.out, "in the making at %lu: %lx rank %d of %d\n", course.now_ns, init->id, init->rank, init->nranks);
}

static void drawn_group(unsigned int number)
{
	uint32_t calls = course_draw(5), nested = course_draw(5) == 0;

	ncclGroupStart();
	for (uint32_t i = 0; i < calls; i++) {
		void *comm = comms[course_draw(COMMUNICATORS)];

		course_pass();
		if (nested)
			ncclGroupStart();
		if (comm)
			one_call(comm);
		if (nested)
			ncclGroupEnd();
	}
	if (course_draw(6) == 0 && !comms[0])
		make(&comms[0], number);
	show_init();
	course_pass();
	if (number % 17 == 0) {
		call_count = 0;
		group = NULL;
		ncclGroupSimulateEnd(NULL);
		return;
	}
	drawn_result();
	ncclGroupEnd();
	show_init();
}

static void act(unsigned int number)
{
	uint32_t which = course_draw(COMMUNICATORS);
	int state;

	course_pass();
	drawn_result();
	announces = course_draw(8) > 0;
	switch (course_draw(ANSWERS)) {
	case 0:
		if (comms[which] && number % 3 == 0) {
			if (number % 2)
				ncclCommDestroy(comms[which]);
			else
				ncclCommAbort(comms[which]);
			comms[which] = NULL;
		} else if (!comms[which]) {
			make(&comms[which], number);
			show_init();
		}
		break;
	case 1:
		if (comms[which])
			ncclCommGetAsyncError(comms[which], &state);
		break;
	case 2:
	case 3:
		drawn_group(number);
		break;
	default:
		if (comms[which])
			one_call(comms[which]);
	}
	if (played_nccl.result) { /* what was begun is not gone on with */
		call_count = 0;
		group = NULL;
	}
}

/* Before the first course, the process's box is made: what is drawn later takes its place in it. */
static void begin(int version, const char *blocking, uint64_t seed)
{
	course_begin(seed);
	if (blocking)
		setenv("NCCL_COMM_BLOCKING", blocking, 1);
	abi = version;
	if (abi) {
		played_nccl.init = on_init;
		played_nccl.end = on_end;
		played_nccl.call = on_call;
		played_nccl.launch = on_launch;
	}
	for (int i = 0; i < COMMUNICATORS / 2; i++)
		ncclCommInitRank(&comms[i], 2 + i, (struct nccl_unique_id){ .bytes = { 7 } }, i % 2);
}

static void end(void)
{
	for (int i = 0; i < COMMUNICATORS; i++)
		if (comms[i])
			ncclCommDestroy(comms[i]);
	fprintf(course.out, "behind its end\n");
}

static void play(int version, const char *blocking, const char *name)
{
	setenv("RANKWATCH_GPU_TIME", version == 6 ? "watermark" : "auto", 1);
	begin(version, blocking, (uint64_t)version + 100);
	for (unsigned int number = 0; number < ACTS; number++)
		act(number);
	course_show(course.out);
	end();
	course_show(course.out);
	course_compare(name);
}

/* Turns of the smallest ring, and a clock that now and then goes back, or seconds ahead. */
static void play_long(int version, const char *blocking, const char *gpu_time, const char *name)
{
	setenv("RANKWATCH_HISTORY", "1", 1);
	setenv("RANKWATCH_GPU_TIME", gpu_time, 1);
	begin(version, blocking, (uint64_t)version + 200);
	for (unsigned int number = 1; number <= LONG_ACTS; number++) {
		act(number);
		if (course.now_ns > 100000 && course_draw(40) == 0)
			course.now_ns -= 1000 * course_draw(30);
		if (course_draw(60) == 0)
			course.now_ns += 1000000000 * (uint64_t)(1 + course_draw(12));
		if (course_draw(9) == 0) /* as the drain says it */
			recording_get()->box.header->drain_ns = course.now_ns;
		if (number % SHOWN_EVERY == 0)
			course_number(course.out);
	}
	end();
	course_number(course.out);
	course_compare(name);
}

Test(interposed, without_the_profiler_interface)
{
	play(0, NULL, "interposed");
}

Test(interposed, where_the_environment_says_that_nothing_blocks)
{
	play(0, "0", "interposed-nonblocking");
}

Test(interposed, with_version_1)
{
	play(1, NULL, "interposed-v1");
}

Test(interposed, with_version_4)
{
	play(4, "1", "interposed-v4");
}

Test(interposed, with_version_5)
{
	play(5, "2", "interposed-v5");
}

Test(interposed, with_version_6)
{
	play(6, NULL, "interposed-v6");
}

Test(interposed, for_long_without_the_profiler_interface)
{
	play_long(0, NULL, "watermark", "interposed-long");
}

Test(interposed, for_long_with_version_4)
{
	play_long(4, "1", "auto", "interposed-v4-long");
}

Test(interposed, for_long_with_version_6)
{
	play_long(6, NULL, "off", "interposed-v6-long");
}

Test(interposed, for_long_with_version_7)
{
	play_long(7, "0", "auto", "interposed-v7-long");
}
