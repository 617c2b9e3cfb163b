/* SPDX-License-Identifier: MIT */
#include "sim/workload/training/graph_step.h"

#include "sim/workload/faults/fault.h"
#include "sim/workload/model/site.h"
#include "sim/workload/training/collective.h"
#include "sim/workload/training/traffic.h"

enum { ELEMENTS_MAX = 1024, COMPUTE_US = 500 };

/* Other threads of the process go on with what a capture would prohibit to them: thread-local. */
static CUgraph capture(struct graph_step *step)
{
	CUstream stream = step->training->gpu.compute;
	CUgraph graph;

	GPU_CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	for (int i = 0; i < GRAPH_STEP_CALLS; i++) {
		gpu_compute(&step->training->gpu, COMPUTE_US);
		if (step->group->size > 1)
			collective_all_reduce(step->group, step->buffers[i], step->buffers[i], step->elements,
					      ncclFloat32, ncclSum, stream);
	}
	GPU_CHECK(cuStreamEndCapture(stream, &graph));
	return graph;
}

void graph_step_open(struct graph_step *step, struct training *training, struct process_group *group)
{
	size_t elements = training->options->elements;

	*step = (struct graph_step){ .training = training, .group = group,
				     .elements = elements < ELEMENTS_MAX ? elements : ELEMENTS_MAX };
	for (int i = 0; i < GRAPH_STEP_CALLS; i++)
		step->buffers[i] = gpu_allocate(step->elements * sizeof(float));
	if (group->size > 1)
		process_group_comm(group); /* cannot be made during a capture */
	CUgraph graph = capture(step);
	GPU_CHECK(cuGraphInstantiate(&step->exec, graph, 0));
	GPU_CHECK(cuGraphDestroy(graph));
}

void graph_step_close(struct graph_step *step)
{
	if (!step->exec)
		return;
	GPU_CHECK(cuStreamSynchronize(step->training->gpu.compute));
	GPU_CHECK(cuGraphExecDestroy(step->exec));
	for (int i = 0; i < GRAPH_STEP_CALLS; i++)
		GPU_CHECK(cuMemFree(step->buffers[i]));
}

static void check(struct graph_step *step, int call)
{
	struct expectation expected = { .what = "a sum made in a graph", .type = VALUES_FLOAT, .reduced = true,
					.sources = step->group->size, .ranks = step->group->members,
					.elements = step->elements, .site = site_of(SITE_GRAPH, call) };

	checks_add(&step->training->checks, &expected, step->buffers[call], step->training->gpu.compute);
}

static void fill(struct graph_step *step, int number, CUstream stream)
{
	const struct training *training = step->training;
	const struct fault_kind *fault = training->options->fault;
	struct collective_call call = { .function = COLLECTIVE_ALL_REDUCE, .group = step->group,
					.send = step->buffers[number], .recv = step->buffers[number],
					.count = step->elements, .type = ncclFloat32, .op = ncclSum, .stream = stream };

	training_fill(step->training, step->buffers[number], VALUES_FLOAT, site_of(SITE_GRAPH, number), 0,
		      step->elements, stream);
	if (fault->spoil)
		fault->spoil(training, &(struct traffic_call){ &call, TRAFFIC_GRAPH, number });
}

void graph_step_replay(struct graph_step *step)
{
	CUstream stream = step->training->gpu.compute;

	for (int i = 0; i < GRAPH_STEP_CALLS; i++)
		fill(step, i, stream);
	GPU_CHECK(cuGraphLaunch(step->exec, stream));
	for (int i = 0; i < GRAPH_STEP_CALLS; i++)
		check(step, i);
}
