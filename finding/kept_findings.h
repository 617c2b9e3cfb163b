/* SPDX-License-Identifier: MIT */
/*
 * Findings as records of a file of evidence: {"entry": 3, "finding": {…}}. A later record of the same entry replaces an
 * earlier one. What is read was perhaps written by somebody else: the records are of the right form, and nothing else
 * is known of the findings.
 */
#ifndef FINDING_KEPT_FINDINGS_H
#define FINDING_KEPT_FINDINGS_H

#include <stddef.h>

#include <jansson.h>

enum { KEPT_FINDINGS_MOST = 16384 };

struct kept_findings {
	json_t *entries;  /* by number, in the order in which they began; NULL none yet */
	unsigned refused; /* records that have another form, or were too many */
};

/* Takes a record into the struct kept_findings that `kept` points to. */
void kept_findings_take(void *kept, const char *record, size_t size);
void kept_findings_free(struct kept_findings *kept);
/* A record, malloc'ed; NULL on lack of memory. */
char *kept_findings_record(json_int_t entry, const json_t *finding);

#endif
