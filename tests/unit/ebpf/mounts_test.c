/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <sys/sysmacros.h>

#include "collector/sources/waits/descriptor.h"
#include "collector/sources/waits/mounts.h"
#include "tests/unit/ebpf/recorded_tree.h"

static const char table[] = "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
			    "36 27 7:3 / /mnt/slow rw,noatime shared:5 master:1 - ext4 /dev/loop3 rw,errors=continue\n"
			    "37 27 0:44 / /net/my\\040logs rw - nfs4 server:/export/logs rw,vers=4.2\n"
			    "38 27 0:45 / /fuse rw,nosuid - fuse.slow slow rw,user_id=0\n"
			    "garbage\n"
			    "39 27 0:46 / /half rw\n"
			    "40 27 253:0 / / rw - xfs /dev/mapper/a-volume-group-name-that-is-long rw\n";

static struct recorded_tree tree;
static struct mounts *mounts;

static void open_all(void)
{
	tree_open(&tree);
	tree_write(&tree, "4711/mountinfo", table);
	cr_assert(zero(int, mounts_open(&mounts, tree.root)));
}

static void close_all(void)
{
	mounts_close(mounts);
	tree_close(&tree);
}

TestSuite(mounts, .init = open_all, .fini = close_all);

Test(mounts, a_device_is_found_with_its_file_system_and_source)
{
	const struct mount_entry *entry = mounts_by_device(mounts, 4711, makedev(7, 3));

	cr_assert(ne(ptr, (void *)entry, NULL));
	cr_expect(eq(str, (char *)entry->file_system, "ext4"));
	cr_expect(eq(str, (char *)entry->source, "loop3"));
}

Test(mounts, network_and_fuse_mounts_keep_their_own_names)
{
	const struct mount_entry *nfs = mounts_by_id(mounts, 4711, 37);
	cr_assert(ne(ptr, (void *)nfs, NULL));
	cr_expect(eq(str, (char *)nfs->source, "server:/export/logs"));
	cr_expect(eq(str, (char *)nfs->file_system, "nfs4"));

	const struct mount_entry *fuse = mounts_by_id(mounts, 4711, 38);
	cr_assert(ne(ptr, (void *)fuse, NULL));
	cr_expect(eq(str, (char *)fuse->file_system, "fuse.slow"));
}

Test(mounts, lines_that_make_no_sense_are_left_out)
{
	cr_expect(eq(ptr, (void *)mounts_by_id(mounts, 4711, 39), NULL));
	cr_expect(eq(ptr, (void *)mounts_by_device(mounts, 4711, makedev(0, 46)), NULL));
}

Test(mounts, a_long_source_is_cut_and_ends)
{
	const struct mount_entry *entry = mounts_by_id(mounts, 4711, 40);

	cr_assert(ne(ptr, (void *)entry, NULL));
	cr_expect(eq(sz, strlen(entry->source), sizeof(entry->source) - 1));
}

Test(mounts, a_process_that_is_gone_has_no_mounts)
{
	cr_expect(eq(ptr, (void *)mounts_by_device(mounts, 1, makedev(7, 3)), NULL));
}

Test(mounts, a_mount_in_another_name_space_is_found_through_its_process)
{
	tree_write(&tree, "5000/mountinfo", "90 80 8:1 / /data rw - ext4 /dev/sda1 rw\n");
	cr_expect(ne(ptr, (void *)mounts_by_device(mounts, 4711, makedev(7, 3)), NULL));

	const struct mount_entry *entry = mounts_by_device(mounts, 5000, makedev(8, 1));
	cr_assert(ne(ptr, (void *)entry, NULL));
	cr_expect(eq(str, (char *)entry->source, "sda1"));
}

/* Its own process's name space says nothing of it. */
Test(mounts, a_device_number_that_a_container_uses_again_is_looked_up_again_after_seconds)
{
	const uint64_t second = 1000000000, begin_ns = 77 * second;

	tree_write(&tree, "5000/mountinfo", "90 80 0:99 / /data rw - nfs4 server:/a rw\n");
	cr_assert(ne(ptr, (void *)mounts_by_device(mounts, 5000, makedev(0, 99)), NULL));
	cr_expect(eq(ptr, (void *)mounts_by_id(mounts, 5000, 91), NULL));
	mounts_expire(mounts, begin_ns);
	tree_write(&tree, "5000/mountinfo", "91 80 0:99 / /data rw - fuse.slow other rw\n");
	mounts_expire(mounts, begin_ns + MOUNTS_KEPT_NS - second);
	const struct mount_entry *entry = mounts_by_device(mounts, 5000, makedev(0, 99));
	cr_assert(ne(ptr, (void *)entry, NULL));
	cr_expect(eq(str, (char *)entry->file_system, "nfs4"), "a table is not read for each wait");
	mounts_expire(mounts, begin_ns + MOUNTS_KEPT_NS);
	entry = mounts_by_device(mounts, 5000, makedev(0, 99));
	cr_assert(ne(ptr, (void *)entry, NULL));
	cr_expect(eq(str, (char *)entry->file_system, "fuse.slow"));
	cr_expect(ne(ptr, (void *)mounts_by_id(mounts, 5000, 91), NULL));
}

Test(mounts, a_descriptor_is_followed_to_its_device)
{
	struct descriptor descriptor;

	tree_link(&tree, "4711/fd/3", "/mnt/slow/events.out");
	tree_write(&tree, "4711/fdinfo/3", "pos:\t0\nflags:\t0100001\nmnt_id:\t36\nino:\t12\n");
	cr_assert(zero(int, descriptor_read(tree.root, 4711, 3, mounts, &descriptor)));
	cr_expect(eq(str, descriptor.path, "/mnt/slow/events.out"));
	cr_expect(eq(u64, descriptor.inode, 12));
	cr_expect(eq(u64, descriptor.device, makedev(7, 3)));
	cr_expect(eq(str, descriptor.device_name, "loop3"));
}

Test(mounts, a_socket_has_a_file_system_but_no_device)
{
	struct descriptor descriptor;

	tree_link(&tree, "4711/fd/4", "socket:[1234]");
	tree_write(&tree, "4711/fdinfo/4", "pos:\t0\nmnt_id:\t9\nino:\t1234\n");
	cr_assert(zero(int, descriptor_read(tree.root, 4711, 4, mounts, &descriptor)));
	cr_expect(eq(str, descriptor.file_system, "sockfs"));
	cr_expect(eq(u64, descriptor.device, 0));
}

Test(mounts, a_closed_descriptor_is_said_to_be_closed)
{
	struct descriptor descriptor;

	cr_expect(eq(int, descriptor_read(tree.root, 4711, 99, mounts, &descriptor), -ENOENT));
	cr_expect(eq(str, descriptor.path, ""));
}
