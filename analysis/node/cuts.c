/* SPDX-License-Identifier: MIT */
#include "analysis/node/cuts.h"

#include "analysis/measure/lateness.h"

/* How long inside the operation the rank's kernel waited for room on its GPU. Where the host sees several members, that
 * has already moved the arrival of the one that the others waited for (analysis/known/kernel_start.h). Where it sees
 * one, only the judge of the job can compare how long the members were inside. */
static uint64_t room_ns(const struct account_passage *passage, const struct operation *operation)
{
	uint64_t waited_ns = (uint64_t)operation->begun_us * 1000;

	if (passage->instance->joined != 1 || !instance_keeps_all(passage->instance) || waited_ns < LATENESS_NOISE_NS)
		return 0;
	return waited_ns < passage->inside_ns ? waited_ns : passage->inside_ns;
}

static void add_up(struct roster_rank *rank, const struct account_passage *passage, const struct operation *operation)
{
	uint64_t waited_ns = room_ns(passage, operation);

	rank->own_ns += passage->own_ns + waited_ns;
	rank->unseen_ns += passage->unseen_ns;
	rank->inside_ns += passage->inside_ns - waited_ns;
	rank->device_ns += waited_ns;
	rank->room_ns += waited_ns;
	rank->operations++;
	/* What a rank works longer may be in front of its replays, whose launches are not known: then it is not said to
	 * be its device's. */
	bool replays = passage->instance->communicator->members[passage->member].process->timed;
	if (!passage->own_ns || !operation->launch_ns)
		return;
	/* Both times are seen by polling: what is near either is not told apart. */
	uint64_t until_ns = passage->from_ns + passage->own_ns, launch_ns = operation->launch_ns;
	if (launch_ns > passage->from_ns + LATENESS_NOISE_NS)
		rank->host_ns += (launch_ns < until_ns ? launch_ns : until_ns) - passage->from_ns;
	else if (launch_ns + 2 * LATENESS_NOISE_NS < until_ns && !replays)
		rank->device_ns += passage->own_ns;
}

static uint32_t micros(uint64_t ns)
{
	return (uint32_t)(ns / 1000);
}

static void tell(const struct roster_rank *rank, const struct job *job, const struct instance *instance, uint32_t member,
		 uint8_t function, struct outbox *outbox)
{
	struct rw_message message;

	if (!roster_address(&message, job_member_rank(job, &instance->communicator->members[member]), RW_MESSAGE_CUT))
		return;
	message.function = function;
	message.cut = (struct rw_message_cut){
		.comm = instance->communicator->told_id,
		.sequence = instance->sequence,
		.own_us = micros(rank->own_ns),
		.inside_us = micros(rank->inside_ns),
		.unseen_us = micros(rank->unseen_ns),
		.host_us = micros(rank->host_ns),
		.device_us = micros(rank->device_ns),
		.operations = rank->operations,
	};
	outbox_add(outbox, &message);
}

/* Rows are judged as on one host, where waiting for room is inside: of a rank that waits for another one in a second
 * communicator the kernels wait as long. */
static void tell_row(const struct roster_rank *rank, const struct job *job, const struct instance *instance, uint32_t member,
		     const struct row_ends *ends, uint32_t calls, struct outbox *outbox)
{
	struct rw_message message;
	uint64_t row = (instance->sequence + 1) / calls;

	if (row > UINT32_MAX || !roster_address(&message, job_member_rank(job, &instance->communicator->members[member]), RW_MESSAGE_ROW))
		return;
	message.function = instance->function;
	message.row = (struct rw_message_row){
		.comm = instance->communicator->told_id,
		.row = (uint32_t)row,
		.calls = calls,
		.own_us = micros(rank->own_ns - rank->room_ns),
		.inside_us = micros(rank->inside_ns + rank->room_ns),
		.unseen_us = micros(rank->unseen_ns),
		.host_us = micros(rank->host_ns),
		.device_us = micros(rank->device_ns - rank->room_ns),
		.operations = (uint16_t)rank->operations,
		.steps = (uint16_t)ends->steps,
	};
	outbox_add(outbox, &message);
}

/* From one cut to the next it should be neither too short nor too long. How long it is follows from how fast operations
 * come: the last cut was often made with another shift, close before a multiple of this one or while operations came
 * quicker. Where none came for too long, the shift is too large in any case, also where only some of the operations are
 * seen. */
static void fit(struct lane *lane, uint64_t done_ns, bool cut)
{
	uint64_t lasted_ns = done_ns > lane->looked_ns ? done_ns - lane->looked_ns : 0;
	double each_ns = (double)lasted_ns / lane->seen;
	double stretch_ns = each_ns * (double)(UINT64_C(1) << lane->shift);

	if (cut && lane->last_ns && done_ns < lane->last_ns + CUTS_SHORT_NS)
		lane->shift += stretch_ns < CUTS_SHORT_NS && lane->shift < CUTS_SHIFT_MAX;
	else if (lasted_ns > CUTS_LONG_NS && lane->shift)
		do
			stretch_ns = each_ns * (double)(UINT64_C(1) << --lane->shift);
		while (lane->shift && stretch_ns > CUTS_LONG_NS);
	lane->seen = 0;
	lane->looked_ns = done_ns;
	lane->last_ns = cut ? done_ns : lane->last_ns;
}

/* The number of calls, roughly: as a power of two. */
static int magnitude(uint64_t number)
{
	return number ? 64 - __builtin_clzll(number) : 0;
}

/* Is this function the one whose operations make cuts? It is the one that was called most so far, which is the same
 * on all hosts, whenever they began to look; of such that were called about as often it is the one with the least
 * number. */
static bool is_cutting(struct lane *lane, uint8_t function, uint64_t number, uint64_t done_ns)
{
	bool stale = done_ns > lane->seen_ns + CUTS_STALE_NS;
	int more = magnitude(number) - magnitude(lane->number);

	if (!lane->function || (lane->function != function && (stale || more > 0 || (!more && function < lane->function))))
		*lane = (struct lane){ .function = function, .looked_ns = done_ns };
	if (lane->function != function)
		return false;
	lane->number = number;
	lane->seen++;
	lane->seen_ns = done_ns;
	return true;
}

void cuts_note(struct roster *roster, const struct job *job, const struct account_passage *passage, struct outbox *outbox)
{
	const struct instance *instance = passage->instance;
	const struct communicator *communicator = instance->communicator;
	const struct operation *operation = &instance->operations[passage->member];
	struct roster_rank *rank = roster_rank(roster, job, communicator->members[passage->member].rank);

	if (!rank)
		return;
	add_up(rank, passage, operation);
	/* Replays and other calls are not in one order of numbers. */
	if (!roster_spans(communicator) || !instance_keeps_all(instance) || instance_is_replay(instance))
		return;
	struct roster_member *member = roster_member(roster, communicator, passage->member);
	uint8_t function = instance->function | (instance->by_interposer ? RW_MESSAGE_APART : 0);
	uint64_t number = instance->sequence + 1;
	if (!member)
		return;
	/* Members that send to each other may be stages, which are not compared. */
	uint32_t calls = communicator->point_to_point ? 0 : row_ends_note(&member->row_ends, instance, operation->done_ns);
	if (calls)
		tell_row(rank, job, instance, passage->member, &member->row_ends, calls, outbox);
	if (!is_cutting(&member->lane, function, number, operation->done_ns))
		return;
	bool cut = !(number & ((UINT64_C(1) << member->lane.shift) - 1));
	if (cut)
		tell(rank, job, instance, passage->member, function, outbox);
	if (cut || operation->done_ns > member->lane.looked_ns + CUTS_LONG_NS)
		fit(&member->lane, operation->done_ns, cut);
}
