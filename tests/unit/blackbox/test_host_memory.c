/* SPDX-License-Identifier: MIT */
/* What is left of memory, from trees of /proc and /sys that are played; and the size of the box that follows from it.
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blackbox/host_memory.h"
#include "tests/unit/blackbox/fixture.h"

TestSuite(host_memory, .fini = fixture_remove);

#define MIB (UINT64_C(1) << 20)

/* Makes `path` below the tree, with the directories above it. */
static void put(const char *path, const char *format, ...)
{
	char whole[512];
	va_list arguments;

	snprintf(whole, sizeof(whole), "%s/%s", fixture_directory(), path);
	for (char *slash = whole + strlen(fixture_directory()); (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		mkdir(whole, 0700);
		*slash = '/';
	}
	FILE *file = fopen(whole, "we");

	cr_assert_not_null(file, "%s", whole);
	va_start(arguments, format);
	vfprintf(file, format, arguments);
	va_end(arguments);
	fclose(file);
}

static void put_machine(unsigned long long total_kib, unsigned long long available_kib)
{
	put("proc/meminfo", "MemTotal:       %llu kB\nMemFree:          1000 kB\nMemAvailable:   %llu kB\n", total_kib,
	    available_kib);
}

static void put_v2(const char *group, const char *max, unsigned long long current, unsigned long long file_pages)
{
	char path[256];

	snprintf(path, sizeof(path), "sys/fs/cgroup%s/memory.max", group);
	put(path, "%s\n", max);
	snprintf(path, sizeof(path), "sys/fs/cgroup%s/memory.current", group);
	put(path, "%llu\n", current);
	snprintf(path, sizeof(path), "sys/fs/cgroup%s/memory.stat", group);
	put(path, "anon 4096\nfile %llu\nshmem 77\ninactive_anon 5\ninactive_file %llu\nactive_file 0\n", file_pages,
	    file_pages);
}

Test(host_memory, without_groups_the_machine_counts)
{
	put_machine(1024 * 1024, 512 * 1024);
	cr_expect_eq(host_memory_total(fixture_directory()), 1024 * MIB);
	cr_expect_eq(host_memory_left(fixture_directory()), 512 * MIB);
}

Test(host_memory, where_nothing_can_be_read_nothing_is_known)
{
	cr_expect_eq(host_memory_total("/nonexistent"), UINT64_MAX);
	cr_expect_eq(host_memory_left("/nonexistent"), UINT64_MAX);
}

Test(host_memory, the_tightest_group_above_the_process_counts_and_page_cache_is_left)
{
	put_machine(1024 * 1024, 900 * 1024);
	put("proc/self/cgroup", "0::/slurm/job_7/step_0\n");
	put_v2("/slurm/job_7/step_0", "max", 10 * MIB, 0);
	put_v2("/slurm/job_7", "209715200", 180 * MIB, 130 * MIB);
	put_v2("/slurm", "524288000", 100 * MIB, 0);
	cr_expect_eq(host_memory_left(fixture_directory()), 150 * MIB);
	cr_expect_eq(host_memory_total(fixture_directory()), 200 * MIB);
}

Test(host_memory, a_group_at_its_limit_has_nothing_left)
{
	put_machine(1024 * 1024, 900 * 1024);
	put("proc/self/cgroup", "0::/a\n");
	put_v2("/a", "104857600", 110 * MIB, 0);
	cr_expect_eq(host_memory_left(fixture_directory()), 0);
}

Test(host_memory, what_slows_a_group_down_is_a_limit_too)
{
	put_machine(1024 * 1024, 900 * 1024);
	put("proc/self/cgroup", "0::/a\n");
	put_v2("/a", "max", 20 * MIB, 0);
	put("sys/fs/cgroup/a/memory.high", "%llu\n", (unsigned long long)(50 * MIB));
	cr_expect_eq(host_memory_left(fixture_directory()), 30 * MIB);
}

Test(host_memory, a_group_seen_from_inside_its_container_is_the_top_of_the_mount)
{
	put_machine(1024 * 1024, 900 * 1024);
	put_v2("", "104857600", 40 * MIB, 0);
	put("proc/self/cgroup", "0::/\n");
	cr_expect_eq(host_memory_left(fixture_directory()), 60 * MIB);
	put("proc/self/cgroup", "0::/../../elsewhere\n");
	cr_expect_eq(host_memory_left(fixture_directory()), 60 * MIB);
	put("proc/self/cgroup", "0::/docker/0123456789abcdef\n");
	cr_expect_eq(host_memory_left(fixture_directory()), 60 * MIB);
}

static void put_v1(const char *group, const char *limit, unsigned long long usage)
{
	char path[256];

	snprintf(path, sizeof(path), "sys/fs/cgroup/memory%s/memory.limit_in_bytes", group);
	put(path, "%s\n", limit);
	snprintf(path, sizeof(path), "sys/fs/cgroup/memory%s/memory.usage_in_bytes", group);
	put(path, "%llu\n", usage);
	snprintf(path, sizeof(path), "sys/fs/cgroup/memory%s/memory.stat", group);
	put(path, "cache 1\ninactive_file 3\ntotal_cache 9\ntotal_inactive_file %llu\ntotal_active_file %llu\n",
	    5 * MIB, 5 * MIB);
}

Test(host_memory, version_1_is_read_where_it_has_the_memory)
{
	put_machine(1024 * 1024, 900 * 1024);
	put("proc/self/cgroup", "12:cpu,cpuacct:/x\n11:memory:/job\n10:name=systemd:/memory\n0::/unified\n");
	put_v1("/job", "104857600", 70 * MIB);
	put_v1("", "9223372036854771712", 700 * MIB);
	put_v2("/unified", "1048576", 0, 0);
	cr_expect_eq(host_memory_left(fixture_directory()), 40 * MIB);
	cr_expect_eq(host_memory_total(fixture_directory()), 100 * MIB);
}

Test(host_memory, what_is_no_number_and_what_would_block_is_no_limit, .timeout = 20)
{
	char path[256];

	put_machine(1024 * 1024, 900 * 1024);
	put("proc/self/cgroup", "nonsense\n:::\n0::/a\n\n");
	put("sys/fs/cgroup/a/memory.high", "many\n");
	snprintf(path, sizeof(path), "%s/sys/fs/cgroup/a/memory.max", fixture_directory());
	cr_assert_eq(mkfifo(path, 0600), 0);
	cr_expect_eq(host_memory_left(fixture_directory()), 900 * MIB);
}

Test(host_memory, what_lies_above_the_mount_is_no_group)
{
	put_machine(1024 * 1024, 900 * 1024);
	put("proc/self/cgroup", "0::/a\n");
	put_v2("/a", "104857600", 0, 0);
	put("sys/fs/memory.max", "%llu\n", (unsigned long long)MIB);
	put("sys/memory.max", "%llu\n", (unsigned long long)MIB);
	cr_expect_eq(host_memory_left(fixture_directory()), 100 * MIB);
}

Test(host_memory, the_top_of_the_mount_is_a_group_too)
{
	put_machine(1024 * 1024, 900 * 1024);
	put("proc/self/cgroup", "0::/a/b");
	put_v2("/a/b", "104857600", 0, 0);
	put_v2("", "52428800", 0, 0);
	cr_expect_eq(host_memory_left(fixture_directory()), 50 * MIB, "and the last line needs no end");
}

Test(host_memory, of_a_limit_and_what_slows_down_the_smaller_one_counts)
{
	put_machine(1024 * 1024, 900 * 1024);
	put("proc/self/cgroup", "0::/a\n");
	put_v2("/a", "104857600", 0, 0);
	put("sys/fs/cgroup/a/memory.high", "%llu\n", (unsigned long long)(200 * MIB));
	cr_expect_eq(host_memory_total(fixture_directory()), 100 * MIB);
	put("sys/fs/cgroup/a/memory.high", "%llu\n", (unsigned long long)(60 * MIB));
	cr_expect_eq(host_memory_total(fixture_directory()), 60 * MIB);
	put("sys/fs/cgroup/a/memory.high", "0\n");
	cr_expect_eq(host_memory_total(fixture_directory()), 0, "0 is a limit");
}

Test(host_memory, what_is_used_is_what_the_kernel_cannot_take_back)
{
	put_machine(1024 * 1024, 900 * 1024);
	put("proc/self/cgroup", "0::/a\n");
	put_v2("/a", "104857600", 60 * MIB, 0);
	put("sys/fs/cgroup/a/memory.stat", "inactive_file %llu\nactive_file %llu\n", 10 * MIB, 15 * MIB);
	cr_expect_eq(host_memory_left(fixture_directory()), 65 * MIB, "both are taken back");
	put("sys/fs/cgroup/a/memory.stat", "active_filex 1\nactive_file: %llu\n", 15 * MIB);
	cr_expect_eq(host_memory_left(fixture_directory()), 55 * MIB, "a longer name is another");
	put("sys/fs/cgroup/a/memory.stat", "inactive_file %llu\n", 70 * MIB);
	cr_expect_eq(host_memory_left(fixture_directory()), 100 * MIB, "more than is used");
	put("sys/fs/cgroup/a/memory.current", "unknown\n");
	put("sys/fs/cgroup/a/memory.stat", "anon 1\n");
	cr_expect_eq(host_memory_left(fixture_directory()), 100 * MIB, "nobody says what is used");
}

Test(host_memory, a_group_of_version_1_is_that_of_the_memory_controller_alone)
{
	put_machine(1024 * 1024, 900 * 1024);
	put_v1("/job", "104857600", 0);
	put_v1("/other", "1048576", 0);
	put("proc/self/cgroup", "5:memory_other:/other\n4:xmemory:/other\n3:memor:/other\n2:cpu,memory,pids:/job\n");
	cr_expect_eq(host_memory_total(fixture_directory()), 100 * MIB);
	put("proc/self/cgroup", "5:cpu,memory_other:/other\n2:cpu,memory:/job\n");
	cr_expect_eq(host_memory_total(fixture_directory()), 100 * MIB, "at the end of the list");
	put("proc/self/cgroup", "0::/nowhere\n2:memory:/job\n");
	cr_expect_eq(host_memory_total(fixture_directory()), 100 * MIB, "whichever comes first");
	put("proc/self/cgroup", "2:cpu:/job\n3:pids:/memory\n");
	cr_expect_eq(host_memory_total(fixture_directory()), 1024 * MIB, "no group has the memory");
}

Test(host_memory, version_1_shows_a_number_near_the_largest_where_there_is_no_limit)
{
	put_machine(1024 * 1024, 900 * 1024);
	put("proc/self/cgroup", "2:memory:/job\n");
	put_v1("/job", "1152921504606846976", 0);
	cr_expect_eq(host_memory_total(fixture_directory()), 1024 * MIB);
	put("proc/meminfo", "Buffers: 1\n");
	cr_expect_eq(host_memory_total(fixture_directory()), UINT64_MAX, "2^60 is none");
	put_v1("/job", "1152921504606846975", 0);
	cr_expect_eq(host_memory_total(fixture_directory()), (UINT64_C(1) << 60) - 1);
}

/* There is room for 63 characters of a number, and for 8191 of a list. */
Test(host_memory, of_a_long_file_the_beginning_is_read_and_no_byte_more)
{
	put_machine(1024 * 1024, 900 * 1024);
	put("proc/self/cgroup", "0::/a\n");
	put("sys/fs/cgroup/a/memory.max", "%063d\n", 104857600);
	cr_expect_eq(host_memory_total(fixture_directory()), 100 * MIB, "63 digits");
	put("sys/fs/cgroup/a/memory.max", "%064d\n", 104857600);
	cr_expect_eq(host_memory_total(fixture_directory()), 10 * MIB, "the last of 64 is not read");
	put("sys/fs/cgroup/a/memory.max", "max\n");
	put("proc/meminfo", "%8190s\nMemTotal: 1 kB\n", "x:");
	cr_expect_eq(host_memory_total(fixture_directory()), UINT64_MAX, "what follows is not read");
	put("proc/meminfo", "%8179s\nMemTotal: 12 kB\n", "x:");
	cr_expect_eq(host_memory_total(fixture_directory()), 1024, "the second digit is not read");
}

/* The box in a group that has so many bytes left; so many ranks, and mostly 8, share the node. */
static int create_beside(uint32_t local_ranks, unsigned long long left, struct box_writer *writer)
{
	char max[32];
	struct box_request request = {
		.directory = fixture_directory(), .job = "test", .local_ranks = local_ranks, .root = fixture_directory()
	};

	put_machine(64 * 1024 * 1024, 60 * 1024 * 1024);
	put("proc/self/cgroup", "0::/a\n");
	snprintf(max, sizeof(max), "%llu", 1000 * (unsigned long long)MIB + left);
	put_v2("/a", max, 1000 * MIB, 0);
	return box_writer_create(writer, &request);
}

static int create_in_group_with(unsigned long long left, struct box_writer *writer)
{
	return create_beside(8, left, writer);
}

Test(host_memory, where_nobody_says_how_many_ranks_there_are_the_box_is_that_of_one)
{
	struct box_writer writer;
	uint32_t slots[3];

	for (uint32_t ranks = 0; ranks < 3; ranks++) {
		cr_assert_eq(create_beside(ranks, 256 * MIB, &writer), 0, "%s", writer.note);
		slots[ranks] = writer.header->ring_slots;
		box_writer_close(&writer);
	}
	cr_expect_eq(slots[0], slots[1]);
	cr_expect_gt(slots[1], slots[2]);
}

Test(host_memory, all_boxes_of_a_node_take_a_sixteenth_of_what_the_group_has_left)
{
	struct box_writer writer;

	/* 1 GiB / 8 ranks / 16 = 8 MiB */
	cr_assert_eq(create_in_group_with(1024 * MIB, &writer), 0, "%s", writer.note);
	cr_expect_leq(writer.size, 8 * MIB);
	cr_expect_gt(writer.size, 4 * MIB);
	cr_expect_eq(writer.header->history_limited, 1);
	box_writer_close(&writer);
	cr_assert_eq(create_in_group_with(20 * MIB, &writer), 0, "%s", writer.note);
	cr_expect_eq(writer.header->ring_slots, RW_BOX_RING_MIN);
	box_writer_close(&writer);
}

Test(host_memory, no_box_is_made_in_a_group_that_is_about_to_be_killed)
{
	struct box_writer writer;

	cr_expect_eq(create_in_group_with(2 * MIB, &writer), -ENOMEM);
	cr_expect_null(writer.map);
	cr_expect_not_null(strstr(writer.note, "only 2048 KiB of memory are left"), "%s", writer.note);
}

Test(host_memory, a_box_is_made_where_four_of_the_smallest_fit_and_not_with_a_byte_less)
{
	struct box_writer writer;

	cr_assert_eq(create_in_group_with(20 * MIB, &writer), 0, "%s", writer.note);
	const unsigned long long smallest = writer.header->total_size;
	cr_assert_eq(writer.header->ring_slots, RW_BOX_RING_MIN);
	box_writer_close(&writer);
	cr_expect_eq(create_in_group_with(4 * smallest - 1, &writer), -ENOMEM);
	cr_assert_eq(create_in_group_with(4 * smallest, &writer), 0, "%s", writer.note);
	box_writer_close(&writer);
}
