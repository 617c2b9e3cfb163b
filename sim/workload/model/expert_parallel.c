/* SPDX-License-Identifier: MIT */
#include "sim/workload/model/expert_parallel.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/numbers/splitmix.h"
#include "sim/workload/model/site.h"
#include "sim/workload/training/collective.h"

/* A rank gets from half to one and a half times its even share from each of the others. */
enum { LEAST_PERCENT = 50, MOST_PERCENT = 150 };

static size_t even_share(const struct expert_parallel *ep)
{
	return ep->training->options->elements / ep->group->size + 1;
}

static size_t most_elements(const struct expert_parallel *ep)
{
	return even_share(ep) * ep->group->size * MOST_PERCENT / 100;
}

void expert_parallel_open(struct expert_parallel *ep, struct training *training, struct process_group *group)
{
	size_t sizes = group->size * sizeof(int64_t);

	*ep = (struct expert_parallel){ .training = training, .group = group };
	ep->sizes_out = gpu_allocate(sizes);
	ep->sizes_in = gpu_allocate(sizes);
	ep->tokens_out = gpu_allocate(most_elements(ep) * values_size(VALUES_BF16));
	ep->tokens_in = gpu_allocate(most_elements(ep) * values_size(VALUES_BF16));
	ep->sizes = gpu_allocate_pinned(2 * sizes);
	ep->sized = gpu_event();
}

void expert_parallel_close(struct expert_parallel *ep)
{
	GPU_CHECK(cuMemFree(ep->sizes_out));
	GPU_CHECK(cuMemFree(ep->sizes_in));
	GPU_CHECK(cuMemFree(ep->tokens_out));
	GPU_CHECK(cuMemFree(ep->tokens_in));
	GPU_CHECK(cuMemFreeHost(ep->sizes));
	GPU_CHECK(cuEventDestroy(ep->sized));
}

/* What the router of `from` sends to `to`: the same for all who ask, another in each step and layer. */
static size_t routed(const struct expert_parallel *ep, int from, int to, int index)
{
	uint64_t x = ((uint64_t)ep->training->step << 32) + index * 4096 + ep->group->members[from] * 64 +
		     ep->group->members[to] + SPLITMIX_STEP;

	return even_share(ep) * (LEAST_PERCENT + splitmix_mix(x) % (MOST_PERCENT - LEAST_PERCENT + 1)) / 100;
}

static void route(struct expert_parallel *ep, int index)
{
	int own = ep->group->rank;

	for (int i = 0; i < ep->group->size; i++) {
		ep->to[i] = routed(ep, own, i, index);
		ep->from[i] = routed(ep, i, own, index);
	}
}

static void exchange(struct expert_parallel *ep, CUdeviceptr out, const size_t *to, CUdeviceptr in,
		     const size_t *from, ncclDataType_t type, size_t size)
{
	CUstream stream = ep->training->gpu.compute;

	collective_start(ep->group);
	for (int i = 0; i < ep->group->size; i++) {
		collective_send(ep->group, out, to[i], type, i, stream);
		collective_recv(ep->group, in, from[i], type, i, stream);
		out += to[i] * size;
		in += from[i] * size;
	}
	collective_end();
}

static void exchange_sizes(struct expert_parallel *ep)
{
	int size = ep->group->size;
	size_t bytes = size * sizeof(int64_t), ones[MESH_RANKS_MAX];
	CUstream stream = ep->training->gpu.compute;

	for (int i = 0; i < size; i++) {
		ep->sizes[i] = ep->to[i];
		ones[i] = 1;
	}
	GPU_CHECK(cuMemcpyHtoDAsync(ep->sizes_out, ep->sizes, bytes, stream));
	exchange(ep, ep->sizes_out, ones, ep->sizes_in, ones, ncclInt64, sizeof(int64_t));
	GPU_CHECK(cuMemcpyDtoHAsync(ep->sizes + size, ep->sizes_in, bytes, stream));
	GPU_CHECK(cuEventRecord(ep->sized, stream));
	GPU_CHECK(cuEventSynchronize(ep->sized));
	for (int i = 0; i < size; i++) {
		if (ep->sizes[size + i] == (int64_t)ep->from[i])
			continue;
		fprintf(stderr, "workload: rank %d, step %d: the size of what rank %d sends is wrong\n",
			ep->training->rank, ep->training->step, ep->group->members[i]);
		exit(EXIT_FAILURE);
	}
}

/* Tokens to their experts, or back: `to` and `from` are those of this direction. */
static void exchange_tokens(struct expert_parallel *ep, const size_t *to, const size_t *from, int site, bool check)
{
	struct training *training = ep->training;
	struct expectation expected = { .what = "tokens of the experts", .type = VALUES_BF16,
					.sources = ep->group->size, .ranks = ep->group->members, .counts = from,
					.first = ep->group->rank, .site = site };
	CUdeviceptr at = ep->tokens_out;

	for (int i = 0; i < ep->group->size; i++) {
		training_fill(training, at, VALUES_BF16, site, i, to[i], training->gpu.compute);
		at += to[i] * values_size(VALUES_BF16);
	}
	exchange(ep, ep->tokens_out, to, ep->tokens_in, from, ncclBfloat16, values_size(VALUES_BF16));
	if (check)
		checks_add(&training->checks, &expected, ep->tokens_in, training->gpu.compute);
}

static void compute(struct expert_parallel *ep, int us)
{
	size_t came = 0;

	for (int i = 0; i < ep->group->size; i++)
		came += ep->from[i];
	training_compute(ep->training, (int)(us * came / (even_share(ep) * ep->group->size)));
}

static void run(struct expert_parallel *ep, int us, int index, int count)
{
	bool check = checks_turn(&ep->training->checks, index, count);

	exchange_tokens(ep, ep->to, ep->from, site_of(SITE_TOKENS, 2 * index), check);
	compute(ep, us);
	exchange_tokens(ep, ep->from, ep->to, site_of(SITE_TOKENS, 2 * index + 1), check);
}

void expert_parallel_forward(struct expert_parallel *ep, int us, int index, int count)
{
	route(ep, index);
	exchange_sizes(ep);
	run(ep, us, index, count);
}

void expert_parallel_backward(struct expert_parallel *ep, int us, int index, int count)
{
	route(ep, index);
	run(ep, us, index, count);
}
