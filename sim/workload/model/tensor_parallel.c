/* SPDX-License-Identifier: MIT */
#include "sim/workload/model/tensor_parallel.h"

#include "sim/workload/model/site.h"
#include "sim/workload/training/collective.h"

enum { LOSS_TOKENS = 128 };

void tensor_parallel_open(struct tensor_parallel *tp, struct training *training, struct process_group *group)
{
	size_t part = training->options->elements * values_size(VALUES_BF16);

	*tp = (struct tensor_parallel){ .training = training, .group = group };
	tp->part = gpu_allocate(part);
	tp->whole = gpu_allocate(part * group->size);
	tp->partial = gpu_allocate(part * group->size);
	tp->sum = gpu_allocate(part + LOSS_TOKENS * values_size(VALUES_FLOAT));
}

void tensor_parallel_close(struct tensor_parallel *tp)
{
	GPU_CHECK(cuMemFree(tp->part));
	GPU_CHECK(cuMemFree(tp->whole));
	GPU_CHECK(cuMemFree(tp->partial));
	GPU_CHECK(cuMemFree(tp->sum));
}

static void check(struct tensor_parallel *tp, struct expectation expected, CUdeviceptr data)
{
	expected.sources = tp->group->size;
	expected.ranks = tp->group->members;
	checks_add(&tp->training->checks, &expected, data, tp->training->gpu.compute);
}

static void gather(struct tensor_parallel *tp, int index, int count)
{
	struct training *training = tp->training;
	size_t elements = training->options->elements;
	CUstream stream = training->gpu.compute;
	int site = site_of(SITE_TP_GATHER, index);

	training_fill(training, tp->part, VALUES_BF16, site, 0, elements, stream);
	collective_all_gather(tp->group, tp->part, tp->whole, elements, ncclBfloat16, stream);
	if (checks_turn(&training->checks, index, count))
		check(tp, (struct expectation){ .what = "a gathered sequence",
						.type = VALUES_BF16, .elements = elements,
						.site = site }, tp->whole);
}

static void scatter(struct tensor_parallel *tp, int index, int count)
{
	struct training *training = tp->training;
	size_t elements = training->options->elements;
	CUstream stream = training->gpu.compute;
	int site = site_of(SITE_TP_REDUCE, index);

	training_fill(training, tp->partial, VALUES_BF16_SUM, site, 0, elements * tp->group->size, stream);
	collective_reduce_scatter(tp->group, tp->partial, tp->sum, elements, ncclBfloat16, stream);
	if (checks_turn(&training->checks, index, count))
		check(tp, (struct expectation){ .what = "a reduced activation", .type = VALUES_BF16_SUM,
						.reduced = true,
						.elements = elements, .first = tp->group->rank * elements,
						.site = site }, tp->sum);
}

static void all_reduce(struct tensor_parallel *tp, int index, int count)
{
	struct training *training = tp->training;
	size_t elements = training->options->elements;
	CUstream stream = training->gpu.compute;
	int site = site_of(SITE_TP_REDUCE, index);

	training_fill(training, tp->sum, VALUES_BF16_SUM, site, 0, elements, stream);
	collective_all_reduce(tp->group, tp->sum, tp->sum, elements, ncclBfloat16, ncclSum, stream);
	if (checks_turn(&training->checks, index, count))
		check(tp, (struct expectation){ .what = "a reduced activation", .type = VALUES_BF16_SUM,
						.reduced = true,
						.elements = elements, .site = site }, tp->sum);
}

void tensor_parallel_enter(struct tensor_parallel *tp, int index, int count)
{
	tp->training->in_tensor_parallel = tp->group->size > 1;
	if (tp->group->size > 1 && tp->training->parallel->sequence)
		gather(tp, index, count);
}

void tensor_parallel_leave(struct tensor_parallel *tp, int index, int count)
{
	tp->training->in_tensor_parallel = false;
	if (tp->group->size == 1)
		return;
	if (tp->training->parallel->sequence)
		scatter(tp, index, count);
	else
		all_reduce(tp, index, count);
}

void tensor_parallel_loss(struct tensor_parallel *tp)
{
	static const ncclRedOp_t ops[] = { ncclMax, ncclSum };
	struct training *training = tp->training;
	CUstream stream = training->gpu.compute;

	for (int i = 0; i < 2 && tp->group->size > 1; i++) {
		int site = site_of(SITE_SCALAR, 16 + i);

		training_fill(training, tp->sum, VALUES_FLOAT, site, 0, LOSS_TOKENS, stream);
		collective_all_reduce(tp->group, tp->sum, tp->sum, LOSS_TOKENS, ncclFloat32, ops[i], stream);
		if (checks_turn(&training->checks, 0, 1))
			check(tp, (struct expectation){ .what = "the parallel loss",
						.type = VALUES_FLOAT, .reduced = true,
							.largest = ops[i] == ncclMax, .elements = LOSS_TOKENS,
							.site = site }, tp->sum);
	}
}
