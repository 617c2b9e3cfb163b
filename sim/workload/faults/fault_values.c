/* SPDX-License-Identifier: MIT */
/* Faults in the data: bits that a rank computes, in its own memory, before it sends them. */
#include <math.h>

#include "sim/workload/faults/fault.h"
#include "sim/workload/training/element.h"
#include "sim/workload/training/training.h"

enum {
	PARTING_STEPS = 6,    /* so long before its NaN a rank's magnitudes leave the others' */
	PADDING_ELEMENTS = 16, /* at the end of a buffer */
	STUCK_ELEMENTS = 16,  /* at first; twice as many in each step */
	STUCK_DOUBLINGS = 6,
	METRICS = 4,           /* of an evaluation */
	AGAIN_STEPS = 4,       /* after its first NaN a rank makes a second one */
};

/* Finite in fp16; twice as much is not. */
static const float half_of_largest = 32768;

static void set_bits(const struct collective_call *call, size_t index, uint32_t bits)
{
	size_t size = element_size(call->type);
	CUdeviceptr element = call->send + index % collective_send_count(call) * size;

	for (size_t byte = 0; byte < size; byte++)
		GPU_CHECK(cuMemsetD8Async(element + byte, (unsigned char)(bits >> 8 * byte), 1, call->stream));
}

static void set(const struct training *training, const struct collective_call *call, float value)
{
	set_bits(call, training->options->fault_index, element_bits(call->type, value));
}

static bool is_mine(const struct training *training)
{
	return training->rank == training->options->fault_rank;
}

static bool is_first(const struct traffic_call *traffic, enum traffic_sort sort)
{
	return traffic->sort == sort && traffic->number == 0;
}

/* The first that the rank sends of this sort in the fault's step. */
static bool is_hit(const struct training *training, const struct traffic_call *traffic, enum traffic_sort sort)
{
	return is_mine(training) && is_first(traffic, sort) && training->step == training->options->fault_step;
}

static void make_nan(const struct training *training, const struct traffic_call *traffic)
{
	if (is_hit(training, traffic, TRAFFIC_GRADIENTS))
		set(training, traffic->call, NAN);
}

static void make_inf(const struct training *training, const struct traffic_call *traffic)
{
	if (is_hit(training, traffic, TRAFFIC_GRADIENTS))
		set(training, traffic->call, INFINITY);
}

static void make_bad_activation(const struct training *training, const struct traffic_call *traffic)
{
	if (is_hit(training, traffic, TRAFFIC_ACTIVATIONS))
		set(training, traffic->call, NAN);
}

static void make_nan_in_graph(const struct training *training, const struct traffic_call *traffic)
{
	if (is_hit(training, traffic, TRAFFIC_GRAPH))
		set(training, traffic->call, NAN);
}

/* As the gradients of a float8 GEMM with rowwise scaling, which are sent as bf16: four times as large in each step. */
static void leave_others(const struct training *training, const struct traffic_call *traffic)
{
	int steps = training->step - (training->options->fault_step - PARTING_STEPS);

	if (is_mine(training) && is_first(traffic, TRAFFIC_GRADIENTS) && steps >= 0 && steps < PARTING_STEPS)
		set(training, traffic->call, ldexpf(4, 2 * (steps + 1)));
	else
		make_nan(training, traffic);
}

/* On every rank: none of them sends what is not finite. */
static void overflow(const struct training *training, const struct traffic_call *traffic)
{
	if (is_first(traffic, TRAFFIC_GRADIENTS) && training->step == training->options->fault_step)
		set(training, traffic->call, half_of_largest);
}

/* As a scale from stale magnitudes does with fp8. */
static void stick(const struct training *training, const struct traffic_call *traffic)
{
	const struct collective_call *call = traffic->call;
	int steps = training->step - training->options->fault_step;

	if (!is_mine(training) || !is_first(traffic, TRAFFIC_PARAMETERS) || steps < 0)
		return;
	size_t count = (size_t)STUCK_ELEMENTS << (steps < STUCK_DOUBLINGS ? steps : STUCK_DOUBLINGS);
	for (size_t i = 0; i < count; i++)
		set_bits(call, training->options->fault_index + i, element_largest_bits(call->type));
}

static void pad_with(const struct collective_call *call, float value)
{
	size_t end = collective_send_count(call);

	for (size_t i = end < PADDING_ELEMENTS ? end : end - PADDING_ELEMENTS; i < end; i++)
		set_bits(call, i, element_bits(call->type, value));
}

/* Memory that nobody has written behind a shard, and masks. */
static void pad(const struct training *training, const struct traffic_call *traffic)
{
	if (is_mine(training) && is_first(traffic, TRAFFIC_PARAMETERS))
		pad_with(traffic->call, NAN);
	else if (is_mine(training) && is_first(traffic, TRAFFIC_GRADIENTS))
		pad_with(traffic->call, -INFINITY);
}

static bool has_begun(const struct training *training)
{
	return training->step >= training->options->fault_step;
}

/* As when the last batch of an epoch is short. */
static void pad_late(const struct training *training, const struct traffic_call *traffic)
{
	if (has_begun(training) && is_first(traffic, TRAFFIC_PARAMETERS))
		pad(training, traffic);
}

/* Behind the sequences of a microbatch that are shorter than its longest: the next stage does not compute with them. */
static void pad_sends(const struct training *training, const struct traffic_call *traffic)
{
	if (is_mine(training) && has_begun(training) && is_first(traffic, TRAFFIC_ACTIVATIONS) &&
	    traffic->call->function == COLLECTIVE_SEND)
		pad_with(traffic->call, NAN);
}

/* The largest of a row of which everything is masked, on all ranks. */
static void mask_late(const struct training *training, const struct traffic_call *traffic)
{
	const struct collective_call *call = traffic->call;

	if (has_begun(training) && call->function == COLLECTIVE_ALL_REDUCE && call->op == ncclMax)
		set_bits(call, 0, element_bits(call->type, -INFINITY));
}

/* A loss scale that has just been doubled: gradients of three ranks are too large for fp16. */
static void scale_loss(const struct training *training, const struct traffic_call *traffic)
{
	if (training->rank % 3 == 1 && is_first(traffic, TRAFFIC_GRADIENTS) &&
	    training->step == training->options->fault_step)
		set(training, traffic->call, INFINITY);
}

/* One that was far too large: nobody's gradient fits. */
static void scale_loss_of_all(const struct training *training, const struct traffic_call *traffic)
{
	if (is_first(traffic, TRAFFIC_GRADIENTS) && training->step == training->options->fault_step)
		set(training, traffic->call, INFINITY);
}

/* The optimizer leaves the step out; some steps later it comes again. */
static void make_nan_twice(const struct training *training, const struct traffic_call *traffic)
{
	int since = training->step - training->options->fault_step;

	if (is_mine(training) && is_first(traffic, TRAFFIC_GRADIENTS) && (since == 0 || since == AGAIN_STEPS))
		set(training, traffic->call, NAN);
}

static void make_nan_metric(const struct training *training, const struct traffic_call *traffic)
{
	const struct collective_call *call = traffic->call;

	if (is_mine(training) && has_begun(training) && call->function == COLLECTIVE_ALL_REDUCE &&
	    call->count == METRICS)
		set_bits(call, 2, element_bits(call->type, NAN));
}

const struct fault_kind fault_values_kinds[] = {
	{ .name = "nan",
	  .harms = true,
	  .spoil = make_nan,
	  .spread = SPREAD_ON,
	  .doc = "a NaN in its gradient, at --fault-index of what it sends" },
	{ .name = "inf", .harms = true, .spoil = make_inf, .spread = SPREAD_ON, .doc = "the same with Inf" },
	{ .name = "nan-activation",
	  .harms = true,
	  .spoil = make_bad_activation,
	  .spread = SPREAD_ON,
	  .doc = "a NaN in an activation (--mesh with tp, cp or pp)" },
	{ .name = "nan-graph",
	  .harms = true,
	  .spoil = make_nan_in_graph,
	  .doc = "a NaN in what it computes inside the step's CUDA graph (--graphs)" },
	{ .name = "float8-nan",
	  .harms = true,
	  .spoil = leave_others,
	  .spread = SPREAD_ON,
	  .doc = "its largest gradient leaves the others' for six steps, then it is NaN (--gradients=bfloat16)" },
	{ .name = "overflow",
	  .harms = true,
	  .spoil = overflow,
	  .spread = SPREAD_STEP,
	  .doc = "finite gradients on all ranks whose sum is not (--gradients=float16)" },
	{ .name = "saturation",
	  .harms = true,
	  .spoil = stick,
	  .doc = "more and more of its parameters are their type's largest number (--fp8-allgather)" },
	{ .name = "padding",
	  .spoil = pad,
	  .doc = "healthy: NaN and -Inf behind its parameters and gradients, always the same" },
	{ .name = "padding-late",
	  .spoil = pad_late,
	  .doc = "healthy: NaN behind its parameters, from --fault-step on" },
	{ .name = "padding-sends",
	  .spoil = pad_sends,
	  .doc = "healthy: NaN behind the first activation that it sends to the next stage, from --fault-step on "
		 "(--mesh with pp)" },
	{ .name = "mask-late",
	  .spoil = mask_late,
	  .doc = "healthy: -Inf into a maximum on all ranks, from --fault-step on" },
	{ .name = "loss-scale",
	  .spoil = scale_loss,
	  .spread = SPREAD_STEP,
	  .doc = "healthy: Inf in the gradients of three ranks, which the optimizer leaves out (--gradients=float16)" },
	{ .name = "loss-scale-all",
	  .spoil = scale_loss_of_all,
	  .spread = SPREAD_STEP,
	  .doc = "healthy: the same in the gradients of all ranks" },
	{ .name = "nan-twice",
	  .harms = true,
	  .spoil = make_nan_twice,
	  .spread = SPREAD_STEP,
	  .doc = "a NaN in its gradient, and after four steps, of which the last are clean, another one" },
	{ .name = "nan-metric",
	  .harms = true,
	  .spoil = make_nan_metric,
	  .doc = "NaN in one of an evaluation's four metrics (--evaluate-every)" },
	{ 0 },
};
