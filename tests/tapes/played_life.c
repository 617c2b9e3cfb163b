/* SPDX-License-Identifier: MIT */
/* In place of blackbox/life.c, collector/live_box.c and writer_process.c: what the kernel said of locks, of whose
 * processes they are (a job that is played is one user's), and of exit statuses. */
#include "played_life.h"

#include <stddef.h>
#include <unistd.h>

#include "collector/live_box.h"

enum box_life box_reader_life(const struct box_reader *reader, pid_t *writer_in_our_namespace)
{
	pid_t writer = played_writer(reader->inode);

	if (writer_in_our_namespace)
		*writer_in_our_namespace = writer;
	return writer > 0 ? BOX_ALIVE : BOX_ORPHANED;
}

int live_box_hold_process(struct live_box *box, const struct box_reader *reader, pid_t pid,
			  char why[WRITER_PROCESS_WHY])
{
	(void)reader, (void)why;
	box->writer.pid = pid;
	return 0;
}

int writer_process_open(struct writer_process *process, pid_t pid, uid_t owner, uint64_t start_ticks,
			char why[WRITER_PROCESS_WHY])
{
	(void)why;
	*process = (struct writer_process){ .pid = pid, .pidfd = -1, .proc_fd = -1, .uid = owner, .gid = getegid(), .start_ticks = start_ticks };
	return 0;
}

int writer_process_check(const struct writer_process *process, char why[WRITER_PROCESS_WHY])
{
	(void)process, (void)why;
	return 0;
}

void writer_process_close(struct writer_process *process)
{
	*process = (struct writer_process)WRITER_PROCESS_NONE;
}

int live_box_exit_status(const struct live_box *box)
{
	return box->exit_status >= 0 ? box->exit_status : played_exit_status(box->writer.pid);
}
