/* SPDX-License-Identifier: MIT */
/* An instance that was in flight at the end: who had joined it, who had not, and what those did instead. */
#ifndef CONSOLE_REPORT_FLIGHT_H
#define CONSOLE_REPORT_FLIGHT_H

#include <stdio.h>

#include <jansson.h>

#include "console/replay/replay.h"

/* width: columns of the terminal. */
void flight_print(FILE *out, const struct replay *replay, const struct analysis_flight *flight, int width);
/* "left through exit()", or how else a process ended, as far as its box reports. */
const char *flight_life_text(const struct replay_process *process);
/* {"comm":…,"function":…,"joined":[{"rank","phase"}],"missing":[{"rank","pid","host","threads":[…]}],"unseen":…};
 * new reference, NULL on lack of memory. */
json_t *flight_to_json(const struct replay *replay, const struct analysis_flight *flight);

#endif
