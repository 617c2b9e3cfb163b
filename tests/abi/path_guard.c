/* SPDX-License-Identifier: MIT */
#include "tests/abi/path_guard.h"

#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SKIPPED = 77 };

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
static bool forbid_system_calls(void)
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
		return false;
	return true;
}

void path_guard_fork(void)
{
	pid_t tester = fork(); /* the parent stays free to clean up */
	int status;

	if (tester > 0)
		exit(waitpid(tester, &status, 0) == tester && WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

void path_guard_begin(void)
{
	if (!forbid_system_calls()) {
		fprintf(stderr, "skipped: no seccomp here\n");
		_exit(SKIPPED);
	}
	counting = true;
}

void path_guard_end(const char *what)
{
	counting = false;
	if (allocations || locks) {
		fprintf(stderr, "%u allocations and %u locks on the path of %s\n", allocations, locks, what);
		_exit(1);
	}
	_exit(0);
}
