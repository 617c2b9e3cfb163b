/* SPDX-License-Identifier: MIT */
#include "tests/unit/blackbox/fixture.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/vfs.h>

static char directory[64];

const char *fixture_directory(void)
{
	struct statfs system;

	if (*directory)
		return directory;
	if (statfs("/dev/shm", &system) || system.f_type != TMPFS_MAGIC)
		cr_skip_test("/dev/shm is no tmpfs here");
	strcpy(directory, "/dev/shm/rankwatch-test-XXXXXX");
	cr_assert_not_null(mkdtemp(directory));
	return directory;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status, (void)type, (void)walk;
	return remove(path);
}

void fixture_remove(void)
{
	if (*directory)
		nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

void fixture_create(struct box_writer *writer)
{
	struct box_request request = {
		.directory = fixture_directory(),
		.job = "test",
		.local_ranks = 1,
		.history_bytes = 1,
	};

	cr_assert_eq(box_writer_create(writer, &request), 0, "%s", writer->note);
	cr_assert_str_empty(writer->note);
}

uint64_t fixture_operation(struct box_writer *writer, uint64_t sequence, uint64_t api_ns)
{
	uint64_t ticket = 0;
	struct rw_operation *slot = box_claim(writer, RW_OWNER_HOST | RW_OWNER_GPU, &ticket);

	cr_assert_not_null(slot);
	slot->function = RW_FUNCTION_ALL_GATHER;
	slot->sequence = sequence;
	slot->api_ns = api_ns;
	box_known(slot, RW_KNOWN_IDENT | RW_KNOWN_API);
	box_publish(slot, ticket);
	return ticket;
}

void fixture_finish(struct box_writer *writer, uint64_t ticket)
{
	struct rw_operation *slot = box_slot(writer, ticket);

	cr_assert_not_null(slot);
	slot->launch_end_ns = slot->api_ns + 1000000;
	slot->progress = ticket;
	box_known(slot, RW_KNOWN_LAUNCH);
	slot->return_ns = slot->api_ns + 2000000;
	box_known(slot, RW_KNOWN_RETURN);
	box_release(slot, ticket, RW_OWNER_HOST);
	slot->gpu_source = RW_GPU_SOURCE_WATERMARK;
	slot->started_seen_ns = slot->api_ns + 3000000;
	slot->done_seen_ns = slot->api_ns + 4000000;
	box_known(slot, RW_KNOWN_STARTED | RW_KNOWN_DONE);
	box_release(slot, ticket, RW_OWNER_GPU);
}

int fixture_descriptors(void)
{
	DIR *open = opendir("/proc/self/fd");
	int count = 0;

	cr_assert_not_null(open);
	while (readdir(open))
		count++;
	closedir(open);
	return count;
}

void fixture_open(struct box_reader *reader, const struct box_writer *writer)
{
	char why[160] = "";

	cr_assert_eq(box_reader_open(reader, AT_FDCWD, writer->path, (uid_t)-1, why), 0, "%s", why);
}
