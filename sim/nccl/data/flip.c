/* SPDX-License-Identifier: MIT */
#include "sim/nccl/data/flip.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/nccl/data/number.h"

enum side { NOWHERE, SENT, RECEIVED };

static struct {
	enum side side;
	enum function function;
	int rank; /* of the communicator */
	unsigned long long number, byte;
	unsigned int bit;
	ncclResult_t checked;
} flip;

static enum side read_side(const char *word)
{
	return strcmp(word, "sent") == 0 ? SENT : strcmp(word, "received") == 0 ? RECEIVED : NOWHERE;
}

/* FUNCTIONS: none is called so, or not on this side. */
static enum function read_function(const char *word, enum side side)
{
	enum function function = 0;

	while (function < FUNCTIONS && strcmp(function_name(function), word) != 0)
		function++;
	return function == FUNCTION_SEND || (function == FUNCTION_RECV && side == SENT) ? FUNCTIONS : function;
}

static void read_variable(void)
{
	const char *text = getenv("SIM_NCCL_FLIP");
	char side[16], function[16], rest;

	if (!text || !*text)
		return;
	int fields = sscanf(text, "%15[^:]:%d:%15[^:]:%llu:%llu:%u%c", side, &flip.rank, function, &flip.number,
			    &flip.byte, &flip.bit, &rest);

	if (fields == 6 && flip.bit < 8) {
		flip.side = read_side(side);
		flip.function = read_function(function, flip.side);
	}
	if (flip.side != NOWHERE && flip.function != FUNCTIONS)
		return;
	flip.side = NOWHERE;
	flip.checked = ncclInvalidUsage;
	fprintf(
	    stderr,
	    "stand-in NCCL: SIM_NCCL_FLIP=%s is not SIDE:RANK:FUNCTION:NUMBER:BYTE:BIT with a SIDE sent or received, "
	    "a collective's FUNCTION (or received, Recv) and a BIT from 0 to 7\n",
	    text);
}

static void read_once(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_variable);
}

ncclResult_t flip_check(void)
{
	read_once();
	return flip.checked;
}

static bool is_chosen(const struct task *task, uint64_t number, enum side side)
{
	read_once();
	return flip.side == side && task->comm->rank == flip.rank && task->function == flip.function &&
	       number == flip.number;
}

void flip_sent(const struct task *task, uint64_t number, void *bytes, size_t from, size_t size)
{
	if (is_chosen(task, number, SENT) && flip.byte >= from && flip.byte - from < size)
		((unsigned char *)bytes)[flip.byte - from] ^= (unsigned char)(1u << flip.bit);
}

static size_t received_bytes(const struct task *task)
{
	bool whole = task->function == FUNCTION_ALLGATHER || task->function == FUNCTION_ALLTOALL;
	bool root = task->comm->rank == task->root_or_peer;
	size_t parts = whole || (task->function == FUNCTION_GATHER && root) ? (size_t)task->comm->nranks : 1;
	bool nothing = (task->function == FUNCTION_GATHER || task->function == FUNCTION_REDUCE) && !root;

	return nothing ? 0 : parts * task->count * number_size(task->type);
}

void flip_received(const struct task *task, uint64_t number)
{
	if (is_chosen(task, number, RECEIVED) && flip.byte < received_bytes(task))
		((unsigned char *)task->recv)[flip.byte] ^= (unsigned char)(1u << flip.bit);
}
