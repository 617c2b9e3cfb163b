/* SPDX-License-Identifier: MIT */
#include "collector/sources/waits/fork_lock.h"

#include <inttypes.h>
#include <linux/futex.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "collector/sources/process/kin.h"

/* "202 0x7f00 0x80 0x2 0x0 …": the call's number and its arguments; "running" and "-1 …" are other states. */
static bool waits_for_own_lock(const char *proc_root, pid_t pid)
{
	char path[192];
	int number = -1;
	uint64_t operation = 0, limit = 0;

	snprintf(path, sizeof(path), "%s/%d/task/%d/syscall", proc_root, (int)pid, (int)pid);
	FILE *file = fopen(path, "re");

	if (!file)
		return false;
	int read = fscanf(file, "%d %*x %" SCNx64 " %*x %" SCNx64, &number, &operation, &limit);

	fclose(file);
	if (read != 3 || number != SYS_futex || limit || !(operation & FUTEX_PRIVATE_FLAG))
		return false;
	int command = (int)(operation & FUTEX_CMD_MASK);

	return command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET;
}

bool fork_lock_is_awaited(const char *proc_root, pid_t child, pid_t parent)
{
	struct kin own, its;

	if (kin_read(proc_root, child, &own) || kin_read(proc_root, parent, &its))
		return false;
	return own.threads == 1 && own.parent == parent && own.stack && own.stack == its.stack &&
	       waits_for_own_lock(proc_root, child);
}
