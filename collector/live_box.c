/* SPDX-License-Identifier: MIT */
#include "collector/live_box.h"

#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* From linux/pidfd.h of 6.15 (struct pidfd_info, first published size): distributions ship older headers. */
struct pidfd_exit_info {
	uint64_t mask;
	uint64_t cgroup;
	uint32_t ids[11];
	int32_t exit_code;
};

#define PIDFD_EXIT_REQUEST _IOWR(0xff, 11, struct pidfd_exit_info)
#define PIDFD_EXIT_KNOWN   (UINT64_C(1) << 3)

_Static_assert(sizeof(struct pidfd_exit_info) == 64, "the kernel tells versions by size");

void live_box_hold_process(struct live_box *box, const struct box_reader *reader)
{
	pid_t again = 0;

	if (box->pid <= 0)
		return;
	box->pidfd = (int)syscall(SYS_pidfd_open, box->pid, 0);
	if (box->pidfd >= 0 && (box_reader_life(reader, &again) != BOX_ALIVE || again != box->pid)) {
		close(box->pidfd);
		box->pidfd = -1;
	}
}

int live_box_exit_status(const struct live_box *box)
{
	struct pidfd_exit_info info = { .mask = PIDFD_EXIT_KNOWN };

	if (box->exit_status >= 0)
		return box->exit_status;
	if (box->pidfd < 0 || ioctl(box->pidfd, PIDFD_EXIT_REQUEST, &info) || !(info.mask & PIDFD_EXIT_KNOWN))
		return -1;
	return info.exit_code;
}
