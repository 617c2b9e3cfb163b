/* SPDX-License-Identifier: MIT */
/* What the run is, and what was in flight at its end, as JSON. New references. */
#ifndef CONSOLE_HTML_RUN_JSON_H
#define CONSOLE_HTML_RUN_JSON_H

#include <jansson.h>

#include "console/html/run_view.h"

/* Job, hosts, clocks, how many ranks were seen, the account, and "head": the lines that `report` begins with, as
 * [label, text]. */
json_t *run_json(const struct run_view *view);
/* As in `report --json`. */
json_t *flights_json(const struct run_view *view);

#endif
