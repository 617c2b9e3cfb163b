/* SPDX-License-Identifier: MIT */
#include "blackbox/system_call_numbers.h"

#include <stdbool.h>
#include <stddef.h>

#include <rankwatch/blackbox.h>

enum { NONE = -1, NOT_KNOWN = -2 /* as in struct rw_host_sample */ };

/* Of the calls that analysis/host/system_calls.c knows; by the first. */
static const struct {
	int16_t x86_64, aarch64;
} numbers[] = {
	{ 0, 63 }, /* read */
	{ 1, 64 }, /* write */
	{ 2, NONE }, /* open */
	{ 3, 57 }, /* close */
	{ 4, NONE }, /* stat */
	{ 5, 80 }, /* fstat */
	{ 6, NONE }, /* lstat */
	{ 7, NONE }, /* poll */
	{ 8, 62 }, /* lseek */
	{ 9, 222 }, /* mmap */
	{ 10, 226 }, /* mprotect */
	{ 11, 215 }, /* munmap */
	{ 12, 214 }, /* brk */
	{ 16, 29 }, /* ioctl */
	{ 17, 67 }, /* pread64 */
	{ 18, 68 }, /* pwrite64 */
	{ 19, 65 }, /* readv */
	{ 20, 66 }, /* writev */
	{ 23, NONE }, /* select */
	{ 24, 124 }, /* sched_yield */
	{ 25, 216 }, /* mremap */
	{ 26, 227 }, /* msync */
	{ 28, 233 }, /* madvise */
	{ 34, NONE }, /* pause */
	{ 35, 101 }, /* nanosleep */
	{ 40, 71 }, /* sendfile */
	{ 42, 203 }, /* connect */
	{ 43, 202 }, /* accept */
	{ 44, 206 }, /* sendto */
	{ 45, 207 }, /* recvfrom */
	{ 46, 211 }, /* sendmsg */
	{ 47, 212 }, /* recvmsg */
	{ 61, 260 }, /* wait4 */
	{ 72, 25 }, /* fcntl */
	{ 73, 32 }, /* flock */
	{ 74, 82 }, /* fsync */
	{ 75, 83 }, /* fdatasync */
	{ 77, 46 }, /* ftruncate */
	{ 82, NONE }, /* rename */
	{ 83, NONE }, /* mkdir */
	{ 87, NONE }, /* unlink */
	{ 128, 137 }, /* rt_sigtimedwait */
	{ 130, 133 }, /* rt_sigsuspend */
	{ 137, 43 }, /* statfs */
	{ 149, 228 }, /* mlock */
	{ 162, 81 }, /* sync */
	{ 202, 98 }, /* futex */
	{ 208, 4 }, /* io_getevents */
	{ 217, 61 }, /* getdents64 */
	{ 219, 128 }, /* restart_syscall */
	{ 221, 223 }, /* fadvise64 */
	{ 230, 115 }, /* clock_nanosleep */
	{ 232, NONE }, /* epoll_wait */
	{ 247, 95 }, /* waitid */
	{ 257, 56 }, /* openat */
	{ 258, 34 }, /* mkdirat */
	{ 262, 79 }, /* newfstatat */
	{ 263, 35 }, /* unlinkat */
	{ 270, 72 }, /* pselect6 */
	{ 271, 73 }, /* ppoll */
	{ 277, 84 }, /* sync_file_range */
	{ 279, 239 }, /* move_pages */
	{ 281, 22 }, /* epoll_pwait */
	{ 285, 47 }, /* fallocate */
	{ 288, 242 }, /* accept4 */
	{ 295, 69 }, /* preadv */
	{ 296, 70 }, /* pwritev */
	{ 299, 243 }, /* recvmmsg */
	{ 306, 267 }, /* syncfs */
	{ 316, 276 }, /* renameat2 */
	{ 326, 285 }, /* copy_file_range */
	{ 327, 286 }, /* preadv2 */
	{ 328, 287 }, /* pwritev2 */
	{ 332, 291 }, /* statx */
	{ 426, 426 }, /* io_uring_enter */
	{ 437, 437 }, /* openat2 */
	{ 441, 441 }, /* epoll_pwait2 */
};

/* This machine's own name for a call that both have, or the number that analysis/host/system_calls.c gives to what is
 * only on x86-64. */
static int32_t own_number(size_t row)
{
#if defined(__x86_64__)
	return numbers[row].x86_64;
#elif defined(__aarch64__)
	return numbers[row].aarch64 == NONE ? RW_SYSTEM_CALL_ELSEWHERE + numbers[row].x86_64 : numbers[row].aarch64;
#else
	(void)row;
	return NOT_KNOWN;
#endif
}

int32_t system_call_here(uint32_t machine, int32_t number)
{
	bool aarch64 = machine == RW_MACHINE_AARCH64, x86_64 = machine == RW_MACHINE_X86_64 || !machine;

	if (number < 0 || machine == RW_MACHINE_OWN || (x86_64 && RW_MACHINE_OWN == RW_MACHINE_X86_64))
		return number;
	for (size_t row = 0; row < sizeof(numbers) / sizeof(*numbers); row++)
		if ((aarch64 && numbers[row].aarch64 == number) || (x86_64 && numbers[row].x86_64 == number))
			return own_number(row);
	return NOT_KNOWN;
}
