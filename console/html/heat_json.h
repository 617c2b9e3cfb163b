/* SPDX-License-Identifier: MIT */
/* The table of ranks × time and the series of steps as JSON. */
#ifndef CONSOLE_HTML_HEAT_JSON_H
#define CONSOLE_HTML_HEAT_JSON_H

#include <jansson.h>

#include "console/html/run_view.h"

/* {"from","bucket","columns","ranks":[…],"totals":[[own,wait,transfer,unseen,open]…],"own":"base64",…}: rows by world
 * rank, cells in 1/255 of the bucket, row by row. New reference. */
json_t *heat_json(const struct run_view *view);
/* {"first","every","at":[µs…],"us":[…],"levels":[…]}: durations of steps, medians of `every` where there are many. */
json_t *steps_json(const struct run_view *view);

#endif
