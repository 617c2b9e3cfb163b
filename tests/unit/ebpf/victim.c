/* SPDX-License-Identifier: MIT */
#include "tests/unit/ebpf/victim.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FSYNC_BYTES = 256 * 1024, TURNS = 10, TURN_MS = 43, QUEUE_TURNS = 100, QUEUE_TURN_MS = 4 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool other_ready, other_quit;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void sleep_ms(long ms)
{
	struct timespec left = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&left, &left))
		;
}

static void begin(struct victim_truth *truth)
{
	truth->start_ns = now_ns();
}

static void end(struct victim_truth *truth)
{
	truth->end_ns = now_ns();
}

static void start_other(void *(*body)(void *), void *argument)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, body, argument))
		abort();
	pthread_detach(thread);
	while (!atomic_load(&other_ready))
		sched_yield();
}

static void be_other(struct victim_truth *truth, const char *name)
{
	prctl(PR_SET_NAME, name);
	truth->other_tid = gettid();
}

void victim_sleep(struct victim_truth *truth, const char *folder)
{
	(void)folder;
	begin(truth);
	sleep_ms(120);
	end(truth);
}

void victim_killed(struct victim_truth *truth, const char *folder)
{
	(void)truth;
	(void)folder;
	kill(getpid(), SIGKILL);
}

static void *hold_lock(void *truth)
{
	be_other(truth, "lock-holder");
	pthread_mutex_lock(&lock);
	atomic_store(&other_ready, true);
	sleep_ms(200);
	pthread_mutex_unlock(&lock);
	return NULL;
}

void victim_lock(struct victim_truth *truth, const char *folder)
{
	(void)folder;
	start_other(hold_lock, truth);
	begin(truth);
	pthread_mutex_lock(&lock);
	end(truth);
}

static void stay_on_first_cpu(void)
{
	cpu_set_t first;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	sched_setaffinity(0, sizeof(first), &first);
}

static void *spin_beside(void *truth)
{
	be_other(truth, "innocent");
	pthread_mutex_lock(&lock);
	atomic_store(&other_ready, true);
	while (!atomic_load(&other_quit))
		;
	return NULL;
}

/* The timer's interrupt comes while the other thread of this process runs on the CPU: it did not wake anybody. */
void victim_timed_lock(struct victim_truth *truth, const char *folder)
{
	struct timespec until;

	(void)folder;
	stay_on_first_cpu();
	start_other(spin_beside, truth);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 150 * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	begin(truth);
	pthread_mutex_timedlock(&lock, &until);
	end(truth);
	atomic_store(&other_quit, true);
}

static pthread_mutex_t turn_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_over = PTHREAD_COND_INITIALIZER;
static int turns_over, turns_taken;
static sem_t passing;

static void end_turn(void)
{
	pthread_mutex_lock(&turn_lock);
	turns_over++;
	pthread_cond_signal(&turn_over);
	pthread_mutex_unlock(&turn_lock);
}

static void *take_turn(void *truth)
{
	be_other(truth, "turn-taker");
	atomic_store(&other_ready, true);
	for (int turn = 0; turn < TURNS; turn++) {
		sleep_ms(TURN_MS);
		end_turn();
	}
	return NULL;
}

static void *pass_by(void *unused)
{
	(void)unused;
	prctl(PR_SET_NAME, "passer-by");
	for (int turn = 0; turn < QUEUE_TURNS / 4; turn++) {
		sem_wait(&passing);
		end_turn();
	}
	return NULL;
}

/* The passer-by ends every fourth turn. */
static void *empty_queue(void *truth)
{
	pthread_t passer;

	be_other(truth, "queue-emptier");
	sem_init(&passing, 0, 0);
	if (pthread_create(&passer, NULL, pass_by, NULL))
		abort();
	atomic_store(&other_ready, true);
	for (int turn = 0; turn < QUEUE_TURNS; turn++) {
		sleep_ms(QUEUE_TURN_MS);
		if (turn % 4 == 3)
			sem_post(&passing);
		else
			end_turn();
	}
	pthread_join(passer, NULL);
	return NULL;
}

static void wait_for_turn(void)
{
	struct timespec until;

	pthread_mutex_lock(&turn_lock);
	while (turns_over == turns_taken) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 5000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&turn_over, &turn_lock, &until);
	}
	turns_taken++; /* the other has it again at once */
	pthread_mutex_unlock(&turn_lock);
}

static void wait_for_turns(struct victim_truth *truth, int turns)
{
	begin(truth);
	for (int turn = 0; turn < turns; turn++)
		wait_for_turn();
	end(truth);
	sleep_ms(120); /* a sum is sent with a later call */
}

/* As CPython takes its lock: 5 ms at a time, until whoever holds it has let go. Many turns: where its end comes within
 * the first millisecond of such a wait, the kernel side does not ask who it was. */
void victim_turns(struct victim_truth *truth, const char *folder)
{
	(void)folder;
	start_other(take_turn, truth);
	wait_for_turns(truth, TURNS);
}

void victim_queue(struct victim_truth *truth, const char *folder)
{
	(void)folder;
	start_other(empty_queue, truth);
	wait_for_turns(truth, QUEUE_TURNS);
}

/* A byte every 5 ms. */
void victim_drops(struct victim_truth *truth, const char *folder)
{
	int ends[2];
	char byte;

	(void)folder;
	if (pipe(ends))
		abort();
	pid_t peer = fork();
	if (!peer) {
		prctl(PR_SET_NAME, "peer");
		for (int i = 0; i < 60; i++) {
			sleep_ms(5);
			if (write(ends[1], "x", 1) != 1)
				_exit(1);
		}
		_exit(0);
	}
	truth->helper_pid = peer;
	begin(truth);
	for (int i = 0; i < 60; i++)
		if (read(ends[0], &byte, 1) != 1)
			abort();
	end(truth);
	sleep_ms(120);
	waitpid(peer, NULL, 0);
}

void victim_pipe(struct victim_truth *truth, const char *folder)
{
	int ends[2];
	char byte;

	(void)folder;
	if (pipe(ends))
		abort();
	pid_t peer = fork();
	if (!peer) {
		prctl(PR_SET_NAME, "peer");
		sleep_ms(150);
		_exit(write(ends[1], "x", 1) != 1);
	}
	truth->helper_pid = peer;
	begin(truth);
	if (read(ends[0], &byte, 1) != 1)
		abort();
	end(truth);
	waitpid(peer, NULL, 0);
}

static void be_interrupted(int number)
{
	(void)number;
}

/* The reader is sent a signal, as by a debugger that attaches, and reads on. */
void victim_interrupted(struct victim_truth *truth, const char *folder)
{
	struct sigaction restart = { .sa_handler = be_interrupted, .sa_flags = SA_RESTART };
	pid_t reader = getpid();
	int ends[2];
	char byte;

	(void)folder;
	if (pipe(ends) || sigaction(SIGUSR1, &restart, NULL))
		abort();
	pid_t peer = fork();
	if (!peer) {
		prctl(PR_SET_NAME, "peer");
		sleep_ms(150);
		if (kill(reader, SIGUSR1))
			_exit(1);
		sleep_ms(50);
		_exit(write(ends[1], "x", 1) != 1);
	}
	truth->helper_pid = peer;
	begin(truth);
	if (read(ends[0], &byte, 1) != 1)
		abort();
	end(truth);
	waitpid(peer, NULL, 0);
}

/* As a host that blocks until its GPU is done: poll(2) on a file called as the driver's, which nobody makes ready. */
void victim_poll(struct victim_truth *truth, const char *folder)
{
	char directory[] = "/tmp/rankwatch-victim-XXXXXX", dev[64], path[80];

	(void)folder;
	if (!mkdtemp(directory))
		abort();
	snprintf(dev, sizeof(dev), "%s/dev", directory);
	snprintf(path, sizeof(path), "%s/nvidia0", dev);
	if (mkdir(dev, 0700) || mkfifo(path, 0600))
		abort();
	struct pollfd polled = { .fd = open(path, O_RDWR | O_CLOEXEC), .events = POLLIN };
	begin(truth);
	poll(&polled, 1, 150);
	end(truth);
	sleep_ms(60); /* the file is still open when the test looks for its path */
	unlink(path);
	rmdir(dev);
	rmdir(directory);
}

/* The call of this number as a 32-bit program makes it. */
static long call_compat(long number, long first, long second, long third)
{
#if defined(__x86_64__)
	long result;

	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(number), "b"(first), "c"(second), "d"(third)
			 : "memory", "r8", "r9", "r10", "r11");
	return result;
#else
	(void)number, (void)first, (void)second, (void)third;
	return -ENOSYS;
#endif
}

enum { COMPAT_READ = 3, COMPAT_GETPID = 20 };

bool victim_has_compat(void)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(call_compat(COMPAT_GETPID, 0, 0, 0) != getpid());
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* read(2) from a pipe by the 32-bit interface: its number is close(2)'s. */
void victim_compat(struct victim_truth *truth, const char *folder)
{
	int ends[2];

	(void)folder;
#if defined(__x86_64__)
	char *byte = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
#else
	char *byte = MAP_FAILED;
#endif
	if (byte == MAP_FAILED || pipe(ends))
		abort();
	pid_t peer = fork();
	if (!peer) {
		prctl(PR_SET_NAME, "peer");
		sleep_ms(150);
		_exit(write(ends[1], "x", 1) != 1);
	}
	truth->helper_pid = peer;
	begin(truth);
	if (call_compat(COMPAT_READ, ends[0], (long)byte, 1) != 1)
		abort();
	end(truth);
	waitpid(peer, NULL, 0);
}

static atomic_int crowd;

static void *be_one_of_many(void *argument)
{
	(void)argument;
	atomic_fetch_add(&crowd, 1);
	pause();
	return NULL;
}

/* More threads than the ring has room for records. */
void victim_crowd(struct victim_truth *truth, const char *folder)
{
	pthread_attr_t small;
	pthread_t thread;

	(void)folder;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 32 * 1024);
	begin(truth);
	for (int i = 0; i < VICTIM_CROWD; i++)
		if (pthread_create(&thread, &small, be_one_of_many, NULL))
			break;
	while (atomic_load(&crowd) < VICTIM_CROWD)
		sched_yield();
	end(truth);
	sleep_ms(400);
}

static uint64_t own_run_queue_ns(void)
{
	unsigned long long queue = 0;
	FILE *file = fopen("/proc/thread-self/schedstat", "re");

	if (!file || fscanf(file, "%*u %llu", &queue) != 1)
		abort();
	fclose(file);
	return queue;
}

/* Others take the CPU for about as long as it works itself. */
void victim_spin(struct victim_truth *truth, const char *folder)
{
	(void)folder;
	stay_on_first_cpu();
	pid_t neighbour = fork();
	if (!neighbour) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			;
	}
	uint64_t before = own_run_queue_ns();
	begin(truth);
	while (now_ns() - truth->start_ns < 400000000)
		;
	end(truth);
	truth->run_queue_ns = own_run_queue_ns() - before;
	kill(neighbour, SIGKILL);
	waitpid(neighbour, NULL, 0);
}

void victim_stop(struct victim_truth *truth, const char *folder)
{
	(void)folder;
	pid_t stopper = fork();
	if (!stopper) {
		sleep_ms(50);
		kill(getppid(), SIGSTOP);
		sleep_ms(250);
		kill(getppid(), SIGCONT);
		_exit(0);
	}
	/* Every moment lies between two readings of the clock, so the stop does too. */
	for (uint64_t last = now_ns(); !truth->end_ns; last = truth->start_ns) {
		truth->start_ns = now_ns();
		if (truth->start_ns - last > 200000000) {
			truth->end_ns = truth->start_ns;
			truth->start_ns = last;
		}
	}
	waitpid(stopper, NULL, 0);
}

/* A file with bytes that are not yet on the disk. To make one may wait for the disk as well, in open(2) or write(2). */
static int written_file(const char *folder)
{
	static char bytes[FSYNC_BYTES];
	char path[128];

	snprintf(path, sizeof(path), "%s/events.out.tfevents.0", folder);
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	memset(bytes, 1, sizeof(bytes));
	if (fd < 0 || write(fd, bytes, sizeof(bytes)) != sizeof(bytes))
		abort();
	return fd;
}

static void sync_file(int fd)
{
	if (fsync(fd))
		abort();
}

void victim_fsync(struct victim_truth *truth, const char *folder)
{
	int fd = written_file(folder);

	begin(truth);
	sync_file(fd);
	end(truth);
	sleep_ms(60); /* the file is still open when the test looks for its path */
}

struct writer {
	struct victim_truth *truth;
	const char *folder;
};

static void *write_log(void *argument)
{
	struct writer *writer = argument;

	be_other(writer->truth, "tb-writer");
	int fd = written_file(writer->folder);

	pthread_mutex_lock(&lock);
	atomic_store(&other_ready, true);
	sync_file(fd);
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* As a trainer whose log queue is full: the main thread waits for the writer, and the writer for the disk. */
void victim_writer(struct victim_truth *truth, const char *folder)
{
	struct writer writer = { truth, folder };

	start_other(write_log, &writer);
	begin(truth);
	pthread_mutex_lock(&lock);
	end(truth);
}

static _Noreturn void live(int go, victim_stall *stall, struct victim_truth *truth, const char *folder)
{
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "victim-main");
	truth->main_tid = gettid();
	if (read(go, &byte, 1) == 1)
		stall(truth, folder);
	exit(7);
}

int victim_start(struct victim *victim, victim_stall *stall, const char *folder)
{
	int go[2];
	void *shared = mmap(NULL, sizeof(*victim->truth), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED || pipe2(go, O_CLOEXEC))
		return -errno;
	*victim = (struct victim){ .pid = fork(), .go = go[1], .truth = shared };
	if (!victim->pid)
		live(go[0], stall, shared, folder);
	close(go[0]);
	return victim->pid < 0 ? -errno : 0;
}

void victim_go(struct victim *victim)
{
	if (write(victim->go, "g", 1) != 1)
		abort();
}

int victim_end(struct victim *victim)
{
	int status = 0;

	waitpid(victim->pid, &status, 0);
	close(victim->go);
	munmap(victim->truth, sizeof(*victim->truth));
	return status;
}
