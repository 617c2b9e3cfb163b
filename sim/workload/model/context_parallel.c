/* SPDX-License-Identifier: MIT */
#include "sim/workload/model/context_parallel.h"

#include "sim/workload/model/site.h"
#include "sim/workload/training/collective.h"

void context_parallel_open(struct context_parallel *cp, struct training *training, struct process_group *group)
{
	size_t part = training->options->elements * values_size(VALUES_BF16);

	*cp = (struct context_parallel){ .training = training, .group = group };
	cp->part = gpu_allocate(part * group->size);
	cp->whole = gpu_allocate(part * group->size);
	cp->sum = gpu_allocate(part);
	for (int i = 0; i < 2; i++)
		cp->parts[i] = gpu_allocate(part);
	cp->ring = gpu_stream();
	cp->computed = gpu_event();
	cp->passed = gpu_event();
}

void context_parallel_close(struct context_parallel *cp)
{
	GPU_CHECK(cuMemFree(cp->part));
	GPU_CHECK(cuMemFree(cp->whole));
	GPU_CHECK(cuMemFree(cp->sum));
	for (int i = 0; i < 2; i++)
		GPU_CHECK(cuMemFree(cp->parts[i]));
	GPU_CHECK(cuStreamDestroy(cp->ring));
	GPU_CHECK(cuEventDestroy(cp->computed));
	GPU_CHECK(cuEventDestroy(cp->passed));
}

static void gather(struct context_parallel *cp, int index, int count)
{
	struct training *training = cp->training;
	size_t elements = training->options->elements;
	CUstream stream = training->gpu.compute;
	struct expectation expected = { .what = "gathered keys and values", .type = VALUES_BF16,
					.sources = cp->group->size, .ranks = cp->group->members, .elements = elements,
					.site = site_of(SITE_CP, index) };

	training_fill(training, cp->part, VALUES_BF16, expected.site, 0, elements, stream);
	collective_all_gather(cp->group, cp->part, cp->whole, elements, ncclBfloat16, stream);
	if (checks_turn(&training->checks, index, count))
		checks_add(&training->checks, &expected, cp->whole, stream);
}

static void scatter(struct context_parallel *cp, int index, int count)
{
	struct training *training = cp->training;
	size_t elements = training->options->elements;
	CUstream stream = training->gpu.compute;
	struct expectation expected = { .what = "reduced gradients of keys and values", .type = VALUES_BF16_SUM,
					.reduced = true, .sources = cp->group->size, .ranks = cp->group->members,
					.elements = elements, .first = cp->group->rank * elements,
					.site = site_of(SITE_CP, index) };

	training_fill(training, cp->part, VALUES_BF16_SUM, expected.site, 0, elements * cp->group->size, stream);
	collective_reduce_scatter(cp->group, cp->part, cp->sum, elements, ncclBfloat16, stream);
	if (checks_turn(&training->checks, index, count))
		checks_add(&training->checks, &expected, cp->sum, stream);
}

/* Passes parts[turn % 2] on and receives the next into the other one. */
static void pass_on(struct context_parallel *cp, int turn, size_t elements)
{
	int size = cp->group->size, rank = cp->group->rank;

	collective_start(cp->group);
	collective_send(cp->group, cp->parts[turn % 2], elements, ncclBfloat16, (rank + 1) % size, cp->ring);
	collective_recv(cp->group, cp->parts[(turn + 1) % 2], elements, ncclBfloat16, (rank + size - 1) % size,
			cp->ring);
	collective_end();
}

/* What has come round when the ring has turned `turns` times. */
static void check_ring(struct context_parallel *cp, int turns, int site)
{
	int from = (cp->group->rank + cp->group->size - turns) % cp->group->size;
	struct expectation expected = { .what = "keys and values from the ring", .type = VALUES_BF16, .sources = 1,
					.ranks = &cp->group->members[from],
					.elements = cp->training->options->elements, .site = site };

	checks_add(&cp->training->checks, &expected, cp->parts[turns % 2], cp->ring);
}

static void attend_ring(struct context_parallel *cp, int us, int index, int count)
{
	struct training *training = cp->training;
	int size = cp->group->size, site = site_of(SITE_CP, index);
	CUstream compute = training->gpu.compute;

	gpu_order(compute, cp->computed, cp->ring);
	training_fill(training, cp->parts[0], VALUES_BF16, site, 0, training->options->elements, cp->ring);
	for (int turn = 0; turn < size; turn++) {
		gpu_order(cp->ring, cp->passed, compute); /* this part has come … */
		if (turn + 1 < size)
			pass_on(cp, turn, training->options->elements);
		training_compute(training, us / size);
		gpu_order(compute, cp->computed, cp->ring); /* … and may be written over two turns later */
	}
	if (checks_turn(&training->checks, index, count))
		check_ring(cp, size - 1, site);
}

void context_parallel_attend(struct context_parallel *cp, int us, bool backward, int index, int count)
{
	if (cp->group->size > 1 && cp->training->parallel->ring) {
		attend_ring(cp, us, index, count);
		return;
	}
	if (cp->group->size > 1 && !backward)
		gather(cp, index, count);
	training_compute(cp->training, us);
	if (cp->group->size > 1 && backward)
		scatter(cp, index, count);
}
