/* SPDX-License-Identifier: MIT */
/* In place of blackbox/life.c and collector/live_box.c: what the kernel said of locks and exit statuses. */
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

void live_box_hold_process(struct live_box *box, const struct box_reader *reader)
{
	(void)box, (void)reader;
}

int live_box_exit_status(const struct live_box *box)
{
	char path[32];

	if (box->exit_status >= 0)
		return box->exit_status;
	snprintf(path, sizeof(path), "exit/%d", (int)box->pid);
	const char *text = tree_text(&played->tree, path);

	return text ? atoi(text) : -1;
}
