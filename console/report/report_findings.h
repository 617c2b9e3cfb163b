/* SPDX-License-Identifier: MIT */
/* The findings of `rankwatch report`: which are printed, and how. */
#ifndef CONSOLE_REPORT_REPORT_FINDINGS_H
#define CONSOLE_REPORT_REPORT_FINDINGS_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include <rankwatch/finding.h>

#include "finding/finding_text.h"

enum { REPORT_FINDINGS_TIMES = 8 /* that values of one id were bad: as text no more are printed */ };

struct report_findings {
	const json_t *list; /* as of a struct replay; the caller's */
	bool notices;       /* these, too */
	bool json;          /* one line each, and all of them */
	struct finding_style style;
};

/* Returns how many are asked for: those that the text leaves out count, and it says how many they are. */
size_t report_findings_print(FILE *out, const struct report_findings *findings);
/* The highest severity of all and of `worst`. */
enum rw_severity report_findings_worst(const json_t *list, enum rw_severity worst);

#endif
