/* SPDX-License-Identifier: MIT */
/* In place of blackbox/life.c, collector/boxes/live_box.c, process_end.c and writer_process.c: what the kernel said of
 * locks, of whose processes they are (a job that is played is one user's), and of exit statuses. */
#include "played_life.h"

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "collector/boxes/live_box.h"
#include "collector/host/process_end.h"

enum { HELD = 4096, FIRST_PIDFD = 1 << 20 /* no descriptor of this program has such a number */ };

static uint64_t held[HELD]; /* inodes of boxes, by the pidfds of their processes */
static int held_count;

struct process_end {
	uint64_t inode;
	process_end_ended *ended; /* NULL: reported */
	void *argument;
	struct process_end *next;
};

static struct process_end *ends;

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
	(void)why;
	box->writer.pid = pid;
	if (held_count < HELD) {
		box->writer.pidfd = FIRST_PIDFD + held_count;
		held[held_count++] = reader->inode;
	}
	return 0;
}

struct process_end *process_end_open(uv_loop_t *loop, int pidfd, process_end_ended *ended, void *argument)
{
	struct process_end *end = pidfd >= FIRST_PIDFD ? calloc(1, sizeof(*end)) : NULL;

	(void)loop;
	if (!end)
		return NULL;
	*end = (struct process_end){ held[pidfd - FIRST_PIDFD], ended, argument, ends };
	ends = end;
	return end;
}

void process_end_close(struct process_end *end)
{
	struct process_end **at = &ends;

	while (*at && *at != end)
		at = &(*at)->next;
	if (*at)
		*at = end->next;
	free(end);
}

bool played_life_report_ends(void)
{
	bool any = false;

	for (struct process_end *end = ends; end; end = end->next) {
		if (!end->ended || played_writer(end->inode) > 0)
			continue;
		end->ended(end->argument);
		end->ended = NULL;
		any = true;
	}
	return any;
}

int writer_process_open(struct writer_process *process, pid_t pid, uid_t owner, uint64_t start_ticks,
			char why[WRITER_PROCESS_WHY])
{
	(void)why;
	*process = (struct writer_process){
		.pid = pid, .pidfd = -1, .proc_fd = -1, .uid = owner, .gid = getegid(), .start_ticks = start_ticks
	};
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
