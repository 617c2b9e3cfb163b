/* SPDX-License-Identifier: MIT */
#include "base/writer_process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/proc_stat.h"
#include "base/shortage.h"
#include "base/small_file.h"

enum { IDS = 4 /* real, effective, saved, of the file system */ };

/* What /proc/PID/status says of a process. */
struct status {
	unsigned uids[IDS], gids[IDS];
	bool has_memory; /* not so from the begin of its end on */
};

__attribute__((format(printf, 2, 3))) static int refuse(char why[WRITER_PROCESS_WHY], const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(why, WRITER_PROCESS_WHY, format, arguments);
	va_end(arguments);
	return -EPERM;
}

/* Why /proc/PID could not be opened, from errno: the process has ended, or we are short of something. */
static int absence(void)
{
	return shortage_is(-errno) ? -errno : -ESRCH;
}

static int read_text(int directory, const char *name, char *text, size_t room)
{
	ssize_t length = small_file_read(directory, name, text, room);

	return length > 0 ? 0 : shortage_is((int)length) ? (int)length : -ESRCH;
}

static bool read_ids(const char *text, const char *key, unsigned ids[IDS])
{
	const char *line = strstr(text, key);

	return line && sscanf(line + strlen(key), "%u %u %u %u", &ids[0], &ids[1], &ids[2], &ids[3]) == IDS;
}

static int read_status(int proc_fd, struct status *status)
{
	char text[4096];
	int err = read_text(proc_fd, "status", text, sizeof(text));

	if (err)
		return err;
	/* The name comes first, on one line: the kernel escapes a newline in it. */
	status->has_memory = strstr(text, "\nVmSize:") != NULL;
	return read_ids(text, "\nUid:", status->uids) && read_ids(text, "\nGid:", status->gids) ? 0 : -ESRCH;
}

static int read_start(int proc_fd, uint64_t *ticks)
{
	char text[1024];
	int err = read_text(proc_fd, "stat", text, sizeof(text));

	*ticks = 0;
	if (!err && !proc_stat_number(text, PROC_STAT_START_TICKS, ticks))
		err = -ESRCH;
	return err;
}

static bool are_all(const unsigned ids[IDS], unsigned id)
{
	return ids[0] == id && ids[1] == id && ids[2] == id && ids[3] == id;
}

/* In a user namespace the overflow uid stands for everybody whom it does not map: two that look alike may differ. */
static bool is_anybody(uid_t uid)
{
	unsigned overflow = 65534, inside = 0, outside = 0, count = 0;
	char text[256];

	if (!read_text(AT_FDCWD, "/proc/sys/kernel/overflowuid", text, sizeof(text)))
		sscanf(text, "%u", &overflow);
	if (uid != overflow)
		return false;
	bool known = !read_text(AT_FDCWD, "/proc/self/uid_map", text, sizeof(text)) &&
		     sscanf(text, "%u %u %u", &inside, &outside, &count) == 3;

	return known && !(inside == 0 && outside == 0 && count == UINT32_MAX);
}

/* A set-user-id program that has gone back to its caller's uid still holds what it opened before: the kernel lets
 * nobody look at it (it is not dumpable) and shows its directories as root's. */
static int check_rights(const struct writer_process *process, gid_t *gid, char why[WRITER_PROCESS_WHY])
{
	struct status status = { 0 };
	struct stat descriptors;
	int err = fstatat(process->proc_fd, "fd", &descriptors, AT_SYMLINK_NOFOLLOW) ? -ESRCH : 0;

	if (!err)
		err = read_status(process->proc_fd, &status);
	if (err || !status.has_memory)
		return err ? err : -ESRCH;
	*gid = status.gids[0];
	if (process->uid == (uid_t)-1)
		return 0;
	if (!are_all(status.uids, process->uid))
		return refuse(why, "process %d has uids %u, %u, %u, %u, and is asked for as one of uid %u's",
			      (int)process->pid, status.uids[0], status.uids[1], status.uids[2], status.uids[3],
			      (unsigned)process->uid);
	if (!are_all(status.gids, status.gids[0]) || descriptors.st_uid != process->uid)
		return refuse(why,
			      "process %d runs a program that uid %u may not look at (set-user-id, set-group-id, with "
			      "capabilities, or not dumpable)",
			      (int)process->pid, (unsigned)process->uid);
	return 0;
}

static int check_start(const struct writer_process *process, char why[WRITER_PROCESS_WHY])
{
	uint64_t ticks;
	int err = read_start(process->proc_fd, &ticks);

	if (err)
		return err;
	if (ticks == process->start_ticks)
		return 0;
	return refuse(why,
		      "process %d started at tick %" PRIu64 ", the black box's writer at %" PRIu64
		      ": it is another process, or in another time namespace",
		      (int)process->pid, ticks, process->start_ticks);
}

int writer_process_check(const struct writer_process *process, char why[WRITER_PROCESS_WHY])
{
	gid_t gid = 0;
	int err = check_start(process, why);

	if (!err)
		err = check_rights(process, &gid, why);
	if (!err && process->uid != (uid_t)-1 && gid != process->gid)
		err = refuse(why, "process %d has changed its gid", (int)process->pid);
	return err;
}

/* In a pid namespace without a /proc of its own a number there is somebody else's. */
static bool is_our_proc(void)
{
	char text[16];
	ssize_t length = readlink("/proc/self", text, sizeof(text) - 1);

	text[length > 0 ? length : 0] = '\0';
	return atoi(text) == getpid();
}

int writer_process_open(struct writer_process *process, pid_t pid, uid_t owner, uint64_t start_ticks,
			char why[WRITER_PROCESS_WHY])
{
	struct writer_process opened = {
		.pid = pid, .pidfd = -1, .proc_fd = -1, .uid = owner, .start_ticks = start_ticks
	};
	char path[32];
	int err = 0;

	*process = (struct writer_process)WRITER_PROCESS_NONE;
	*why = '\0';
	if (!is_our_proc())
		return -ESRCH;
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	opened.pidfd =
	    (int)syscall(SYS_pidfd_open, pid, 0); /* only for its exit status: kernels before 5.3 have none */
	if (opened.pidfd < 0 && shortage_is(-errno))
		err = -errno;
	opened.proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (opened.proc_fd < 0)
		err = absence();
	if (!err && (owner == (uid_t)-1 || is_anybody(owner)))
		err = refuse(why, "uid %u stands here for each user whom this user namespace does not know",
			     (unsigned)owner);
	if (!err)
		err = check_start(&opened, why);
	if (!err)
		err = check_rights(&opened, &opened.gid, why);
	/* Both were opened by number: while the second is of a living process, the number has been this process's from
	 * the first on only if the first is alive, too. */
	if (!err && opened.pidfd >= 0 && syscall(SYS_pidfd_send_signal, opened.pidfd, 0, NULL, 0) && errno == ESRCH)
		err = -ESRCH;
	if (err)
		writer_process_close(&opened);
	else
		*process = opened;
	return err;
}

/* A pidfd's link reads so, and no file's can: those begin with a slash. "[pidfd]" is of kernels before 6.9. */
bool writer_process_is_pidfd(int fd)
{
	static const char *const links[] = { "anon_inode:[pidfd]", "pidfd:[" };
	char path[32], link[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ssize_t length = readlink(path, link, sizeof(link) - 1);

	link[length > 0 ? length : 0] = '\0';
	return !strncmp(link, links[0], strlen(links[0])) || !strncmp(link, links[1], strlen(links[1]));
}

/* 0: it has ended, or is in no pid namespace of ours. */
static pid_t pid_of(int pidfd)
{
	char path[40], text[1024];
	int pid = 0;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	const char *line = read_text(AT_FDCWD, path, text, sizeof(text)) ? NULL : strstr(text, "\nPid:");

	return line && sscanf(line, "\nPid: %d", &pid) == 1 && pid > 0 ? pid : 0;
}

/* Of a thread that is not the first of its process (PIDFD_THREAD) the number is another. */
static bool is_whole_process(int proc_fd)
{
	char text[4096];
	int group = -1, pid = -2;

	if (read_text(proc_fd, "status", text, sizeof(text)))
		return false;
	const char *group_line = strstr(text, "\nTgid:"), *pid_line = strstr(text, "\nPid:");

	return group_line && pid_line && sscanf(group_line, "\nTgid: %d", &group) == 1 &&
	       sscanf(pid_line, "\nPid: %d", &pid) == 1 && group == pid;
}

static bool has_ended(int pidfd)
{
	struct pollfd end = { .fd = pidfd, .events = POLLIN };

	return poll(&end, 1, 0) != 0;
}

static int adopt(struct writer_process *process, char why[WRITER_PROCESS_WHY])
{
	char path[32];

	if (!writer_process_is_pidfd(process->pidfd))
		return refuse(why, "a process is handed over as a pidfd, this is something else");
	process->pid = pid_of(process->pidfd);
	snprintf(path, sizeof(path), "/proc/%d", (int)process->pid);
	if (!process->pid || !is_our_proc())
		return -ESRCH;
	process->proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (process->proc_fd < 0)
		return absence();
	if (is_anybody(process->uid))
		return refuse(why, "uid %u stands here for each user whom this user namespace does not know",
			      (unsigned)process->uid);
	if (!is_whole_process(process->proc_fd))
		return -ESRCH;
	int err = read_start(process->proc_fd, &process->start_ticks);
	if (!err)
		err = check_rights(process, &process->gid, why);
	/* While it lives its number is nobody else's: what was opened by number is of this process. */
	return !err && has_ended(process->pidfd) ? -ESRCH : err;
}

int writer_process_adopt(struct writer_process *process, int pidfd, uid_t owner, char why[WRITER_PROCESS_WHY])
{
	*process = (struct writer_process){ .pidfd = pidfd, .proc_fd = -1, .uid = owner };
	*why = '\0';
	int err = adopt(process, why);

	if (err)
		writer_process_close(process);
	return err;
}

void writer_process_close(struct writer_process *process)
{
	if (process->pidfd >= 0)
		close(process->pidfd);
	if (process->proc_fd >= 0)
		close(process->proc_fd);
	*process = (struct writer_process)WRITER_PROCESS_NONE;
}
