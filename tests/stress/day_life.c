/* SPDX-License-Identifier: MIT */
#include "day_life.h"

#include <stddef.h>

#include "collector/live_box.h"

static const struct day_job *asked;

static const struct day_rank *find(uint64_t inode, pid_t pid)
{
	for (int i = 0; i < DAY_RANKS; i++)
		if (asked->ranks[i].writer.map && (asked->ranks[i].inode == inode || asked->ranks[i].pid == pid))
			return &asked->ranks[i];
	return NULL;
}

enum box_life box_reader_life(const struct box_reader *reader, pid_t *writer_in_our_namespace)
{
	const struct day_rank *rank = find(reader->inode, 0);
	bool alive = rank && rank->alive;

	if (writer_in_our_namespace)
		*writer_in_our_namespace = alive ? rank->pid : 0;
	return alive ? BOX_ALIVE : BOX_ORPHANED;
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
	const struct day_rank *rank = find(0, box->writer.pid);

	return rank && !rank->alive ? rank->exit_status : box->exit_status;
}

void day_life_of(const struct day_job *job)
{
	asked = job;
}
