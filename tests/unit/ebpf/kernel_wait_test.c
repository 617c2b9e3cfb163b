/* SPDX-License-Identifier: MIT */
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <sys/sysmacros.h>

#include "collector/sources/waits/kernel_wait.h"
#include "tests/unit/ebpf/recorded_tree.h"

/* As recorded from an fsync on a loop device at 1 MB/s. */
static const struct rw_kernel_wait recorded = {
	.kind = RW_KERNEL_WAIT,
	.tgid = 4711,
	.tid = 4712,
	.waker_tid = 12,
	.waker_tgid = 12,
	.system_call = 74,
	.fd = 3,
	.device = 7u << 20 | 3,
	.inode = 12,
	.start_ns = 1000,
	.end_ns = 249431000,
	.blocked_ns = 249240000,
	.run_queue_ns = 30000,
	.longest_ns = 249000000,
	.state = 2,
	.io_wait = 1,
	.stack_id = -1,
	.thread = "tb-writer",
	.waker = "kworker/u8:0",
	.file = "events.out",
	.file_system = "ext4",
};

static struct recorded_tree tree;
static struct mounts *mounts;
static struct file_names *names; /* NULL: every name is read */
static struct analysis_wait wait;

static void open_all(void)
{
	tree_open(&tree);
	tree_write(&tree, "4711/mountinfo",
		   "36 27 7:3 / /mnt rw - ext4 /dev/loop3 rw\n37 27 0:44 / /f rw - fuse.slow s rw\n");
	tree_link(&tree, "4711/fd/3", "/mnt/logs/events.out");
	tree_write(&tree, "4711/fdinfo/3", "mnt_id:\t36\nino:\t12\n");
	cr_assert(zero(int, mounts_open(&mounts, tree.root)));
}

static void close_all(void)
{
	mounts_close(mounts);
	file_names_free(names);
	names = NULL;
	tree_close(&tree);
}

static void fill(const struct rw_kernel_wait *record)
{
	kernel_wait_fill(record, tree.root, mounts, names, &wait);
}

TestSuite(kernel_wait, .init = open_all, .fini = close_all);

Test(kernel_wait, an_fsync_becomes_an_interval_with_its_full_path)
{
	fill(&recorded);
	cr_expect(eq(int, wait.kind, ANALYSIS_WAIT_INTERVAL));
	cr_expect(eq(int, wait.level, RW_LEVEL_EBPF));
	cr_expect(eq(u32, wait.tid, 4712));
	cr_expect(eq(chr, wait.state, 'D'));
	cr_expect(eq(u64, wait.end_ns - wait.start_ns, 249430000));
	cr_expect(eq(str, wait.path, "/mnt/logs/events.out"));
	cr_expect(eq(u64, wait.device, makedev(7, 3)));
	cr_expect(eq(str, wait.device_name, "loop3"));
	cr_expect(wait.io_wait && wait.out_of_process_wake);
	cr_expect(eq(u32, wait.waker_tid, 12));
}

Test(kernel_wait, a_closed_file_keeps_the_last_part_of_its_path)
{
	tree_remove(&tree, "4711/fd/3");
	fill(&recorded);
	cr_expect(eq(str, wait.path, "events.out"));
	cr_expect(eq(str, wait.device_name, "loop3"));
}

Test(kernel_wait, a_descriptor_that_is_another_file_by_now_is_not_believed)
{
	tree_write(&tree, "4711/fdinfo/3", "mnt_id:\t36\nino:\t13\n");
	fill(&recorded);
	cr_expect(eq(str, wait.path, "events.out"));
}

Test(kernel_wait, without_inode_the_name_must_be_the_same)
{
	tree_write(&tree, "4711/fdinfo/3", "mnt_id:\t36\n");
	fill(&recorded);
	cr_expect(eq(str, wait.path, "/mnt/logs/events.out"));

	struct rw_kernel_wait other = recorded;
	strcpy(other.file, "other.out");
	fill(&other);
	cr_expect(eq(str, wait.path, "other.out"));
}

static void keep_names(void)
{
	names = file_names_new();
	cr_assert(ne(ptr, names, NULL));
	fill(&recorded);
	tree_remove(&tree, "4711/fd/3");
	tree_link(&tree, "4711/fd/3", "/mnt/logs/events.renamed");
}

Test(kernel_wait, a_name_that_was_read_a_moment_ago_is_not_read_again)
{
	struct rw_kernel_wait later = recorded;

	keep_names();
	later.end_ns += FILE_NAMES_KEPT_NS;
	fill(&later);
	cr_expect(eq(str, wait.path, "/mnt/logs/events.out"));
	cr_expect(eq(str, wait.file_system, "ext4"));
	cr_expect(eq(str, wait.device_name, "loop3"));
	cr_expect(eq(u64, wait.device, makedev(7, 3)));
	later.end_ns++;
	fill(&later);
	cr_expect(eq(str, wait.path, "/mnt/logs/events.renamed"));
}

Test(kernel_wait, a_kept_name_is_that_of_one_descriptor_of_one_process_and_one_file)
{
	struct rw_kernel_wait other = recorded;

	keep_names();
	tree_write(&tree, "4711/fdinfo/3", "mnt_id:\t36\nino:\t13\n");
	other.inode = 13;
	fill(&other);
	cr_expect(eq(str, wait.path, "/mnt/logs/events.renamed"), "another inode");

	other = recorded;
	other.tgid = 4712;
	fill(&other);
	cr_expect(eq(str, wait.path, "events.out"), "another process, which is not to be seen");
	other = recorded;
	other.fd = 4;
	fill(&other);
	cr_expect(eq(str, wait.path, "events.out"), "another descriptor, closed by now");
	other = recorded;
	strcpy(other.file, "[eventfd]");
	strcpy(other.file_system, "anon_inodefs");
	fill(&other);
	cr_expect(ne(str, wait.path, "/mnt/logs/events.out"), "all anonymous files have one inode");
}

Test(kernel_wait, nothing_is_kept_of_a_process_that_was_let_go)
{
	keep_names();
	file_names_forget(names, 4712);
	fill(&recorded);
	cr_expect(eq(str, wait.path, "/mnt/logs/events.out"), "another one was");
	file_names_forget(names, 4711);
	fill(&recorded);
	cr_expect(ne(str, wait.path, "/mnt/logs/events.out"));
}

Test(kernel_wait, a_closed_pipe_is_named_by_its_inode)
{
	struct rw_kernel_wait pipe = recorded;

	pipe.fd = 9;
	strcpy(pipe.file, "");
	strcpy(pipe.file_system, "pipefs");
	fill(&pipe);
	cr_expect(eq(str, wait.path, "pipe:[12]"));
	cr_expect(eq(chr, wait.state, 'D'));
}

Test(kernel_wait, a_fuse_mount_has_its_subtype)
{
	struct rw_kernel_wait fuse = recorded;

	fuse.fd = 9;
	fuse.device = 44;
	strcpy(fuse.file_system, "fuse");
	fill(&fuse);
	cr_expect(eq(str, wait.file_system, "fuse.slow"));
}

Test(kernel_wait, ksoftirqd_is_not_a_waker)
{
	struct rw_kernel_wait softirq = recorded;

	strcpy(softirq.waker, "ksoftirqd/1");
	fill(&softirq);
	cr_expect(eq(u32, wait.waker_tid, 0));
	cr_expect(not(wait.out_of_process_wake));
}

Test(kernel_wait, kinds_and_states_are_translated)
{
	struct rw_kernel_wait record = { .kind = RW_KERNEL_RUN_QUEUE, .fd = -1, .system_call = -1, .run_queue_ns = 12 };

	fill(&record);
	cr_expect(eq(int, wait.kind, ANALYSIS_WAIT_RUN_QUEUE));
	cr_expect(eq(chr, wait.state, 'R'));
	cr_expect(eq(str, wait.path, ""));
	record.kind = RW_KERNEL_SHORT_WAITS;
	record.blocked_ns = 90;
	record.longest_ns = 5;
	fill(&record);
	cr_expect(eq(int, wait.kind, ANALYSIS_WAIT_SHORT));
	cr_expect(eq(u64, wait.blocked_ns, 90));
	cr_expect(eq(u64, wait.longest_ns, 5));
	record.kind = RW_KERNEL_NOW;
	record.state = 4;
	fill(&record);
	cr_expect(eq(int, wait.kind, ANALYSIS_WAIT_SAMPLE));
	cr_expect(eq(chr, wait.state, 'T'));
}
