/* SPDX-License-Identifier: MIT */
/* Whose NaN is it? */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "analysis/model.h"
#include "analysis/measure/last_bad.h"
#include "tests/unit/analysis/jobs/scanned.h"
#include "tests/unit/analysis/jobs/seeds.h"

enum { LAYERS = 4, GRADIENTS = 4096 };

/* FSDP over TP, 2 ranks per TP group; `world` for the gradient norm. */
struct mesh {
	struct scanned job;
	int tp[SCANNED_RANKS / 2], fsdp[2], world, ranks;
	bool norm_in_place;
	int bad_rank, bad_layer; /* brings a NaN into the layer's ReduceScatter of the next step; -1 none */
};

static void start(struct mesh *mesh, int ranks, int seen)
{
	*mesh = (struct mesh){ .ranks = ranks, .bad_rank = -1 };
	scanned_start(&mesh->job, ranks, seen);
	mesh->world = scanned_communicator(&mesh->job, "world", ranks, 0, 1);
	for (int i = 0; i < ranks / 2; i++)
		mesh->tp[i] = scanned_communicator(&mesh->job, "tp", 2, 2 * i, 1);
	for (int i = 0; i < 2; i++)
		mesh->fsdp[i] = scanned_communicator(&mesh->job, "fsdp", ranks / 2, i, 2);
}

static void on_all(struct mesh *mesh, const int *communicators, int count, uint8_t function)
{
	for (int i = 0; i < count; i++)
		scanned_call(&mesh->job, communicators[i],
			     (struct scanned_call){ .function = function, .count = GRADIENTS });
}

static void step(struct mesh *mesh)
{
	for (int layer = 0; layer < LAYERS; layer++) {
		on_all(mesh, mesh->fsdp, 2, RW_FUNCTION_ALL_GATHER);
		on_all(mesh, mesh->tp, mesh->ranks / 2, RW_FUNCTION_ALL_GATHER);
		on_all(mesh, mesh->tp, mesh->ranks / 2, RW_FUNCTION_REDUCE_SCATTER);
	}
	for (int layer = 0; layer < LAYERS; layer++) {
		if (mesh->bad_rank >= 0 && layer == mesh->bad_layer)
			mesh->job.bad[mesh->bad_rank] = true;
		on_all(mesh, mesh->fsdp, 2, RW_FUNCTION_REDUCE_SCATTER);
	}
	scanned_call(&mesh->job, mesh->world,
		     (struct scanned_call){ .function = RW_FUNCTION_ALL_REDUCE, .count = 1, .in_place = mesh->norm_in_place });
}

static void run(struct mesh *mesh, int steps)
{
	for (int i = 0; i < steps; i++) {
		step(mesh);
		scanned_tick(&mesh->job, 100);
	}
}

static void finish(struct mesh *mesh)
{
	scanned_end(&mesh->job);
}

static void expect_one(const struct scanned *job, enum rw_kind kind, int rank, enum rw_confidence confidence)
{
	const struct scanned_told *told = scanned_loud(job);

	cr_assert(told, "nothing was told");
	cr_expect_eq(told->kind, kind, "%s", told->text);
	cr_expect(told->rank_count == 1 && told->ranks[0] == rank, "%s", told->text);
	cr_expect_eq(told->confidence, confidence, "%s (%d): %s", told->text, told->confidence, told->missing);
}

Test(origin, the_rank_whose_input_was_bad_first_is_named_and_the_others_are_its_victims)
{
	struct mesh mesh;

	start(&mesh, 8, 8);
	run(&mesh, 6);
	mesh.bad_rank = 5;
	mesh.bad_layer = 2;
	run(&mesh, 12);
	finish(&mesh);
	expect_one(&mesh.job, RW_KIND_NAN, 5, RW_CERTAIN);
	const struct scanned_told *told = scanned_loud(&mesh.job);
	cr_expect_str_eq(told->text, "rank 5 brought 1 NaN into ReduceScatter #26 on fsdp in step 7");
	cr_expect_eq(told->victim_count, 7);
	cr_expect_eq(told->severity, RW_CRITICAL);
	cr_expect_eq(told->finding.values.origin, RW_ORIGIN_BORN);
	cr_expect_eq(told->finding.values.seen, RW_VALUES_SEEN_MAKER);
	cr_expect(told->finding.values.whole);
	cr_expect_eq(told->finding.values.first_bad, 4711);
	cr_expect_eq(told->finding.values.absmax_before, 1);
	cr_expect_not(told->finding.values.output);
	cr_expect_eq(mesh.job.told_count, 1, "what follows is no finding of its own");
	scanned_free(&mesh.job);
}

/* Bytes are no numbers: objects that all ranks gather, or FSDP2's parameters of mixed types. */
static void gather_bytes(struct mesh *mesh)
{
	scanned_call(
	    &mesh->job, mesh->world,
	    (struct scanned_call){
		.function = RW_FUNCTION_ALL_GATHER, .dtype = RW_DTYPE_UINT8, .count = 170, .sampled_out = true });
}

/* Of the eight ranks so many have a box, the last of which brings a NaN. */
static void play_with_bytes(struct mesh *mesh, int seen, int steps_before, bool again)
{
	start(mesh, 8, seen);
	gather_bytes(mesh);
	run(mesh, steps_before);
	if (again)
		gather_bytes(mesh);
	mesh->bad_rank = seen - 1;
	mesh->bad_layer = 2;
	run(mesh, 6);
	finish(mesh);
}

Test(origin, bytes_that_all_gathered_whole_clean_steps_ago_leave_no_doubt)
{
	struct mesh mesh;

	play_with_bytes(&mesh, 8, 6, false);
	expect_one(&mesh.job, RW_KIND_NAN, 7, RW_CERTAIN);
	cr_expect_eq(scanned_loud(&mesh.job)->missing_count, 0);
	scanned_free(&mesh.job);
}

Test(origin, bytes_that_all_gathered_since_the_last_clean_values_make_it_likely_and_are_said_to_be_missing)
{
	static const struct {
		int steps_before;
		bool again;
	} cases[] = { { 0, false }, { 6, true } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct mesh mesh;
		play_with_bytes(&mesh, 8, cases[i].steps_before, cases[i].again);
		expect_one(&mesh.job, RW_KIND_NAN, 7, RW_LIKELY);
		cr_expect(strstr(scanned_loud(&mesh.job)->missing,
				 "whether an earlier operation brought it: its result was not scanned"),
			  "%s", scanned_loud(&mesh.job)->missing);
		scanned_free(&mesh.job);
	}
}

/* No other rank shows that they were clean; but since then a whole step of its own was. */
Test(origin, bytes_that_a_rank_alone_on_its_host_received_steps_ago_make_it_likely)
{
	struct mesh mesh;

	play_with_bytes(&mesh, 1, 6, false);
	expect_one(&mesh.job, RW_KIND_NAN, 0, RW_LIKELY);
	cr_expect(strstr(scanned_loud(&mesh.job)->missing, "whether an earlier operation brought it"), "%s",
		  scanned_loud(&mesh.job)->missing);
	cr_expect_eq(scanned_loud(&mesh.job)->finding.values.seen, RW_VALUES_SEEN_MAKER);
	scanned_free(&mesh.job);
	play_with_bytes(&mesh, 1, 6, true);
	expect_one(&mesh.job, RW_KIND_NAN, 0, RW_INCONCLUSIVE);
	scanned_free(&mesh.job);
}

static void report_xid(struct mesh *mesh, int rank, uint32_t xid)
{
	struct analysis_gpu_event event = { .source = ANALYSIS_GPU_KERNEL_LOG, .at_ns = mesh->job.now_ns, .xid = xid };

	snprintf(event.pci, sizeof(event.pci), "%04x:10:00", (unsigned int)rank);
	cr_assert_eq(analysis_add_gpu_event(mesh->job.analysis, &event), 0);
}

static const struct scanned_told *told_of(const struct mesh *mesh, enum rw_kind kind)
{
	for (size_t i = 0; i < mesh->job.told_count; i++)
		if (mesh->job.told[i].kind == kind)
			return &mesh->job.told[i];
	return NULL;
}

static void play_with_xid(struct mesh *mesh, int rank, uint32_t xid)
{
	start(mesh, 8, 8);
	run(mesh, 6);
	report_xid(mesh, rank, xid);
	mesh->bad_rank = 5;
	mesh->bad_layer = 2;
	run(mesh, 12);
	finish(mesh);
}

Test(origin, an_uncorrectable_error_of_the_rank_s_GPU_right_before_is_the_cause)
{
	struct mesh mesh;

	play_with_xid(&mesh, 5, 48);
	const struct scanned_told *told = told_of(&mesh, RW_KIND_NAN);
	cr_assert(told);
	cr_expect_eq(told->ranks[0], 5);
	cr_expect_eq(told->finding.cause.class_, RW_CAUSE_GPU);
	cr_expect_eq(told->evidence_count, 1);
	scanned_free(&mesh.job);
}

Test(origin, an_error_of_another_rank_s_GPU_or_of_the_program_is_no_cause)
{
	struct mesh mesh;

	play_with_xid(&mesh, 4, 48);
	cr_assert(told_of(&mesh, RW_KIND_NAN));
	cr_expect_eq(told_of(&mesh, RW_KIND_NAN)->finding.cause.class_, RW_CAUSE_UNKNOWN);
	cr_expect_eq(told_of(&mesh, RW_KIND_NAN)->evidence_count, 0);
	scanned_free(&mesh.job);
	play_with_xid(&mesh, 5, 13);
	cr_assert(told_of(&mesh, RW_KIND_NAN));
	cr_expect_eq(told_of(&mesh, RW_KIND_NAN)->finding.cause.class_, RW_CAUSE_UNKNOWN);
	cr_expect_eq(told_of(&mesh, RW_KIND_NAN)->evidence_count, 1);
	scanned_free(&mesh.job);
}

Test(origin, a_NaN_in_the_very_first_step_is_found_before_steps_are_known)
{
	struct mesh mesh;

	start(&mesh, 8, 8);
	mesh.norm_in_place = true;
	mesh.job.bad[3] = true;
	run(&mesh, 1);
	finish(&mesh);
	expect_one(&mesh.job, RW_KIND_NAN, 3, RW_CERTAIN);
	cr_expect(strstr(scanned_loud(&mesh.job)->text, "rank 3 brought 1 NaN into AllGather #0 on fsdp"));
	scanned_free(&mesh.job);
}

Test(origin, a_NaN_in_the_very_first_step_is_told_without_a_step_and_with_it_once_steps_are_known)
{
	struct mesh mesh;

	start(&mesh, 8, 8);
	mesh.bad_rank = 5;
	mesh.bad_layer = 2;
	for (int i = 0; i < 8; i++) {
		step(&mesh);
		scanned_tick(&mesh.job, 1000);
	}
	finish(&mesh);
	cr_assert_eq(mesh.job.told_count, 2);
	cr_expect_str_eq(mesh.job.told[0].text, "rank 5 brought 1 NaN into ReduceScatter #2 on fsdp");
	cr_expect_eq(mesh.job.told[0].finding.operation.step, -1);
	cr_expect_eq(mesh.job.told[1].state, RW_FINDING_UPDATE);
	cr_expect_str_eq(mesh.job.told[1].text, "rank 5 brought 1 NaN into ReduceScatter #2 on fsdp in step 1");
	cr_expect_eq(mesh.job.told[1].finding.operation.step, 1);
	cr_expect_eq(mesh.job.told[1].victim_count, mesh.job.told[0].victim_count);
	scanned_free(&mesh.job);
}

Test(origin, among_256_ranks_the_one_that_brought_it_in_the_first_step_is_named)
{
	static struct mesh mesh;

	start(&mesh, 256, 256);
	mesh.bad_rank = 77;
	mesh.bad_layer = 1;
	run(&mesh, 1);
	finish(&mesh);
	expect_one(&mesh.job, RW_KIND_NAN, 77, RW_CERTAIN);
	cr_expect_eq(scanned_loud(&mesh.job)->victim_count, 255);
	scanned_free(&mesh.job);
}

Test(origin, Inf_that_becomes_NaN_on_its_way_is_named_where_it_was_Inf)
{
	struct mesh mesh;

	start(&mesh, 8, 8);
	run(&mesh, 6);
	mesh.job.bad[2] = true;
	scanned_call(&mesh.job, mesh.fsdp[0],
		     (struct scanned_call){ .function = RW_FUNCTION_REDUCE_SCATTER, .count = GRADIENTS, .inf = true });
	run(&mesh, 3);
	finish(&mesh);
	expect_one(&mesh.job, RW_KIND_INF, 2, RW_CERTAIN);
	scanned_free(&mesh.job);
}

Test(origin, an_overflow_is_the_reduction_s_and_no_rank_s)
{
	struct mesh mesh;

	start(&mesh, 8, 8);
	run(&mesh, 6);
	for (int i = 0; i < 8; i++)
		mesh.job.absmax[i] = 30000;
	scanned_call(&mesh.job, mesh.fsdp[1],
		     (struct scanned_call){ .function = RW_FUNCTION_REDUCE_SCATTER, .dtype = RW_DTYPE_FLOAT16,
					    .count = GRADIENTS, .overflows = true, .inf = true });
	run(&mesh, 3);
	finish(&mesh);
	const struct scanned_told *told = scanned_loud(&mesh.job);
	cr_assert(told);
	cr_expect_eq(told->kind, RW_KIND_OVERFLOW, "%s", told->text);
	cr_expect_eq(told->finding.scope, RW_SCOPE_JOB);
	cr_expect_eq(told->finding.values.origin, RW_ORIGIN_REDUCTION);
	cr_expect_str_eq(told->text, "1 Inf made by the reduction: finite values overflow in ReduceScatter #24 on fsdp");
	scanned_free(&mesh.job);
}

Test(origin, what_cannot_have_overflowed_was_damaged_on_the_way)
{
	struct mesh mesh;

	start(&mesh, 8, 8);
	run(&mesh, 6);
	scanned_call(&mesh.job, mesh.fsdp[1],
		     (struct scanned_call){ .function = RW_FUNCTION_REDUCE_SCATTER, .count = GRADIENTS, .overflows = true,
					    .narrow = 2 });
	run(&mesh, 3);
	finish(&mesh);
	const struct scanned_told *told = scanned_loud(&mesh.job);
	cr_assert(told);
	cr_expect_eq(told->kind, RW_KIND_CORRUPTION, "%s", told->text);
	cr_expect_eq(told->confidence, RW_INCONCLUSIVE);
	cr_expect(told->rank_count == 1 && told->ranks[0] == 3, "%s", told->text);
	scanned_free(&mesh.job);
}

/* Four ranks that each bring as much as this. */
static enum rw_kind kind_of_sum(float each)
{
	struct mesh mesh;
	enum rw_kind kind;

	start(&mesh, 8, 8);
	run(&mesh, 6);
	for (int i = 0; i < 8; i++)
		mesh.job.absmax[i] = each;
	scanned_call(&mesh.job, mesh.fsdp[1],
		     (struct scanned_call){ .function = RW_FUNCTION_REDUCE_SCATTER, .dtype = RW_DTYPE_FLOAT16,
					    .count = GRADIENTS, .overflows = true, .inf = true });
	run(&mesh, 3);
	finish(&mesh);
	cr_assert(scanned_loud(&mesh.job));
	kind = scanned_loud(&mesh.job)->kind;
	scanned_free(&mesh.job);
	return kind;
}

/* Of 16 bits the largest is 65504: half of it is 4 times 8188. */
Test(origin, values_can_have_overflowed_from_half_of_what_their_type_holds)
{
	cr_expect_eq(kind_of_sum(8188), RW_KIND_OVERFLOW);
	cr_expect_eq(kind_of_sum(8184), RW_KIND_CORRUPTION);
}

/* DDP: one communicator, AllReduce in place, without the interposer. */
Test(origin, the_rank_is_not_guessed_when_the_reduction_has_overwritten_what_it_brought)
{
	struct scanned job;

	scanned_start(&job, 8, 8);
	int ddp = scanned_communicator(&job, "ddp", 8, 0, 1);
	for (int i = 0; i < 30; i++) {
		job.bad[6] = i == 20;
		if (i > 20)
			memset(job.bad, 1, sizeof(job.bad)), job.nan = 1000; /* the parameters are NaN */
		for (uint64_t bucket = 0; bucket < 5; bucket++)
			scanned_call(&job, ddp, (struct scanned_call){ .function = RW_FUNCTION_ALL_REDUCE,
								       .count = 1000 + bucket, .in_place = true });
		scanned_tick(&job, 100);
	}
	scanned_end(&job);
	const struct scanned_told *told = scanned_loud(&job);
	cr_assert(told);
	cr_expect_eq(told->confidence, RW_INCONCLUSIVE);
	cr_expect_eq(told->rank_count, 8);
	cr_expect_str_eq(told->text, "1 NaN in the result of AllReduce #100 on ddp, made by one of ranks 0-7");
	cr_expect_str_eq(told->missing,
			 "the rank that made it is not visible without `rankwatch run` (AllReduce in place)");
	cr_expect_eq(told->finding.values.origin, RW_ORIGIN_UNKNOWN);
	cr_expect_eq(told->finding.values.seen, RW_VALUES_SEEN_UNSCANNED);
	cr_expect(told->finding.values.whole);
	scanned_free(&job);
}

Test(origin, several_ranks_at_once_are_all_named)
{
	struct mesh mesh;

	start(&mesh, 8, 8);
	run(&mesh, 6);
	mesh.job.bad[2] = mesh.job.bad[4] = true;
	run(&mesh, 3);
	finish(&mesh);
	const struct scanned_told *told = scanned_loud(&mesh.job);
	cr_assert(told);
	cr_expect_eq(told->confidence, RW_CERTAIN);
	cr_expect(told->rank_count == 2 && told->ranks[0] == 2 && told->ranks[1] == 4, "%s", told->text);
	scanned_free(&mesh.job);
}

/* Each in a communicator that the other one is no member of: neither can have brought anything into the other's call.
 */
Test(origin, of_several_ranks_at_once_none_is_said_to_have_brought_it_into_a_call_of_others)
{
	struct mesh mesh;

	start(&mesh, 8, 8);
	run(&mesh, 6);
	mesh.job.bad[2] = mesh.job.bad[5] = true;
	run(&mesh, 3);
	finish(&mesh);
	const struct scanned_told *told = scanned_loud(&mesh.job);
	cr_assert(told);
	cr_expect_eq(told->confidence, RW_CERTAIN);
	cr_expect(told->rank_count == 2 && told->ranks[0] == 2 && told->ranks[1] == 5, "%s", told->text);
	cr_expect_eq(strncmp(told->text, "rank 2 brought 1 NaN into AllGather #",
			     strlen("rank 2 brought 1 NaN into AllGather #")),
		     0, "%s", told->text);
	cr_expect_not_null(strstr(told->text, ", and rank 5 such values into other calls"), "%s", told->text);
	scanned_free(&mesh.job);
}

static void masked_step(struct mesh *mesh, uint32_t bad, bool inf)
{
	mesh->job.nan = bad;
	mesh->job.brings[1] = bad != 0;
	scanned_call(&mesh->job, mesh->tp[0], (struct scanned_call){ .function = RW_FUNCTION_BROADCAST, .root = 1,
								     .count = 100, .inf = inf });
	mesh->job.bad[0] = mesh->job.bad[1] = false;
	mesh->job.nan = 0;
	/* Many clean ones between one mask and the next: that is no change as long as steps are not known. */
	for (uint64_t i = 0; i < 50; i++)
		scanned_call(&mesh->job, mesh->tp[0],
			     (struct scanned_call){ .function = RW_FUNCTION_ALL_GATHER, .count = 200 + i });
	step(mesh);
	scanned_tick(&mesh->job, 100);
}

Test(origin, what_is_bad_at_the_same_place_from_the_start_is_a_notice)
{
	for (int inf = 0; inf < 2; inf++) {
		struct mesh mesh;
		start(&mesh, 8, 8);
		for (int i = 0; i < 20; i++)
			masked_step(&mesh, 7, inf);
		finish(&mesh);
		cr_expect_null(scanned_loud(&mesh.job), "%s", mesh.job.told[0].text);
		cr_expect_gt(mesh.job.told_count, 0, "a notice");
		cr_expect_eq(mesh.job.told[0].severity, RW_NOTICE);
		scanned_free(&mesh.job);
	}
}

/* FSDP over all ranks: twelve AllGathers, the first with `bad` NaN of rank 7's, six ReduceScatters, the norm. */
static void padded_step(struct mesh *mesh, uint32_t bad)
{
	for (int call = 0; call < 18; call++) {
		mesh->job.nan = bad;
		mesh->job.brings[7] = bad && call == 0;
		scanned_call(&mesh->job, mesh->world,
			     (struct scanned_call){ .function = call < 12 ? RW_FUNCTION_ALL_GATHER :
									    RW_FUNCTION_REDUCE_SCATTER,
						    .count = GRADIENTS });
		memset(mesh->job.bad, 0, sizeof(mesh->job.bad));
		mesh->job.nan = 0;
	}
	scanned_call(&mesh->job, mesh->world, (struct scanned_call){ .function = RW_FUNCTION_ALL_REDUCE, .count = 1 });
	scanned_tick(&mesh->job, 400);
}

/* Objects are gathered, a barrier before the first step and one behind it: no two of the first steps look alike. */
static void start_padded(struct mesh *mesh)
{
	static const uint8_t functions[] = { RW_FUNCTION_ALL_GATHER, RW_FUNCTION_ALL_GATHER, RW_FUNCTION_ALL_REDUCE };

	start(mesh, 8, 8);
	for (size_t i = 0; i < sizeof(functions); i++)
		scanned_call(&mesh->job, mesh->world, (struct scanned_call){ .function = functions[i], .count = 1 });
	padded_step(mesh, 16);
	scanned_call(&mesh->job, mesh->world, (struct scanned_call){ .function = RW_FUNCTION_ALL_REDUCE, .count = 1 });
}

Test(origin, what_is_bad_from_the_start_is_a_notice_also_while_steps_are_not_known_yet)
{
	struct mesh mesh;

	start_padded(&mesh);
	for (int i = 0; i < 20; i++)
		padded_step(&mesh, 16);
	finish(&mesh);
	cr_expect_null(scanned_loud(&mesh.job), "%s", mesh.job.told[0].text);
	scanned_free(&mesh.job);
}

/* … and a NaN of rank 5's in the last ReduceScatter, that makes the norm NaN. */
static void spoil(struct mesh *mesh)
{
	mesh->job.brings[5] = true;
	scanned_call(&mesh->job, mesh->world,
		     (struct scanned_call){ .function = RW_FUNCTION_REDUCE_SCATTER, .count = GRADIENTS });
	scanned_call(&mesh->job, mesh->world, (struct scanned_call){ .function = RW_FUNCTION_ALL_REDUCE, .count = 1 });
	memset(mesh->job.bad, 0, sizeof(mesh->job.bad));
	scanned_tick(&mesh->job, 400);
}

Test(origin, a_NaN_before_steps_are_known_is_found_where_others_have_been_from_the_start)
{
	struct mesh mesh;

	start_padded(&mesh);
	padded_step(&mesh, 16);
	spoil(&mesh);
	finish(&mesh);
	expect_one(&mesh.job, RW_KIND_NAN, 5, RW_CERTAIN);
	scanned_free(&mesh.job);
}

/* The only bad buffer of a step is that of a layer far behind: nothing tells yet that it will come again. */
Test(origin, padding_far_into_the_first_step_is_no_news)
{
	for (int layers = 4; layers <= 126; layers += 61) {
		struct mesh mesh;
		start(&mesh, 8, 8);
		for (int step = 0; step < 6; step++) {
			for (int layer = 0; layer < 3 * layers; layer++) {
				bool gathers = layer < 2 * layers;
				mesh.job.brings[7] = layer == layers - 1 || layer == 3 * layers - 1;
				scanned_call(&mesh.job, mesh.world,
					     (struct scanned_call){ .function = gathers ? RW_FUNCTION_ALL_GATHER
											: RW_FUNCTION_REDUCE_SCATTER,
								    .count = GRADIENTS });
				memset(mesh.job.bad, 0, sizeof(mesh.job.bad));
			}
			scanned_call(&mesh.job, mesh.world,
				     (struct scanned_call){ .function = RW_FUNCTION_ALL_REDUCE, .count = 1 });
			scanned_tick(&mesh.job, 700);
		}
		finish(&mesh);
		cr_expect_null(scanned_loud(&mesh.job), "%d layers: %s", layers, mesh.job.told[0].text);
		scanned_free(&mesh.job);
	}
}

Test(origin, a_change_of_what_was_bad_from_the_start_is_a_notice_where_it_reaches_no_sum)
{
	static const struct {
		uint32_t before, after;
		bool before_inf, after_inf;
	} cases[] = {
		{ 7, 40, false, false },
		{ 7, 7, true, false },
		{ 0, 7, true, true },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct mesh mesh;
		start(&mesh, 8, 8);
		for (int k = 0; k < 20; k++)
			masked_step(&mesh, cases[i].before, cases[i].before_inf);
		masked_step(&mesh, cases[i].after, cases[i].after_inf);
		finish(&mesh);
		cr_expect_null(scanned_loud(&mesh.job), "%s", scanned_loud(&mesh.job)->text);
		const struct scanned_told *told = &mesh.job.told[mesh.job.told_count - 1];
		cr_assert_gt(mesh.job.told_count, 0);
		cr_expect_eq(told->kind, cases[i].after_inf ? RW_KIND_INF : RW_KIND_NAN, "%s", told->text);
		cr_expect(told->rank_count == 1 && told->ranks[0] == 1, "%s", told->text);
		cr_expect(strstr(told->text, "no sum over ranks became NaN or Inf"), "%s", told->text);
		scanned_free(&mesh.job);
	}
}

Test(origin, a_mask_does_not_take_the_blame_for_a_NaN)
{
	struct mesh mesh;

	start(&mesh, 8, 8);
	for (int i = 0; i < 20; i++)
		masked_step(&mesh, 7, true);
	mesh.bad_rank = 6;
	masked_step(&mesh, 7, true);
	finish(&mesh);
	expect_one(&mesh.job, RW_KIND_NAN, 6, RW_CERTAIN);
	scanned_free(&mesh.job);
}

Test(origin, a_story_that_is_over_is_closed_and_the_next_one_is_told)
{
	struct mesh mesh;

	start(&mesh, 8, 8);
	run(&mesh, 6);
	mesh.job.brings[5] = true;
	run(&mesh, 1);
	memset(mesh.job.bad, 0, sizeof(mesh.job.bad));
	run(&mesh, 40);
	expect_one(&mesh.job, RW_KIND_NAN, 5, RW_CERTAIN);
	run(&mesh, 100);
	cr_assert_eq(mesh.job.told_count, 2);
	cr_expect_eq(mesh.job.told[1].state, RW_FINDING_CLOSED);
	mesh.bad_rank = 4;
	run(&mesh, 10);
	cr_assert_eq(mesh.job.told_count, 3);
	cr_expect(mesh.job.told[2].ranks[0] == 4 && mesh.job.told[2].rank_count == 1, "%s", mesh.job.told[2].text);
	scanned_free(&mesh.job);
}

Test(origin, healthy_jobs_are_silent)
{
	for (uint64_t seed = 0; seed < seeds(50); seed++) {
		struct mesh mesh;
		start(&mesh, 8, seed % 2 ? 8 : 5);
		mesh.job.random = seed;
		for (int i = 0; i < 40; i++) {
			for (int k = 0; k < 8; k++)
				mesh.job.absmax[k] = 1 + (float)scanned_chance(&mesh.job, 100) / 100;
			run(&mesh, 1);
		}
		finish(&mesh);
		cr_expect_eq(mesh.job.told_count, 0, "seed %lu: %s", seed, mesh.job.told[0].text);
		scanned_free(&mesh.job);
	}
}

/* Two hosts of two ranks each, of which only the first is seen: rank 3 of the other one brings a NaN into a sum over
 * all. */
static const struct scanned_told *receive_from_unseen(struct scanned *job, int blind)
{
	scanned_start(job, 4, 2);
	int ddp = scanned_communicator(job, "ddp", 4, 0, 1);

	if (blind >= 0)
		job->blind[blind] = true;
	for (int i = 0; i < 30; i++) {
		job->bad[3] = i >= 20;
		job->nan = i > 20 ? 1000 : 1; /* the parameters are NaN */
		for (uint64_t bucket = 0; bucket < 5; bucket++)
			scanned_call(job, ddp, (struct scanned_call){ .function = RW_FUNCTION_ALL_REDUCE, .count = 1000 + bucket });
		scanned_tick(job, 100);
	}
	scanned_end(job);
	return scanned_loud(job);
}

Test(origin, where_the_inputs_of_all_seen_ranks_were_clean_none_of_them_is_listed)
{
	static struct scanned job;
	const struct scanned_told *told = receive_from_unseen(&job, -1);

	cr_assert(told);
	cr_expect_eq(told->confidence, RW_INCONCLUSIVE);
	cr_expect_eq(told->rank_count, 0, "%s", told->text);
	cr_expect_eq(told->victim_count, 2);
	cr_expect_str_eq(
	    told->text,
	    "1 NaN in the result of AllReduce #100 on ddp; the inputs of all ranks that are seen here were clean");
	cr_expect(strstr(told->missing, "the inputs of all ranks that are seen here were clean"), "%s", told->missing);
	cr_expect(strstr(told->missing, "none of the others can be named"), "%s", told->missing);
	cr_expect_eq(told->finding.values.seen, RW_VALUES_SEEN_RESULT);
	cr_expect_not(told->finding.values.whole);
	scanned_free(&job);
	/* Rank 0 is not scanned: it may be this one. */
	told = receive_from_unseen(&job, 0);
	cr_assert(told);
	cr_expect_eq(told->confidence, RW_INCONCLUSIVE);
	cr_expect_eq(told->rank_count, 1, "%s", told->text);
	cr_expect_eq(told->ranks[0], 0, "%s", told->text);
	cr_expect_not(strstr(told->missing, "were clean"), "%s", told->missing);
	cr_expect_eq(told->finding.values.seen, RW_VALUES_SEEN_UNSCANNED);
	cr_expect_not(told->finding.values.whole);
	scanned_free(&job);
}

/* A random program on random communicators, random parts of it not scanned, and one NaN. */
static void random_call(struct scanned *job, uint64_t seed, bool fully)
{
	static const uint8_t functions[] = {
		RW_FUNCTION_ALL_GATHER, RW_FUNCTION_ALL_REDUCE, RW_FUNCTION_REDUCE_SCATTER, RW_FUNCTION_BROADCAST,
		RW_FUNCTION_SEND,
	};
	int communicator = (int)scanned_chance(job, (uint64_t)job->communicators);
	int size = job->communicator[communicator].size;
	struct scanned_call call = { .function = functions[scanned_chance(job, sizeof(functions))] };

	call.count = call.function == RW_FUNCTION_ALL_REDUCE ? 1 : GRADIENTS;
	call.root = (int)scanned_chance(job, (uint64_t)size);
	call.sender = (call.root + 1) % size;
	if (call.function == RW_FUNCTION_REDUCE_SCATTER && scanned_chance(job, 2))
		call.narrow = 1 + (int)scanned_chance(job, (uint64_t)size);
	if (!fully) {
		call.sampled_out = !scanned_chance(job, UINT64_C(2) << seed % 10);
		call.in_place = seed % 2 && call.function == RW_FUNCTION_ALL_REDUCE && scanned_chance(job, 2);
		call.untracked = !scanned_chance(job, seed % 7 ? 1000 : 40);
	}
	scanned_call(job, communicator, call);
}

static bool is_among(const struct scanned_told *told, int rank)
{
	for (size_t i = 0; i < told->rank_count; i++)
		if (told->ranks[i] == rank)
			return true;
	return false;
}

static const struct scanned_told *play_random(struct scanned *job, uint64_t seed, bool fully, int *culprit)
{
	int ranks = 4 + (int)(seed % 5) * 2;

	scanned_start(job, ranks, fully || seed % 3 ? ranks : ranks - 1);
	job->random = seed * 977 + 1;
	scanned_communicator(job, "world", ranks, 0, 1);
	for (int i = 0; i < ranks / 2; i++)
		scanned_communicator(job, "tp", 2, 2 * i, 1);
	for (int i = 0; i < 2; i++)
		scanned_communicator(job, "dp", ranks / 2, i, 2);
	*culprit = (int)scanned_chance(job, (uint64_t)ranks);
	for (int i = 0; !fully && i < ranks; i++)
		job->blind[i] = seed % 4 == 3 && !scanned_chance(job, 10);
	int before = 20 + (int)scanned_chance(job, 200), after = 5 + (int)scanned_chance(job, 60);
	for (int i = 0; i < before + after; i++) {
		if (i == before)
			job->bad[*culprit] = true;
		random_call(job, seed, fully);
		if (!scanned_chance(job, 20))
			scanned_tick(job, 100 * (double)scanned_chance(job, 4));
	}
	scanned_end(job);
	return scanned_loud(job);
}

Test(origin, a_rank_that_did_not_make_it_is_never_named_whatever_was_not_scanned, .timeout = 200)
{
	uint32_t told_count = 0, named = 0;

	for (uint64_t seed = 0; seed < seeds(6000); seed++) {
		static struct scanned job;
		int culprit;
		const struct scanned_told *told = play_random(&job, seed, false, &culprit);
		if (told) {
			told_count++;
			named += told->confidence != RW_INCONCLUSIVE;
			cr_expect(told->confidence == RW_INCONCLUSIVE || (told->rank_count == 1 && told->ranks[0] == culprit),
				  "seed %lu: rank %d made it: %s", seed, culprit, told->text);
			cr_expect(is_among(told, culprit) || strstr(told->missing, "not seen"), "seed %lu: rank %d made it: %s", seed,
				  culprit, told->text);
		}
		scanned_free(&job);
	}
	cr_log_info("%u told, %u named", told_count, named);
	cr_expect_gt(named, seeds(100));
}

Test(origin, with_everything_scanned_the_rank_is_named_for_certain_in_any_program, .timeout = 200)
{
	uint32_t named = 0;

	for (uint64_t seed = 0; seed < seeds(3000); seed++) {
		static struct scanned job;
		int culprit;
		const struct scanned_told *told = play_random(&job, seed, true, &culprit);
		if (told) {
			named++;
			cr_expect_eq(told->confidence, RW_CERTAIN, "seed %lu: %s: %s", seed, told->text, told->missing);
			cr_expect(told->rank_count == 1 && told->ranks[0] == culprit, "seed %lu: rank %d made it: %s", seed,
				  culprit, told->text);
		}
		scanned_free(&job);
	}
	cr_expect_gt(named, seeds(2000), "%u", named);
}

/* A story can end where nobody has seen its last place clean, because it is not called any more. In the next one its
 * ranks count again: else that would be over, and told anew, with the next bad value. */
Test(origin, what_was_never_seen_clean_counts_again_in_the_next_story)
{
	static struct analysis analysis;
	static struct trace trace[JOB_TRACE];
	static struct process process;
	static struct rank rank;
	struct member member = { .process = &process };
	struct communicator communicator = { .size = 1, .members = &member, .member_count = 1 };
	struct instance_key key = { .source = -1, .target = -1, .sequence = 1 };

	process.trace = trace;
	analysis.job.rank_count = 1;
	analysis.job.ranks = &rank;
	struct instance *instance = instances_get(&analysis.instances, &communicator, &key, 0);
	instance->place.place = STEPS_NO_PLACE;
	struct operation *operation = instance_operation(&analysis.instances, instance, 0);
	for (uint64_t ticket = 5; ticket < 8; ticket++) {
		*operation = (struct operation){ .ticket = ticket, .state = OPERATION_JOINED };
		last_bad_note(&analysis, instance, 0, VALUE_IN);
		cr_expect_eq(analysis.origin.last_bad.count, 1, "ticket %lu: %u", ticket, analysis.origin.last_bad.count);
		last_bad_note(&analysis, instance, 0, VALUE_OUT);
		cr_expect_eq(analysis.origin.last_bad.count, 1, "a rank is one, whatever was bad of it");
		last_bad_end(&analysis);
		cr_expect_eq(analysis.origin.last_bad.count, 0);
		cr_expect_eq(rank.values_from, ticket + 1, "what was bad before is no news");
	}
	last_bad_free(&analysis.origin.last_bad);
	instances_free(&analysis.instances);
}

/* Rank 0 sends a NaN twice, and clean values in between: before steps are known that looks like a habit, as of a mask.
 * Rank 1, which sends nothing, has received it twice. */
Test(origin, what_a_receiver_gets_from_an_input_that_was_taken_for_a_habit_was_not_made_on_the_way)
{
	const struct scanned_call transfer = { .function = RW_FUNCTION_SEND, .count = 4096, .sender = 0, .root = 1 };
	const struct scanned_call loss = { .function = RW_FUNCTION_ALL_REDUCE, .count = 1 };
	struct scanned job;

	scanned_start(&job, 4, 4);
	int world = scanned_communicator(&job, "world", 4, 0, 1);
	for (int i = 0; i < 3; i++)
		scanned_call(&job, world, transfer);
	for (int i = 0; i < 3; i++) {
		memset(job.bad, 0, sizeof(job.bad));
		job.bad[0] = i != 1;
		scanned_call(&job, world, transfer);
		scanned_tick(&job, 20);
	}
	job.bad[0] = false;
	scanned_call(&job, world, loss);
	scanned_tick(&job, 200);
	scanned_end(&job);
	const struct scanned_told *told = scanned_loud(&job);
	cr_assert(told);
	cr_expect_eq(told->kind, RW_KIND_NAN, "%s", told->text);
	cr_expect(told->confidence == RW_INCONCLUSIVE || told->ranks[0] == 0, "%s", told->text);
	bool among = false;
	for (size_t i = 0; i < told->rank_count; i++)
		among |= told->ranks[i] == 0;
	cr_expect(among, "%s", told->text);
	cr_expect(strstr(told->missing, "taken for usual"), "%s", told->missing);
	scanned_free(&job);
}
