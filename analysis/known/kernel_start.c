/* SPDX-License-Identifier: MIT */
#include "analysis/known/kernel_start.h"

#include <stdlib.h>

#include "analysis/known/trace.h"
#include "analysis/measure/lateness.h"
#include "analysis/numbers/sorting.h"

enum { BESIDE = 64 /* operations called behind one that may have begun before its kernel */ };

static int by_difference(const void *left, const void *right)
{
	int64_t difference = (int64_t)(*(const uint64_t *)left - *(const uint64_t *)right);
	return (difference > 0) - (difference < 0);
}

/* What is added to a time of the GPU's clock to get the host's; false: not known yet. Ends are seen late, and never
 * early: it is nearly the least of what was seen. */
static bool clock_of(const struct kernel_clock *clock, uint64_t *behind_ns)
{
	uint64_t sorted[KERNEL_CLOCKS];
	uint32_t count = clock->count < KERNEL_CLOCKS ? clock->count : KERNEL_CLOCKS;

	if (count < KERNEL_CLOCKS_MIN)
		return false;
	for (uint32_t i = 0; i < count; i++)
		sorted[i] = clock->behind_ns[i];
	qsort(sorted, count, sizeof(*sorted), by_difference);
	*behind_ns = sorted[1];
	return true;
}

static uint32_t microseconds(uint64_t ns)
{
	return ns / 1000 < UINT32_MAX ? (uint32_t)(ns / 1000) : UINT32_MAX;
}

/* Where NCCL's thread lagged, times are of a later kernel: it ended after this one was seen to have ended. Two clocks
 * drift apart by no more than the kernel ever corrects one by. */
static bool is_of_a_later_kernel(const struct kernel_clock *clock, const struct rw_operation *slot, uint64_t behind_ns)
{
	uint64_t since_ns = slot->done_seen_ns > clock->latest_ns ? slot->done_seen_ns - clock->latest_ns : 0;
	uint64_t allowed_ns = LATENESS_NOISE_NS + since_ns / KERNEL_DRIFT;

	return (int64_t)(slot->gpu_end_raw + behind_ns - slot->done_seen_ns) > (int64_t)allowed_ns;
}

static void believe(struct operation *operation, const struct rw_operation *slot, uint64_t behind_ns)
{
	uint64_t began_ns = slot->gpu_start_raw + behind_ns,
		 lasted_us = (slot->gpu_end_raw - slot->gpu_start_raw) / 1000;

	operation->kernel_us = microseconds((lasted_us ? lasted_us : 1) * 1000);
	if ((int64_t)(began_ns - slot->started_seen_ns) > 0)
		operation->begun_us = microseconds(began_ns - slot->started_seen_ns);
}

/* What is added to a time of this slot to get the host's; then the slot tells of the clock, too. False: not known yet,
 * or the slot's times do not fit. */
static bool learn(struct kernel_clock *clock, const struct rw_operation *slot, uint64_t *behind_ns)
{
	bool known = clock_of(clock, behind_ns);

	if (slot->gpu_end_raw < slot->gpu_start_raw || (known && is_of_a_later_kernel(clock, slot, *behind_ns))) {
		if (++clock->refused >= KERNEL_REFUSED)
			*clock = (struct kernel_clock){ .functions = clock->functions };
		return false;
	}
	clock->refused = 0;
	clock->latest_ns = slot->done_seen_ns;
	clock->behind_ns[clock->count++ % KERNEL_CLOCKS] = slot->done_seen_ns - slot->gpu_end_raw;
	return known;
}

void kernel_start_note(struct member *member, struct operation *operation, const struct rw_operation *slot)
{
	uint64_t behind_ns;

	if ((slot->known & KERNEL_KNOWN) != KERNEL_KNOWN || operation->state & (OPERATION_KERNEL | OPERATION_EXCLUDED))
		return;
	if (!member->kernels)
		member->kernels = calloc(1, sizeof(*member->kernels));
	if (!member->kernels)
		return;
	operation->state |= OPERATION_KERNEL;
	member->kernels->functions |= 1u << slot->function;
	if (learn(member->kernels, slot, &behind_ns))
		believe(operation, slot, behind_ns);
}

bool kernel_start_place_replay(struct member *member, struct operation *operation, const struct rw_operation *slot)
{
	uint64_t behind_ns;

	if (!member->replay_kernels)
		member->replay_kernels = calloc(1, sizeof(*member->replay_kernels));
	if (!member->replay_kernels || !learn(member->replay_kernels, slot, &behind_ns))
		return false;
	operation->arrival_ns = slot->gpu_start_raw + behind_ns;
	operation->done_ns = slot->gpu_end_raw + behind_ns;
	operation->state |= OPERATION_STARTED | OPERATION_DONE | OPERATION_BEGAN | OPERATION_HOST_PART_UNKNOWN;
	return operation->arrival_ns && operation->done_ns >= operation->arrival_ns && operation->done_ns <= INT64_MAX;
}

bool kernel_start_is_awaited(const struct instance *instance, uint64_t now_ns)
{
	if (!instance_keeps_all(instance))
		return false;
	for (uint32_t i = 0; i < instance->room && i < instance->communicator->member_count; i++) {
		const struct operation *operation = &instance->operations[i];
		const struct kernel_clock *clock = instance->communicator->members[i].kernels;
		bool lacks =
		    operation->state & OPERATION_DONE && !(operation->state & (OPERATION_KERNEL | OPERATION_EXCLUDED));

		if (lacks && clock && clock->functions & 1u << instance->function &&
		    now_ns < operation->done_ns + KERNEL_WAIT_NS)
			return true;
	}
	return false;
}

/* How long each kernel of the instance lasted; 0: not known of all of them. */
static uint32_t durations(const struct instance *instance, uint64_t *values)
{
	const uint16_t asked = OPERATION_STARTED | OPERATION_DONE | OPERATION_HOST | OPERATION_EXCLUDED;
	uint32_t count = 0;

	for (uint32_t i = 0; i < instance->room && i < instance->communicator->member_count; i++) {
		const struct operation *operation = &instance->operations[i];
		if (!operation->ticket)
			continue;
		if ((operation->state & asked) != (OPERATION_STARTED | OPERATION_DONE) || !operation->kernel_us)
			return 0;
		values[count++] = operation->kernel_us;
	}
	return count;
}

uint64_t kernel_start_beside_ns(const struct process *process, const struct operation *operation)
{
	uint64_t first_ns = UINT64_MAX;

	for (uint64_t ticket = operation->ticket + 1; ticket <= operation->ticket + BESIDE; ticket++) {
		const struct trace *trace = trace_find(process, ticket);
		const struct instance *instance = trace ? trace_instance(trace) : NULL;
		const struct operation *other = instance ? instance_joined(instance, trace->member) : NULL;
		if (other && other->state & OPERATION_STARTED && kernel_start_ns(other) < first_ns)
			first_ns = kernel_start_ns(other);
	}
	return first_ns;
}

/* Of what its own clock says that it waited for room, no more counts than the others' kernels waited for it, each by
 * its own clock, and than until it waited in another operation. */
static void move(const struct process *process, struct operation *operation, uint64_t others_us)
{
	uint64_t waited_us = others_us > operation->kernel_us ? others_us - operation->kernel_us : 0;

	if (operation->begun_us < waited_us)
		waited_us = operation->begun_us;
	if (waited_us * 1000 < LATENESS_NOISE_NS)
		return;
	uint64_t beside_ns = kernel_start_beside_ns(process, operation);
	if (beside_ns < operation->arrival_ns + waited_us * 1000)
		waited_us = beside_ns > operation->arrival_ns ? (beside_ns - operation->arrival_ns) / 1000 : 0;
	if (operation->arrival_ns + waited_us * 1000 > operation->done_ns)
		waited_us = operation->done_ns > operation->arrival_ns
				? (operation->done_ns - operation->arrival_ns) / 1000
				: 0;
	if (waited_us * 1000 < LATENESS_NOISE_NS)
		return;
	operation->queued_us = (uint32_t)waited_us;
	operation->arrival_ns += waited_us * 1000;
}

/* NCCL does not report times of every function of a communicator: what had none is not waited for the next time. */
static void note_without(const struct instance *instance)
{
	for (uint32_t i = 0; i < instance->room && i < instance->communicator->member_count; i++) {
		struct kernel_clock *clock = instance->communicator->members[i].kernels;
		const struct operation *operation = &instance->operations[i];

		if (clock && operation->ticket && !(operation->state & OPERATION_KERNEL))
			clock->functions &= ~(1u << instance->function);
	}
}

void kernel_start_apply(struct instance *instance)
{
	uint32_t members = instance->communicator->member_count;

	if (!instance_keeps_all(instance))
		return;
	note_without(instance);
	uint64_t *values = calloc(members + 1, sizeof(*values));
	uint32_t count = values ? durations(instance, values) : 0;
	if (count >= 2) {
		sort_u64(values, count);
		for (uint32_t i = 0; i < instance->room && i < members; i++)
			if (instance->operations[i].ticket)
				move(instance->communicator->members[i].process, &instance->operations[i],
				     values[count / 2]);
	}
	free(values);
}

enum kernels_state kernel_start_state(const struct instance *instance, uint64_t took_ns)
{
	uint32_t shortest_us = UINT32_MAX;

	if (!instance_keeps_all(instance))
		return KERNELS_UNKNOWN;
	for (uint32_t i = 0; i < instance->room && i < instance->communicator->member_count; i++) {
		const struct operation *operation = &instance->operations[i];
		if (!operation->ticket)
			continue;
		if (!operation->kernel_us)
			return KERNELS_UNKNOWN;
		if (operation->kernel_us < shortest_us)
			shortest_us = operation->kernel_us;
	}
	return (uint64_t)shortest_us * 2000 < took_ns ? KERNELS_WAITED : KERNELS_RAN;
}

int kernel_start_lacking(const struct instance *instance, uint32_t *lacking)
{
	int count = 0;

	for (uint32_t i = 0; i < instance->communicator->member_count; i++) {
		const struct member *member = &instance->communicator->members[i];
		const struct operation *operation = instance_joined(instance, i);

		if (!operation)
			continue;
		if (!member->kernels || !(member->kernels->functions & 1u << instance->function))
			return -1;
		if (!(operation->state & OPERATION_BEGAN))
			lacking[count++] = member->rank;
	}
	return count;
}
