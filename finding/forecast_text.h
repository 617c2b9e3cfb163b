/* SPDX-License-Identifier: MIT */
/* When waits that grow from step to step reach the framework's watchdog, as people read it. */
#ifndef FINDING_FORECAST_TEXT_H
#define FINDING_FORECAST_TEXT_H

#include <stdio.h>

#include <jansson.h>

/* "12 ms longer in each step: the limit is reached at step 9978, in 14 h, if it goes on"; of an object with
 * `wait_grows_ms`, `step` and `in_ms`. Nothing of any other value. `before` stands in front of it. */
void forecast_text_print(FILE *out, const char *before, const json_t *reached);

#endif
