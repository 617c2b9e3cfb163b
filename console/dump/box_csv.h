/* SPDX-License-Identifier: MIT */
/* Operations of black boxes as a table of comma-separated values (RFC 4180, lines end in \n): the same names and values
 * as in JSON, one column each, empty where a value was not known; lists are joined by spaces. */
#ifndef CONSOLE_DUMP_BOX_CSV_H
#define CONSOLE_DUMP_BOX_CSV_H

#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

void box_csv_head(FILE *out);
/* operation: of box_json_operation(). */
void box_csv_line(FILE *out, int32_t rank, uint32_t pid, const json_t *operation);

#endif
