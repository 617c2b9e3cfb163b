/* SPDX-License-Identifier: MIT */
/* What was found, as the page has it. New references. */
#ifndef CONSOLE_HTML_FINDINGS_JSON_H
#define CONSOLE_HTML_FINDINGS_JSON_H

#include <jansson.h>

#include "console/html/run_view.h"

/* The findings, the one that says most first: the most severe, of these the most certain, of these the earliest. To
 * each "at" and "told" (µs of the page), and the lines that `report` prints of it: "because", "values_line". */
json_t *findings_json(const struct run_view *view);

#endif
