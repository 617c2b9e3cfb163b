/* SPDX-License-Identifier: MIT */
#include "collector/boxes/live_box.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/proc_stat.h"
#include "base/small_file.h"

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

int live_box_hold_process(struct live_box *box, const struct box_reader *reader, pid_t pid,
			  char why[WRITER_PROCESS_WHY])
{
	struct stat status;
	pid_t again = 0;

	*why = '\0';
	if (pid <= 0 || fstat(reader->fd, &status))
		return -ESRCH;
	int err = writer_process_open(&box->writer, pid, status.st_uid, reader->header.start_time_ticks, why);

	/* A file system may answer for locks what it likes; one that does not is right about its own kind only now. */
	if (!err && (box_reader_life(reader, &again) != BOX_ALIVE || again != pid)) {
		writer_process_close(&box->writer);
		err = -ESRCH;
	}
	return err;
}

/* Of a process that its parent has not waited for yet. 0 is also what the kernel shows to those who may not know. */
static int unreaped_status(const struct writer_process *writer)
{
	char text[1024];
	uint64_t status;

	if (writer->proc_fd < 0 || small_file_read(writer->proc_fd, "stat", text, sizeof(text)) <= 0)
		return -1;
	const char *state = proc_stat_text(text, PROC_STAT_STATE);

	if (!state || *state != 'Z' || !proc_stat_number(text, PROC_STAT_EXIT_CODE, &status))
		return -1;
	return status > 0 && status <= 0xffff ? (int)status : -1;
}

int live_box_exit_status(const struct live_box *box)
{
	struct pidfd_exit_info info = { .mask = PIDFD_EXIT_KNOWN };

	if (box->exit_status >= 0)
		return box->exit_status;
	if (box->writer.pidfd < 0 || ioctl(box->writer.pidfd, PIDFD_EXIT_REQUEST, &info) ||
	    !(info.mask & PIDFD_EXIT_KNOWN))
		return unreaped_status(&box->writer);
	return info.exit_code;
}
