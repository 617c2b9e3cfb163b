/* SPDX-License-Identifier: MIT */
#include "analysis/batch.h"

#include <string.h>

#include <rankwatch/finding.h>
#include <rankwatch/operation.h>

static bool ends(const char *text, size_t room)
{
	return memchr(text, 0, room);
}

const char *batch_refuse(const void *bytes, size_t length, struct rw_batch *header)
{
	if (length < sizeof(*header))
		return "it is shorter than a batch's header";
	memcpy(header, bytes, sizeof(*header));
	if (header->magic != RW_BATCH_MAGIC)
		return "it is no batch of messages";
	if (header->version != RW_BATCH_VERSION)
		return "its layout is of another version of rankwatch";
	if (length > RW_BATCH_MAX)
		return "it is longer than a batch may be";
	if (header->count > RW_BATCH_MAX / RW_MESSAGE_SIZE ||
	    length != sizeof(*header) + (size_t)header->count * RW_MESSAGE_SIZE)
		return "its length is not that of the messages that it says it has";
	if (!ends(header->host, sizeof(header->host)) || !ends(header->job, sizeof(header->job)))
		return "the name of its host or job has no end";
	if (!header->host[0])
		return "it does not say of which host it is";
	return NULL;
}

static bool is_function(uint8_t function)
{
	uint8_t plain = function & (uint8_t)~RW_MESSAGE_APART;

	return plain && plain < RW_FUNCTION_COUNT;
}

static bool is_row(const struct rw_message *message)
{
	const struct rw_message_row *row = &message->row;

	return is_function(message->function) && row->row && row->calls &&
	       (!row->steps || row->calls % row->steps == 0);
}

static bool is_finding(const struct rw_message_finding *finding)
{
	return finding->kind < RW_KIND_COUNT && finding->state <= RW_FINDING_CLOSED &&
	       finding->severity <= RW_CRITICAL && finding->confidence <= RW_INCONCLUSIVE &&
	       finding->scope <= RW_SCOPE_JOB && finding->class_ < RW_CAUSE_COUNT &&
	       finding->late_kind <= RW_LATE_TRANSFER && ends(finding->cause, sizeof(finding->cause));
}

bool batch_message(const void *bytes, uint32_t i, struct rw_message *message)
{
	memcpy(message, (const char *)bytes + sizeof(struct rw_batch) + (size_t)i * sizeof(*message), sizeof(*message));
	switch (message->type) {
	case RW_MESSAGE_RANK:
		return message->of_rank.life <= RW_MESSAGE_KILLED;
	case RW_MESSAGE_MEMBER:
		return ends(message->member.name, sizeof(message->member.name)) && message->member.size >= 0 &&
		       message->member.comm_rank >= 0;
	case RW_MESSAGE_ROW:
		return is_row(message);
	case RW_MESSAGE_RESULTS:
		return is_function(message->function) && message->results.operations &&
		       message->results.operations <= RW_RESULTS_ROW;
	case RW_MESSAGE_CALLS:
		return !message->function || is_function(message->function);
	case RW_MESSAGE_FLIGHT:
		return is_function(message->function) && message->flight.phase <= RW_PHASE_RUNNING &&
		       message->flight.dtype < RW_DTYPE_COUNT && message->flight.awaits >= 0;
	case RW_MESSAGE_WHY:
		return message->why.progress <= RW_MESSAGE_STANDS && message->why.level <= RW_LEVEL_EBPF &&
		       message->why.class_ < RW_CAUSE_COUNT && ends(message->why.text, sizeof(message->why.text));
	case RW_MESSAGE_FINDING:
		return is_finding(&message->finding);
	case RW_MESSAGE_ASK:
		return true;
	case RW_MESSAGE_ASK_CALLS:
		return message->ask_calls.shift <= RW_CALLED_SHIFT_MAX;
	case RW_MESSAGE_CALLED:
		return (!message->function ||
			(is_function(message->function) && !(message->function & RW_MESSAGE_APART))) &&
		       message->called.index < RW_CALLED_MAX && message->called.dtype < RW_DTYPE_COUNT;
	case RW_MESSAGE_REASON:
		return message->reason.class_ < RW_CAUSE_COUNT && message->reason.level <= RW_LEVEL_EBPF &&
		       message->reason.late_kind <= RW_LATE_TRANSFER && message->reason.pieces <= RW_REASON_PIECES &&
		       message->reason.piece < message->reason.pieces;
	case RW_MESSAGE_INIT:
		return message->init.size > 1 && message->init.comm_rank >= 0 &&
		       message->init.comm_rank < message->init.size && message->init.world_size >= message->init.size &&
		       message->rank < message->init.world_size && message->init.life <= RW_MESSAGE_KILLED;
	case RW_MESSAGE_ABSENT:
		return message->absent.absence >= RW_MESSAGE_ABSENT_STOPPED &&
		       message->absent.absence <= RW_MESSAGE_ABSENT_PASSED && message->absent.level <= RW_LEVEL_EBPF &&
		       message->absent.class_ < RW_CAUSE_COUNT &&
		       ends(message->absent.text, sizeof(message->absent.text));
	default:
		return false;
	}
}
