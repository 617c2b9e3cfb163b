/* SPDX-License-Identifier: MIT */
#include "plugin/drain/task_state.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { RUNNING = -2 };

static const int16_t with_descriptor[] = {
	SYS_read,      SYS_write,     SYS_pread64,         SYS_pwrite64,        SYS_readv,
	SYS_writev,    SYS_preadv,    SYS_pwritev,         SYS_preadv2,         SYS_pwritev2,
	SYS_fsync,     SYS_fdatasync, SYS_sync_file_range, SYS_syncfs,          SYS_fallocate,
	SYS_ftruncate, SYS_close,     SYS_lseek,           SYS_getdents64,      SYS_flock,
	SYS_fcntl,     SYS_ioctl,     SYS_sendfile,        SYS_copy_file_range, SYS_recvfrom,
	SYS_sendto,    SYS_recvmsg,   SYS_sendmsg,         SYS_recvmmsg,        SYS_sendmmsg,
	SYS_accept,    SYS_accept4,   SYS_connect,         SYS_splice,          SYS_io_uring_enter,
};

static const int16_t idle[] = {
	RUNNING,       SYS_futex,           SYS_ppoll,           SYS_pselect6, SYS_epoll_pwait,
	SYS_nanosleep, SYS_clock_nanosleep, SYS_rt_sigtimedwait, SYS_wait4,
#ifdef SYS_poll /* not on newer architectures */
	SYS_poll,      SYS_select,          SYS_epoll_wait,
#endif
};

static bool contains(const int16_t *numbers, size_t count, int16_t number)
{
	for (size_t i = 0; i < count; i++)
		if (numbers[i] == number)
			return true;
	return false;
}

/* Text of a small proc file, terminated; false when the thread is gone or the file is not ours to read. */
static bool slurp(uint32_t tid, const char *file, char *text, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%u/%s", tid, file);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t length = read(fd, text, size - 1);
	close(fd);
	text[length > 0 ? length : 0] = '\0';
	return length > 0;
}

bool task_polls(int16_t system_call)
{
#ifdef SYS_poll
	if (system_call == SYS_poll)
		return true;
#endif
	return system_call == SYS_ppoll;
}

/* Through a file, because the array may be gone by now: reading it directly could be the job's end. */
static int32_t polled_descriptor(unsigned long address)
{
	struct pollfd first;
	int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);

	if (memory < 0)
		return -1;
	ssize_t length = pread(memory, &first, sizeof(first), (off_t)address);
	close(memory);
	return length == (ssize_t)sizeof(first) ? first.fd : -1;
}

bool task_system_call(uint32_t tid, int16_t *number, int32_t *fd)
{
	char text[192];
	char *end;

	*number = RUNNING;
	*fd = -1;
	if (!slurp(tid, "syscall", text, sizeof(text)))
		return false;
	long call = strtol(text, &end, 10);
	if (end == text) /* "running" */
		return true;
	*number = (int16_t)call;
	if (contains(with_descriptor, sizeof(with_descriptor) / sizeof(with_descriptor[0]), *number))
		*fd = (int32_t)strtoul(end, NULL, 16);
	else if (task_polls(*number))
		*fd = polled_descriptor(strtoul(end, NULL, 16));
	return true;
}

bool task_is_idle(int16_t system_call)
{
	return contains(idle, sizeof(idle) / sizeof(idle[0]), system_call);
}

/* "tid (name) S …": the name may hold anything, also brackets. */
static bool parse_stat(const char *text, char *state, char name[TASK_NAME])
{
	const char *open = strchr(text, '(');
	const char *close = strrchr(text, ')');

	if (!open || !close || close < open || close[1] != ' ')
		return false;
	size_t length = (size_t)(close - open - 1);
	if (length > TASK_NAME - 1)
		length = TASK_NAME - 1;
	memcpy(name, open + 1, length);
	name[length] = '\0';
	*state = close[2];
	return true;
}

bool task_state(uint32_t tid, struct rw_host_sample *sample, char name[TASK_NAME])
{
	unsigned long long cpu_ns, delay_ns;
	char text[512];

	if (!slurp(tid, "stat", text, sizeof(text)) || !parse_stat(text, &sample->state, name))
		return false;
	if (slurp(tid, "schedstat", text, sizeof(text)) && sscanf(text, "%llu %llu", &cpu_ns, &delay_ns) == 2) {
		sample->detail = (uint32_t)(cpu_ns / 1000000);
		sample->run_delay_ns = delay_ns;
	}
	if (slurp(tid, "wchan", text, sizeof(text)) && strcmp(text, "0") != 0)
		memcpy(sample->text, text, strnlen(text, sizeof(sample->text)));
	return true;
}

bool task_born(uint32_t tid, uint64_t *ticks)
{
	enum { STATE = 3, STARTTIME = 22 }; /* fields, proc_pid_stat(5) */
	char text[512], *end;

	if (!slurp(tid, "stat", text, sizeof(text)))
		return false;
	const char *at = strrchr(text, ')'); /* the second field may hold anything */
	for (int field = STATE; at && field <= STARTTIME; field++)
		at = strchr(at + 1, ' ');
	if (!at)
		return false;
	*ticks = strtoull(at, &end, 10);
	return end > at;
}

size_t task_file(int32_t fd, char path[TASK_PATH], uint32_t *device)
{
	char link[32];
	struct statx status;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t length = readlink(link, path, TASK_PATH);
	if (length <= 0)
		return 0;
	/* A server that hangs must not hang us: cached attributes only. */
	*device = statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &status)
		      ? 0
		      : (uint32_t)makedev(status.stx_dev_major, status.stx_dev_minor);
	return (size_t)length;
}
