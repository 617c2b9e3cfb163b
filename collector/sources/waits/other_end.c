/* SPDX-License-Identifier: MIT */
#include "collector/sources/waits/other_end.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/sources/process/owner_rights.h"

enum { THREADS = 64, TCP_LINES = 16384, ADDRESS = 48, TEXT = 1024 };

struct children {
	pid_t pids[OTHER_END_CHILDREN];
	int count;
	bool too_many;
};

static bool read_text(const char *path, char *text, size_t room)
{
	FILE *file = fopen(path, "re");
	size_t length = file ? fread(text, 1, room - 1, file) : 0;

	if (file)
		fclose(file);
	text[length] = '\0';
	return length > 0;
}

/* "4711 4712 ": those that this thread began. */
static void add_children(struct children *children, const char *text)
{
	char *end;

	for (const char *at = text; *at; at = end) {
		long pid = strtol(at, &end, 10);

		if (end == at)
			return;
		if (children->count == OTHER_END_CHILDREN)
			children->too_many = true;
		else if (pid > 0)
			children->pids[children->count++] = (pid_t)pid;
	}
}

/* False: not known to be all. */
static bool list_children(const char *proc_root, pid_t pid, struct children *children)
{
	char path[512], text[TEXT];
	int threads = 0;

	*children = (struct children){ 0 };
	snprintf(path, sizeof(path), "%s/%d/task", proc_root, (int)pid);
	DIR *tasks = opendir(path);

	for (const struct dirent *entry; tasks && (entry = readdir(tasks));) {
		if (entry->d_name[0] == '.')
			continue;
		children->too_many |= ++threads > THREADS;
		snprintf(path, sizeof(path), "%s/%d/task/%s/children", proc_root, (int)pid, entry->d_name);
		if (!children->too_many && read_text(path, text, sizeof(text)))
			add_children(children, text);
	}
	if (tasks)
		closedir(tasks);
	return tasks && !children->too_many;
}

/* Does this descriptor stand for `link`, opened so that what is written into it can be read at the other end? */
static bool can_write(const char *proc_root, pid_t pid, const char *name, const char *link)
{
	char path[512], text[TEXT];
	unsigned flags;

	snprintf(path, sizeof(path), "%s/%d/fd/%s", proc_root, (int)pid, name);
	ssize_t length = readlink(path, text, sizeof(text) - 1);

	text[length > 0 ? length : 0] = '\0';
	if (strcmp(text, link) != 0)
		return false;
	snprintf(path, sizeof(path), "%s/%d/fdinfo/%s", proc_root, (int)pid, name);
	const char *line = read_text(path, text, sizeof(text)) ? strstr(text, "flags:") : NULL;

	return line && sscanf(line, "flags: %o", &flags) == 1 && (flags & O_ACCMODE) != O_RDONLY;
}

/* *room: descriptors that may still be asked. */
static bool has_open(const char *proc_root, pid_t pid, const char *link, int *room)
{
	char path[192];
	bool has = false;

	snprintf(path, sizeof(path), "%s/%d/fd", proc_root, (int)pid);
	DIR *descriptors = opendir(path);

	for (const struct dirent *entry; descriptors && !has && *room > 0 && (entry = readdir(descriptors));) {
		if (entry->d_name[0] == '.')
			continue;
		--*room;
		has = can_write(proc_root, pid, entry->d_name, link);
	}
	if (descriptors)
		closedir(descriptors);
	return has;
}

static pid_t only_holder(const char *proc_root, const struct children *children, const char *link)
{
	int room = OTHER_END_DESCRIPTORS, holders = 0;
	pid_t holder = 0;

	if (!owner_rights_take())
		return 0;
	for (int i = 0; i < children->count; i++) {
		if (!has_open(proc_root, children->pids[i], link, &room))
			continue;
		holder = children->pids[i];
		holders++;
	}
	owner_rights_give_back();
	return holders == 1 && room > 0 ? holder : 0;
}

struct connection {
	char local[ADDRESS], remote[ADDRESS];
	uint64_t inode;
};

static bool parse_connection(const char *line, struct connection *connection)
{
	return sscanf(line, " %*d: %47[0-9A-F:] %47[0-9A-F:] %*X %*X:%*X %*X:%*X %*X %*u %*u %" SCNu64,
		      connection->local, connection->remote, &connection->inode) == 3;
}

/* The first line of the table that is of this inode or, inode 0, of the other end of `known`. */
static bool find_connection(const char *path, uint64_t inode, const struct connection *known, struct connection *found)
{
	char line[512];
	FILE *file = fopen(path, "re");
	bool is_found = false;

	for (int i = 0; file && !is_found && i < TCP_LINES && fgets(line, sizeof(line), file); i++)
		is_found = parse_connection(line, found) && found->inode &&
			   (inode ? found->inode == inode
				  : !strcmp(found->local, known->remote) && !strcmp(found->remote, known->local));
	if (file)
		fclose(file);
	return is_found;
}

/* The link of the socket at the other end, which is on this machine as well: the two swap their addresses. */
static bool other_socket(const char *proc_root, pid_t pid, uint64_t inode, char *link, size_t room)
{
	static const char *const tables[] = { "tcp", "tcp6" };
	struct connection own, other;
	char path[192];

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		snprintf(path, sizeof(path), "%s/%d/net/%s", proc_root, (int)pid, tables[i]);
		if (!find_connection(path, inode, NULL, &own) || !find_connection(path, 0, &own, &other))
			continue;
		snprintf(link, room, "socket:[%" PRIu64 "]", other.inode);
		return true;
	}
	return false;
}

static bool is_loopback(const char *path)
{
	return strstr(path, " to 127.") || strstr(path, " to [::1]");
}

/* The link that a child with the other end has; false: none is known. */
static bool other_link(const char *proc_root, pid_t pid, const char *path, char *link, size_t room)
{
	uint64_t inode;

	if (sscanf(path, "pipe:[%" SCNu64 "]", &inode) == 1) {
		snprintf(link, room, "pipe:[%" PRIu64 "]", inode);
		return true;
	}
	return sscanf(path, "socket:[%" SCNu64 "]", &inode) == 1 && inode && is_loopback(path) &&
	       other_socket(proc_root, pid, inode, link, room);
}

static pid_t awaited_child(const struct children *children, int32_t system_call, const unsigned long long arguments[2])
{
	bool by_number = system_call == SYS_wait4 ? (int)arguments[0] > 0 : arguments[0] == P_PID;
	pid_t wanted = (pid_t)arguments[system_call == SYS_wait4 ? 0 : 1];
	bool any = system_call == SYS_wait4 ? (int)arguments[0] == -1 : arguments[0] == P_ALL;

	for (int i = 0; by_number && i < children->count; i++)
		if (children->pids[i] == wanted)
			return wanted;
	return any && children->count == 1 ? children->pids[0] : 0;
}

static bool polls(int32_t system_call)
{
#ifdef SYS_poll
	if (system_call == SYS_poll)
		return true;
#endif
	return system_call == SYS_ppoll;
}

/* Of several descriptors that are polled only the first is known. */
static bool is_of_several(int32_t system_call, const unsigned long long arguments[2])
{
	return polls(system_call) && arguments[1] != 1;
}

static bool reads(int32_t system_call)
{
	static const int32_t calls[] = { SYS_read, SYS_readv, SYS_recvfrom, SYS_recvmsg };

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i] == system_call)
			return true;
	return polls(system_call);
}

pid_t other_end_find(const char *proc_root, pid_t pid, uint32_t tid, int32_t system_call, const char *path)
{
	bool for_child = system_call == SYS_wait4 || system_call == SYS_waitid;
	unsigned long long arguments[2];
	struct children children;
	char name[192], text[256], link[ADDRESS];
	int number;

	if (!for_child && !reads(system_call))
		return 0;
	snprintf(name, sizeof(name), "%s/%d/task/%" PRIu32 "/syscall", proc_root, (int)pid, tid);
	if (!read_text(name, text, sizeof(text)) ||
	    sscanf(text, "%d %llx %llx", &number, &arguments[0], &arguments[1]) != 3 || number != system_call ||
	    is_of_several(system_call, arguments) || !list_children(proc_root, pid, &children))
		return 0;
	if (for_child)
		return awaited_child(&children, system_call, arguments);
	return children.count && other_link(proc_root, pid, path, link, sizeof(link))
		   ? only_holder(proc_root, &children, link)
		   : 0;
}
