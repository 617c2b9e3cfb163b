/* SPDX-License-Identifier: MIT */
#include "finding/forecast_text.h"

#include "finding/value.h"

static void print_time(FILE *out, double s)
{
	static const struct {
		double below_s, unit_s;
		const char *name;
	} units[] = { { 120, 1, "s" }, { 7200, 60, "min" }, { 172800, 3600, "h" }, { 0, 86400, "days" } };
	size_t i = 0;

	while (units[i].below_s > 0 && s >= units[i].below_s)
		i++;
	fprintf(out, "%.0f %s", s / units[i].unit_s, units[i].name);
}

void forecast_text_print(FILE *out, const char *before, const json_t *reached)
{
	double grows_ms = value_number(reached, "wait_grows_ms", 0);

	if (!json_is_object(reached))
		return;
	fprintf(out, "%s%.*f ms longer in each step: the limit is reached at step %lld, in ", before, grows_ms < 10,
		grows_ms, (long long)json_integer_value(json_object_get(reached, "step")));
	print_time(out, value_number(reached, "in_ms", 0) / 1000);
	fputs(", if it goes on", out);
}
