/* SPDX-License-Identifier: MIT */
/* Whether the writer of a box is alive: a question to the kernel, not to the file. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "blackbox/process.h"
#include "blackbox/reader.h"

/* Does the process that wrote the header run, as far as we can see? */
static bool is_process_seen(const struct rw_box_header *header)
{
	return header->pid_namespace && header->pid_namespace == process_pid_namespace() && header->start_time_ticks &&
	       header->pid <= INT32_MAX && process_runs((pid_t)header->pid, header->start_time_ticks);
}

enum box_life box_reader_life(const struct box_reader *reader, pid_t *writer_in_our_namespace)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1 };
	pid_t ignored, *pid = writer_in_our_namespace ? writer_in_our_namespace : &ignored;
	char boot_id[40];

	*pid = 0;
	if (fcntl(reader->fd, F_GETLK, &lock))
		return BOX_LIFE_UNKNOWN;
	if (lock.l_type != F_UNLCK) {
		*pid = lock.l_pid > 0 ? lock.l_pid : 0;
		return BOX_ALIVE;
	}
	process_boot_id(boot_id);
	if (!strcmp(boot_id, reader->header.boot_id) && is_process_seen(&reader->header))
		return BOX_LIFE_UNKNOWN;
	return BOX_ORPHANED;
}
