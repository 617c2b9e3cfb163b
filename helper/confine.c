/* SPDX-License-Identifier: MIT */
#include "helper/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	NOBODY = 65534,
	CAPABILITIES = 64, /* bits in a set */
	SETS = 2,	   /* words in the kernel's version 3 */
	BPF_BIT = 39 - 32, /* CAP_BPF and CAP_PERFMON in the second word; headers have them from 5.8 on */
	PERFMON_BIT = 38 - 32,
	CALLS_MOST = 96,
};

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "say here which architecture seccomp calls this one"
#endif

static int set_capabilities(bool keep_bpf)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[SETS] = { 0 }, left[SETS];

	if (keep_bpf)
		sets[1].permitted = sets[1].effective = 1u << BPF_BIT | 1u << PERFMON_BIT;
	if (syscall(SYS_capset, &header, sets) || syscall(SYS_capget, &header, left))
		return -errno;
	return memcmp(sets, left, sizeof(sets)) ? -EPERM : 0;
}

/* As which the kernel lets others look at and signal us. The capabilities outlive the change until they are laid
 * down. */
static int become_nobody(void)
{
	if (geteuid() != 0)
		return 0;
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) || setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
	    setresuid(NOBODY, NOBODY, NOBODY))
		return -errno;
	return 0;
}

int confine_rights(bool keep_bpf)
{
	int err;

	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	for (int capability = 0; capability < CAPABILITIES; capability++)
		prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
	err = become_nobody();
	if (!err)
		err = set_capabilities(keep_bpf);
	if (!err && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)))
		err = -errno;
	return err;
}

/* What the C library does by itself, wherever it is called. */
static const uint16_t everybodys[] = {
	SYS_read, SYS_write, SYS_close, SYS_ppoll, SYS_recvmsg, SYS_sendmsg, SYS_recvfrom, SYS_sendto,
	SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_rt_sigaction, SYS_restart_syscall, SYS_exit, SYS_exit_group,
	SYS_brk, SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_futex, SYS_clock_gettime, SYS_getpid,
	SYS_gettid, SYS_tgkill, SYS_readlinkat, SYS_getrandom,
#ifdef SYS_poll
	SYS_poll,
#endif
#ifdef SYS_readlink
	SYS_readlink,
#endif
};
static const uint16_t helpers[] = { SYS_newfstatat, SYS_fstat, SYS_statx, SYS_lseek, SYS_geteuid, SYS_fcntl };
static const uint16_t gates[] = {
	SYS_accept4, SYS_getsockopt, SYS_socketpair, SYS_clone, SYS_wait4, SYS_waitid, SYS_kill, SYS_prctl, SYS_seccomp,
	SYS_dup3, SYS_close_range, SYS_set_robust_list, SYS_clock_nanosleep,
#ifdef SYS_rseq
	SYS_rseq,
#endif
#ifdef SYS_dup2
	SYS_dup2,
#endif
};
/* Of bpf(2): nothing that loads or makes anything. */
static const uint16_t commands[] = {
	BPF_MAP_LOOKUP_ELEM, BPF_MAP_UPDATE_ELEM, BPF_MAP_DELETE_ELEM, BPF_RAW_TRACEPOINT_OPEN, BPF_LINK_CREATE,
	BPF_ITER_CREATE, BPF_OBJ_GET_INFO_BY_FD, BPF_LINK_DETACH,
};

struct program {
	struct sock_filter code[2 * CALLS_MOST];
	unsigned short length;
};

static void add(struct program *program, struct sock_filter instruction)
{
	if (program->length < sizeof(program->code) / sizeof(program->code[0]))
		program->code[program->length++] = instruction;
}

#define OFFSET(member) ((uint32_t)offsetof(struct seccomp_data, member))
#define LOAD(offset) ((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (offset)))
#define ANSWER(what) ((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, (what)))
#define SKIP_UNLESS(value, count) ((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (count)))

static void allow(struct program *program, const uint16_t *calls, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		add(program, SKIP_UNLESS(calls[i], 1));
		add(program, ANSWER(SECCOMP_RET_ALLOW));
	}
}

/* Low half of the first argument: both architectures are little-endian here. */
static void allow_bpf(struct program *program)
{
	size_t count = sizeof(commands) / sizeof(commands[0]);

	add(program, SKIP_UNLESS(SYS_bpf, (uint8_t)(1 + 2 * count + 1)));
	add(program, LOAD(OFFSET(args[0])));
	allow(program, commands, count);
	add(program, ANSWER(SECCOMP_RET_ERRNO | EPERM));
}

/* Files are read, and none is made. */
static void allow_reading(struct program *program)
{
	add(program, SKIP_UNLESS(SYS_openat, 5));
	add(program, LOAD(OFFSET(args[2])));
	add(program, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, O_ACCMODE | O_CREAT | O_TRUNC));
	add(program, SKIP_UNLESS(O_RDONLY, 1));
	add(program, ANSWER(SECCOMP_RET_ALLOW));
	add(program, ANSWER(SECCOMP_RET_ERRNO | EPERM));
}

/* The kernel's older way for 32-bit programs has other numbers. fork(3) tries clone3 first, and does without it. */
static void begin(struct program *program)
{
	add(program, LOAD(OFFSET(arch)));
	add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCHITECTURE, 1, 0));
	add(program, ANSWER(SECCOMP_RET_ERRNO | EPERM));
	add(program, LOAD(OFFSET(nr)));
	add(program, SKIP_UNLESS(SYS_clone3, 1));
	add(program, ANSWER(SECCOMP_RET_ERRNO | ENOSYS));
	allow(program, everybodys, sizeof(everybodys) / sizeof(everybodys[0]));
}

int confine_calls(enum confine_calls calls)
{
	struct program program = { .length = 0 };

	begin(&program);
	if (calls == CONFINE_HELPER) {
		allow(&program, helpers, sizeof(helpers) / sizeof(helpers[0]));
		allow_bpf(&program);
		/* The accumulator holds the call's number again. */
		add(&program, LOAD(OFFSET(nr)));
		allow_reading(&program);
	} else if (calls == CONFINE_GATE) {
		allow(&program, gates, sizeof(gates) / sizeof(gates[0]));
	}
	add(&program, ANSWER(SECCOMP_RET_ERRNO | EPERM));

	struct sock_fprog filter = { .len = program.length, .filter = program.code };

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) ? -errno : 0;
}

/* The errno as an exit status: the kernel's are below 134. */
static int try_confined(int (*attempt)(void *argument), void *argument)
{
	int err = confine_rights(false);

	if (!err)
		err = confine_calls(CONFINE_HELPER);
	if (!err)
		err = attempt(argument);
	return err < -UINT8_MAX || err > 0 ? EIO : -err;
}

int confine_fits(int (*attempt)(void *argument), void *argument)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0)
		_exit(try_confined(attempt, argument));
	if (child < 0)
		return -errno;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -ECHILD;
}

void confine_describe(int unfit, char text[CONFINE_DESCRIPTION])
{
	if (!unfit)
		snprintf(text, CONFINE_DESCRIPTION, "no capability is left");
	else
		snprintf(text, CONFINE_DESCRIPTION,
			 "CAP_BPF and CAP_PERFMON stay: a try to watch without them failed: %s%s",
			 unfit == -ECHILD ? "it crashed" : strerror(-unfit),
			 unfit == -EPERM ? " (before Linux 5.19 each change of what is watched takes them)" : "");
}
