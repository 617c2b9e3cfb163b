/* SPDX-License-Identifier: MIT */
#include "plugin/drain/task_list.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdalign.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

size_t task_list(int64_t from, struct task_entry entries[TASK_LIST_ROOM])
{
	alignas(struct dirent64) char bytes[1024];
	int tasks = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	size_t count = 0;
	long size = -1;

	if (tasks < 0)
		return 0;
	if (lseek(tasks, from, SEEK_SET) == from)
		size = syscall(SYS_getdents64, tasks, bytes, sizeof(bytes));
	close(tasks);
	for (long at = 0; at < size && count < TASK_LIST_ROOM;) {
		const struct dirent64 *entry = (void *)(bytes + at);

		at += entry->d_reclen;
		entries[count++] = (struct task_entry){ (uint32_t)strtoul(entry->d_name, NULL, 10), entry->d_off };
	}
	return count;
}
