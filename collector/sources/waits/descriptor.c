/* SPDX-License-Identifier: MIT */
#include "collector/sources/waits/descriptor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "collector/sources/process/owner_rights.h"
#include "collector/sources/waits/socket_peer.h"

/* Files that no mount shows, by how their link begins. */
static const struct {
	const char *prefix, *file_system;
} unmounted[] = {
	{ "socket:", "sockfs" },
	{ "pipe:", "pipefs" },
	{ "anon_inode:", "anon_inodefs" },
};

static const char *unmounted_file_system(const char *path)
{
	for (size_t i = 0; i < sizeof(unmounted) / sizeof(unmounted[0]); i++) {
		if (!strncmp(path, unmounted[i].prefix, strlen(unmounted[i].prefix)))
			return unmounted[i].file_system;
	}
	return NULL;
}

static int read_info(const char *proc_root, pid_t pid, int fd, struct descriptor *descriptor)
{
	char line[256];
	int mount_id = 0;

	snprintf(line, sizeof(line), "%s/%d/fdinfo/%d", proc_root, (int)pid, fd);
	FILE *info = fopen(line, "re");
	if (!info)
		return 0;
	while (fgets(line, sizeof(line), info)) {
		unsigned long long inode;
		if (sscanf(line, "ino: %llu", &inode) == 1)
			descriptor->inode = inode;
		else
			sscanf(line, "mnt_id: %d", &mount_id);
	}
	fclose(info);
	return mount_id;
}

static int failed(int err)
{
	return err == EPERM ? -EACCES : -err;
}

/* The mount's id, or -errno. */
static int read_descriptor(const char *proc_root, pid_t pid, int fd, struct descriptor *descriptor)
{
	char link[160];

	if (!owner_rights_take())
		return -EACCES;
	snprintf(link, sizeof(link), "%s/%d/fd/%d", proc_root, (int)pid, fd);
	ssize_t length = readlink(link, descriptor->path, sizeof(descriptor->path) - 1);
	int mount_id = length < 0 ? failed(errno) : read_info(proc_root, pid, fd, descriptor);

	owner_rights_give_back();
	return mount_id;
}

/* The other end of a TCP connection stands behind its number. One thread looks at descriptors, for all of its sources.
 */
static void name_peer(const char *proc_root, pid_t pid, struct descriptor *descriptor)
{
	static _Thread_local struct socket_peers peers;
	char peer[SOCKET_PEER_TEXT];
	uint64_t inode;
	size_t length = strlen(descriptor->path);

	if (sscanf(descriptor->path, "socket:[%" SCNu64 "]", &inode) == 1 &&
	    socket_peer_find(&peers, proc_root, pid, inode, clock_monotonic_ns(), peer))
		snprintf(descriptor->path + length, sizeof(descriptor->path) - length, " to %s", peer);
}

int descriptor_read(const char *proc_root, pid_t pid, int fd, struct mounts *mounts, struct descriptor *descriptor)
{
	*descriptor = (struct descriptor){ 0 };
	int mount_id = read_descriptor(proc_root, pid, fd, descriptor);

	if (mount_id < 0)
		return mount_id;
	const char *file_system = unmounted_file_system(descriptor->path);
	if (file_system) {
		name_peer(proc_root, pid, descriptor);
		snprintf(descriptor->file_system, sizeof(descriptor->file_system), "%s", file_system);
		return 0;
	}
	const struct mount_entry *mount = mounts_by_id(mounts, pid, mount_id);
	if (mount) {
		descriptor->device = mount->device;
		memcpy(descriptor->file_system, mount->file_system, sizeof(descriptor->file_system));
		memcpy(descriptor->device_name, mount->source, sizeof(descriptor->device_name));
	}
	return 0;
}
