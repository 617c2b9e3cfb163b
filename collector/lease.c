/* SPDX-License-Identifier: MIT */
#include "collector/lease.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/live_boxes.h"

enum { DETAILS = 1024 };

#define LASTS_NS UINT64_C(3000000000)

/* Through the reader's descriptor: it is this file, whatever its name is now. */
static int open_to_write(const struct box_reader *reader)
{
	char path[48];
	struct stat status;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", reader->fd);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (!fstat(fd, &status) && status.st_uid == geteuid())
		return fd;
	close(fd);
	return -EPERM;
}

int lease_write(const struct box_reader *reader, uint32_t slot, uint64_t communicator, uint64_t expires_ns)
{
	const struct rw_lease lease = {
		.expires_ns = expires_ns,
		.communicator = communicator,
		.proxy_bits = RW_LEASE_PROXY_OP | RW_LEASE_PROXY_STEP,
	};
	off_t at = (off_t)(reader->header.control_offset + slot * sizeof(lease));

	if (slot >= RW_BOX_LEASES || !box_has_waits(&reader->header))
		return -EINVAL;
	int fd = open_to_write(reader);
	if (fd < 0)
		return fd;
	ssize_t written = pwrite(fd, &lease, sizeof(lease), at);
	int err = written < 0 ? -errno : written == (ssize_t)sizeof(lease) ? 0 : -EIO;
	close(fd);
	return err;
}

void leases_renew(const struct analysis *analysis, struct live_boxes *boxes, uint64_t now_ns)
{
	struct analysis_detail details[DETAILS];
	size_t count = analysis_wanted_details(analysis, details, DETAILS);

	for (size_t i = 0; i < count && i < DETAILS; i++) {
		uint32_t slot = 0;

		for (size_t k = 0; k < i; k++)
			slot += details[k].process == details[i].process;
		live_boxes_lease(boxes, details[i].process, slot, details[i].comm, now_ns + LASTS_NS);
	}
}
