/* SPDX-License-Identifier: MIT */
#include "analysis/node/results.h"

#include <stdlib.h>

#include "analysis/known/values.h"
#include "base/numbers/splitmix.h"

static void tell(const struct job *job, const struct communicator *communicator, uint32_t member, uint8_t function,
		 const struct result_row *row, struct outbox *outbox)
{
	struct rw_message message;

	if (!roster_address(&message, job_member_rank(job, &communicator->members[member]), RW_MESSAGE_RESULTS))
		return;
	message.function = function;
	message.results = (struct rw_message_results){
		.comm = communicator->told_id,
		.row = row->row - 1,
		.set = row->set,
		.digests = row->digests,
		.operations = row->operations,
	};
	outbox_add(outbox, &message);
}

static void add(struct result_rows *results, uint64_t sequence, uint64_t digest)
{
	uint64_t number = sequence / RW_RESULTS_ROW, at = sequence % RW_RESULTS_ROW, bit = UINT64_C(1) << at % 64;
	struct result_row *row = &results->rows[number % 2];

	if (row->row > number + 1)
		return; /* that row has been told, or is too old */
	if (row->row != number + 1)
		*row = (struct result_row){ .row = number + 1 };
	if (row->seen[at / 64] & bit)
		return; /* it was judged before */
	row->seen[at / 64] |= bit;
	row->set += splitmix_mix(sequence + SPLITMIX_STEP); /* sums of other numbers are other sums */
	row->digests += digest;
	row->operations++;
}

/* The row before this one, once half of this one has come: scans end in another order than operations. */
static struct result_row *find_ended(struct result_rows *results, uint64_t sequence)
{
	uint64_t number = sequence / RW_RESULTS_ROW;
	struct result_row *row = &results->rows[(number + 1) % 2];

	return sequence % RW_RESULTS_ROW >= RW_RESULTS_ROW / 2 && row->row == number && row->operations ? row : NULL;
}

static struct result_rows *open_rows(struct roster_member *member, uint8_t function, uint64_t now_ns)
{
	struct result_rows *room = NULL;

	if (!member->results)
		member->results = calloc(RESULTS_FUNCTIONS, sizeof(*member->results));
	for (int i = 0; member->results && i < RESULTS_FUNCTIONS; i++) {
		struct result_rows *results = &member->results[i];
		if (results->function == function)
			return results;
		if (!room && (!results->function || now_ns > results->last_ns + RESULTS_STALE_NS))
			room = results;
	}
	if (room)
		*room = (struct result_rows){ .function = function };
	return room;
}

static void note(struct roster *roster, const struct job *job, const struct instance *instance, uint32_t i,
		 struct outbox *outbox, uint64_t now_ns)
{
	const struct rw_scan *scan = value_scan(instance, i, VALUE_OUT);
	struct roster_member *member = scan ? roster_member(roster, instance->communicator, i) : NULL;
	uint8_t function = instance->function | (instance->by_interposer ? RW_MESSAGE_APART : 0);
	struct result_rows *results = member ? open_rows(member, function, now_ns) : NULL;

	if (!results)
		return;
	results->last_ns = now_ns;
	add(results, instance->sequence, scan->digest);
	struct result_row *ended = find_ended(results, instance->sequence);
	if (!ended)
		return;
	tell(job, instance->communicator, i, function, ended, outbox);
	/* What is scanned even later is of a row that was told. */
	*ended = (struct result_row){ .row = ended->row + 2 };
}

void results_note(struct roster *roster, const struct job *job, const struct instance *instance, struct outbox *outbox,
		  uint64_t now_ns)
{
	/* Replays of a captured call are numbered by each process for itself. */
	if (!roster_spans(instance->communicator) || !value_is_symmetric(instance) || instance_is_replay(instance))
		return;
	for (uint32_t i = 0; i < instance->communicator->member_count; i++)
		note(roster, job, instance, i, outbox, now_ns);
}
