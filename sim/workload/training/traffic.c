/* SPDX-License-Identifier: MIT */
#include "sim/workload/training/traffic.h"

#include <stdlib.h>
#include <string.h>

#include "sim/workload/faults/fault.h"
#include "sim/workload/training/element.h"
#include "sim/workload/training/training.h"

enum { NAN_BYTE = 0xff /* every byte of an element: NaN in every floating type */ };

/* A look at data that have been copied to the host, or a change of an element there. Freed by the stream's thread. */
struct inspection {
	struct traffic *traffic;
	enum traffic_sort sort;
	ncclDataType_t type;
	void *copy;
	size_t count;
};

static enum traffic_sort sort_of(const struct traffic *traffic, const struct collective_call *call)
{
	bool computing = call->stream == traffic->training->gpu.compute;
	bool in_place = call->send >= call->recv &&
			call->send < call->recv + collective_recv_count(call) * element_size(call->type);

	if (call->function == COLLECTIVE_ALL_GATHER && in_place)
		return TRAFFIC_PARAMETERS;
	if (call->function == COLLECTIVE_ALL_REDUCE && call->count == 1)
		return TRAFFIC_SCALARS;
	if (!computing && (call->function == COLLECTIVE_REDUCE_SCATTER || call->function == COLLECTIVE_ALL_REDUCE))
		return TRAFFIC_GRADIENTS;
	return TRAFFIC_ACTIVATIONS;
}

/* What is enqueued on one stream uses its copy one after the other. */
static void *copy_of(struct traffic *traffic, CUstream stream)
{
	for (size_t i = 0; i < traffic->stream_count; i++)
		if (traffic->streams[i].stream == stream)
			return traffic->streams[i].copy;
	GPU_CHECK(traffic->stream_count < TRAFFIC_STREAMS ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
	struct traffic_stream *added = &traffic->streams[traffic->stream_count++];

	*added = (struct traffic_stream){ stream, gpu_allocate_pinned(traffic->room) };
	return added->copy;
}

static struct inspection *inspect(struct traffic *traffic, const struct collective_call *call, size_t count)
{
	struct inspection *inspection = malloc(sizeof(*inspection));
	size_t most = traffic->room / element_size(call->type);

	GPU_CHECK(inspection ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
	*inspection = (struct inspection){ .traffic = traffic, .sort = sort_of(traffic, call), .type = call->type,
			       .copy = copy_of(traffic, call->stream), .count = count < most ? count : most };
	return inspection;
}

static void CUDA_CB note_bad(void *argument)
{
	struct inspection *inspection = argument;
	struct traffic *traffic = inspection->traffic;

	if (!element_all_finite(inspection->type, inspection->copy, inspection->count))
		atomic_store(
		    inspection->sort == TRAFFIC_GRADIENTS ? &traffic->bad_gradients : &traffic->bad_activations, true);
	free(inspection);
}

static void received(void *argument, const struct collective_call *call)
{
	struct traffic *traffic = argument;
	const struct options *options = traffic->training->options;
	size_t size = element_size(call->type);

	if (!size || options->fault->spread == SPREAD_NONE || traffic->training->step != options->fault_step)
		return;
	struct inspection *inspection = inspect(traffic, call, collective_recv_count(call));

	GPU_CHECK(cuMemcpyDtoHAsync(inspection->copy, call->recv, inspection->count * size, call->stream));
	GPU_CHECK(cuLaunchHostFunc(call->stream, note_bad, inspection));
}

static void CUDA_CB spoil_where_bad(void *argument)
{
	struct inspection *inspection = argument;
	struct traffic *traffic = inspection->traffic;
	bool bad = inspection->sort != TRAFFIC_PARAMETERS && atomic_load(&traffic->bad_activations);

	if (bad || (inspection->sort == TRAFFIC_SCALARS && atomic_load(&traffic->bad_gradients)))
		memset(inspection->copy, NAN_BYTE, element_size(inspection->type));
	free(inspection);
}

/* One element, to the host and back. */
static void flow(struct traffic *traffic, const struct collective_call *call)
{
	size_t size = element_size(call->type);
	size_t index = traffic->training->options->fault_index % collective_send_count(call);
	CUdeviceptr element = call->send + index * size;
	struct inspection *inspection = inspect(traffic, call, 1);
	void *copy = inspection->copy;

	GPU_CHECK(cuMemcpyDtoHAsync(copy, element, size, call->stream));
	GPU_CHECK(cuLaunchHostFunc(call->stream, spoil_where_bad, inspection));
	GPU_CHECK(cuMemcpyHtoDAsync(element, copy, size, call->stream));
}

static void begin_step(struct traffic *traffic)
{
	traffic->step = traffic->training->step;
	memset(traffic->numbers, 0, sizeof(traffic->numbers));
}

static void sending(void *argument, const struct collective_call *call)
{
	struct traffic *traffic = argument;
	const struct training *training = traffic->training;
	const struct options *options = training->options;
	const struct fault_kind *fault = options->fault;
	enum traffic_sort sort = sort_of(traffic, call);

	if (!element_size(call->type) || !call->count)
		return;
	if (traffic->step != training->step)
		begin_step(traffic);
	fault->spoil(training, &(struct traffic_call){ call, sort, traffic->numbers[sort]++ });
	if (fault->spread != SPREAD_NONE && training->step == options->fault_step)
		flow(traffic, call);
	else if (fault->spread == SPREAD_ON && training->step > options->fault_step)
		GPU_CHECK(cuMemsetD8Async(call->send, NAN_BYTE,
					  collective_send_count(call) * element_size(call->type), call->stream));
}

void traffic_open(struct traffic *traffic, const struct training *training)
{
	*traffic = (struct traffic){ .training = training, .room = training->values.elements * sizeof(float) };
	collective_set_watch(&(struct collective_watch){ sending, received, traffic });
}

void traffic_close(struct traffic *traffic)
{
	collective_set_watch(NULL);
	for (size_t i = 0; i < traffic->stream_count; i++)
		GPU_CHECK(cuMemFreeHost(traffic->streams[i].copy));
}
