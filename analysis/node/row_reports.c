/* SPDX-License-Identifier: MIT */
#include "analysis/node/row_reports.h"

#include "analysis/known/kernel_start.h"
#include "analysis/measure/lateness.h"

/* How long inside the operation the rank's kernel waited for room on its GPU, and in no other operation. Where the host
 * sees several members, that has already moved the arrival of the one that the others waited for
 * (analysis/known/kernel_start.h). Where it sees one, only the judge of the job can compare how long the members were
 * inside. */
static uint64_t room_ns(const struct account_passage *passage, const struct operation *operation)
{
	const struct instance *instance = passage->instance;
	uint64_t from_ns = operation->done_ns - passage->inside_ns, until_ns = kernel_start_ns(operation);

	if (instance->joined != 1 || !instance_keeps_all(instance) || until_ns < from_ns + LATENESS_NOISE_NS)
		return 0;
	uint64_t beside_ns =
	    kernel_start_beside_ns(instance->communicator->members[passage->member].process, operation);
	until_ns = until_ns < operation->done_ns ? until_ns : operation->done_ns;
	until_ns = until_ns < beside_ns ? until_ns : beside_ns;
	return until_ns > from_ns ? until_ns - from_ns : 0;
}

static void add_up(struct roster_rank *rank, const struct account_passage *passage, const struct operation *operation)
{
	uint64_t waited_ns = room_ns(passage, operation);

	rank->own_ns += passage->own_ns + waited_ns;
	rank->unseen_ns += passage->unseen_ns;
	rank->inside_ns += passage->inside_ns - waited_ns;
	rank->device_ns += waited_ns;
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

static void report(const struct roster_rank *rank, const struct job *job, const struct instance *instance,
		   uint32_t member, const struct row_ends *ends, uint32_t calls, struct outbox *outbox)
{
	struct rw_message message;
	const struct rank *known = job_member_rank(job, &instance->communicator->members[member]);
	uint64_t row = (instance->sequence + 1) / calls;

	if (row > UINT32_MAX || !roster_address(&message, known, RW_MESSAGE_ROW))
		return;
	message.function = row_ends_function(instance);
	message.row = (struct rw_message_row){
		.comm = instance->communicator->told_id,
		.row = (uint32_t)row,
		.calls = calls,
		.own_us = micros(rank->own_ns),
		.inside_us = micros(rank->inside_ns),
		.unseen_us = micros(rank->unseen_ns),
		.host_us = micros(rank->host_ns),
		.device_us = micros(rank->device_ns),
		.operations = (uint16_t)rank->operations,
		.steps = (uint16_t)row_ends_steps(ends),
	};
	outbox_add(outbox, &message);
}

void row_reports_note(struct roster *roster, const struct job *job, const struct account_passage *passage,
		      struct outbox *outbox)
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
	uint32_t calls = member ? row_ends_note(&member->row_ends, instance, operation->done_ns) : 0;
	if (calls)
		report(rank, job, instance, passage->member, &member->row_ends, calls, outbox);
}
