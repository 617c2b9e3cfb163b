/* SPDX-License-Identifier: MIT */
#include "collector/sources/waits/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { ANY = -1 };

struct mounts {
	char proc_root[128];
	int own_fd;                  /* /proc/self/mountinfo: poll(2) reports changes; -1 without /proc */
	struct mount_entry *entries; /* one without file_system says: looked for, not there */
	size_t count, room;
	uint64_t since_ns; /* nothing that is known is older; 0: mounts_expire() has seen nothing known yet */
};

int mounts_open(struct mounts **mounts, const char *proc_root)
{
	char path[160];
	struct mounts *opened = calloc(1, sizeof(*opened));

	*mounts = opened;
	if (!opened)
		return -ENOMEM;
	snprintf(opened->proc_root, sizeof(opened->proc_root), "%s", proc_root);
	snprintf(path, sizeof(path), "%s/self/mountinfo", opened->proc_root);
	opened->own_fd = open(path, O_RDONLY | O_CLOEXEC);
	return 0;
}

void mounts_close(struct mounts *mounts)
{
	if (!mounts)
		return;
	if (mounts->own_fd >= 0)
		close(mounts->own_fd);
	free(mounts->entries);
	free(mounts);
}

static int add(struct mounts *mounts, const struct mount_entry *entry)
{
	if (mounts->count == mounts->room) {
		size_t room = mounts->room * 2 + 64;
		struct mount_entry *larger = realloc(mounts->entries, room * sizeof(*larger));
		if (!larger)
			return -ENOMEM;
		mounts->entries = larger;
		mounts->room = room;
	}
	mounts->entries[mounts->count++] = *entry;
	return 0;
}

static bool octal(const char *text)
{
	for (int i = 0; i < 3; i++) {
		if (text[i] < '0' || text[i] > '7')
			return false;
	}
	return true;
}

/* Blanks and the like stand as \040 in the kernel's mount tables. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		if (*from == '\\' && octal(from + 1)) {
			*to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

/* "36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/sda1 rw": the optional fields end at the lone hyphen. */
static bool parse(const char *line, struct mount_entry *entry)
{
	unsigned int major, minor;
	char file_system[64], source[128];
	int end = 0;

	*entry = (struct mount_entry){ 0 };
	if (sscanf(line, "%d %*d %u:%u %*s %*s%n", &entry->id, &major, &minor, &end) != 3)
		return false;
	const char *rest = strstr(line + end, " - ");
	if (!rest || sscanf(rest, " - %63s %127s", file_system, source) != 2)
		return false;

	entry->device = makedev(major, minor);
	snprintf(entry->file_system, sizeof(entry->file_system), "%.15s", file_system);
	unescape(source);
	snprintf(entry->source, sizeof(entry->source), "%.31s", source + (strncmp(source, "/dev/", 5) ? 0 : 5));
	return true;
}

static const struct mount_entry *find(const struct mounts *mounts, uint64_t device, int32_t id)
{
	for (size_t i = 0; i < mounts->count; i++) {
		const struct mount_entry *entry = &mounts->entries[i];
		if (id == ANY ? entry->device == device : entry->id == id)
			return entry;
	}
	return NULL;
}

static void read_table(struct mounts *mounts, pid_t pid)
{
	char path[160], *line = NULL;
	size_t room = 0;
	struct mount_entry entry;

	snprintf(path, sizeof(path), "%s/%d/mountinfo", mounts->proc_root, (int)pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return;
	while (getline(&line, &room, file) > 0) {
		if (parse(line, &entry) && !find(mounts, 0, entry.id))
			add(mounts, &entry);
	}
	free(line);
	fclose(file);
}

static void forget(struct mounts *mounts)
{
	mounts->count = 0;
	mounts->since_ns = 0;
}

/* A device number or a mount's id can come back as another one's after an unmount. */
static void forget_if_changed(struct mounts *mounts)
{
	struct pollfd own = { .fd = mounts->own_fd, .events = POLLPRI };

	if (mounts->own_fd >= 0 && poll(&own, 1, 0) > 0 && own.revents & POLLPRI)
		forget(mounts);
}

void mounts_expire(struct mounts *mounts, uint64_t now_ns)
{
	if (mounts->count && !mounts->since_ns)
		mounts->since_ns = now_ns;
	if (mounts->since_ns && now_ns - mounts->since_ns >= MOUNTS_KEPT_NS)
		forget(mounts);
}

static const struct mount_entry *look_up(struct mounts *mounts, pid_t pid, uint64_t device, int32_t id)
{
	forget_if_changed(mounts);
	const struct mount_entry *entry = find(mounts, device, id);
	if (!entry) {
		read_table(mounts, pid);
		entry = find(mounts, device, id);
	}
	if (!entry)
		add(mounts, &(struct mount_entry){ .id = id, .device = device });
	return entry && entry->file_system[0] ? entry : NULL;
}

const struct mount_entry *mounts_by_device(struct mounts *mounts, pid_t pid, uint64_t device)
{
	return device ? look_up(mounts, pid, device, ANY) : NULL;
}

const struct mount_entry *mounts_by_id(struct mounts *mounts, pid_t pid, int32_t id)
{
	return id > 0 ? look_up(mounts, pid, 0, id) : NULL;
}
