/* SPDX-License-Identifier: MIT */
/*
 * The results of scans of an instance's buffers, by member and side, and when they are judged: as soon as all expected
 * results are there, else after a while. A job without scans pays for one test per operation.
 */
#ifndef ANALYSIS_KNOWN_VALUES_H
#define ANALYSIS_KNOWN_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/known/instances.h"

#define VALUES_KNOWN     (RW_KNOWN_SCAN_IN | RW_KNOWN_SCAN_OUT)
#define VALUES_SETTLE_NS 1000000000u /* waits this long for the results of the other ranks */
#define VALUES_NUMBERS   64 /* most elements of a reduction of such numbers: losses, norms, metrics of an evaluation */

struct analysis;

enum value_side { VALUE_IN, VALUE_OUT };
/* Clean: finite. Unknown: not scanned, or bytes of unknown type. */
enum value_state { VALUE_UNKNOWN, VALUE_CLEAN, VALUE_BAD };

/* Called when an instance is judged: no further values are waited for. It may be judged again. */
typedef void values_visit(void *argument, const struct instance *instance, uint64_t now_ns);

/* Instances that wait to be judged, oldest first. */
struct values {
	struct values_waiting {
		struct instance *instance;
		uint32_t serial;
		uint64_t since_ns;
	} *waiting;
	uint32_t count, room;
	bool seen; /* any scan at all */
	values_visit *visit; /* NULL: none is set */
	void *visit_argument;
};

void values_note(struct analysis *analysis, struct instance *instance, uint32_t member,
		 const struct rw_operation *slot);
/* Has the instance judged (again): a scan or its place in the step has become known. */
void values_queue(struct analysis *analysis, struct instance *instance);
/* The scan of a member's buffer; NULL: not scanned. */
const struct rw_scan *value_scan(const struct instance *instance, uint32_t member, enum value_side side);
enum value_state value_state(const struct instance *instance, uint32_t member, enum value_side side);
/* Whether the operation reads (VALUE_IN) or writes (VALUE_OUT) a buffer of this member. */
bool value_matters(const struct instance *instance, uint32_t member, enum value_side side);
/* Whether the function sums or picks over ranks; other functions copy. */
bool value_is_reduction(const struct instance *instance);
/* Whether what this scan saw in one of its buffers makes a reduction's result bad. With a sum it does; the maximum of
 * -Inf and numbers is a number. Where the operator is not known, Inf may do either: VALUE_MAY_SPOIL. */
enum value_effect { VALUE_SPARES, VALUE_MAY_SPOIL, VALUE_SPOILS };
enum value_effect value_effect(const struct instance *instance, const struct rw_scan *scan);
/* Whether it has so few elements that they are numbers for people: losses, norms, metrics. Those have no padding. */
bool value_is_number(const struct instance *instance);
/* Whether the operation gives every rank the same bits. */
bool value_is_symmetric(const struct instance *instance);
/* Elements of the buffer. */
uint64_t value_elements(const struct instance *instance, enum value_side side);
/* Largest finite magnitude of the type; 0 for types that hold no fractions. */
double value_type_largest(uint8_t dtype);
void values_free(struct values *values);

#endif
