/* SPDX-License-Identifier: MIT */
/* Did a fire drill find what it was to find? */
#ifndef CONSOLE_TRIALS_DRILL_VERDICT_H
#define CONSOLE_TRIALS_DRILL_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

struct drill_verdict {
	bool ready;      /* the library was at work in the rank's process */
	bool begun, over;
	uint64_t delays;
	double begun_ms, over_ms; /* since 1970 */
	const json_t *named;      /* the first finding, from warning up, that it is late; NULL none. The caller's … */
	double named_after_ms;    /* … and how long after the first delay it was reported */
	const json_t *other;      /* the first that names another rank as late; NULL none */
};

/* log: the library's lines; findings: in the order in which they were reported. */
void drill_verdict_reach(struct drill_verdict *verdict, const json_t *log, const json_t *findings, int32_t rank);
/* Sentences for people, one a line; named or why not. */
void drill_verdict_print(FILE *out, const struct drill_verdict *verdict, int32_t rank);
json_t *drill_verdict_json(const struct drill_verdict *verdict, int32_t rank);

#endif
