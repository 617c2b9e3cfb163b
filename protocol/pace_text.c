/* SPDX-License-Identifier: MIT */
#include "protocol/pace_text.h"

#include <stdlib.h>

#include "base/foreign_text.h"
#include "finding/forecast_text.h"
#include "finding/value.h"

static const double mostly = 0.5, hardly = 0.25; /* of what steps take longer, a rank is late by */

static json_t *known(uint64_t value)
{
	return value ? json_integer((json_int_t)value) : json_null();
}

static json_t *watchdog_json(const struct analysis_pace *pace)
{
	if (!pace->watchdog_step)
		return json_null();
	/* From the environment of a rank: what is not UTF-8 is escaped, as in findings. */
	char *from = foreign_text(pace->watchdog_from);
	json_t *watchdog =
	    json_pack("{s:f, s:s, s:f, s:f, s:I, s:f}", "timeout_ms", pace->watchdog_ms, "from", from ? from : "",
		      "wait_ms", pace->wait_ms, "wait_grows_ms", pace->wait_ms_per_step, "step",
		      (json_int_t)pace->watchdog_step, "in_ms", pace->watchdog_in_s * 1e3);

	free(from);
	return watchdog;
}

json_t *pace_text_json(const struct analysis_pace *pace)
{
	static const char *const names[] = {
		[ANALYSIS_PACE_STEADY] = "steady", [ANALYSIS_PACE_LONGER] = "longer", [ANALYSIS_PACE_GROWS] = "grows"
	};
	bool grows = pace->course == ANALYSIS_PACE_GROWS, reported = grows || pace->course == ANALYSIS_PACE_LONGER;

	if (pace->course == ANALYSIS_PACE_UNKNOWN)
		return json_null();
	return json_pack("{s:s, s:I, s:I, s:o, s:o, s:f, s:o, s:o, s:o}", "course", names[pace->course], "known",
			 (json_int_t)pace->known, "step", (json_int_t)pace->step, "since_step",
			 known(reported ? pace->since_step : 0), "before_ms",
			 reported ? json_real(pace->before_ms) : json_null(), "now_ms", pace->now_ms, "ms_per_step",
			 grows ? json_real(pace->ms_per_step) : json_null(), "late_share",
			 reported ? json_real(pace->late_share) : json_null(), "watchdog", watchdog_json(pace));
}

static void print_step(FILE *out, double ms)
{
	if (ms < 1000)
		fprintf(out, "%.0f ms", ms);
	else
		fprintf(out, "%.2f s", ms / 1000);
}

static void print_growth(FILE *out, const json_t *pace)
{
	const json_t *since = json_object_get(pace, "since_step");
	double grows_ms = value_number(pace, "ms_per_step", 0);

	fputs("a step took ", out);
	print_step(out, value_number(pace, "before_ms", 0));
	if (json_is_integer(since))
		fprintf(out, " until step %lld, and since", (long long)json_integer_value(since));
	else
		fputs(" at first, and since", out);
	fprintf(out, " then each takes %.*f ms longer than the one before: ", grows_ms < 10, grows_ms);
	print_step(out, value_number(pace, "now_ms", 0));
	fprintf(out, " in step %lld", (long long)json_integer_value(json_object_get(pace, "step")));
}

static void print_level(FILE *out, const json_t *pace)
{
	fputs("a step takes ", out);
	print_step(out, value_number(pace, "now_ms", 0));
	fprintf(out, " since step %lld, and took ", (long long)json_integer_value(json_object_get(pace, "since_step")));
	print_step(out, value_number(pace, "before_ms", 0));
	fputs(" before", out);
}

/* Nobody is named: a finding does that, where it is known. */
static void print_part(FILE *out, double late)
{
	if (late >= mostly)
		fprintf(out, "; of what was added, %.0f %% is waiting for a late rank", late * 100);
	else if (late < hardly)
		fputs("; no rank is later than before: all together take longer, as with longer inputs", out);
}

static void print_watchdog(FILE *out, const json_t *watchdog)
{
	if (!json_is_object(watchdog))
		return;
	fprintf(out, ". The longest wait is %.1f s of the watchdog's %.0f s",
		value_number(watchdog, "wait_ms", 0) / 1000, value_number(watchdog, "timeout_ms", 0) / 1000);
	if (value_text(watchdog, "from") && *value_text(watchdog, "from")) {
		fputs(" (", out);
		foreign_put(out, value_text(watchdog, "from"));
		fputc(')', out);
	}
	forecast_text_print(out, ", and ", watchdog);
}

void pace_text_print(FILE *out, const char *before, int label, const json_t *pace)
{
	bool grows = value_is(pace, "course", "grows");

	if (!grows && !value_is(pace, "course", "longer"))
		return;
	fprintf(out, "%s%-*s", before, label, "slower");
	if (grows)
		print_growth(out, pace);
	else
		print_level(out, pace);
	print_part(out, value_number(pace, "late_share", 0));
	print_watchdog(out, json_object_get(pace, "watchdog"));
	fputc('\n', out);
}
