/* SPDX-License-Identifier: MIT */
/*
 * What one host saw of a bad value that goes from host to host, and what several hosts saw of it, put together as one
 * finding. docs/messages.md, "Values". Pure; findings are those of docs/findings.md and foreign.
 */
#ifndef COLLECTOR_NATS_VALUE_PARTS_H
#define COLLECTOR_NATS_VALUE_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

enum {
	VALUE_PARTS_PLACE = 112,
	VALUE_PARTS_WHERE = 64, /* entries of `where`, of all hosts together */
	VALUE_PARTS_HOSTS = 8,  /* hosts whose part is described in words */
};

/* What a host saw of a value, from the least to the most. */
enum value_sight {
	VALUE_SIGHT_NONE,   /* it does not say so: a finding of another kind, or of a collector that does not know this
			       key */
	VALUE_SIGHT_RESULT, /* a result, while the inputs of all its ranks were clean */
	VALUE_SIGHT_UNSCANNED, /* a result, while not all inputs of its ranks were scanned */
	VALUE_SIGHT_INPUT,     /* it was an input of one of its ranks, which may have received it before */
	VALUE_SIGHT_MAKER,     /* who made it */
};

/* A finding of a host. */
struct value_part {
	const char *host;
	const json_t *finding;
};

/* Whether it is about NaN or Inf. */
bool value_parts_is_value(const json_t *finding);
enum value_sight value_parts_sight(const json_t *finding);
/* Whether another host may have seen more, or another part of the same: the host does not know who made the value, and
 * saw neither all ranks nor all that came before. */
bool value_parts_is_part(const json_t *finding);
/* Writes which operation it is: communicator, function, number, replay. */
void value_parts_place(char place[VALUE_PARTS_PLACE], const json_t *finding);
/* Makes one finding of the parts that hosts saw of one value at one place. The first part's keys hold where the others
 * add nothing. parts: at least one. The caller owns the result; NULL on lack of memory. */
json_t *value_parts_join(const struct value_part *parts, size_t count);

#endif
