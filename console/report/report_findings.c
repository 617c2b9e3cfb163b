/* SPDX-License-Identifier: MIT */
#include "console/report/report_findings.h"

#include "finding/value.h"
#include "finding/weight.h"

static enum rw_severity severity_of(const json_t *finding)
{
	if (value_is(finding, "severity", "critical"))
		return RW_CRITICAL;
	return value_is(finding, "severity", "notice") ? RW_NOTICE : RW_WARNING;
}

/* How many of this id there have been, with this one. */
static json_int_t count_time(json_t *times, const json_t *finding)
{
	const char *id = value_text(finding, "id");
	json_int_t count = id ? json_integer_value(json_object_get(times, id)) + 1 : 1;

	if (id)
		json_object_set_new(times, id, json_integer(count));
	return count;
}

static void print_one(FILE *out, const struct report_findings *findings, const json_t *finding)
{
	if (!findings->json) {
		fputc('\n', out);
		finding_print(out, finding, &findings->style);
	} else if (json_dumpf(finding, out, JSON_COMPACT) == 0) {
		fputc('\n', out);
	}
}

/* Those that are asked for: as text the verdict comes first, as JSON they stand in the order in which they were found.
 */
static json_t *choose(const struct report_findings *findings)
{
	json_t *chosen = json_array(), *finding;
	const char *key;

	json_object_foreach((json_t *)findings->list, key, finding)
	{
		if (severity_of(finding) == RW_NOTICE && !findings->notices)
			continue;
		if (findings->json)
			json_array_append(chosen, finding);
		else
			weight_insert(chosen, json_incref(finding));
	}
	return chosen;
}

size_t report_findings_print(FILE *out, const struct report_findings *findings)
{
	json_t *chosen = choose(findings), *times = json_object(), *finding;
	size_t asked = json_array_size(chosen), left_out = 0, i;

	json_array_foreach(chosen, i, finding)
	{
		if (count_time(times, finding) > REPORT_FINDINGS_TIMES && !findings->json)
			left_out++;
		else
			print_one(out, findings, finding);
	}
	if (left_out)
		fprintf(out,
			"\nand %zu more of ranks whose values were bad again and again: --json prints all of them\n",
			left_out);
	json_decref(times);
	json_decref(chosen);
	return asked;
}

enum rw_severity report_findings_worst(const json_t *list, enum rw_severity worst)
{
	json_t *finding;
	const char *key;

	json_object_foreach((json_t *)list, key, finding) if (severity_of(finding) > worst) worst =
	    severity_of(finding);
	return worst;
}
