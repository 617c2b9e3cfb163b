/* SPDX-License-Identifier: MIT */
/* The pages of docs/findings/, one a kind of finding, which are part of the program: `rankwatch help KIND`. */
#ifndef CONSOLE_CLI_FINDING_PAGE_H
#define CONSOLE_CLI_FINDING_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct finding_page {
	const char *kind; /* "straggler" */
	const char *text; /* the page as it stands in docs/findings/ */
};

/* Alphabetical. */
extern const struct finding_page finding_pages[];
extern const size_t finding_page_count;

/* By the kind's exact name, and the one that was probably meant; NULL: none. */
const struct finding_page *finding_page_find(const char *kind);
const struct finding_page *finding_page_nearest(const char *kind);
/* For a terminal of `width` columns: headings (bold where wanted), paragraphs and lists broken at spaces, drawings as
 * they are; then the thresholds that decide such a finding. */
void finding_page_print(FILE *out, const struct finding_page *page, int width, bool bold);

#endif
