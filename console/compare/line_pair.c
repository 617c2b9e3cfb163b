/* SPDX-License-Identifier: MIT */
#include "console/compare/line_pair.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "console/compare/compare.h"
#include "console/trace/operation_arguments.h"
#include "finding/finding_json.h"

enum { TRIES = 16 };

static bool has_peer(const struct rw_operation *operation)
{
	bool known = operation->known & (RW_KNOWN_TASK | RW_KNOWN_CALL) && !(operation->flags & RW_FLAG_PEER_UNKNOWN);

	switch (operation->function) {
	case RW_FUNCTION_BROADCAST:
	case RW_FUNCTION_GATHER:
	case RW_FUNCTION_REDUCE:
	case RW_FUNCTION_SCATTER:
	case RW_FUNCTION_SEND:
	case RW_FUNCTION_RECV:
		return known;
	default:
		return false;
	}
}

/* Numbered alike: the same call of its kind. */
static bool is_same_call(const struct rw_operation *a, const struct rw_operation *b)
{
	return a->function == b->function && a->sequence == b->sequence &&
	       (!has_peer(a) || !has_peer(b) || a->root_or_peer == b->root_or_peer);
}

static bool are_alike(const struct rw_operation *a, const struct rw_operation *b)
{
	uint8_t reduces_a = rw_operator(a->flags), reduces_b = rw_operator(b->flags);

	return a->function == b->function && a->count == b->count && (!a->dtype || !b->dtype || a->dtype == b->dtype) &&
	       (!has_peer(a) || !has_peer(b) || a->root_or_peer == b->root_or_peer) &&
	       (!reduces_a || !reduces_b || reduces_a == reduces_b);
}

/* "AllReduce #12 of 4096 bf16, maximum", "Send #3 of 16 fp32 to 2" */
static void describe(char *text, const struct rw_operation *operation)
{
	static const char *const operators[] = { [RW_OPERATOR_PRODUCT] = ", product",
						 [RW_OPERATOR_MAX] = ", maximum",
						 [RW_OPERATOR_MIN] = ", minimum",
						 [RW_OPERATOR_AVERAGE] = ", average",
						 [RW_OPERATOR_SCALED_SUM] = ", scaled sum",
						 [RW_OPERATOR_COUNT - 1] = "" };
	const char *dtype = finding_dtype_name(operation->dtype), *reduces = operators[rw_operator(operation->flags)];
	bool sends = operation->function == RW_FUNCTION_SEND, receives = operation->function == RW_FUNCTION_RECV;
	char peer[32] = "";

	if (has_peer(operation))
		snprintf(peer, sizeof(peer), " %s %" PRId32, sends ? "to" : receives ? "from" : "with root",
			 operation->root_or_peer);
	snprintf(text, LINE_PAIR_TEXT, "%s #%" PRIu64 " of %" PRIu64 "%s%s%s%s", operation_name(operation),
		 operation->sequence, operation->count, dtype ? " " : "", dtype ? dtype : "", reduces ? reduces : "",
		 peer);
}

static const struct rw_scan *scan_of(const struct rw_operation *operation, int side)
{
	if (!(operation->known & (side ? RW_KNOWN_SCAN_OUT : RW_KNOWN_SCAN_IN)))
		return NULL;
	return side ? &operation->scan_out : &operation->scan_in;
}

/* How many bad values, or the magnitude, or the bits, of "the input of AllGather #3 of 64 bf16". */
static void describe_value(char *text, const struct rw_operation *operation, int side, enum parting_kind kind)
{
	const struct rw_scan *scan = scan_of(operation, side);
	char call[LINE_PAIR_TEXT];

	describe(call, operation);
	if (kind == PARTING_BAD)
		snprintf(text, LINE_PAIR_TEXT, "%" PRIu32 " NaN and %" PRIu32 " Inf in the %s of %.120s", scan->nan,
			 scan->inf, side ? "result" : "input", call);
	else if (kind == PARTING_MAGNITUDE)
		snprintf(text, LINE_PAIR_TEXT, "%.6g in the %s of %.120s", (double)scan->absmax,
			 side ? "result" : "input", call);
	else
		snprintf(text, LINE_PAIR_TEXT, "%016" PRIx64 " in the %s of %.120s", scan->digest,
			 side ? "result" : "input", call);
}

static void note(const struct line_pair *pair, struct line_pair_news *news, enum parting_kind kind, int side)
{
	news->call = pair->now[TIMES_A];
	news->result = side;
	for (int run = 0; run < TIMES_SIDES; run++) {
		if (kind == PARTING_CALLS)
			describe(news->texts[run], pair->now[run]);
		else
			describe_value(news->texts[run], pair->now[run], side, kind);
	}
}

static bool is_news(struct line_pair *pair, enum parting_kind kind)
{
	bool news = !(pair->said & 1u << kind);

	pair->said |= 1u << kind;
	pair->news |= news ? 1u << kind : 0;
	return news;
}

static bool magnitudes_differ(const struct rw_scan *a, const struct rw_scan *b)
{
	double one = (double)a->absmax, other = (double)b->absmax;

	return fabs(one - other) > COMPARE_MAGNITUDE * fmax(fabs(one), fabs(other));
}

/* A value that rounding has moved comes back; a run that has taken another way does not. */
static void compare_magnitudes(struct line_pair *pair, const struct rw_scan *a, const struct rw_scan *b, int side)
{
	if (!magnitudes_differ(a, b)) {
		pair->row[side] = 0;
		return;
	}
	if (pair->row[side]++ == 0)
		note(pair, &pair->row_start[side], PARTING_MAGNITUDE, side);
	if (pair->row[side] >= LINE_PAIR_ROW && is_news(pair, PARTING_MAGNITUDE))
		pair->reported[PARTING_MAGNITUDE] = pair->row_start[side];
}

static bool is_bad(const struct rw_scan *scan)
{
	return scan->nan || scan->inf;
}

/* Beside NaN and Inf the largest value is that of what is left, and the bits differ for that reason. */
static void compare_scans(struct line_pair *pair, const struct rw_scan *a, const struct rw_scan *b, int side)
{
	pair->scans++;
	pair->digests += a->digest && b->digest;
	if (is_bad(a) != is_bad(b) && is_news(pair, PARTING_BAD))
		note(pair, &pair->reported[PARTING_BAD], PARTING_BAD, side);
	if (is_bad(a) || is_bad(b))
		return;
	compare_magnitudes(pair, a, b, side);
	if (a->digest && b->digest && (a->digest != b->digest || a->lane_sum != b->lane_sum) &&
	    is_news(pair, PARTING_BITS))
		note(pair, &pair->reported[PARTING_BITS], PARTING_BITS, side);
}

static void compare_values(struct line_pair *pair)
{
	for (int side = 0; side < 2; side++) {
		const struct rw_scan *a = scan_of(pair->now[TIMES_A], side), *b = scan_of(pair->now[TIMES_B], side);

		if (a && b)
			compare_scans(pair, a, b, side);
	}
}

static size_t find(const struct side_line *line, const struct rw_operation *call)
{
	size_t at = 0;

	while (at < line->count && !is_same_call(line->list[at], call))
		at++;
	return at;
}

/* Each box holds the newest calls: the first of the one that begins later is in the other, too. A few are tried,
 * because one that was still in flight when the ring went round is kept. */
static bool align(struct line_pair *pair, enum times_side side)
{
	const struct side_line *later = pair->lines[side], *other = pair->lines[!side];

	for (size_t i = 0; i < later->count && i < TRIES; i++) {
		size_t at = find(other, later->list[i]);

		if (at == other->count)
			continue;
		pair->at[side] = i;
		pair->at[!side] = at;
		return true;
	}
	return false;
}

void line_pair_begin(struct line_pair *pair, const struct side_line *const lines[TIMES_SIDES], bool whole)
{
	*pair = (struct line_pair){ .lines = { lines[TIMES_A], lines[TIMES_B] } };
	if (whole || align(pair, TIMES_A) || align(pair, TIMES_B))
		return;
	for (int run = 0; run < TIMES_SIDES; run++)
		pair->at[run] = lines[run]->count;
}

bool line_pair_next(struct line_pair *pair)
{
	pair->news = 0;
	if (pair->parted || !line_pair_left(pair, TIMES_A) || !line_pair_left(pair, TIMES_B))
		return false;
	for (int run = 0; run < TIMES_SIDES; run++)
		pair->now[run] = pair->lines[run]->list[pair->at[run]++];
	pair->parted = !are_alike(pair->now[TIMES_A], pair->now[TIMES_B]);
	if (pair->parted && is_news(pair, PARTING_CALLS))
		note(pair, &pair->reported[PARTING_CALLS], PARTING_CALLS, 0);
	else if (!pair->parted)
		compare_values(pair);
	return true;
}

size_t line_pair_left(const struct line_pair *pair, enum times_side side)
{
	return pair->lines[side]->count - pair->at[side];
}
