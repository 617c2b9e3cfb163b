/* SPDX-License-Identifier: MIT */
/* Where a box goes when /dev/shm is small, full, read-only or squatted: each test has a /dev/shm of its own. */
#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blackbox/writer.h"

/* root: what the machine has of memory is another test's (host_memory). */
static const struct box_request request = { .job = "test", .rank = 3, .local_ranks = 8, .root = "/nonexistent" };

/* The job's directory goes away as soon as it is made; how often it was. */
static bool is_taken_away;
static int taken_away;

/* In place of the C library's. */
int mkdirat(int parent, const char *name, mode_t mode)
{
	int err = (int)syscall(SYS_mkdirat, parent, name, mode);

	if (!err && is_taken_away && !strcmp(name, request.job)) {
		taken_away++;
		cr_assert_eq(unlinkat(parent, name, AT_REMOVEDIR), 0);
	}
	return err;
}

static void private_shm(const char *options)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		cr_skip_test("needs root: a mount namespace for a /dev/shm of its own");
	cr_assert_eq(mount("tmpfs", "/dev/shm", "tmpfs", 0, options), 0);
	/* /tmp on a disk, whatever it is here. */
	unsetenv("XDG_RUNTIME_DIR");
}

static void expect_memory(const char *sentence)
{
	struct box_writer writer;

	cr_assert_eq(box_writer_create(&writer, &request), 0);
	if (strncmp(writer.path, "/tmp/", strlen("/tmp/")) == 0)
		cr_skip_test("/tmp is a tmpfs here and was taken instead: %s", writer.path);
	cr_assert_str_empty(writer.path, "it was taken all the same: %s", writer.path);
	cr_expect_not_null(strstr(writer.note, sentence), "%s", writer.note);
	cr_expect_not_null(strstr(writer.note, "does not outlive the process"), "%s", writer.note);
	cr_expect_eq(writer.header->ring_slots, RW_BOX_RING_MIN);
	cr_expect_eq(writer.header->history_limited, 1);
	writer.ring[RW_BOX_RING_MIN - 1].count = 1;
}

Test(writer_places, eight_ranks_share_a_16_mib_shm)
{
	struct box_writer writers[8];

	private_shm("size=16m");
	for (int i = 0; i < 8; i++) {
		struct box_request rank = { .job = "test", .rank = i, .local_ranks = 8, .root = "/nonexistent" };

		cr_assert_eq(box_writer_create(&writers[i], &rank), 0);
		cr_expect_str_empty(writers[i].note);
		cr_expect_eq(writers[i].header->ring_slots, RW_BOX_RING_MIN);
		cr_expect_eq(writers[i].header->history_limited, 1);
	}
}

Test(writer_places, a_large_shm_gives_the_whole_history)
{
	struct box_writer writer;

	private_shm("size=5g");
	cr_assert_eq(box_writer_create(&writer, &request), 0);
	cr_expect_eq(writer.header->ring_slots, RW_BOX_RING_MAX);
	cr_expect_eq(writer.header->history_limited, 0);
}

Test(writer_places, one_mib_of_free_space_in_sixteen_is_taken)
{
	struct box_writer writer;
	struct box_request alone = { .job = "test", .rank = 0, .local_ranks = 1, .root = "/nonexistent" };

	private_shm("size=64m");
	cr_assert_eq(box_writer_create(&writer, &alone), 0);
	/* 4 MiB, of which 588 KiB are the fixed parts: 8192 slots. */
	cr_expect_eq(writer.header->ring_slots, 8192);
	cr_expect_leq(writer.size, 4u << 20);
}

Test(writer_places, an_asked_history_is_given_within_half_of_the_free_space)
{
	struct box_writer writer;
	struct box_request asked = {
		.job = "test", .local_ranks = 1, .history_bytes = 32u << 20, .root = "/nonexistent"
	};

	private_shm("size=24m");
	cr_assert_eq(box_writer_create(&writer, &asked), 0);
	cr_expect_eq(writer.header->ring_slots, 32768);
	cr_expect_eq(writer.header->history_limited, 1);
}

Test(writer_places, a_directory_that_is_taken_away_meanwhile_is_made_again, .timeout = 60)
{
	char directory[64];

	private_shm("size=64m");
	snprintf(directory, sizeof(directory), "/dev/shm/rankwatch-%d/test", (int)geteuid());
	pid_t remover = fork();
	if (!remover)
		for (;; usleep(100))
			rmdir(directory);
	for (int i = 0; i < 300; i++) {
		struct box_writer writer;

		cr_assert_eq(box_writer_create(&writer, &request), 0);
		cr_expect_eq(strncmp(writer.path, directory, strlen(directory)), 0, "%s: %s", writer.path, writer.note);
		unlink(writer.path);
		box_writer_close(&writer);
	}
	kill(remover, SIGKILL);
	waitpid(remover, NULL, 0);
}

/* A program may have been started without a standard input: then the first directory on the way is the first descriptor
 * there is. */
Test(writer_places, a_directory_whose_descriptor_is_0_is_a_directory)
{
	struct box_writer writer;

	private_shm("size=64m");
	close(0);
	cr_assert_eq(box_writer_create(&writer, &request), 0);
	cr_expect_eq(strncmp(writer.path, "/dev/shm/", 9), 0, "%s: %s", writer.path, writer.note);
	cr_expect_eq(fcntl(0, F_GETFD), -1, "given back");
	unlink(writer.path);
	box_writer_close(&writer);
}

/* Starting a job must not hang on somebody who is always quicker. */
Test(writer_places, a_directory_that_is_taken_away_each_time_is_given_up)
{
	private_shm("size=64m");
	is_taken_away = true;
	expect_memory("test cannot be opened: No such file or directory");
	cr_expect_eq(taken_away, 64, "%d", taken_away);
}

Test(writer_places, a_full_shm_is_left_alone)
{
	char path[64];

	private_shm("size=600k");
	expect_memory("cannot reserve");
	snprintf(path, sizeof(path), "/dev/shm/rankwatch-%u/test", (unsigned)geteuid());
	cr_expect_eq(rmdir(path), 0, "nothing half-made stays");
}

Test(writer_places, a_read_only_shm_is_said)
{
	private_shm("ro");
	expect_memory("Read-only file system");
}

Test(writer_places, a_directory_of_somebody_else_is_refused)
{
	private_shm("mode=1777");
	cr_assert_eq(mkdir("/dev/shm/rankwatch-0", 0700), 0);
	cr_assert_eq(chown("/dev/shm/rankwatch-0", 12345, 12345), 0);
	expect_memory("/dev/shm/rankwatch-0 belongs to uid 12345, not to us (uid 0)");
}

Test(writer_places, a_directory_that_others_can_write_is_refused)
{
	private_shm("mode=1777");
	cr_assert_eq(mkdir("/dev/shm/rankwatch-0", 0700), 0);
	cr_assert_eq(chmod("/dev/shm/rankwatch-0", 0777), 0);
	expect_memory("can be written by others");
}

Test(writer_places, a_symbolic_link_is_refused)
{
	private_shm("mode=1777");
	cr_assert_eq(mkdir("/dev/shm/elsewhere", 0700), 0);
	cr_assert_eq(symlink("/dev/shm/elsewhere", "/dev/shm/rankwatch-0"), 0);
	expect_memory("/dev/shm/rankwatch-0 is a symbolic link");
}

Test(writer_places, the_runtime_directory_is_next)
{
	struct box_writer writer;

	private_shm("mode=1777");
	cr_assert_eq(symlink("/", "/dev/shm/rankwatch-0"), 0);
	cr_assert_eq(mkdir("/dev/shm/run", 0700), 0);
	setenv("XDG_RUNTIME_DIR", "/dev/shm/run", 1);
	cr_assert_eq(box_writer_create(&writer, &request), 0);
	cr_expect_eq(strncmp(writer.path, "/dev/shm/run/rankwatch/test/rank3-", 34), 0, "%s", writer.path);
	cr_expect_not_null(strstr(writer.note, "it records in /dev/shm/run/rankwatch/test instead"), "%s", writer.note);
}

Test(writer_places, a_named_directory_on_a_disk_is_refused_and_not_made)
{
	struct box_writer writer;
	struct box_request named = { .directory = "/var/tmp/rankwatch-test-disk/a", .job = "test", .local_ranks = 1 };

	private_shm("mode=1777");
	cr_assert_eq(box_writer_create(&writer, &named), 0);
	cr_expect_not_null(strstr(writer.note, "disk or network file system"), "%s", writer.note);
	cr_expect_eq(strncmp(writer.path, "/dev/shm/rankwatch-0/test/", 26), 0, "%s", writer.path);
	cr_expect_eq(access("/var/tmp/rankwatch-test-disk", F_OK), -1);
}

Test(writer_places, a_named_directory_is_made_with_its_parents)
{
	struct box_writer writer;
	struct box_request named = { .directory = "/dev/shm//a/b/c/", .job = "test", .local_ranks = 1 };
	struct stat status;

	private_shm("mode=1777");
	cr_assert_eq(box_writer_create(&writer, &named), 0);
	cr_expect_str_empty(writer.note);
	cr_assert_eq(stat("/dev/shm/a/b/c", &status), 0);
	cr_expect_eq(status.st_mode & 07777, 0700);
}

Test(writer_places, a_box_can_live_on_a_ramfs)
{
	struct box_writer writer;
	struct box_request named = { .directory = "/dev/shm/ram/boxes", .job = "test", .local_ranks = 1 };

	private_shm("mode=1777");
	cr_assert_eq(mkdir("/dev/shm/ram", 0700), 0);
	if (mount("ramfs", "/dev/shm/ram", "ramfs", 0, NULL))
		cr_skip_test("no ramfs: %s", strerror(errno));
	cr_assert_eq(box_writer_create(&writer, &named), 0);
	cr_expect_str_empty(writer.note);
	cr_expect_eq(writer.header->ring_slots, RW_BOX_RING_MAX);
}
