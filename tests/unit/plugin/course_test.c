/* SPDX-License-Identifier: MIT */
/*
 * Everything that the callbacks of NCCL leave in a black box, of courses that are drawn from numbers: for each version
 * of the profiler interface one of 80 acts on three communicators, with a driver whose GPU is done at once, or fails.
 * The clock is the number of the act. Another plugin behind ours that asks for every event changes none of it. Other
 * tests say what must be so; this one that nothing changes unnoticed. A change that is meant: `ninja -C build
 * plugin-courses`, and read what git says has changed.
 */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include <rankwatch/rankwatch.h>

#include "course.h"
#include "plugin/network/lease.h"
#include "tests/abi/player.h"

enum { COMMUNICATORS = 3, ACTS = 80, LONG_ACTS = 1800, SHOWN_EVERY = 100, CALLS = 6, STEPS = 20 };

static struct player players[COMMUNICATORS];

static const char *drawn_function(void)
{
	static const char *const names[] = { "AllGather",     "AllReduce", "Broadcast", "Reduce",
					     "ReduceScatter", "AllToAll",  "Unheard" };

	return names[course_draw(sizeof(names) / sizeof(*names))];
}

static size_t drawn_count(void)
{
	return (size_t)1 << course_draw(22);
}

struct called {
	void *call;
	const char *function;
	size_t count;
	bool p2p;
	int peer;
};

/* In C, arguments are evaluated in any order: a draw has a statement of its own. */
static void *drawn_task(struct player *player, const struct called *called)
{
	const char *algorithm = course_draw(3) ? "TREE" : "NVLS";
	const char *protocol = course_draw(2) ? "LL128" : "LL";

	return player_task_run_by(player, called->call, called->function, called->count, algorithm, protocol);
}

static void run_tasks(struct player *player, struct called *called, int count, bool by_copy)
{
	void *tasks[CALLS], *plan = player_plan(player);

	for (int i = 0; i < count; i++) {
		course_pass();
		if (by_copy && !called[i].p2p)
			tasks[i] = player_copy(player, called[i].call, called[i].function, player->sequence++, (void *)0x4000);
		else if (called[i].p2p)
			tasks[i] = player_p2p_task(player, called[i].call, called[i].function, called[i].count, called[i].peer);
		else
			tasks[i] = drawn_task(player, &called[i]);
	}
	for (int i = 0; i < count; i++) {
		void *channels[4] = { 0 };
		int several = (int)course_draw(5);

		for (int k = 0; k < several && k < 4; k++)
			channels[k] = player_channel(player, tasks[i], (uint8_t)k, 5000 + course.now_ns + (uint64_t)k);
		player_stop(player, tasks[i]);
		course_pass();
		for (int k = 0; k < several && k < 4; k++)
			player_channel_stop(player, channels[k], 6000 + course.now_ns + (uint64_t)k);
	}
	player_stop(player, plan);
}

/* Calls of one group on one communicator, as NCCL makes them from version 5 on. */
static void group_of_calls(struct player *player)
{
	int count = 1 + (int)course_draw(CALLS - 1);
	struct called called[CALLS];
	bool captured = course_draw(12) == 0, ends = course_draw(10) > 0, launches = course_draw(12) > 0;
	void *group = player_api_group(player);

	for (int i = 0; i < count; i++) {
		course_pass();
		called[i] = (struct called){ .count = drawn_count() };
		called[i].function = drawn_function();
		called[i].p2p = course_draw(4) == 0;
		called[i].peer = (int)course_draw((uint32_t)player->nranks + 1);
		if (called[i].p2p) {
			called[i].function = course_draw(2) ? "Send" : "Recv";
			called[i].call = player_p2p_call(player, group, called[i].function, called[i].count);
		} else {
			called[i].call = player_call(player, group, called[i].function, called[i].count,
						     course_draw(2) ? "ncclFloat32" : "ncclBfloat16", captured);
		}
		player_stop(player, called[i].call);
	}
	if (group)
		player_state(player, group, 24, NULL);
	course_pass();
	if (launches) {
		void *launch = player_launch(player, (void *)(0x2000 + 0x100 * (uintptr_t)course_draw(2)));

		course_pass();
		player_stop(player, launch);
	}
	run_tasks(player, called, count, player->abi >= 6 && course_draw(4) == 0);
	course_pass();
	if (ends)
		player_stop(player, group);
}

static void single(struct player *player)
{
	size_t count = drawn_count();
	const char *function = drawn_function(), *dtype = course_draw(2) ? "ncclFloat16" : "ncclUint8";

	if (course_draw(3))
		player_collective(player, function, count, dtype);
	else
		player_p2p(player, *function == 'A' ? "Send" : "Recv", count, (int)course_draw((uint32_t)player->nranks + 1) - 1);
}

static void act(int abi, unsigned int number)
{
	struct player *player = &players[course_draw(COMMUNICATORS)];
	void *handle;

	course_pass();
	course.write_error = course_draw(60) == 0 ? 905 : 0;
	course.capturing = course_draw(25) == 0;
	switch (course_draw(abi < 5 ? 4 : 12)) {
	case 0: /* another communicator takes its turn */
		if (number % 4 == 0) {
			player_finalize(player);
			player_init(player, dlopen(NULL, RTLD_NOW), abi, 0xc0de + number, (int)(number % 3), 2 + (int)(number % 5));
			break;
		}
		/* fall through */
	case 1:
		single(player);
		break;
	case 2:
		if (!player_raw(player, player->context, UINT64_C(1) << course_draw(14), NULL, &handle))
			cr_assert_fail("an event is refused");
		player_stop(player, handle);
		break;
	case 3:
		handle = abi < 5 ? player_collective(player, "AllReduce", drawn_count(), "ncclFloat32") : player_plan(player);
		if (abi < 5) {
			void *channel = player_channel(player, handle, (uint8_t)course_draw(3), 7000 + course.now_ns);

			course_pass();
			player_channel_stop(player, channel, 7500 + course.now_ns);
		} else {
			player_stop(player, handle);
		}
		break;
	default:
		group_of_calls(player);
	}
}

static void play(int abi)
{
	char name[8];
	void *program = dlopen(NULL, RTLD_NOW);

	cr_assert(program);
	course_begin((uint64_t)abi);
	setenv("RANKWATCH_KERNELCH", "1", 1);
	setenv("RANKWATCH_SCAN", "all", 1);
	setenv("RANKWATCH_GPU_TIME", abi == 7 ? "watermark" : "auto", 1);
	for (int i = 0; i < COMMUNICATORS; i++)
		player_init(&players[i], program, abi, 0x5eed + (uint64_t)i, i % 2, 2 + 2 * i);
	for (unsigned int number = 0; number < ACTS; number++)
		act(abi, number);
	course_show(course.out);
	for (int i = 0; i < COMMUNICATORS; i++)
		player_finalize(&players[i]);
	fprintf(course.out, "behind its end\n");
	course_show(course.out);
	snprintf(name, sizeof(name), "v%d", abi);
	course_compare(name);
}

/* The drain's part: it looks at the leases, and says when. */
static void look_at_leases(struct player *player)
{
	static struct leases leases;
	struct recording *recording = recording_get();
	struct rw_lease *lease = &recording->box.leases[course_draw(RW_BOX_LEASES)];

	if (course_draw(2)) {
		lease->communicator = course_draw(8) ? player->id : 1;
		lease->proxy_bits = course_draw(10) ? RW_LEASE_PROXY_OP | RW_LEASE_PROXY_STEP : course_draw(3) * RW_LEASE_PROXY_OP;
		uint64_t lasts_ns = course_draw(2) ? 30000 : RW_LEASE_MAX_NS;
		lease->expires_ns = course_draw(4) ? course.now_ns + course_draw(3) * lasts_ns : 0;
	}
	leases_poll(&leases, recording, course.now_ns);
	recording->box.header->drain_ns = course.now_ns;
}

/* An operation over the network, with states that come in NCCL's order or in any. */
static void transfer(struct player *player)
{
	static const int sending[] = { 8, 20, 9 }, receiving[] = { 10, 11, 12 };
	bool sends = course_draw(2), in_order = course_draw(4);
	int peer = (int)course_draw((uint32_t)player->nranks + 2) - 1;
	void *operation = player_transfer(player, NULL, peer, (uint8_t)course_draw(course_draw(3) ? 3 : 200), sends),
	     *steps[STEPS] = { 0 };
	uint32_t count = course_draw(STEPS), first = course_draw(3);

	if (!operation)
		return;
	for (uint32_t i = 0; i < count; i++) {
		course_pass();
		if (course_draw(8))
			steps[i] = player_proxy_step(player, operation, (int)(first + (course_draw(6) ? i : course_draw(40))));
		for (int k = 0; k < 3 && steps[i]; k++) {
			course_pass();
			int drawn = (int)course_draw(24);
			player_step_state(player, steps[i], in_order ? (sends ? sending : receiving)[k] : drawn, course_draw(5000));
		}
		if (course_draw(5) == 0)
			player_state(player, operation, (int)course_draw(4), NULL);
		if (course_draw(3) == 0)
			player_stop(player, steps[course_draw(i + 1)]);
	}
	course_pass();
	for (uint32_t i = 0; i < count; i++)
		player_stop(player, steps[i]);
	if (course_draw(6))
		player_stop(player, operation);
}

/* Turns of the smallest ring, network waits, marks of steps, and a clock that now and then goes back, or seconds
 * ahead. */
static void play_long(int abi)
{
	static const char *const gpu_times[] = { "auto", "watermark", "off" };
	char name[16];
	void *program = dlopen(NULL, RTLD_NOW);

	course_begin((uint64_t)abi + 50);
	setenv("RANKWATCH_HISTORY", "1", 1);
	setenv("RANKWATCH_KERNELCH", abi % 2 ? "0" : "1", 1);
	setenv("RANKWATCH_GPU_TIME", gpu_times[abi % 3], 1);
	for (int i = 0; i < COMMUNICATORS; i++)
		player_init(&players[i], program, abi, 0x5eed + (uint64_t)i, i % 2, 2 + 2 * i);
	for (unsigned int number = 1; number <= LONG_ACTS; number++) {
		act(abi, number);
		if (course_draw(3) == 0)
			look_at_leases(&players[course_draw(COMMUNICATORS)]);
		if (course_draw(2) == 0)
			transfer(&players[course_draw(COMMUNICATORS)]);
		if (course.now_ns > 100000 && course_draw(40) == 0)
			course.now_ns -= 1000 * course_draw(30);
		if (course_draw(60) == 0)
			course.now_ns += RW_LEASE_MAX_NS / 10 * (1 + course_draw(12));
		if (abi == 6 && course_draw(20) == 0)
			rankwatch_step(number / 30);
		for (int i = 0; i < COMMUNICATORS; i++)
			players[i].tag = number < LONG_ACTS - 300 ? number / 40 : course_draw(3) * number;
		if (number % SHOWN_EVERY == 0)
			course_number(course.out);
	}
	for (int i = 0; i < COMMUNICATORS; i++)
		player_finalize(&players[i]);
	fprintf(course.out, "behind its end\n");
	course_number(course.out);
	snprintf(name, sizeof(name), "v%d-long", abi);
	course_compare(name);
}

static void play_chained(int abi)
{
	char path[4096];

	snprintf(path, sizeof(path), SECOND_FOLDER "/libnccl-profiler-second-v%d.so", abi);
	setenv("RANKWATCH_CHAIN", path, 1);
	setenv("SECOND_MASK", "0xffff", 1);
	play(abi);
}

#define COURSE(abi)                                                                                                    \
	Test(course, of_version_##abi)                                                                                 \
	{                                                                                                              \
		play(abi);                                                                                             \
	}                                                                                                              \
	Test(course, of_version_##abi##_with_another_behind_it)                                                        \
	{                                                                                                              \
		play_chained(abi);                                                                                     \
	}                                                                                                              \
	Test(course, of_version_##abi##_that_is_long)                                                                  \
	{                                                                                                              \
		play_long(abi);                                                                                        \
	}

COURSE(1)
COURSE(2)
COURSE(3)
COURSE(4)
COURSE(5)
COURSE(6)
COURSE(7)
