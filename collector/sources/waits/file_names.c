/* SPDX-License-Identifier: MIT */
#include "collector/sources/waits/file_names.h"

#include <stdlib.h>
#include <string.h>

enum { KEPT = 512 /* a power of 2; descriptors that hash to the same place take turns */ };

struct name {
	uint32_t tgid; /* 0: nothing is kept here */
	int32_t fd;
	uint32_t device;
	uint64_t inode, read_ns;
	char file[sizeof(((struct rw_kernel_wait *)0)->file)];
	char kind[sizeof(((struct rw_kernel_wait *)0)->file_system)]; /* as the kernel calls it */
	char path[sizeof(((struct analysis_wait *)0)->path)];
	char file_system[sizeof(((struct analysis_wait *)0)->file_system)];
	char device_name[sizeof(((struct analysis_wait *)0)->device_name)];
};

struct file_names {
	struct name names[KEPT];
};

struct file_names *file_names_new(void)
{
	return calloc(1, sizeof(struct file_names));
}

void file_names_free(struct file_names *names)
{
	free(names);
}

static size_t place_of(const struct rw_kernel_wait *record)
{
	return (record->tgid * 2654435761u + (uint32_t)record->fd * 40503u) % KEPT;
}

static bool is_of(const struct name *name, const struct rw_kernel_wait *record)
{
	return name->tgid == record->tgid && name->fd == record->fd && name->device == record->device &&
	       name->inode == record->inode && !strncmp(name->file, record->file, sizeof(name->file)) &&
	       !strncmp(name->kind, record->file_system, sizeof(name->kind));
}

bool file_names_find(const struct file_names *names, const struct rw_kernel_wait *record, struct analysis_wait *wait)
{
	const struct name *name = names ? &names->names[place_of(record)] : NULL;

	if (!name || !record->tgid || !is_of(name, record) || record->end_ns > name->read_ns + FILE_NAMES_KEPT_NS)
		return false;
	memcpy(wait->path, name->path, sizeof(name->path));
	memcpy(wait->file_system, name->file_system, sizeof(name->file_system));
	memcpy(wait->device_name, name->device_name, sizeof(name->device_name));
	return true;
}

void file_names_keep(struct file_names *names, const struct rw_kernel_wait *record, const struct analysis_wait *wait)
{
	struct name *name = names ? &names->names[place_of(record)] : NULL;

	if (!name)
		return;
	*name = (struct name){ .tgid = record->tgid,
			       .fd = record->fd,
			       .device = record->device,
			       .inode = record->inode,
			       .read_ns = record->end_ns };
	memcpy(name->file, record->file, sizeof(name->file));
	memcpy(name->kind, record->file_system, sizeof(name->kind));
	memcpy(name->path, wait->path, sizeof(name->path));
	memcpy(name->file_system, wait->file_system, sizeof(name->file_system));
	memcpy(name->device_name, wait->device_name, sizeof(name->device_name));
}

void file_names_forget(struct file_names *names, uint32_t tgid)
{
	for (size_t i = 0; names && i < KEPT; i++)
		if (names->names[i].tgid == tgid)
			names->names[i].tgid = 0;
}
