/* SPDX-License-Identifier: MIT */
#include "ebpf/descriptor_calls.h"

#include <stddef.h>
#include <sys/syscall.h>

/* Those in which a thread can wait. The *at() family takes a directory, which says nothing: left out. */
static const int calls[] = {
	SYS_read,         SYS_write,           SYS_pread64,         SYS_pwrite64,    SYS_readv,
	SYS_writev,       SYS_preadv,          SYS_pwritev,         SYS_preadv2,     SYS_pwritev2,
	SYS_fsync,        SYS_fdatasync,       SYS_sync_file_range, SYS_syncfs,      SYS_ftruncate,
	SYS_fallocate,    SYS_fadvise64,       SYS_readahead,       SYS_close,       SYS_fstat,
	SYS_fstatfs,      SYS_lseek,           SYS_flock,           SYS_fcntl,       SYS_ioctl,
	SYS_fchmod,       SYS_fchown,          SYS_fsetxattr,       SYS_fgetxattr,   SYS_flistxattr,
	SYS_fremovexattr, SYS_getdents64,      SYS_sendfile,        SYS_splice,      SYS_tee,
	SYS_vmsplice,     SYS_copy_file_range, SYS_accept,          SYS_accept4,     SYS_connect,
	SYS_sendto,       SYS_recvfrom,        SYS_sendmsg,         SYS_recvmsg,     SYS_sendmmsg,
	SYS_recvmmsg,     SYS_shutdown,        SYS_epoll_ctl,       SYS_epoll_pwait, SYS_io_uring_enter,
#ifdef SYS_epoll_wait
	SYS_epoll_wait,   SYS_getdents,
#endif
};

bool descriptor_polled(int system_call)
{
#ifdef SYS_poll
	if (system_call == SYS_poll)
		return true;
#endif
	return system_call == SYS_ppoll;
}

bool descriptor_call(int system_call)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (calls[i] == system_call)
			return true;
	}
	return false;
}
