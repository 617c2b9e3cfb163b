/* SPDX-License-Identifier: MIT */
#include "protocol/address.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "blackbox/place.h"
#include "protocol/runtime_directory.h"

static bool fits(int length)
{
	return length >= 0 && length < ADDRESS_PATH;
}

int address_fill(struct address *address, const char *runtime_dir, uid_t uid, const char *job)
{
	char component[BOX_JOB_COMPONENT];
	const char *directory = address->directory;
	int length;

	box_job_component(job, component);
	if (uid == 0)
		length = snprintf(address->directory, ADDRESS_PATH, "/run/rankwatch");
	else if (runtime_dir && *runtime_dir)
		length = snprintf(address->directory, ADDRESS_PATH, "%s", runtime_dir);
	else
		length = snprintf(address->directory, ADDRESS_PATH, "/tmp/rankwatch-%u", (unsigned)uid);
	if (!fits(length) ||
	    !fits(snprintf(address->shared, ADDRESS_PATH, "%s/%s", directory, uid ? "rankwatch.sock" : "socket")))
		return -ENAMETOOLONG;
	length = uid ? snprintf(address->own, ADDRESS_PATH, "%s/rankwatch-%s.sock", directory, component)
		     : snprintf(address->own, ADDRESS_PATH, "%s/%s.socket", directory, component);
	if (!fits(length))
		return -ENAMETOOLONG;
	length = snprintf(address->all_nodes, ADDRESS_PATH, "%s/%s%s.all-nodes", directory, uid ? "rankwatch-" : "",
			  component);
	if (!fits(length))
		address->all_nodes[0] = '\0';
	return 0;
}

int address_find(struct address *address, const char *runtime_dir, uid_t uid, const char *job)
{
	return address_fill(address, runtime_directory_usable(runtime_dir, uid), uid, job);
}
