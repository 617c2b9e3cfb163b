/* SPDX-License-Identifier: MIT */
/*
 * What scans saw in the buffers of an instance, by member and side, and when it is judged: as soon as all that is expected
 * is there, else after a while. A job without scans pays for one test per operation.
 */
#ifndef ANALYSIS_VALUES_H
#define ANALYSIS_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/instances.h"

#define VALUES_KNOWN     (RW_KNOWN_SCAN_IN | RW_KNOWN_SCAN_OUT)
#define VALUES_SETTLE_NS 1000000000u /* for the results of the other ranks */
#define VALUES_NUMBERS   64 /* elements of a reduction, at most: losses, norms, metrics of an evaluation */

struct analysis;

enum value_side { VALUE_IN, VALUE_OUT };
/* Clean: finite. Unknown: not scanned, or bytes of unknown type. */
enum value_state { VALUE_UNKNOWN, VALUE_CLEAN, VALUE_BAD };

/* An instance is judged: what is known of its values by now is all that is waited for. It may be judged again. */
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
	values_visit *visit; /* NULL: nobody is told */
	void *visit_argument;
};

void values_note(struct analysis *analysis, struct instance *instance, uint32_t member, const struct rw_operation *slot);
/* Has the instance judged (again): a scan or its place in the step has become known. */
void values_queue(struct analysis *analysis, struct instance *instance);
/* Judges what is due; over: nothing more will come. */
void values_tick(struct analysis *analysis, bool over, uint64_t now_ns);
/* NULL: not scanned. */
const struct rw_scan *value_scan(const struct instance *instance, uint32_t member, enum value_side side);
enum value_state value_state(const struct instance *instance, uint32_t member, enum value_side side);
/* Does the operation read (write) a buffer of this member? */
bool value_matters(const struct instance *instance, uint32_t member, enum value_side side);
/* Sums or picks over ranks; the others copy. */
bool value_is_reduction(const struct instance *instance);
/* Does it make a reduction's result bad that a scan saw this in one of its buffers? Adding does; the largest of -Inf and
 * numbers is a number. Where the operator is not known Inf may be either: VALUE_MAY_SPOIL. */
enum value_effect { VALUE_SPARES, VALUE_MAY_SPOIL, VALUE_SPOILS };
enum value_effect value_effect(const struct instance *instance, const struct rw_scan *scan);
/* So few elements that they are numbers for people: losses, norms, metrics. They have no padding. */
bool value_is_number(const struct instance *instance);
/* Gives every rank the same bits. */
bool value_is_symmetric(const struct instance *instance);
/* Elements of the buffer. */
uint64_t value_elements(const struct instance *instance, enum value_side side);
/* Largest finite magnitude of the type; 0 for those that hold no fractions. */
double value_type_largest(uint8_t dtype);
void values_free(struct values *values);

#endif
