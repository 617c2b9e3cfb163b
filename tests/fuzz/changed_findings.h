/* SPDX-License-Identifier: MIT */
/*
 * Lines of findings, from an input of a fuzzer. Each line of the input is a line, or changes a copy of the finding in
 * changed_findings.c: KEY.KEY=VALUE, where VALUE is JSON or else text, an array's key a number. The changes before a
 * line of "=" belong to one revision.
 */
#ifndef TESTS_FUZZ_CHANGED_FINDINGS_H
#define TESTS_FUZZ_CHANGED_FINDINGS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

/* A new copy of the finding that is changed. */
json_t *changed_findings_kept(void);
void changed_findings_write(FILE *lines, const uint8_t *data, size_t size);
/* Aborts where a byte moves the cursor: what a person sees holds none. */
void changed_findings_check_text(const char *text);

#endif
