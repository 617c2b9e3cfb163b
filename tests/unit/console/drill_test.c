/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "console/trials/drill_verdict.h"
#include "drill/delay.h"

Test(drill, a_plan_has_bounds)
{
	static const struct {
		const char *text;
		bool good;
	} cases[] = {
		{ "3 50000000 500000000 0 20000000000 /tmp/x/log", true },
		{ "0 5000000000 10000000000 600000000000 600000000000 /l", true },
		{ "-1 50000000 500000000 0 20000000000 /tmp/x/log", false },
		{ "3 5000000001 50000000000 0 20000000000 /tmp/x/log", false },  /* a delay of more than 5 s */
		{ "3 50000000 99999999 0 20000000000 /tmp/x/log", false },       /* most of the time */
		{ "3 50000000 500000000 0 600000000001 /tmp/x/log", false },     /* more than 10 minutes */
		{ "3 50000000 500000000 600000000001 1 /tmp/x/log", false },
		{ "3 0 500000000 0 20000000000 /tmp/x/log", false },
		{ "3 50000000 500000000 0 0 /tmp/x/log", false },
		{ "3 50000000 500000000 0 20000000000 log", false },
		{ "3 50000000 500000000 0 20000000000", false },
		{ "", false },
		{ NULL, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct drill_plan plan;

		cr_expect_eq(drill_plan_read(&plan, cases[i].text), cases[i].good, "%s", cases[i].text ? cases[i].text : "NULL");
	}
}

#define FINDING(TIME, RANKS, SEVERITY, STATE)                                                                          \
	"{\"kind\":\"straggler\",\"time\":\"2026-11-20T19:03:" TIME "Z\",\"ranks\":" RANKS ",\"severity\":\"" SEVERITY \
	"\",\"state\":\"" STATE "\",\"text\":\"late\"}"
#define BEGUN                                                                                                          \
	"{\"event\":\"ready\",\"unix_ms\":1795201370000,\"delays\":0},{\"event\":\"begun\",\"unix_ms\":1795201380000," \
	"\"delays\":1}"
#define OVER  ",{\"event\":\"over\",\"unix_ms\":1795201400000,\"delays\":30}"

static struct drill_verdict reach(const char *log, const char *findings, json_t **keep)
{
	struct drill_verdict verdict;
	json_t *told = json_loads(findings, 0, NULL), *events = json_loads(log, 0, NULL);

	cr_assert(told && events);
	drill_verdict_reach(&verdict, events, told, 3);
	json_decref(events);
	*keep = told;
	return verdict;
}

static void expect_text(const struct drill_verdict *verdict, const char *wanted)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	drill_verdict_print(out, verdict, 3);
	fclose(out);
	cr_expect(strstr(text, wanted), "%s", text);
	free(text);
}

Test(drill, the_first_finding_behind_the_first_delay_counts)
{
	json_t *told;
	struct drill_verdict verdict =
	    reach("[" BEGUN OVER "]",
		  "[" FINDING("00.500", "[3]", "notice", "open") "," FINDING("02.500", "[3]", "warning", "open") ","
		  FINDING("03.500", "[3]", "warning", "update") "]", &told);

	/* 2026-11-20T19:03:00Z is 1795201380 */
	cr_expect(verdict.named && !verdict.other && verdict.over);
	cr_expect_float_eq(verdict.named_after_ms, 2500, 1e-6);
	cr_expect_eq(verdict.delays, 30);
	expect_text(&verdict, "named 2.5 s after the first delay");
	json_decref(told);
}

Test(drill, what_was_late_before_or_is_another_rank_does_not_count)
{
	json_t *told;
	struct drill_verdict verdict = reach("[" BEGUN OVER "]", "[" FINDING("04.000", "[2]", "warning", "open") "]", &told);

	cr_expect(!verdict.named && verdict.other);
	expect_text(&verdict, "ANOTHER rank was named");
	json_decref(told);
	verdict = reach("[" BEGUN "]", "[" FINDING("04.000", "[3]", "warning", "closed") "]", &told);
	cr_expect(!verdict.named && !verdict.other && !verdict.over);
	expect_text(&verdict, "few delays");
	json_decref(told);
	verdict = reach("[]", "[]", &told);
	expect_text(&verdict, "no NCCL call of that rank was seen");
	json_decref(told);
}
