/* SPDX-License-Identifier: MIT */
/* What the self-sampler sees of real threads of this process that stand in known places. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plugin/drain/self_sampler.h"
#include "plugin/drain/task_state.h"

enum { SECOND_NS = 1000000000, ROOM = 512 };

/* From one look to the next: a look puts the next one off by 500 times its cost, and on a machine whose processors are
 * taken away meanwhile that is seconds. */
#define NEXT_NS (UINT64_C(60) * SECOND_NS)
/* Later than all that look_for() may have needed. */
#define LATER_NS (2000 * NEXT_NS)

static struct box_writer box;
static struct self_sampler sampler;
static int pipe_ends[2];
static _Atomic uint32_t reader_tid;

static void begin(void)
{
	struct box_request request = {
		.job = "test", .rank = -1, .local_ranks = 1, .history_bytes = 1 << 20, .directory = "/dev/shm"
	};

	cr_assert_eq(box_writer_create(&box, &request), 0, "%s", box.note);
	if (box.path[0])
		unlink(box.path);
	self_sampler_open(&sampler, &box);
}

static void *read_pipe(void *argument)
{
	char byte;

	(void)argument;
	prctl(PR_SET_NAME, "pipe-reader");
	reader_tid = (uint32_t)syscall(SYS_gettid);
	return read(pipe_ends[0], &byte, 1) < 0 ? NULL : argument;
}

/* Waits until the thread is in that system call; returns its descriptor. */
static int32_t wait_until_in(int16_t wanted)
{
	int16_t call = 0;
	int32_t fd = -1;

	while (!reader_tid || !task_system_call(reader_tid, &call, &fd) || call != wanted)
		usleep(1000);
	return fd;
}

static pthread_t start_reader(void)
{
	pthread_t thread;

	cr_assert_eq(pipe(pipe_ends), 0);
	cr_assert_eq(pthread_create(&thread, NULL, read_pipe, NULL), 0);
	cr_assert_eq(wait_until_in(SYS_read), pipe_ends[0]);
	return thread;
}

/* Looks until a sample of that thread and kind is there; time is the test's own. */
static const struct rw_host_sample *find(uint32_t tid, uint8_t kind)
{
	uint64_t count = atomic_load(&box.header->samples_head);

	for (uint64_t i = 0; i < count && i < RW_BOX_SAMPLES; i++)
		if (box.samples[i].tid == tid && box.samples[i].kind == kind)
			return &box.samples[i];
	return NULL;
}

static const struct rw_host_sample *look_for(uint32_t tid, uint8_t kind)
{
	for (uint64_t now = NEXT_NS; now < 1000 * NEXT_NS; now += NEXT_NS) {
		self_sampler_poll(&sampler, now);
		if (find(tid, kind))
			return find(tid, kind);
	}
	return NULL;
}

Test(self_sampler, nobody_is_sampled_while_the_enqueuing_thread_enqueues)
{
	begin();
	for (uint64_t now = SECOND_NS; now < 2ull * SECOND_NS; now += 10000000) {
		self_sampler_note(&sampler, (uint32_t)getpid(), now);
		self_sampler_poll(&sampler, now);
	}
	cr_expect_eq(box.header->samples_head, 0);
}

Test(self_sampler, a_silent_enqueuing_thread_is_sampled_with_its_file_and_name)
{
	begin();
	pthread_t thread = start_reader();
	self_sampler_note(&sampler, reader_tid, 1);

	const struct rw_host_sample *state = look_for(reader_tid, RW_SAMPLE_STATE);
	cr_assert(state);
	cr_expect_eq(state->state, 'S');
	cr_expect_eq(state->system_call, SYS_read);
	cr_expect_eq(state->fd, pipe_ends[0]);
	const struct rw_host_sample *name = find(reader_tid, RW_SAMPLE_THREAD);
	cr_assert(name);
	cr_expect_str_eq(name->text, "pipe-reader");
	const struct rw_host_sample *file = find(reader_tid, RW_SAMPLE_FILE);
	cr_assert(file);
	cr_expect_eq(file->state, 0, "piece number");
	cr_expect_eq(strncmp(file->text, "pipe:[", 6), 0);

	cr_assert_eq(write(pipe_ends[1], "x", 1), 1);
	pthread_join(thread, NULL);
}

static void *poll_pipe(void *argument)
{
	struct pollfd polled = { .fd = pipe_ends[0], .events = POLLIN };

	(void)argument;
	reader_tid = (uint32_t)syscall(SYS_gettid);
	return poll(&polled, 1, -1) < 0 ? NULL : argument;
}

Test(self_sampler, a_poll_is_sampled_with_the_descriptor_that_it_waits_for)
{
	pthread_t thread;

	begin();
	cr_assert_eq(pipe(pipe_ends), 0);
	cr_assert_eq(pthread_create(&thread, NULL, poll_pipe, NULL), 0);
#ifdef SYS_poll
	cr_assert_eq(wait_until_in(SYS_poll), pipe_ends[0]);
#else
	cr_assert_eq(wait_until_in(SYS_ppoll), pipe_ends[0]);
#endif
	self_sampler_note(&sampler, reader_tid, 1);
	const struct rw_host_sample *state = look_for(reader_tid, RW_SAMPLE_STATE);
	cr_assert(state);
	cr_expect_eq(state->fd, pipe_ends[0]);
	const struct rw_host_sample *file = find(reader_tid, RW_SAMPLE_FILE);
	cr_assert(file);
	cr_expect_eq(strncmp(file->text, "pipe:[", 6), 0);
	cr_assert_eq(write(pipe_ends[1], "x", 1), 1);
	pthread_join(thread, NULL);
}

Test(self_sampler, another_thread_in_a_read_is_sampled_while_the_enqueuing_one_is_silent)
{
	begin();
	pthread_t thread = start_reader();
	self_sampler_note(&sampler, (uint32_t)getpid() + 100000, 1); /* some other, gone meanwhile */
	cr_expect(look_for(reader_tid, RW_SAMPLE_STATE));
	cr_assert_eq(write(pipe_ends[1], "x", 1), 1);
	pthread_join(thread, NULL);
}

static int open_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	int count = 0;

	cr_assert(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

static void *read_as_one_of_many(void *argument)
{
	char byte;

	*(_Atomic uint32_t *)argument = (uint32_t)syscall(SYS_gettid);
	return read(pipe_ends[0], &byte, 1) < 0 ? NULL : argument;
}

/* More threads than a look has time for. */
Test(self_sampler, the_next_look_goes_on_where_the_last_one_stopped_and_nothing_stays_open)
{
	enum { THREADS = 100, LOOKS = 1000 };
	static _Atomic uint32_t tids[THREADS];
	pthread_t threads[THREADS];
	int seen = 0;

	begin();
	cr_assert_eq(pipe(pipe_ends), 0);
	for (int i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, read_as_one_of_many, &tids[i]), 0);
	for (int i = 0; i < THREADS; i++) {
		int16_t call = 0;
		int32_t fd;
		while (!tids[i] || !task_system_call(tids[i], &call, &fd) || call != SYS_read)
			usleep(1000);
	}
	int before = open_descriptors();
	self_sampler_note(&sampler, (uint32_t)getpid() + 100000, 1); /* some other, gone meanwhile */
	for (uint64_t look = 1; look <= LOOKS && seen < THREADS; look++) {
		self_sampler_poll(&sampler, look * NEXT_NS);
		cr_assert_eq(open_descriptors(), before);
		seen = 0;
		for (int i = 0; i < THREADS; i++)
			seen += find(tids[i], RW_SAMPLE_THREAD) != NULL;
	}
	cr_expect_eq(seen, THREADS);
	for (int i = 0; i < THREADS; i++)
		cr_assert_eq(write(pipe_ends[1], "x", 1), 1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

Test(self_sampler, names_and_files_are_told_once)
{
	begin();
	pthread_t thread = start_reader();
	self_sampler_note(&sampler, reader_tid, 1);
	for (uint64_t now = NEXT_NS; now < 50 * NEXT_NS; now += NEXT_NS)
		self_sampler_poll(&sampler, now);

	int names = 0, states = 0;
	for (uint64_t i = 0; i < box.header->samples_head; i++) {
		names += box.samples[i].tid == reader_tid && box.samples[i].kind == RW_SAMPLE_THREAD;
		states += box.samples[i].tid == reader_tid && box.samples[i].kind == RW_SAMPLE_STATE;
	}
	cr_expect_eq(names, 1);
	cr_expect_geq(states, 40);
	cr_assert_eq(write(pipe_ends[1], "x", 1), 1);
	pthread_join(thread, NULL);
}

Test(self_sampler, an_expensive_look_delays_the_next_one)
{
	begin();
	self_sampler_note(&sampler, (uint32_t)syscall(SYS_gettid), 1);
	self_sampler_poll(&sampler, SECOND_NS);
	cr_expect_geq(sampler.next_ns, SECOND_NS + 50000000u, "20 Hz at most");
}

static void *lock_file(void *argument)
{
	int fd = *(int *)argument;

	reader_tid = (uint32_t)syscall(SYS_gettid);
	flock(fd, LOCK_EX);
	return NULL;
}

Test(self_sampler, a_path_comes_in_pieces_of_24_and_an_end)
{
	static char name[] = "/dev/shm/rankwatch-test-of-48-characters-XXXXXXX";
	char read_back[ROOM] = "";
	pthread_t thread;
	int pieces = 0;

	cr_assert_eq(strlen(name), 48);
	int held = mkostemp(name, O_CLOEXEC), wanted = open(name, O_RDWR | O_CLOEXEC);
	cr_assert(held >= 0 && wanted >= 0);
	cr_assert_eq(flock(held, LOCK_EX), 0);
	cr_assert_eq(pthread_create(&thread, NULL, lock_file, &wanted), 0);
	cr_assert_eq(wait_until_in(SYS_flock), wanted);
	begin();
	self_sampler_note(&sampler, reader_tid, 1);
	cr_assert(look_for(reader_tid, RW_SAMPLE_FILE));
	for (uint64_t i = 0; i < box.header->samples_head; i++) {
		const struct rw_host_sample *piece = &box.samples[i];

		if (piece->kind != RW_SAMPLE_FILE || piece->tid != reader_tid)
			continue;
		cr_expect_eq(piece->state, (char)pieces++);
		cr_expect_neq(piece->detail, 0, "the device");
		snprintf(read_back + strlen(read_back), ROOM - strlen(read_back), "%.24s", piece->text);
	}
	cr_expect_eq(pieces, 3);
	cr_expect_str_eq(read_back, name);
	flock(held, LOCK_UN);
	pthread_join(thread, NULL);
	unlink(name);
}

/* A file server's answer is waited for in S, not in D, and a look does not reach all threads. */
Test(self_sampler, a_thread_in_a_call_on_a_file_is_in_every_look_whatever_its_state)
{
	enum { CROWD = 100, LOOKS = 20 };
	char name[] = "/tmp/rankwatch-test-XXXXXX";
	pthread_t thread, crowd[CROWD];
	int held = mkstemp(name), wanted = open(name, O_RDWR | O_CLOEXEC), seen = 0;

	cr_assert(held >= 0 && wanted >= 0);
	crowd[0] = start_reader();
	for (int i = 1; i < CROWD; i++) {
		reader_tid = 0;
		cr_assert_eq(pthread_create(&crowd[i], NULL, read_pipe, NULL), 0);
		cr_assert_eq(wait_until_in(SYS_read), pipe_ends[0]);
	}
	reader_tid = 0;
	cr_assert_eq(flock(held, LOCK_EX), 0);
	cr_assert_eq(pthread_create(&thread, NULL, lock_file, &wanted), 0);
	cr_assert_eq(wait_until_in(SYS_flock), wanted);
	begin();
	self_sampler_note(&sampler, (uint32_t)getpid() + 100000, 1); /* some other, gone meanwhile */
	cr_assert(look_for(reader_tid, RW_SAMPLE_STATE));
	uint64_t before = atomic_load(&box.header->samples_head);
	for (uint64_t look = 1; look <= LOOKS; look++)
		self_sampler_poll(&sampler, LATER_NS + look * NEXT_NS);
	for (uint64_t i = before; i < atomic_load(&box.header->samples_head); i++) {
		const struct rw_host_sample *sample = &box.samples[i % RW_BOX_SAMPLES];
		seen += sample->tid == reader_tid && sample->kind == RW_SAMPLE_STATE;
	}
	cr_expect_eq(seen, LOOKS);
	flock(held, LOCK_UN);
	pthread_join(thread, NULL);
	unlink(name);
}

/* A thread that writes a log: in its file, then waiting for its queue, then in its file again. */
struct turns {
	int file;
	_Atomic int turn;
};

static void *lock_in_turn(void *argument)
{
	struct turns *turns = argument;

	reader_tid = (uint32_t)syscall(SYS_gettid);
	flock(turns->file, LOCK_EX);
	while (turns->turn < 1)
		syscall(SYS_futex, &turns->turn, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	flock(turns->file, LOCK_EX);
	return NULL;
}

static uint64_t states_of(uint32_t tid, uint64_t from)
{
	uint64_t seen = 0;

	for (uint64_t i = from; i < atomic_load(&box.header->samples_head); i++)
		seen += box.samples[i % RW_BOX_SAMPLES].tid == tid && box.samples[i % RW_BOX_SAMPLES].kind == RW_SAMPLE_STATE;
	return seen;
}

Test(self_sampler, a_thread_that_was_in_a_file_once_is_in_the_first_look_after_it_is_in_one_again)
{
	enum { CROWD = 100, IDLE_LOOKS = 20 };
	char name[] = "/tmp/rankwatch-test-XXXXXX";
	pthread_t thread, crowd[CROWD];
	int held = mkstemp(name);
	struct turns turns = { .file = open(name, O_RDWR | O_CLOEXEC) };

	cr_assert(held >= 0 && turns.file >= 0);
	crowd[0] = start_reader();
	for (int i = 1; i < CROWD; i++) {
		reader_tid = 0;
		cr_assert_eq(pthread_create(&crowd[i], NULL, read_pipe, NULL), 0);
		cr_assert_eq(wait_until_in(SYS_read), pipe_ends[0]);
	}
	reader_tid = 0;
	cr_assert_eq(flock(held, LOCK_EX), 0);
	cr_assert_eq(pthread_create(&thread, NULL, lock_in_turn, &turns), 0);
	cr_assert_eq(wait_until_in(SYS_flock), turns.file);
	begin();
	self_sampler_note(&sampler, (uint32_t)getpid() + 100000, 1); /* some other, gone meanwhile */
	cr_assert(look_for(reader_tid, RW_SAMPLE_STATE));

	flock(held, LOCK_UN);
	wait_until_in(SYS_futex);
	uint64_t before = atomic_load(&box.header->samples_head), look = LATER_NS;
	for (int i = 0; i < IDLE_LOOKS; i++)
		self_sampler_poll(&sampler, look += NEXT_NS);
	cr_expect_eq(states_of(reader_tid, before), 0, "a thread in a futex is of no interest");

	flock(turns.file, LOCK_UN);
	cr_assert_eq(flock(held, LOCK_EX), 0);
	turns.turn = 1;
	syscall(SYS_futex, &turns.turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	wait_until_in(SYS_flock);
	before = atomic_load(&box.header->samples_head);
	self_sampler_poll(&sampler, look += NEXT_NS);
	cr_expect_eq(states_of(reader_tid, before), 1);
	flock(held, LOCK_UN);
	pthread_join(thread, NULL);
	unlink(name);
}

Test(self_sampler, many_silent_threads_that_enqueue_leave_time_for_the_others)
{
	enum { LOOKS = 100 };
	char name[] = "/tmp/rankwatch-test-XXXXXX";
	pthread_t thread, silent[SELF_SAMPLER_ENQUEUERS];
	int held = mkstemp(name), wanted = open(name, O_RDWR | O_CLOEXEC);

	cr_assert(held >= 0 && wanted >= 0);
	begin();
	for (int i = 0; i < SELF_SAMPLER_ENQUEUERS; i++) {
		reader_tid = 0;
		if (i == 0)
			silent[i] = start_reader();
		else
			cr_assert_eq(pthread_create(&silent[i], NULL, read_pipe, NULL), 0);
		cr_assert_eq(wait_until_in(SYS_read), pipe_ends[0]);
		self_sampler_note(&sampler, reader_tid, 1);
	}
	reader_tid = 0;
	cr_assert_eq(flock(held, LOCK_EX), 0);
	cr_assert_eq(pthread_create(&thread, NULL, lock_file, &wanted), 0);
	cr_assert_eq(wait_until_in(SYS_flock), wanted);
	for (uint64_t look = 1; look <= LOOKS && !states_of(reader_tid, 0); look++)
		self_sampler_poll(&sampler, look * NEXT_NS);
	cr_expect_eq(states_of(reader_tid, 0), 1);
	flock(held, LOCK_UN);
	pthread_join(thread, NULL);
	unlink(name);
}

Test(task_state, waits_that_say_nothing_are_idle)
{
	cr_expect(task_is_idle(SYS_futex));
	cr_expect(task_is_idle(SYS_epoll_pwait));
	cr_expect(task_is_idle(-2), "running");
	cr_expect_not(task_is_idle(SYS_fsync));
	cr_expect_not(task_is_idle(-1), "blocked outside of a system call: a fault");
}
