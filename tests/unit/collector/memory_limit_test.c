/* SPDX-License-Identifier: MIT */
/* On files as the two versions of control groups show them. */
#include <criterion/criterion.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collector/sources/process/memory_limit.h"

static char root[64];

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status, (void)type, (void)walk;
	return remove(path);
}

static void setup(void)
{
	strcpy(root, "/tmp/rankwatch-test-XXXXXX");
	cr_assert(mkdtemp(root));
}

static void teardown(void)
{
	nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

TestSuite(memory_limit, .init = setup, .fini = teardown);

static void write_file(const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s%s", root, name);
	for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); *at++ = '/') {
		*at = '\0';
		mkdir(path, 0700);
	}
	FILE *file = fopen(path, "w");
	cr_assert(file, "%s", path);
	fputs(text, file);
	fclose(file);
}

static void write_v2(void)
{
	write_file("/proc/self/mounts", "proc /proc proc rw 0 0\ncgroup2 /cg cgroup2 rw,nsdelegate 0 0\n");
	write_file("/proc/9/cgroup", "0::/pod/rank\n");
	write_file("/cg/pod/memory.max", "1000\n");
	write_file("/cg/pod/memory.stat", "anon 700\nfile 900\nshmem 150\n");
	write_file("/cg/pod/memory.events", "low 0\nhigh 0\nmax 42\noom 0\noom_kill 0\n");
	write_file("/cg/pod/rank/memory.max", "max\n");
	write_file("/cg/pod/rank/memory.stat", "anon 600\nfile 900\nshmem 150\n");
	write_file("/cg/pod/rank/memory.events", "low 0\nhigh 0\nmax 0\n");
}

Test(memory_limit, of_version_2_that_of_a_group_above_counts_and_cache_does_not)
{
	struct analysis_memory_state state = { 0 };

	write_v2();
	cr_assert_eq(memory_limit_read(NULL, root, 9, &state), 0);
	cr_expect_eq(state.limit, 1000);
	cr_expect_eq(state.held, 850);
	cr_expect_eq(state.hits, 42);
	cr_expect_neq(state.group, 0);
}

Test(memory_limit, the_group_with_the_least_room_counts)
{
	struct analysis_memory_state state = { 0 };

	write_v2();
	write_file("/cg/pod/rank/memory.max", "800\n");
	write_file("/cg/pod/rank/memory.events", "low 0\nhigh 0\nmax 3\n");
	cr_assert_eq(memory_limit_read(NULL, root, 9, &state), 0);
	cr_expect_eq(state.limit, 800);
	cr_expect_eq(state.held, 750);
	cr_expect_eq(state.hits, 3);
}

Test(memory_limit, version_1_has_other_names_and_a_number_for_no_limit)
{
	struct analysis_memory_state state = { 0 };

	write_file("/proc/self/mounts",
		   "cgroup2 /u cgroup2 rw 0 0\ncgroup /cpu cgroup rw,cpu 0 0\ncgroup /cg cgroup rw,memory 0 0\n");
	write_file("/proc/9/cgroup", "5:cpu:/x\n4:hugetlb,memory:/job\n0::/\n");
	write_file("/cg/job/memory.limit_in_bytes", "9223372036854771712\n");
	cr_expect_eq(memory_limit_read(NULL, root, 9, &state), -ENOENT);
	write_file("/cg/job/memory.limit_in_bytes", "2000\n");
	write_file("/cg/job/memory.failcnt", "12\n");
	write_file("/cg/job/memory.memsw.failcnt", "5\n");
	write_file("/cg/job/memory.stat", "cache 1\nrss 2\nshmem 3\ntotal_cache 900\ntotal_rss 1000\ntotal_shmem 100\n");
	cr_assert_eq(memory_limit_read(NULL, root, 9, &state), 0);
	cr_expect(state.limit == 2000 && state.held == 1100 && state.hits == 17 && !state.full);
	write_file("/cg/job/memory.usage_in_bytes", "1990\n");
	cr_assert_eq(memory_limit_read(NULL, root, 9, &state), 0);
	cr_expect(state.full);
}

Test(memory_limit, what_is_not_mounted_here_is_not_guessed)
{
	struct analysis_memory_state state = { 0 };

	cr_expect_eq(memory_limit_read(NULL, root, 9, &state), -ENOENT);
	write_v2();
	write_file("/proc/9/cgroup", "0::/../../elsewhere\n");
	cr_expect_eq(memory_limit_read(NULL, root, 9, &state), -ENOENT);
	write_file("/proc/9/cgroup", "0::/gone\n");
	cr_expect_eq(memory_limit_read(NULL, root, 9, &state), -ENOENT);
}

Test(memory_limit, a_group_is_read_once_in_a_round_for_all_its_processes)
{
	struct analysis_memory_state first = { 0 }, second = { 0 }, other = { 0 };
	struct memory_round *round = memory_round_new();

	cr_assert(round);
	write_v2();
	write_file("/proc/10/cgroup", "0::/pod/rank\n");
	write_file("/proc/11/cgroup", "0::/pod/other\n");
	write_file("/cg/pod/other/memory.max", "100\n");
	write_file("/cg/pod/other/memory.stat", "anon 99\nshmem 0\n");
	memory_round_begin(round);
	cr_assert_eq(memory_limit_read(round, root, 9, &first), 0);
	write_file("/cg/pod/memory.stat", "anon 10\nshmem 0\n");
	write_file("/cg/pod/memory.max", "2000\n");
	cr_assert_eq(memory_limit_read(round, root, 10, &second), 0);
	cr_expect(second.limit == 1000 && second.held == 850 && second.hits == 42 && second.group == first.group);
	cr_assert_eq(memory_limit_read(round, root, 11, &other), 0);
	cr_expect(other.limit == 100 && other.held == 99 && other.group != first.group,
		  "each has the group that limits it most");

	memory_round_begin(round);
	cr_assert_eq(memory_limit_read(round, root, 10, &second), 0);
	cr_expect(second.limit == 2000 && second.held == 10, "in the next round it is read anew");
	memory_round_free(round);
}

Test(memory_limit, more_groups_than_a_round_keeps_are_read_all_the_same)
{
	struct memory_round *round = memory_round_new();

	cr_assert(round);
	write_v2();
	memory_round_begin(round);
	for (int i = 0; i < 200; i++) {
		struct analysis_memory_state state = { 0 };
		char name[64], text[64];

		snprintf(name, sizeof(name), "/proc/%d/cgroup", 100 + i);
		snprintf(text, sizeof(text), "0::/pod/task%d\n", i);
		write_file(name, text);
		snprintf(name, sizeof(name), "/cg/pod/task%d/memory.max", i);
		snprintf(text, sizeof(text), "%d\n", 100 + i);
		write_file(name, text);
		snprintf(name, sizeof(name), "/cg/pod/task%d/memory.stat", i);
		snprintf(text, sizeof(text), "anon %d\n", 99 + i);
		write_file(name, text);
		cr_assert_eq(memory_limit_read(round, root, 100 + i, &state), 0);
		cr_expect(state.limit == (uint64_t)(100 + i) && state.held == (uint64_t)(99 + i));
	}
	memory_round_free(round);
}
