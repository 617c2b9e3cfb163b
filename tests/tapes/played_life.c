/* SPDX-License-Identifier: MIT */
/* In place of blackbox/life.c, collector/live_box.c and writer_process.c: what the kernel said of locks, of whose
 * processes they are (a recorded job is one user's), and of exit statuses. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "collector/live_box.h"
#include "played.h"

enum box_life box_reader_life(const struct box_reader *reader, pid_t *writer_in_our_namespace)
{
	pid_t ignored, *pid = writer_in_our_namespace ? writer_in_our_namespace : &ignored;

	*pid = played->over ? 0 : tree_box_writer(&played->tree, reader->inode);
	if (*pid > 0)
		return BOX_ALIVE;
	*pid = 0;
	return BOX_ORPHANED;
}

int live_box_hold_process(struct live_box *box, const struct box_reader *reader, pid_t pid,
			  char why[WRITER_PROCESS_WHY])
{
	(void)reader, (void)why;
	box->writer.pid = pid;
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
	char path[32];

	if (box->exit_status >= 0)
		return box->exit_status;
	snprintf(path, sizeof(path), "exit/%d", (int)box->writer.pid);
	const char *text = tree_text(&played->tree, path);

	return text ? atoi(text) : -1;
}
