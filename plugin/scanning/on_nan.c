/* SPDX-License-Identifier: MIT */
#include "plugin/scanning/on_nan.h"

#include <stddef.h>

#define WAIT_NS UINT64_C(1000000000) /* for scans that are still out: what they find counts, too */

enum { PROBES = 8, BAD = 1 };

/* NULL: it is not remembered, and there is no room for it. */
static uint64_t *find(struct on_nan *on_nan, uint64_t buffer)
{
	for (uint64_t i = 0; i < PROBES; i++) {
		uint64_t *input = &on_nan->inputs[(buffer / 2 + i) % ON_NAN_INPUTS];

		if (!*input || (*input | BAD) == (buffer | BAD))
			return input;
	}
	return NULL;
}

/* This input has been seen, and was clean each time: what is in it now was not there from the start. */
static bool was_always_clean(struct on_nan *on_nan, const struct on_nan_scan *scan)
{
	uint64_t *input = find(on_nan, scan->buffer);

	return input && *input && !(*input & BAD);
}

static void remember(struct on_nan *on_nan, const struct on_nan_scan *scan)
{
	uint64_t *input = find(on_nan, scan->buffer);
	bool bad = scan->nan || scan->inf || (input && *input & BAD);

	if (input)
		*input = ((scan->buffer | BAD) ^ BAD) | (bad ? BAD : 0);
}

/* From an element in it to its end. */
static bool is_tail(const struct on_nan_scan *scan)
{
	return scan->first_bad && scan->first_bad + scan->nan >= scan->elements;
}

static bool can_end(struct on_nan *on_nan, const struct on_nan_scan *scan)
{
	return scan->is_input && scan->is_before && scan->nan && !scan->inf && !is_tail(scan) && !scan->is_first &&
	       was_always_clean(on_nan, scan);
}

void on_nan_take(struct on_nan *on_nan, const struct on_nan_scan *scan, uint64_t now_ns)
{
	bool bad_output = scan->is_output && (scan->nan || scan->inf);

	if (scan->is_half)
		on_nan->doubt = "the job has fp16 buffers, in which a loss scaler makes such values on purpose";
	else if (scan->inf)
		on_nan->doubt = "there were infinities, as a loss scaler makes them on purpose";
	if (bad_output && (!on_nan->bad_output || scan->ticket < on_nan->bad_output))
		on_nan->bad_output = scan->ticket;
	/* Of several the one that came first. */
	if (can_end(on_nan, scan) && (!on_nan->ticket || scan->ticket < on_nan->ticket)) {
		on_nan->until_ns = on_nan->ticket ? on_nan->until_ns : now_ns + WAIT_NS;
		on_nan->ticket = scan->ticket;
	}
	if (scan->is_input)
		remember(on_nan, scan);
}

bool on_nan_ends(struct on_nan *on_nan, bool out, uint64_t now_ns)
{
	if (!on_nan->ticket || (out && now_ns < on_nan->until_ns))
		return false;
	if (!on_nan->doubt && on_nan->bad_output && on_nan->bad_output < on_nan->ticket)
		on_nan->doubt = "this rank had received bad values before";
	if (!on_nan->doubt)
		return true;
	on_nan->ticket = 0;
	return false;
}
