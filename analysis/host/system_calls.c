/* SPDX-License-Identifier: MIT */
#include "analysis/host/system_calls.h"

#include <stddef.h>
#include <sys/syscall.h>

#include <rankwatch/blackbox.h>

#define FILE_CALL(name) { SYS_##name, #name, RW_CAUSE_IO, .by_file = true }
#define DISK_CALL(name) { SYS_##name, #name, RW_CAUSE_IO }
#define SOCKET_CALL(name) { SYS_##name, #name, RW_CAUSE_SOCKET, .by_waker = true }
#define MEMORY_CALL(name) { SYS_##name, #name, RW_CAUSE_MEMORY }
#define SLEEP_CALL(name) { SYS_##name, #name, RW_CAUSE_SLEEP }
#define PROCESS_CALL(name) { SYS_##name, #name, RW_CAUSE_PROCESS, .by_waker = true }
#define ELSEWHERE(number, name, class_, waker)                                                                         \
	{                                                                                                              \
		RW_SYSTEM_CALL_ELSEWHERE + number, #name, RW_CAUSE_##class_, .by_waker = waker                         \
	}
#define OTHER_CALL(name) { SYS_##name, #name, RW_CAUSE_UNKNOWN }

static const struct system_call calls[] = {
	FILE_CALL(read), FILE_CALL(write), FILE_CALL(readv), FILE_CALL(writev), FILE_CALL(close), FILE_CALL(sendfile),
	DISK_CALL(pread64), DISK_CALL(pwrite64), DISK_CALL(preadv), DISK_CALL(pwritev), DISK_CALL(preadv2),
	DISK_CALL(pwritev2), DISK_CALL(fsync), DISK_CALL(fdatasync), DISK_CALL(sync), DISK_CALL(syncfs),
	DISK_CALL(sync_file_range), DISK_CALL(openat), DISK_CALL(openat2), DISK_CALL(unlinkat), DISK_CALL(renameat2),
	DISK_CALL(ftruncate), DISK_CALL(fallocate), DISK_CALL(statx), DISK_CALL(fstat), DISK_CALL(newfstatat),
	DISK_CALL(getdents64), DISK_CALL(mkdirat), DISK_CALL(copy_file_range), DISK_CALL(io_getevents),
	DISK_CALL(io_uring_enter), DISK_CALL(msync), DISK_CALL(fadvise64), DISK_CALL(statfs), DISK_CALL(lseek),
#ifdef SYS_open
	DISK_CALL(open), DISK_CALL(unlink), DISK_CALL(rename), DISK_CALL(mkdir), DISK_CALL(stat), DISK_CALL(lstat),
#else /* in boxes of x86-64 */
	ELSEWHERE(2, open, IO, false), ELSEWHERE(87, unlink, IO, false), ELSEWHERE(82, rename, IO, false),
	ELSEWHERE(83, mkdir, IO, false),
	ELSEWHERE(4, stat, IO, false), ELSEWHERE(6, lstat, IO, false),
#endif
	{ SYS_futex, "futex", RW_CAUSE_LOCK, .by_waker = true },
	{ SYS_flock, "flock", RW_CAUSE_LOCK },
	{ SYS_fcntl, "fcntl", RW_CAUSE_LOCK },
	SOCKET_CALL(recvfrom), SOCKET_CALL(recvmsg), SOCKET_CALL(recvmmsg), SOCKET_CALL(sendto), SOCKET_CALL(sendmsg),
	SOCKET_CALL(connect), SOCKET_CALL(accept), SOCKET_CALL(accept4), SOCKET_CALL(ppoll), SOCKET_CALL(pselect6),
	SOCKET_CALL(epoll_pwait),
#ifdef SYS_epoll_pwait2
	SOCKET_CALL(epoll_pwait2),
#endif
#ifdef SYS_poll
	SOCKET_CALL(poll),
	SOCKET_CALL(select),
	SOCKET_CALL(epoll_wait),
#else
	ELSEWHERE(7, poll, SOCKET, true),
	ELSEWHERE(23, select, SOCKET, true),
	ELSEWHERE(232, epoll_wait, SOCKET, true),
#endif
	MEMORY_CALL(mmap), MEMORY_CALL(munmap), MEMORY_CALL(mremap), MEMORY_CALL(madvise), MEMORY_CALL(mprotect),
	MEMORY_CALL(brk), MEMORY_CALL(mlock), MEMORY_CALL(move_pages),
	SLEEP_CALL(nanosleep), SLEEP_CALL(clock_nanosleep), PROCESS_CALL(wait4), PROCESS_CALL(waitid),
	OTHER_CALL(ioctl),
	OTHER_CALL(rt_sigsuspend), OTHER_CALL(rt_sigtimedwait), OTHER_CALL(sched_yield), OTHER_CALL(restart_syscall),
#ifdef SYS_pause
	OTHER_CALL(pause),
#else
	ELSEWHERE(34, pause, UNKNOWN, false),
#endif
};

const struct system_call *system_call_find(int32_t number)
{
	if (number < 0)
		return NULL;
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i].number == number)
			return &calls[i];
	return NULL;
}
