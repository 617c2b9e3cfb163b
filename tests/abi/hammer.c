/* SPDX-License-Identifier: MIT */
/*
 * Eight threads at once: each makes its own communicators (concurrent init and finalize), plays calls, groups, p2p and
 * kernels in a version of the interface of its own, hands in stale and foreign handles; another process forks off in
 * the middle. Then the box must add up. churn: more communicators than the table holds, one after the other
 * in each thread, with contexts of ended ones handed in. abort: communicators end while other threads send on them.
 * Meanwhile leases come and go. Bare program: ThreadSanitizer sees the plugin's threads.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/abi/player.h"

enum { THREADS = 8, ROUNDS = 4, CALLS = 1500, CHURN = 400 };

enum { SHARED = 7777 };

static void *library;
static struct player shared; /* a communicator of all threads */
static atomic_bool done;

static void hand_in_nonsense(struct player *player, void *stale)
{
	static void *const nonsense[] = { (void *)8, (void *)-1, (void *)0x5500000000000001 };

	player_task(player, NULL, "AllReduce", 1);
	player_task(player, stale, "AllReduce", 1);
	for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
		player_task(player, nonsense[i], "AllReduce", 1);
		player_stop(player, nonsense[i]);
	}
	player_stop(player, stale);
	player_state(player, NULL, 23, NULL);
	player_stop(player, NULL);
}

/* Handles are stopped again at the next operation, as NCCL does. */
static void play_kernel(struct player *player, void *task, void *handles[4])
{
	for (uint8_t channel = 0; channel < 4; channel++) {
		player_channel_stop(player, handles[channel], 3);
		handles[channel] = player_channel(player, task, channel, 1);
	}
	for (int channel = 0; channel < 4; channel++)
		player_channel_stop(player, handles[channel], 2);
}

static void play_calls(struct player *player, int number)
{
	void *group = player_api_group(player);
	void *call = player_call(player, group, "Reduce", 1, "ncclFloat32", false);

	player_stop(player, player_task(player, call, "Reduce", 1));
	player_stop(player, group);
	if (player->abi >= 6 && number % 8 == 0) {
		void *copied = player_call(player, NULL, "AllGather", 1, "ncclFloat32", false);

		player_stop(player, player_copy(player, copied, "AllGather", 0, (void *)0x2000));
	}
	hand_in_nonsense(player, call);
}

/* Two of them at a time, as two progress threads might. */
static void play_transfers(struct player *player, void *task)
{
	void *op = player_transfer(player, task, 1, 0, true);

	for (int i = 0; i < 3; i++) {
		void *step = player_proxy_step(player, op, i);

		player_step_state(player, step, 8, 0);
		player_step_state(player, step, 20, 0);
		player_step_state(player, step, 9, 64);
		player_stop(player, step);
		player_stop(player, step);
	}
	player_stop(player, op);
	player_proxy_step(player, op, 7);
}

/* Somebody writes leases and garbage into the control page all the time: the box is anybody's of this user. */
static void *lease(void *argument)
{
	const char *directory = argument;
	struct box_reader reader;
	struct rw_lease lease = { .proxy_bits = PROFILER_PROXY_OP | PROFILER_PROXY_STEP };
	char path[64];

	player_read(&reader, directory);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", reader.fd);
	int fd = open(path, O_RDWR);
	for (uint64_t i = 0; fd >= 0 && !atomic_load(&done); i++) {
		off_t at = (off_t)(reader.header.control_offset + i % RW_BOX_LEASES * sizeof(lease));

		lease.communicator = i % 16 ? i % THREADS * 100 + 100 + i / 64 % ROUNDS : SHARED;
		lease.expires_ns = i % 5 ? UINT64_MAX - i : i;
		if (pwrite(fd, &lease, sizeof(lease), at) != (ssize_t)sizeof(lease))
			break;
		usleep(200);
	}
	return NULL; /* the descriptors stay: closing one would drop the writer's lock */
}

/* At first by tags, some of which are no steps, then by calls of all threads. */
static void mark_steps(struct player *player, uint64_t round, int call)
{
	static void (*step_begins)(uint64_t);

	player->tag = round * CALLS + (uint64_t)call / 4;
	if (round < ROUNDS / 2)
		return;
	if (!__atomic_load_n(&step_begins, __ATOMIC_RELAXED))
		__atomic_store_n(&step_begins, (void (*)(uint64_t))dlsym(library, "rankwatch_step"), __ATOMIC_RELAXED);
	__atomic_load_n(&step_begins, __ATOMIC_RELAXED)(round * CALLS + (uint64_t)call);
}

static void *play(void *argument)
{
	uint64_t id = (uint64_t)(uintptr_t)argument;
	int abi = 1 + (int)(id - 1) % 7;
	struct player player;
	void *channels[4] = { NULL };

	for (uint64_t round = 0; round < ROUNDS; round++) {
		player_init(&player, library, abi, id * 100 + round, 0, THREADS);
		for (int i = 0; i < CALLS; i++) {
			mark_steps(&player, round, i);
			if (abi >= 5)
				play_calls(&player, i);
			void *task = player_collective(&player, "AllReduce", 1, "ncclFloat32");
			if (abi >= 4)
				play_kernel(&player, task, channels);
			player_p2p(&player, "Send", 1, i % THREADS);
			play_transfers(&player, task);
			play_transfers(&shared, NULL);
		}
		player_finalize(&player);
		player_collective(&player, "AllReduce", 1, "ncclFloat32"); /* stale context */
		player_finalize(&player);
	}
	return NULL;
}

static void *churn(void *argument)
{
	uint64_t id = (uint64_t)(uintptr_t)argument;
	struct player player, stale = { 0 };

	for (uint64_t i = 0; i < CHURN; i++) {
		player_init(&player, library, 1 + (int)(i % 7), id * CHURN + i + 1, 0, THREADS);
		player_collective(&player, "AllReduce", 1, "ncclFloat32");
		if (stale.context) {
			player_collective(&stale, "AllReduce", 1, "ncclFloat32");
			player_finalize(&stale);
		}
		player_finalize(&player);
		stale = player;
		usleep(1000); /* a job's communicators do not come faster than the plugin's thread looks */
	}
	return NULL;
}

/*
 * What an abort by a watchdog's thread meets: sends of the communicator on other threads, until it has ended and
 * longer. Under ThreadSanitizer no more of them than the ring has slots: a thread that writes late into an operation
 * that was given up is held to mean a slot that nobody has claimed since. Else as many as there can be, to hit memory
 * that is gone.
 */
#ifdef __SANITIZE_THREAD__
enum { SENDERS = 2, SENDS = 4 };
#else
enum { SENDERS = 2, SENDS = 100 };
#endif
/* A process: fewer than the table of communicators holds, so that none has to wait for the place of another. */
enum { ABORTS = RW_BOX_COMMS - 24, PROCESSES = 10 };

static struct player aborted[ABORTS];
static struct player *_Atomic current;

static void *send_meanwhile(void *unused)
{
	const struct player *last = NULL;

	(void)unused;
	while (!atomic_load(&done)) {
		const struct player *now = atomic_load(&current);

		if (!now || now == last) {
			sched_yield();
			continue;
		}
		last = now;
		struct player player = *now;
		for (int i = 0; i < SENDS && now == atomic_load(&current) && !atomic_load(&done); i++)
			player_p2p(&player, i % 2 ? "Send" : "Recv", 1, i);
	}
	return NULL;
}

static int race_with_aborts(void)
{
	pthread_t threads[SENDERS];

	for (int i = 0; i < SENDERS; i++)
		if (pthread_create(&threads[i], NULL, send_meanwhile, NULL))
			return 1;
	for (int i = 0; i < ABORTS; i++) {
		struct player *next = &aborted[i];

		player_init(next, library, 5, (uint64_t)i + 1, 0, i % 3 ? THREADS : 100 * THREADS);
		if (!next->mask)
			return 1;
		atomic_store(&current, next);
		for (int turn = 0; turn < i % 4; turn++)
			sched_yield();
		player_finalize(next);
	}
	atomic_store(&done, true);
	for (int i = 0; i < SENDERS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

static int race_in_processes(void)
{
	int failed = 0, status;

	for (int i = 0; i < PROCESSES; i++) {
		pid_t child = fork();

		if (child == 0) {
			library = player_load();
			_exit(race_with_aborts());
		}
		failed |= child < 0 || waitpid(child, &status, 0) != child || status;
	}
	return failed;
}

/* Each has left its operation, or was refused and counted. */
static int check_churn(const char *directory)
{
	struct box_reader reader;

	player_read(&reader, directory);
	uint64_t refused = reader.header.comms_refused, used = reader.header.comms_used;
	printf("%d communicators: %llu entries, %llu refused, head %llu\n", THREADS * CHURN, (unsigned long long)used,
	       (unsigned long long)refused, (unsigned long long)reader.header.head);
	bool whole = used == RW_BOX_COMMS && reader.header.head + refused == THREADS * CHURN;
	box_reader_close(&reader);
	return !whole;
}

/* 0 when the first has begun. */
static int start_leases(pthread_t *thread, const char *directory)
{
	player_init(&shared, library, 5, SHARED, 0, THREADS);
	if (pthread_create(thread, NULL, lease, (void *)directory))
		return 1;
	for (int i = 0; i < 10000; i++, usleep(1000))
		if (__atomic_load_n(&shared.mask, __ATOMIC_RELAXED) & PROFILER_PROXY_STEP)
			return 0;
	fprintf(stderr, "a lease has not begun within 10 s\n");
	return 1;
}

/* A forked child has neither box nor thread: it may call and exit, and nothing happens. */
static int fork_and_play(void)
{
	struct player player;
	int status = -1;

	player_init(&player, library, 5, 77, 0, 2);
	pid_t child = fork();
	if (child == 0) {
		player_collective(&player, "AllReduce", 1, "ncclFloat32");
		player_finalize(&player);
		player_init(&player, library, 5, 78, 0, 2);
		_exit(player.mask != 0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
		fprintf(stderr, "forked child: status %d\n", status);
		return 1;
	}
	player_finalize(&player);
	return 0;
}

/* A call with an event of its own: three in 5 and up, one more on the copy engines each eighth time in 6 and 7. */
static uint64_t expected_calls(void)
{
	uint64_t calls = 0;

	for (int thread = 0; thread < THREADS; thread++) {
		int abi = 1 + thread % 7;

		calls += (uint64_t)ROUNDS * CALLS * (abi < 5 ? 2 : 3);
		calls += abi < 6 ? 0 : (uint64_t)ROUNDS * ((CALLS + 7) / 8);
	}
	return calls;
}

static int check_box(const char *directory)
{
	struct box_reader reader;
	struct rw_communicator entries[THREADS * ROUNDS + 2];
	uint64_t calls = 0, expected = expected_calls();

	player_read(&reader, directory);
	int count = box_reader_communicators(&reader, 0, THREADS * ROUNDS + 2, entries);
	for (int i = 0; i < count; i++) {
		calls += entries[i].api_count;
		if (!entries[i].ended_ns)
			fprintf(stderr, "communicator %d has no end\n", i);
	}
	printf("%d communicators, %llu calls, head %llu, dropped %llu, own %llu ns in %llu callbacks\n", count,
	       (unsigned long long)calls, (unsigned long long)reader.header.head,
	       (unsigned long long)reader.header.dropped, (unsigned long long)reader.header.own_ns,
	       (unsigned long long)reader.header.callbacks);
	static struct rw_wait waits[RW_BOX_WAITS];
	uint64_t steps = 0;
	for (int i = 0, used = box_reader_waits(&reader, 0, RW_BOX_WAITS, waits); i < used; i++)
		steps += waits[i].steps;
	printf("%llu steps of transfers\n", (unsigned long long)steps);
	box_reader_close(&reader);
	if (!steps || count != THREADS * ROUNDS + 2 || calls != expected) {
		fprintf(stderr, "expected %d communicators, %llu calls, some steps\n", THREADS * ROUNDS + 2,
			(unsigned long long)expected);
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	bool churns = argc > 1;
	const char *directory = player_directory();
	pthread_t threads[THREADS], leaser;
	int failed = 0;

	setenv("RANKWATCH_KERNELCH", "1", 1);
	if (argc > 1 && strcmp(argv[1], "abort") == 0)
		setenv("RANKWATCH_HISTORY", "32M", 1);
	if (argc > 1 && strcmp(argv[1], "abort") == 0)
		return race_in_processes();
	library = player_load();
	if (!churns && start_leases(&leaser, directory))
		return 1;
	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, churns ? churn : play, (void *)(i + 1)))
			return 1;
	if (!churns)
		failed |= fork_and_play();
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	atomic_store(&done, true);
	if (!churns) {
		pthread_join(leaser, NULL);
		player_finalize(&shared);
	}
	return failed | (churns ? check_churn(directory) : check_box(directory));
}
