/* SPDX-License-Identifier: MIT */
#include "analysis/steps/omission.h"

#include "analysis/steps/period.h"

enum {
	OMITTED_MAX = 256,
	/* So many times what was left out must be explained. An evaluation is a step without its backward pass; where
	 * steps have ends it lacks these, too. */
	EXPLAINED_MIN = 2,
	EXPLAINED_ENDLESS_MIN = 8,
	EXPLAINED_PER_EXTRA = 4,
};

/* So many may be left out that enough is left to explain. */
static uint32_t omitted_most(const struct omission_pattern *pattern)
{
	uint32_t most = pattern->length / ((pattern->ended ? EXPLAINED_MIN : EXPLAINED_ENDLESS_MIN) + 1);

	return most < OMITTED_MAX ? most : OMITTED_MAX;
}

/* How many operations are left out between `at` and the next place that has such a one; 0: there is none near. */
static uint32_t look_ahead(const struct omission_pattern *pattern, uint32_t at, uint32_t signature)
{
	uint32_t most = omitted_most(pattern);

	for (uint32_t omitted = 1; omitted <= most; omitted++) {
		at = at + 1 < pattern->length ? at + 1 : 0;
		if (pattern->signatures[at] == signature)
			return omitted;
	}
	return 0;
}

static void explain(struct omission *omission, const struct omission_call *call)
{
	omission->ahead++;
	omission->matched++;
	omission->unbroken++;
	omission->run++;
	omission->ends += call->ends && !call->fits;
	*(call->signature & PERIOD_FIRST_THREAD ? &omission->by_first : &omission->by_others) = true;
}

static void begin(struct omission *omission, const struct omission_pattern *pattern, const struct omission_call *call)
{
	uint32_t omitted = look_ahead(pattern, call->position, call->signature);

	*omission = (struct omission){ .ahead = omitted, .omitted = omitted };
	if (omitted)
		explain(omission, call);
}

/* More was left out, where that may be: of operations that are alike the first reading may have taken the wrong one. */
static bool leave_out(struct omission *omission, const struct omission_pattern *pattern, uint32_t at,
		      const struct omission_call *call)
{
	uint32_t omitted = look_ahead(pattern, at, call->signature);

	if (!omitted || omission->ahead + omitted >= pattern->length + call->fits ||
	    omission->omitted + omitted > omitted_most(pattern))
		return false;
	omission->ahead += omitted;
	omission->omitted += omitted;
	omission->unbroken = 0;
	return true;
}

static void go_on(struct omission *omission, const struct omission_pattern *pattern, const struct omission_call *call)
{
	uint32_t at = (call->position + omission->ahead) % pattern->length;
	bool better = !call->fits || omission->run > call->fitting;

	if (pattern->signatures[at] == call->signature || (better && leave_out(omission, pattern, at, call))) {
		explain(omission, call);
	} else {
		omission->extras++;
		omission->run = 0;
	}
	omission->ahead -= call->fits;
}

static enum omission_verdict judge(const struct omission *omission, const struct omission_pattern *pattern)
{
	bool shown = omission->ends || !pattern->ended;
	uint32_t least = omission->ends ? EXPLAINED_MIN : EXPLAINED_ENDLESS_MIN;

	if (omission->matched < omission->omitted * least)
		return OMISSION_NONE;
	if (shown)
		return OMISSION_SHOWN;
	return omission->by_first && omission->by_others ? OMISSION_DOUBTFUL : OMISSION_NONE;
}

/* Given up. If a step has ended by it, nobody knows whether that was one. */
static enum omission_verdict drop(struct omission *omission, const struct omission_pattern *pattern)
{
	bool ended = omission->ends && pattern->ended;

	*omission = (struct omission){ 0 };
	return ended ? OMISSION_DOUBTFUL : OMISSION_NONE;
}

enum omission_verdict omission_add(struct omission *omission, const struct omission_pattern *pattern,
				   const struct omission_call *call)
{
	enum omission_verdict verdict = OMISSION_NONE;

	if (omission->ahead)
		go_on(omission, pattern, call);
	if (omission->ahead >= pattern->length) {
		verdict = judge(omission, pattern);
		if (verdict != OMISSION_SHOWN)
			*omission = (struct omission){ 0 };
		return verdict;
	}
	bool fails = !omission->ends && omission->extras * EXPLAINED_PER_EXTRA > omission->matched;
	if (!omission->ahead || fails || call->fitting >= pattern->length) {
		verdict = drop(omission, pattern);
		if (!call->fits)
			begin(omission, pattern, call);
	}
	return verdict;
}
