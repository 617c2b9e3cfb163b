/* SPDX-License-Identifier: MIT */
/*
 * The path of a collective: after init, 10,000 collectives and p2p calls of a thread that may make no system call at
 * all (seccomp) must not need one, must not allocate and must not lock (both interposed here). Versions 5 and 4.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/abi/player.h"

enum { CALLS = 10000, SKIPPED = 77 };

static _Thread_local bool counting;
static _Thread_local unsigned int allocations, locks;

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *old, size_t size);

void *malloc(size_t size)
{
	allocations += counting;
	return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	allocations += counting;
	return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
	allocations += counting;
	return __libc_realloc(old, size);
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	static int (*real)(pthread_mutex_t *);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "pthread_mutex_lock");
	locks += counting;
	return real(mutex);
}

static void on_system_call(int signal, siginfo_t *info, void *context)
{
	char line[80];
	int number = info->si_syscall;

	(void)signal, (void)context;
	if (number == SYS_clock_gettime) {
		static const char skip[] = "skipped: this kernel's clock needs a system call (no vDSO clock source)\n";

		_exit(write(STDERR_FILENO, skip, sizeof(skip) - 1) < 0 ? 1 : SKIPPED);
	}
	int size = snprintf(line, sizeof(line), "system call %d on the path of a collective\n", number);
	_exit(write(STDERR_FILENO, line, (size_t)size) < 0 ? 1 : 1);
}

/* From here on this thread may write and leave; anything else ends in on_system_call(). */
static int forbid_system_calls(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(filter) / sizeof(filter[0]), .filter = filter };
	struct sigaction action = { .sa_sigaction = on_system_call, .sa_flags = SA_SIGINFO };

	sigaction(SIGSYS, &action, NULL);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return -errno;
	return 0;
}

static int wait_for(pid_t child)
{
	int status;

	return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(void)
{
	struct player modern, old;

	player_directory();
	pid_t tester = fork(); /* the parent stays free to clean up */

	if (tester > 0)
		return wait_for(tester);
	player_init(&modern, player_load(), 5, 1, 0, 8);
	player_init(&old, player_load(), 4, 2, 0, 8);
	if (!modern.mask || !old.mask) {
		fprintf(stderr, "the plugin does not record\n");
		_exit(1);
	}
	if (forbid_system_calls() != 0) {
		fprintf(stderr, "skipped: no seccomp here\n");
		_exit(SKIPPED);
	}
	counting = true;
	for (int i = 0; i < CALLS; i++) {
		player_collective(&modern, "AllGather", 4096, "ncclBfloat16");
		player_collective(&old, "AllReduce", 4096, "ncclFloat32");
		player_p2p(&modern, i % 2 ? "Send" : "Recv", 16, i % 8);
	}
	counting = false;
	if (allocations || locks) {
		fprintf(stderr, "%u allocations and %u locks on the path of %d collectives\n", allocations, locks,
			CALLS);
		_exit(1);
	}
	_exit(0);
}
