/* SPDX-License-Identifier: MIT */
#include "ebpf/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "ebpf/view.h"

enum { THRESHOLD_NS = 5000000, HOLD_MS = 40, LIMIT_MS = 3000, POLL_MS = 10, SLACK_NS = 20000000 };

/* What the child did: shared memory. Times are CLOCK_MONOTONIC. */
struct deeds {
	_Atomic bool held; /* the lock, by the other thread */
	_Atomic int waits; /* of the main thread: which one it is about to begin */
	pid_t main_tid, other_tid;
	uint64_t lock_start_ns, lock_end_ns;
	uint64_t pipe_inode;
};

struct watcher {
	const struct deeds *deeds;
	struct trial *trial;
};

/* Of the child. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];

static void sleep_ms(long ms)
{
	struct timespec left = { 0, ms * 1000000 };

	while (nanosleep(&left, &left))
		;
}

static bool is_asleep(pid_t tid)
{
	char path[64], stat[256];

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = file >= 0 ? read(file, stat, sizeof(stat) - 1) : -1;

	if (file >= 0)
		close(file);
	stat[length > 0 ? length : 0] = 0;
	const char *state = strrchr(stat, ')'); /* the name before it may hold anything */
	return state && (state[2] == 'S' || state[2] == 'D');
}

/* The main thread shall sleep for HOLD_MS whenever the scheduler lets it begin: shorter waits than THRESHOLD_NS are not
 * reported. */
static void let_it_sleep(struct deeds *deeds, int waits)
{
	for (int waited = 0; waited < LIMIT_MS; waited++) {
		if (atomic_load(&deeds->waits) == waits && is_asleep(deeds->main_tid))
			break;
		sleep_ms(1);
	}
	sleep_ms(HOLD_MS);
}

static void *hold_up(void *argument)
{
	struct deeds *deeds = argument;
	char bytes[4096];

	deeds->other_tid = (pid_t)syscall(SYS_gettid);
	pthread_mutex_lock(&lock);
	atomic_store(&deeds->held, true);
	let_it_sleep(deeds, 1);
	pthread_mutex_unlock(&lock);
	let_it_sleep(deeds, 2);
	while (read(ends[0], bytes, sizeof(bytes)) < 0 && errno == EINTR)
		;
	return NULL;
}

static void wait_for_lock(struct deeds *deeds)
{
	while (!atomic_load(&deeds->held))
		sched_yield();
	deeds->lock_start_ns = clock_monotonic_ns();
	atomic_store(&deeds->waits, 1);
	pthread_mutex_lock(&lock);
	deeds->lock_end_ns = clock_monotonic_ns();
}

/* A pipe that is full takes the next byte when the other thread has read. */
static int open_full_pipe(struct deeds *deeds)
{
	static const char bytes[4096];
	struct stat status;

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) || fstat(ends[1], &status))
		return -errno;
	deeds->pipe_inode = status.st_ino;
	while (write(ends[1], bytes, sizeof(bytes)) > 0)
		;
	return fcntl(ends[1], F_SETFL, 0) || fcntl(ends[0], F_SETFL, 0) ? -errno : 0;
}

static void __attribute__((noreturn)) be_child(int go, struct deeds *deeds)
{
	pthread_t other;
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "rankwatch-try");
	deeds->main_tid = (pid_t)syscall(SYS_gettid);
	if (open_full_pipe(deeds) || read(go, &byte, 1) != 1 || pthread_create(&other, NULL, hold_up, deeds))
		_exit(1);
	wait_for_lock(deeds);
	atomic_store(&deeds->waits, 2);
	if (write(ends[1], &byte, 1) != 1)
		_exit(1);
	_exit(0);
}

static bool is_lock(const struct deeds *deeds, const struct rw_kernel_wait *wait)
{
	return wait->system_call == SYS_futex && wait->start_ns + SLACK_NS >= deeds->lock_start_ns;
}

static void on_record(void *argument, const struct rw_kernel_wait *wait)
{
	const struct watcher *watcher = argument;
	const struct deeds *deeds = watcher->deeds;
	struct trial *trial = watcher->trial;

	if (wait->kind != RW_KERNEL_WAIT || (pid_t)wait->tid != deeds->main_tid)
		return;
	if (is_lock(deeds, wait)) {
		trial->wait = true;
		trial->reported_ms = (double)(wait->end_ns - wait->start_ns) / 1e6;
		trial->waker = (pid_t)wait->waker_tid == deeds->other_tid;
	} else if (wait->system_call == SYS_write) {
		trial->file = wait->inode == deeds->pipe_inode && !strcmp(wait->file_system, "pipefs");
	}
}

static void follow(struct view *view, pid_t child)
{
	siginfo_t info = { 0 };

	for (int waited = 0; waited < LIMIT_MS && !info.si_pid; waited += POLL_MS) {
		sleep_ms(POLL_MS);
		view_poll(view);
		if (waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT))
			break;
	}
	view_poll(view);
}

static uint64_t lost_by(struct view *view)
{
	struct probes_loss loss;

	view_loss(view, &loss);
	return loss.ring + loss.waits;
}

static int watch(struct watcher *watcher, const char *helper, pid_t child, int go, char *why)
{
	char refused[VIEW_WHY];
	struct view *view;
	int err = view_open(&view, helper, THRESHOLD_NS, on_record, watcher, why);

	if (err)
		return err;
	int pidfd = (int)syscall(SYS_pidfd_open, child, 0);

	watcher->trial->by_helper = view_is_helpers(view);
	err = view_watch(view, child, pidfd, refused);
	if (pidfd >= 0)
		close(pidfd);
	if (err)
		snprintf(why, TRIAL_WHY, "the BPF programs load, but a process cannot be watched: %.180s",
			 *refused ? refused : strerror(-err));
	else if (write(go, "g", 1) == 1)
		follow(view, child);
	watcher->trial->true_ms = (double)(watcher->deeds->lock_end_ns - watcher->deeds->lock_start_ns) / 1e6;
	watcher->trial->lost = lost_by(view);
	if (!err)
		view_unwatch(view, child); /* a helper sends what it still has before it answers */
	view_close(view);
	return err;
}

static int try_with(struct deeds *deeds, const char *helper, struct trial *trial, char *why)
{
	struct watcher watcher = { deeds, trial };
	int go[2];

	if (pipe2(go, O_CLOEXEC))
		return -errno;
	fflush(NULL);
	pid_t child = fork();

	if (child == 0)
		be_child(go[0], deeds);
	close(go[0]);
	int err = child < 0 ? -errno : watch(&watcher, helper, child, go[1], why);

	close(go[1]);
	if (child > 0) {
		kill(child, SIGKILL);
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
	}
	return err;
}

int trial_run(struct trial *trial, const char *helper, char *why)
{
	struct deeds *deeds = mmap(NULL, sizeof(*deeds), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int err;

	*trial = (struct trial){ 0 };
	*why = '\0';
	if (deeds == MAP_FAILED)
		return -errno;
	err = try_with(deeds, helper, trial, why);
	munmap(deeds, sizeof(*deeds));
	return err;
}
