/* SPDX-License-Identifier: MIT */
#include "tests/unit/ebpf/slow_disk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define THROTTLE "/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device"

static int throttle(const char *device, unsigned long bytes_per_second)
{
	char path[64];
	struct stat status;

	snprintf(path, sizeof(path), "/dev/%s", device);
	FILE *file = stat(path, &status) ? NULL : fopen(THROTTLE, "we");
	if (!file)
		return -errno;
	fprintf(file, "%u:%u %lu\n", major(status.st_rdev), minor(status.st_rdev), bytes_per_second);
	return fclose(file) ? -errno : 0;
}

static int run(const char *format, const char *first, const char *second)
{
	char command[256];

	snprintf(command, sizeof(command), format, first, second);
	return system(command) ? -EIO : 0;
}

static int attach_loop(struct slow_disk *disk)
{
	char command[160];

	snprintf(command, sizeof(command), "losetup -f --show %s/image 2>/dev/null", disk->folder);
	FILE *output = popen(command, "re");
	if (!output)
		return -errno;
	if (fscanf(output, "/dev/%31s", disk->device) != 1)
		disk->device[0] = '\0';
	pclose(output);
	return disk->device[0] ? 0 : -ENODEV;
}

static int set_up(struct slow_disk *disk, unsigned long bytes_per_second, const char **step)
{
	*step = "make a loop device";
	int err = run("truncate -s 64M %s/image && mkdir %s/mount", disk->folder, disk->folder);
	if (!err)
		err = attach_loop(disk);
	if (err)
		return err;
	*step = "make and mount an ext4";
	err = run("mkfs.ext4 -q /dev/%s && mount /dev/%1$s %2$s", disk->device, disk->mount);
	if (err)
		return err;
	disk->mounted = true;
	*step = "write " THROTTLE " (needs cgroup v1 blkio)";
	err = throttle(disk->device, bytes_per_second);
	disk->throttled = !err;
	return err;
}

int slow_disk_open(struct slow_disk *disk, unsigned long bytes_per_second, char *why)
{
	const char *step = "make a folder";

	*disk = (struct slow_disk){ .folder = "/tmp/rankwatch-disk-XXXXXX" };
	int err = mkdtemp(disk->folder) ? 0 : -errno;
	snprintf(disk->mount, sizeof(disk->mount), "%s/mount", disk->folder);
	if (!err)
		err = set_up(disk, bytes_per_second, &step);
	if (err) {
		snprintf(why, 200, "could not %s: %s", step, strerror(-err));
		slow_disk_close(disk);
	}
	return err;
}

void slow_disk_close(struct slow_disk *disk)
{
	if (disk->throttled)
		throttle(disk->device, 0);
	if (disk->mounted)
		umount2(disk->mount, MNT_DETACH);
	if (disk->device[0])
		run("losetup -d /dev/%s%s", disk->device, "");
	run("rm -rf --one-file-system %s%s", disk->folder, "");
	*disk = (struct slow_disk){ 0 };
}
