/* SPDX-License-Identifier: MIT */
/* Meshes as TorchTitan lays them out. */
#include <criterion/criterion.h>

#include "sim/workload/job/mesh.h"

static struct mesh parsed(const char *text)
{
	struct mesh mesh;
	const char *wrong = mesh_parse(&mesh, text);

	cr_assert_null(wrong, "%s: %s", text, wrong);
	return mesh;
}

static void expect(const struct mesh *mesh, unsigned int dimensions, int rank, int count, const int *ranks)
{
	int members[MESH_RANKS_MAX];

	cr_assert_eq(mesh_members(mesh, dimensions, rank, members), count);
	cr_assert_arr_eq(members, ranks, count * sizeof(int));
}

Test(mesh, the_outermost_dimension_is_pp_and_the_innermost_tp_in_whatever_order_they_are_given)
{
	struct mesh mesh = parsed("tp=2,pp=2,fsdp=2,dp_replicate=2");

	cr_assert_eq(mesh_ranks(&mesh), 16);
	expect(&mesh, MESH_SET(MESH_TP), 5, 2, (int[]){ 4, 5 });
	expect(&mesh, MESH_SET(MESH_FSDP), 5, 2, (int[]){ 5, 7 });
	expect(&mesh, MESH_SET(MESH_DP_REPLICATE), 5, 2, (int[]){ 1, 5 });
	expect(&mesh, MESH_SET(MESH_PP), 5, 2, (int[]){ 5, 13 });
	expect(&mesh, MESH_LOSS, 8, 4, (int[]){ 8, 10, 12, 14 });
}

Test(mesh, parameters_are_sharded_over_fsdp_and_cp_together)
{
	struct mesh mesh = parsed("fsdp=2,cp=2,tp=2");

	expect(&mesh, MESH_SHARD, 1, 4, (int[]){ 1, 3, 5, 7 });
	expect(&mesh, MESH_SET(MESH_CP), 4, 2, (int[]){ 4, 6 });
}

Test(mesh, experts_are_spread_over_the_innermost_ranks_of_a_stage)
{
	struct mesh mesh = parsed("pp=2,fsdp=4,tp=2,ep=4");

	expect(&mesh, MESH_SET(MESH_EP), 10, 4, (int[]){ 8, 9, 10, 11 });
	expect(&mesh, MESH_SET(MESH_EFSDP), 10, 2, (int[]){ 10, 14 });
}

Test(mesh, efsdp_and_ep_alone_make_a_mesh)
{
	struct mesh mesh = parsed("efsdp=2,ep=4");

	cr_assert_eq(mesh_ranks(&mesh), 8);
	expect(&mesh, MESH_SET(MESH_FSDP), 0, 8, (int[]){ 0, 1, 2, 3, 4, 5, 6, 7 });
	mesh = parsed("ep=4");
	cr_assert_eq(mesh_ranks(&mesh), 4);
}

Test(mesh, ddp_is_another_name_for_dp_replicate)
{
	struct mesh mesh = parsed("ddp=8");

	expect(&mesh, MESH_SET(MESH_DP_REPLICATE), 3, 8, (int[]){ 0, 1, 2, 3, 4, 5, 6, 7 });
	cr_assert_eq(mesh.sizes[MESH_FSDP], 1);
}

Test(mesh, what_is_no_mesh_is_told_so)
{
	const char *wrong[] = { "",	      "fsdp",	  "fsdp=0",	   "fsdp=8,",  "dp=8",	     "fsdp=2,fsdp=2",
				"fsdp=2,ep=4", "fsdp=65", "fsdp=32,tp=32", "fsdp=8 ", "efsdp=3,ep=2,fsdp=8" };
	struct mesh mesh;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		cr_assert_not_null(mesh_parse(&mesh, wrong[i]), "\"%s\"", wrong[i]);
}
