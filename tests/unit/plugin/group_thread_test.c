/* SPDX-License-Identifier: MIT */
/* Which thread of this process is taken for the one on which NCCL works for a group. Real threads; "NCCL" is
 * played_threads.c. */
#include <criterion/criterion.h>
#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plugin/drain/group_thread.h"
#include "plugin/drain/task_list.h"
#include "plugin/drain/task_state.h"
#include "plugin/guest/clock.h"
#include "plugin/guest/thread_start.h"
#include "played_threads.h"

enum { COMM = 3, GROUP = 16, LATER_US = 30000 /* three ticks of the times at which threads were made */ };
#define HALF_SECOND_NS UINT64_C(500000000)

static struct recording recording;
static struct group_threads threads;

/* A thread, and how it waits. */
struct player {
	struct played_thread played;
	pthread_t thread;
	void (*wait)(struct player *player);
	_Atomic uint32_t tid;
	_Atomic bool stop;
	struct thread_start start;
};

static void sleep_on(struct player *player)
{
	while (!player->stop)
		usleep(1000);
}

/* As NCCL while it connects. */
static void spin(struct player *player)
{
	while (!player->stop)
		;
}

static void poll_on(struct player *player)
{
	while (!player->stop)
		poll(NULL, 0, 1);
}

static const void *in_nccl(void)
{
	return (const void *)(uintptr_t)played_async_main;
}

static void play(struct played_thread *played)
{
	struct player *player = (struct player *)played;

	player->start = thread_start_own(in_nccl());
	player->tid = (uint32_t)syscall(SYS_gettid);
	player->wait(player);
}

/* A thread of the program. */
static void *program_main(void *argument)
{
	play(argument);
	return NULL;
}

static void begin_as(struct player *player, void *(*function)(void *argument))
{
	cr_assert_eq(pthread_create(&player->thread, NULL, function, player), 0);
	while (!player->tid)
		usleep(100);
}

static void begin_in(struct player *player, void *(*function)(void *argument), void (*wait)(struct player *player))
{
	*player = (struct player){ .played.run = play, .wait = wait };
	begin_as(player, function);
}

/* Deeper in the library. */
static void begin_work(struct player *player, void *(*function)(void *argument), void (*wait)(struct player *player))
{
	*player = (struct player){ .played = { played_work, play }, .wait = wait };
	begin_as(player, function);
}

static void end(struct player *player)
{
	uint64_t born;

	player->stop = true;
	cr_assert_eq(pthread_join(player->thread, NULL), 0);
	while (task_born(player->tid, &born)) /* the kernel wakes who joins a little earlier */
		usleep(100);
}

Test(thread_start, threads_that_began_in_one_function_have_it_in_common_whatever_they_do)
{
	static struct player nccl[3], service, program;

	begin_in(&nccl[0], played_async_main, sleep_on);
	begin_in(&nccl[1], played_async_main, spin);
	begin_work(&nccl[2], played_async_main, poll_on);
	begin_work(&service, played_service_main, poll_on);
	begin_in(&program, program_main, sleep_on);
	for (int i = 0; i < 3; i++) {
		cr_expect_neq(nccl[i].start.address, 0);
		cr_expect_neq(nccl[i].start.distance, 0);
		for (int j = 0; j < 3; j++)
			cr_expect(thread_start_is(nccl[j].tid, &nccl[i].start), "%d as %d", j, i);
		cr_expect_not(thread_start_is(service.tid, &nccl[i].start));
		cr_expect_not(thread_start_is(program.tid, &nccl[i].start));
		cr_expect_not(thread_start_is((uint32_t)getpid(), &nccl[i].start));
		cr_expect_not(thread_start_is(nccl[i].tid, &service.start));
	}
	cr_expect(thread_start_is(service.tid, &service.start));
	cr_expect_eq(program.start.address, 0, "the library is not on its stack");
	cr_expect_not(thread_start_is(nccl[0].tid, &(struct thread_start){ 0 }), "not known");
	end(&nccl[0]);
	cr_expect_not(thread_start_is(nccl[0].tid, &nccl[1].start), "it has ended");
	end(&nccl[1]);
	end(&nccl[2]);
	end(&service);
	end(&program);
}

Test(thread_start, is_not_known_of_the_first_thread_and_of_what_no_library_holds)
{
	int on_the_stack = 0;

	cr_expect_eq(thread_start_own(in_nccl()).address, 0);
	cr_expect_eq(thread_start_own(&on_the_stack).address, 0);
}

Test(task_list, has_every_thread_and_goes_on_where_it_stopped)
{
	enum { CROWD = 2 * TASK_LIST_ROOM };
	static struct player crowd[CROWD];
	struct task_entry entries[TASK_LIST_ROOM];
	int seen[CROWD] = { 0 };
	int64_t at = 0;
	size_t count;

	for (int i = 0; i < CROWD; i++)
		begin_in(&crowd[i], program_main, sleep_on);
	for (int calls = 0; (count = task_list(at, entries)) && calls < 2 * CROWD; calls++) {
		/* One at a time: what is left of a call comes with the next one. */
		for (int i = 0; i < CROWD; i++)
			seen[i] += crowd[i].tid == entries[0].tid;
		at = entries[0].after;
	}
	for (int i = 0; i < CROWD; i++)
		cr_expect_eq(seen[i], 1, "thread %d: %d times", i, seen[i]);
	for (int i = 0; i < CROWD; i++)
		end(&crowd[i]);
}

Test(task_state, a_thread_is_as_old_as_its_name_does_not_say)
{
	static struct player first, second;
	uint64_t first_born = 0, second_born = 0;

	begin_in(&first, program_main, sleep_on);
	pthread_setname_np(first.thread, "a) R 1 2 3");
	usleep(LATER_US);
	begin_in(&second, program_main, sleep_on);
	cr_assert(task_born(first.tid, &first_born) && task_born(second.tid, &second_born));
	cr_expect_gt(second_born, first_born);
	/* A test machine may stand still for a while. */
	cr_expect_lt(second_born, first_born + 60 * (uint64_t)sysconf(_SC_CLK_TCK));
	end(&first);
	end(&second);
	cr_expect_not(task_born(first.tid, &first_born));
}

/* The communicator was made some ticks ago by a thread that has ended, as one that does not block. */
static void make_communicator(void)
{
	static struct player init;

	begin_in(&init, played_async_main, sleep_on);
	end(&init);
	usleep(LATER_US);
	recording.communicators[COMM].created_ns = clock_ns();
	recording.starts[COMM] = init.start;
	cr_assert(init.start.address);
	usleep(LATER_US);
}

static struct glimpse call_begins(void)
{
	return (struct glimpse){ .api_ns = clock_ns(), .group = GROUP, .comm = COMM };
}

static void call_returns(struct glimpse *op)
{
	op->return_ns = clock_ns();
	op->known = RW_KNOWN_RETURN;
}

/* A call inside which these threads are made. */
static struct glimpse call_making(struct player *players, int count, void *(*function)(void *argument),
				  void (*wait)(struct player *player))
{
	struct glimpse op = call_begins();

	for (int i = 0; i < count; i++)
		begin_in(&players[i], function, wait);
	call_returns(&op);
	return op;
}

/* As the drain does, for ten seconds. */
static void ask_from(const struct glimpse *op, uint64_t from_ns)
{
	enum { STEP_NS = 20000000, STEPS = 500 };

	for (uint64_t now = from_ns; now < from_ns + (uint64_t)STEPS * STEP_NS; now += STEP_NS) {
		group_threads_ask(&threads, &recording, op, now);
		group_threads_poll(&threads, &recording, now);
	}
}

static void ask(const struct glimpse *op)
{
	ask_from(op, op->return_ns);
}

static uint64_t in_progress(void)
{
	return recording.communicators[COMM].in_progress_ns;
}

static uint64_t settled(void)
{
	return recording.communicators[COMM].settled_ns;
}

static void expect_nothing_said(const char *why)
{
	cr_expect_eq(in_progress(), 0, "%s", why);
	cr_expect_eq(settled(), 0, "%s", why);
}

static void check_in_progress_until_it_ends(void (*wait)(struct player *player))
{
	static struct player nccl;

	make_communicator();
	struct glimpse op = call_making(&nccl, 1, played_async_main, wait);
	ask(&op);
	cr_expect_gt(in_progress(), op.return_ns);
	cr_expect_eq(settled(), 0);
	end(&nccl);
	ask_from(&op, clock_ns() + 20 * HALF_SECOND_NS);
	cr_expect_gt(settled(), in_progress());
}

Test(group_thread, is_at_work_while_it_lives_and_then_settled)
{
	check_in_progress_until_it_ends(sleep_on);
}

Test(group_thread, may_spin)
{
	check_in_progress_until_it_ends(spin);
}

Test(group_thread, is_searched_half_a_second_after_the_return)
{
	static struct player nccl;

	make_communicator();
	struct glimpse op = call_making(&nccl, 1, played_async_main, sleep_on);
	group_threads_ask(&threads, &recording, &op, op.return_ns + HALF_SECOND_NS - 1);
	cr_expect_not(threads.search.on);
	group_threads_ask(&threads, &recording, &op, op.return_ns + HALF_SECOND_NS);
	cr_expect(threads.search.on);
	end(&nccl);
}

Test(group_thread, threads_that_began_elsewhere_are_none_though_they_were_made_in_the_call_and_wait_alike)
{
	static struct player services[2], programs[2];

	make_communicator();
	struct glimpse op = call_begins();
	begin_in(&services[0], played_service_main, poll_on);
	begin_in(&services[1], played_service_main, spin);
	begin_in(&programs[0], program_main, sleep_on);
	begin_in(&programs[1], program_main, spin);
	call_returns(&op);
	ask(&op);
	expect_nothing_said("others");
	for (int i = 0; i < 2; i++) {
		end(&services[i]);
		end(&programs[i]);
	}
}

Test(group_thread, one_made_before_the_call_or_after_its_return_is_of_another_group)
{
	static struct player before, after;

	make_communicator();
	begin_in(&before, played_async_main, sleep_on);
	usleep(LATER_US);
	struct glimpse op = call_begins();
	call_returns(&op);
	usleep(LATER_US);
	begin_in(&after, played_async_main, sleep_on);
	ask(&op);
	expect_nothing_said("other groups' threads");
	end(&before);
	end(&after);
}

Test(group_thread, is_not_known_where_threads_that_are_older_than_the_communicator_began_there_too)
{
	static struct player service, nccl;

	begin_in(&service, played_async_main, sleep_on);
	usleep(LATER_US);
	make_communicator();
	struct glimpse op = call_making(&nccl, 1, played_async_main, sleep_on);
	ask(&op);
	expect_nothing_said("any thread of NCCL's begins there");
	end(&service);
	end(&nccl);
}

Test(group_thread, several_are_at_work_while_all_live_and_unknown_when_one_has_ended)
{
	static struct player nccl[GROUP_THREAD_MATES];

	make_communicator();
	struct glimpse op = call_making(nccl, GROUP_THREAD_MATES, played_async_main, sleep_on);
	ask(&op);
	cr_expect_gt(in_progress(), op.return_ns);
	end(&nccl[GROUP_THREAD_MATES - 1]);
	ask_from(&op, clock_ns() + 20 * HALF_SECOND_NS);
	expect_nothing_said("whose was it?");
	for (int i = 0; i < GROUP_THREAD_MATES - 1; i++)
		end(&nccl[i]);
	ask_from(&op, clock_ns() + 40 * HALF_SECOND_NS);
	expect_nothing_said("it stays unknown");
}

Test(group_thread, several_that_have_all_ended_settle_nothing)
{
	static struct player nccl[2];

	make_communicator();
	struct glimpse op = call_making(nccl, 2, played_async_main, sleep_on);
	ask(&op);
	cr_expect_gt(in_progress(), op.return_ns);
	end(&nccl[0]);
	end(&nccl[1]);
	ask_from(&op, clock_ns() + 20 * HALF_SECOND_NS);
	expect_nothing_said("one of them may have been this group's");
}

Test(group_thread, another_thread_with_the_number_of_one_that_has_ended_is_another)
{
	static struct player nccl;

	make_communicator();
	struct glimpse op = call_making(&nccl, 1, played_async_main, sleep_on);
	ask(&op);
	threads.of[COMM].mates[0].born--; /* as if it had been made earlier */
	ask_from(&op, clock_ns() + 20 * HALF_SECOND_NS);
	cr_expect_gt(settled(), in_progress());
	end(&nccl);
}

Test(group_thread, what_is_found_when_the_next_group_has_begun_is_not_the_next_ones)
{
	static struct player nccl;

	make_communicator();
	struct glimpse op = call_making(&nccl, 1, played_async_main, sleep_on);
	usleep(LATER_US);
	struct glimpse next = call_begins();
	call_returns(&next);
	next.group = GROUP + 1;
	group_threads_ask(&threads, &recording, &op, op.return_ns + HALF_SECOND_NS);
	cr_expect(threads.search.on);
	ask(&next);
	expect_nothing_said("the next one has no thread");
	end(&nccl);
}

Test(group_thread, more_than_can_be_followed_say_nothing)
{
	static struct player nccl[GROUP_THREAD_MATES + 2];

	make_communicator();
	struct glimpse op = call_making(nccl, GROUP_THREAD_MATES + 1, played_async_main, sleep_on);
	ask(&op);
	expect_nothing_said("one too many");
	cr_expect_eq(threads.of[COMM].count, 0);
	for (int i = 0; i < GROUP_THREAD_MATES + 1; i++)
		end(&nccl[i]);
}

Test(group_thread, one_among_many_threads_is_found)
{
	enum { CROWD = 100 };
	static struct player crowd[CROWD], nccl;

	make_communicator();
	for (int i = 0; i < CROWD / 2; i++)
		begin_in(&crowd[i], program_main, sleep_on);
	struct glimpse op = call_making(&nccl, 1, played_async_main, sleep_on);
	for (int i = CROWD / 2; i < CROWD; i++)
		begin_in(&crowd[i], program_main, sleep_on);
	ask(&op);
	cr_expect_gt(in_progress(), op.return_ns);
	for (int i = 0; i < CROWD; i++)
		end(&crowd[i]);
	end(&nccl);
}

/* What is known already is not searched for. */
Test(group_thread, is_not_searched_for_calls_that_need_none)
{
	static struct player nccl;
	struct communicator *communicator = &recording.communicators[COMM];

	make_communicator();
	struct glimpse returned = call_making(&nccl, 1, played_async_main, sleep_on), op = returned;
	op.known = 0;
	ask(&op);
	expect_nothing_said("it has not returned");
	op = returned;
	op.group = 0;
	ask(&op);
	expect_nothing_said("it is in no group");
	communicator->launches_here = true;
	ask(&returned);
	expect_nothing_said("the communicator blocks");
	communicator->launches_here = false;
	recording.starts[COMM] = (struct thread_start){ 0 };
	ask(&returned);
	expect_nothing_said("where its threads begin is not known");
	cr_expect_eq(threads.of[COMM].walks, 0);
	end(&nccl);
}

Test(group_thread, what_the_interposer_saw_counts)
{
	static struct player nccl;
	struct communicator *communicator = &recording.communicators[COMM];

	make_communicator();
	struct glimpse op = call_making(&nccl, 1, played_async_main, sleep_on);
	communicator->settled_ns = op.return_ns + 1;
	ask(&op);
	cr_expect_eq(in_progress(), 0);
	communicator->settled_ns = 0;
	communicator->in_progress_ns = op.return_ns;
	ask(&op);
	cr_expect_eq(in_progress(), op.return_ns);
	cr_expect_eq(threads.of[COMM].walks, 0);
	/* Of an earlier call it says nothing. */
	communicator->settled_ns = communicator->in_progress_ns = op.return_ns - 1;
	ask(&op);
	cr_expect_gt(in_progress(), op.return_ns);
	end(&nccl);
}

Test(group_thread, without_one_the_threads_are_walked_over_three_times)
{
	make_communicator();
	struct glimpse op = call_begins();
	call_returns(&op);
	ask(&op);
	cr_expect_eq(threads.of[COMM].walks, 3);
	expect_nothing_said("there is none");
}

Test(group_thread, a_later_group_has_its_own)
{
	static struct player first, second;

	make_communicator();
	struct glimpse op = call_making(&first, 1, played_async_main, sleep_on);
	ask(&op);
	end(&first);
	usleep(LATER_US);
	struct glimpse next = call_making(&second, 1, played_async_main, sleep_on);
	next.group = GROUP + 1;
	ask(&next);
	cr_expect_gt(in_progress(), next.return_ns);
	cr_expect_eq(settled(), 0, "nobody asked for the first one any more");
	cr_expect_eq(threads.of[COMM].mates[0].tid, second.tid);
	end(&second);
}

/* The lowest that is free is the next one. */
static int next_descriptor(void)
{
	int fd = dup(STDIN_FILENO);

	close(fd);
	return fd;
}

Test(group_thread, to_look_where_a_thread_began_leaves_no_descriptor_open)
{
	struct thread_start start = { .address = 1, .distance = 64 };
	int before = next_descriptor();

	thread_start_own(in_nccl());
	cr_expect_eq(next_descriptor(), before);
	thread_start_is((uint32_t)gettid(), &start);
	cr_expect_eq(next_descriptor(), before);
}
