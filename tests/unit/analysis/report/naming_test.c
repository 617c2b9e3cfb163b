/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include <rankwatch/blackbox.h>

#include "analysis/report/naming.h"

static const char *ranks_of(size_t room, size_t count, const int32_t *ranks)
{
	static char text[256];

	memset(text, '#', sizeof(text));
	naming_ranks(text, room, ranks, count);
	cr_assert_eq(text[room], '#', "beyond its room");
	return text;
}

Test(naming, writes_ranks_as_ranges)
{
	const int32_t ranks[] = { 0, 1, 2, 4, 5, 7, 9, 10, 11, 12, 20 };

	cr_expect_str_eq(ranks_of(64, 1, ranks + 3), "rank 4");
	cr_expect_str_eq(ranks_of(64, 2, ranks), "ranks 0,1");
	cr_expect_str_eq(ranks_of(64, 3, ranks), "ranks 0-2");
	cr_expect_str_eq(ranks_of(64, 4, ranks), "ranks 0-2,4");
	cr_expect_str_eq(ranks_of(64, 11, ranks), "ranks 0-2,4,5,7,9-12,20");
	cr_expect_str_eq(ranks_of(64, 0, ranks), "ranks ");
}

/* Behind each range is room for the "…" of a next one. */
Test(naming, cuts_ranks_where_they_do_not_fit)
{
	const int32_t ranks[] = { 10, 12, 14, 16 };
	const size_t whole = sizeof("ranks 10,12,14,16") - 1, more = sizeof(",…");

	cr_expect_str_eq(ranks_of(whole + more, 4, ranks), "ranks 10,12,14,16");
	cr_expect_str_eq(ranks_of(whole + more - 1, 4, ranks), "ranks 10,12,14,…");
	cr_expect_str_eq(ranks_of(whole + more - 3, 4, ranks), "ranks 10,12,14,…");
	cr_expect_str_eq(ranks_of(whole + more - 4, 4, ranks), "ranks 10,12,…");
}

Test(naming, says_what_it_does_not_know)
{
	cr_expect_str_eq(naming_function(RW_FUNCTION_COUNT), "operation");
	cr_expect_str_eq(naming_function(255), "operation");
	cr_expect_str_eq(naming_dtype(RW_DTYPE_COUNT), "elements");
	cr_expect_str_eq(naming_dtype(255), "elements");
	cr_expect_str_eq(naming_function(RW_FUNCTION_ALL_GATHER), "AllGather");
}

/* Ranks first, first + stride, … of a world, as members of one communicator. */
static const char *own_name = "";

static const char *name_of(const char *mesh, int32_t size, int seen, int32_t first, int32_t stride)
{
	static char text[64];
	static struct process process;
	struct member members[8] = { 0 };
	struct rank ranks[8] = { 0 };
	struct communicator communicator = { .size = size, .members = members, .member_count = (uint32_t)seen };
	struct job job = { .ranks = ranks, .rank_count = (uint32_t)seen };

	snprintf(communicator.name, sizeof(communicator.name), "%s", own_name);
	snprintf(process.mesh, sizeof(process.mesh), "%s", mesh);
	for (int i = 0; i < seen; i++) {
		members[i] = (struct member){ .process = &process, .comm_rank = i, .rank = (uint32_t)i };
		ranks[i].world = first + stride * i;
	}
	return naming_communicator(text, sizeof(text), &job, &communicator);
}

/* As the process groups of PyTorch's backend nccl2 are called. */
Test(naming, a_number_or_a_hash_is_no_name_that_a_reader_knows)
{
	static const struct {
		const char *own, *mesh, *expected;
	} cases[] = {
		{ "12", "", "ranks 0-3 (group 12)" },
		{ "0", "pp=2,fsdp=4", "~fsdp (group 0)" },
		{ "undefined:7", "", "ranks 0-3 (group 7)" },
		{ "da39a3ee5e6b4b0d3255bfef95601890afd80709", "", "ranks 0-3" },
		{ "da39a3ee5e6b4b0d3255bfef95601890afd80709", "pp=2,fsdp=4", "~fsdp" },
		{ "undefined:da39a3ee5e6b4b0d3255bfef95601890afd80709", "", "ranks 0-3" },
		{ "mesh_fsdp:12", "pp=2,tp=4", "mesh_fsdp:12" },
		{ "12b", "", "12b" },
		{ "default_pg", "pp=2,tp=4", "default_pg" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		own_name = cases[i].own;
		cr_expect_str_eq(name_of(cases[i].mesh, 4, 4, 0, 1), cases[i].expected);
	}
	own_name = "";
}

Test(naming, takes_the_dimension_of_its_size_and_stride)
{
	cr_expect_str_eq(name_of("pp=2,fsdp=4", 4, 4, 0, 1), "~fsdp");
	cr_expect_str_eq(name_of("pp=2,fsdp=4", 2, 2, 1, 4), "~pp");
	cr_expect_str_eq(name_of("pp=2,dp=2,tp=2", 2, 2, 0, 4), "~pp");
	cr_expect_str_eq(name_of("pp=2,dp=2,tp=2", 2, 2, 1, 2), "~dp");
	cr_expect_str_eq(name_of("pp=2,dp=2,tp=2", 2, 2, 4, 1), "~tp");
	cr_expect_str_eq(name_of("pp=2,fsdp=4", 4, 3, 0, 1), "~fsdp", "of whom three are seen");
	cr_expect_str_eq(name_of("pp=2,fsdp=4", 3, 3, 0, 1), "ranks 0-2");
	cr_expect_str_eq(name_of("pp=2,fsdp=4", 2, 2, 0, 3), "ranks 0,3");
	cr_expect_str_eq(name_of("", 2, 2, 2, 3), "ranks 2,5");
	cr_expect_str_eq(name_of("pp=0,fsdp=4", 4, 4, 0, 1), "ranks 0-3", "not a mesh");
	cr_expect_str_eq(name_of("pp=2;fsdp=4", 4, 4, 0, 1), "ranks 0-3", "not a mesh");
	cr_expect_str_eq(name_of("pp=2,fsdp", 4, 4, 0, 1), "ranks 0-3", "not a mesh");
	cr_expect_str_eq(name_of("a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=4", 4, 4, 0, 1), "ranks 0-3", "too many dimensions");
	cr_expect_str_eq(name_of("b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=4", 4, 4, 0, 1), "~i");
	cr_expect_str_eq(name_of("a=65536,b=65536,i=4", 4, 4, 0, 1), "ranks 0-3", "more ranks than there are numbers");
	cr_expect_str_eq(name_of("", 5, 3, 0, 1), "a communicator of 5 ranks (3 seen)");
}
