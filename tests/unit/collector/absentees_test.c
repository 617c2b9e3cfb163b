/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/absentees.h"
#include "fake_analysis.h"

#define SECOND UINT64_C(1000000000)

static char proc[32];
static struct analysis analysis;
static struct absentees absentees;

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *at)
{
	(void)status, (void)type, (void)at;
	return remove(path);
}

static void begin(void)
{
	snprintf(proc, sizeof(proc), "/tmp/absentees.XXXXXX");
	cr_assert(mkdtemp(proc));
	analysis = (struct analysis){ .waited_for = { 3 }, .waited_for_count = 1 };
	absentees = (struct absentees){ .analysis = &analysis, .proc = proc, .job = "j", .owner = geteuid() };
}

static void end(void)
{
	nftw(proc, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

TestSuite(absentees, .init = begin, .fini = end);

static void write_file(int pid, const char *name, const char *text, size_t size)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/%d/%s", proc, pid, name);
	FILE *file = fopen(path, "w");
	cr_assert(file);
	cr_assert_eq(fwrite(text, 1, size, file), size);
	fclose(file);
}

/* A process of rank `rank` of 4, of which its launcher says so many are on this host. */
static void add_process(int rank, int local_size, char state)
{
	char path[96], text[256];
	int pid = 100 + rank;

	snprintf(path, sizeof(path), "%s/%d", proc, pid);
	cr_assert_eq(mkdir(path, 0700), 0);
	int size = snprintf(text, sizeof(text), "RANKWATCH_JOB=j%cRANK=%d%cWORLD_SIZE=4%cLOCAL_RANK=%d%cLOCAL_WORLD_SIZE=%d", 0,
			    rank, 0, 0, rank, 0, local_size);
	write_file(pid, "environ", text, (size_t)size + 1);
	size = snprintf(text, sizeof(text), "%d (a) b) %c 1 1 1 0 -1 0 0 0 0 0 5 6 0", pid, state);
	write_file(pid, "stat", text, (size_t)size);
}

static enum analysis_absence look(int second)
{
	analysis.last_absentee.world_rank = -1;
	absentees_look(&absentees, (uint64_t)second * SECOND);
	cr_assert_eq(analysis.last_absentee.world_rank, 3);
	return analysis.last_absentee.absence;
}

Test(absentees, a_rank_has_no_process_where_those_of_all_others_are_seen)
{
	for (int rank = 0; rank < 3; rank++)
		add_process(rank, 4, 'S');
	cr_expect_eq(look(10), ANALYSIS_ABSENT_NONE);
}

static void remove_process(int rank)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/%d", proc, 100 + rank);
	nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

Test(absentees, a_rank_has_ended_only_where_its_process_was_seen)
{
	for (int rank = 0; rank < 4; rank++)
		add_process(rank, 4, 'S');
	analysis.waited_for_count = 0; /* nobody waits yet */
	absentees_look(&absentees, 8 * SECOND);
	remove_process(3);
	analysis.waited_for_count = 1;
	cr_expect_eq(look(10), ANALYSIS_ABSENT_ENDED);
	cr_expect_eq(analysis.last_absentee.pid, 103);
	write_file(102, "environ", "PATH=/", 7);
	cr_expect_eq(look(12), ANALYSIS_ABSENT_UNKNOWN, "another that waits is not seen either");
}

Test(absentees, a_process_without_its_environment_has_not_ended)
{
	for (int rank = 0; rank < 4; rank++)
		add_process(rank, 4, 'S');
	look(8);
	write_file(103, "environ", "PATH=/", 7);
	cr_expect_eq(look(10), ANALYSIS_ABSENT_UNKNOWN);
	write_file(103, "stat", "103 (a) Z 1 1 1 0 -1 0 0 0 0 0 5 6 0", 37);
	cr_expect_eq(look(12), ANALYSIS_ABSENT_ENDED);
}

Test(absentees, nothing_is_known_of_a_rank_when_another_that_waits_is_not_seen_either)
{
	add_process(0, 4, 'S');
	add_process(1, 4, 'S');
	cr_expect_eq(look(10), ANALYSIS_ABSENT_UNKNOWN, "rank 2 is in another pid namespace");
}

Test(absentees, nothing_is_known_of_a_rank_that_may_be_on_another_host)
{
	for (int rank = 0; rank < 3; rank++)
		add_process(rank, 3, 'S');
	cr_expect_eq(look(10), ANALYSIS_ABSENT_UNKNOWN);
}

Test(absentees, a_process_that_is_seen_is_stopped_or_idle_whoever_else_is_seen)
{
	add_process(3, 4, 'T');
	cr_expect_eq(look(10), ANALYSIS_ABSENT_STOPPED);
	write_file(103, "stat", "103 (a) S 1 1 1 0 -1 0 0 0 0 0 5 6 0", 37);
	look(12);
	cr_expect_eq(look(14), ANALYSIS_ABSENT_IDLE);
	cr_expect_eq(analysis.last_absentee.pid, 103);
}
