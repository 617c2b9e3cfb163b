/* SPDX-License-Identifier: MIT */
/* The dump of one rank. */
#ifndef CONSOLE_FLIGHT_RECORDER_RANK_DUMP_H
#define CONSOLE_FLIGHT_RECORDER_RANK_DUMP_H

#include <stdio.h>

#include "console/boxes/boxes.h"
#include "console/flight_recorder/common_lines.h"
#include "console/flight_recorder/dump.h"
#include "console/flight_recorder/plain_data.h"
#include "console/trace/group_table.h"

/* groups and lines: of all boxes of the run. Adds to the counts of the result. 0 or -errno of reading; errors of
 * writing are the stream's. */
int rank_dump_write(FILE *out, enum plain_format format, const struct box_entry *entry,
		    const struct group_table *groups, const struct common_lines *lines,
		    struct flight_recorder_result *result);

#endif
