/* SPDX-License-Identifier: MIT */
#include "collector/sources/process/descendants.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/proc_stat.h"
#include "base/small_file.h"
#include "collector/sources/process/owner_rights.h"
#include "collector/sources/process/proc_io.h"

struct descendant {
	pid_t pid, parent;
	uint64_t start_ticks;
	uint64_t ticks, ended_ticks; /* CPU time: its own, and of its children that have ended and were waited for */
	uint64_t bytes;
	bool has_bytes; /* they could be read */
	char state, name[16];
};

struct reading {
	uint64_t at_ns; /* 0: none was made */
	struct descendant root, all[DESCENDANTS_MOST];
	size_t count;
};

struct descendants {
	struct reading before, now;
};

/* One reading under way. */
struct walk {
	const struct descendants_request *request;
	struct reading *reading;
	int proc;    /* the open directory */
	int threads; /* that may still be asked for their children */
};

static bool parse_stat(const char *text, struct descendant *read)
{
	const char *begin = strchr(text, '('), *end = strrchr(text, ')'),
		   *state = proc_stat_text(text, PROC_STAT_STATE);
	uint64_t parent, user, system, ended_user, ended_system;

	if (!begin || !end || end < begin || !state || !proc_stat_number(text, PROC_STAT_PARENT, &parent) ||
	    !proc_stat_number(text, PROC_STAT_USER_TICKS, &user) ||
	    !proc_stat_number(text, PROC_STAT_SYSTEM_TICKS, &system) ||
	    !proc_stat_number(text, PROC_STAT_ENDED_USER_TICKS, &ended_user) ||
	    !proc_stat_number(text, PROC_STAT_ENDED_SYSTEM_TICKS, &ended_system) ||
	    !proc_stat_number(text, PROC_STAT_START_TICKS, &read->start_ticks))
		return false;
	read->parent = (pid_t)parent;
	read->state = *state;
	read->ticks = user + system;
	read->ended_ticks = ended_user + ended_system;
	snprintf(read->name, sizeof(read->name), "%.*s", (int)(end - begin - 1), begin + 1);
	return true;
}

/* process: /proc/PID. The kernel shows a process that took other rights (set-user-id, no core dumps) as root's. */
static bool read_process(const struct walk *walk, int process, pid_t pid, struct descendant *read)
{
	char text[1024];
	struct stat status;

	*read = (struct descendant){ .pid = pid };
	if (fstat(process, &status) || status.st_uid != walk->request->owner ||
	    small_file_read(process, "stat", text, sizeof(text)) <= 0 || !parse_stat(text, read))
		return false;
	read->has_bytes = proc_io_bytes(process, &read->bytes);
	return true;
}

static const struct descendant *find(const struct reading *reading, pid_t pid, uint64_t start_ticks)
{
	for (size_t i = 0; i < reading->count; i++)
		if (reading->all[i].pid == pid && reading->all[i].start_ticks == start_ticks)
			return &reading->all[i];
	return NULL;
}

/* It may have ended since its parent listed it, and its number may be another's. */
static void add_child(struct walk *walk, pid_t parent, pid_t pid)
{
	struct reading *reading = walk->reading;
	struct descendant read;
	char name[16];

	if (reading->count == DESCENDANTS_MOST || pid <= 0 || walk->request->leave_out(walk->request->argument, pid))
		return;
	snprintf(name, sizeof(name), "%d", (int)pid);
	int process = openat(walk->proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (process >= 0 && read_process(walk, process, pid, &read) && read.parent == parent &&
	    !find(reading, pid, read.start_ticks))
		reading->all[reading->count++] = read;
	if (process >= 0)
		close(process);
}

/* "4711 4712 ": those that this thread began. */
static void add_children(struct walk *walk, pid_t parent, int tasks, const char *thread)
{
	char path[280], text[1024], *end;

	snprintf(path, sizeof(path), "%s/children", thread);
	if (small_file_read(tasks, path, text, sizeof(text)) <= 0)
		return;
	for (const char *at = text; *at; at = end) {
		long pid = strtol(at, &end, 10);

		if (end == at || !*end) /* a number that is cut off is none */
			return;
		add_child(walk, parent, (pid_t)pid);
	}
}

static void add_children_of(struct walk *walk, pid_t parent)
{
	char path[32];

	snprintf(path, sizeof(path), "%d/task", (int)parent);
	int fd = openat(walk->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *tasks = fd < 0 ? NULL : fdopendir(fd);

	if (!tasks) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (const struct dirent *entry; walk->threads > 0 && (entry = readdir(tasks));) {
		if (entry->d_name[0] == '.')
			continue;
		walk->threads--;
		add_children(walk, parent, fd, entry->d_name);
	}
	closedir(tasks);
}

/* False: the root itself could not be read. */
static bool read_all(const struct descendants_request *request, struct reading *reading, uint64_t now_ns)
{
	struct walk walk = { .request = request, .reading = reading, .threads = DESCENDANTS_THREADS };
	char name[16];

	reading->count = 0;
	reading->at_ns = 0;
	walk.proc = open(request->proc_root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (walk.proc < 0)
		return false;
	snprintf(name, sizeof(name), "%d", (int)request->pid);
	int process = openat(walk.proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (process >= 0 && read_process(&walk, process, request->pid, &reading->root)) {
		reading->at_ns = now_ns;
		add_children_of(&walk, request->pid);
		for (size_t i = 0; i < reading->count; i++)
			add_children_of(&walk, reading->all[i].pid);
	}
	if (process >= 0)
		close(process);
	close(walk.proc);
	return reading->at_ns != 0;
}

static uint64_t gain(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* Of one that is seen for the first time although it was there before (its parent ended, or there was no room for it),
 * nothing is known to be of this interval. */
static bool is_new(const struct descendant *now, const struct reading *before, uint64_t tick_ns)
{
	return (now->start_ticks + 1) * tick_ns >= before->at_ns;
}

static bool is_busier(const struct analysis_child *child, const struct analysis_child *than)
{
	if (child->cpu_ns != than->cpu_ns)
		return child->cpu_ns > than->cpu_ns;
	return child->bytes != than->bytes ? child->bytes > than->bytes : child->in_disk && !than->in_disk;
}

/* What one process used; returns by how many ticks the time of its ended children has grown. */
static uint64_t compare_one(const struct descendants *descendants, const struct descendant *now, uint64_t tick_ns,
			    struct analysis_child *child)
{
	static const struct descendant begun = { .has_bytes = true };
	const struct reading *reading = &descendants->before;
	const struct descendant *before = find(reading, now->pid, now->start_ticks);

	*child = (struct analysis_child){ .pid = now->pid, .is_child = now->parent == descendants->now.root.pid };
	memcpy(child->name, now->name, sizeof(child->name));
	if (!before)
		before = is_new(now, reading, tick_ns) ? &begun : now;
	child->cpu_ns = gain(now->ticks, before->ticks) * tick_ns;
	child->bytes = now->has_bytes && before->has_bytes ? gain(now->bytes, before->bytes) : 0;
	child->in_disk = now->state == 'D' && before->state == 'D' && before != now;
	return gain(now->ended_ticks, before->ended_ticks);
}

/* The time of a process that ends, with that of its own children, is handed on to who waits for it: the part of it that
 * was counted when it lived is taken off again. */
static void compare(const struct descendants *descendants, uint64_t tick_ns, struct analysis_children *seen)
{
	const struct reading *before = &descendants->before, *now = &descendants->now;
	uint64_t ended_ticks = gain(now->root.ended_ticks, before->root.ended_ticks), known_ticks = 0;

	*seen = (struct analysis_children){ .from_ns = before->at_ns, .at_ns = now->at_ns };
	for (size_t i = 0; i < now->count; i++) {
		struct analysis_child child;

		ended_ticks += compare_one(descendants, &now->all[i], tick_ns, &child);
		seen->cpu_ns += child.cpu_ns;
		seen->bytes += child.bytes;
		seen->in_disk |= child.in_disk;
		if (is_busier(&child, &seen->busiest))
			seen->busiest = child;
	}
	for (size_t i = 0; i < before->count; i++)
		if (!find(now, before->all[i].pid, before->all[i].start_ticks))
			known_ticks += before->all[i].ticks + before->all[i].ended_ticks;
	const struct analysis_child ended = { .cpu_ns = gain(ended_ticks, known_ticks) * tick_ns };

	seen->cpu_ns += ended.cpu_ns;
	if (ended.cpu_ns > seen->busiest.cpu_ns)
		seen->busiest = ended;
}

bool descendants_read(struct descendants **descendants, const struct descendants_request *request, uint64_t now_ns,
		      struct analysis_children *seen)
{
	long a_second = sysconf(_SC_CLK_TCK);

	if (!*descendants)
		*descendants = calloc(1, sizeof(**descendants));
	if (!*descendants || a_second <= 0 || !owner_rights_take())
		return false;
	struct descendants *both = *descendants;

	both->before = both->now;
	bool read = read_all(request, &both->now, now_ns);

	owner_rights_give_back();
	if (!read || !both->before.at_ns || both->now.root.start_ticks != both->before.root.start_ticks ||
	    now_ns <= both->before.at_ns || now_ns - both->before.at_ns > DESCENDANTS_STALE_NS)
		return false;
	compare(both, UINT64_C(1000000000) / (uint64_t)a_second, seen);
	return true;
}

void descendants_free(struct descendants *descendants)
{
	free(descendants);
}
