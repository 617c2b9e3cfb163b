/* SPDX-License-Identifier: MIT */
/* What share of a job's buffers its scans looked at, over all of its black boxes. */
#ifndef CONSOLE_REPORT_SCAN_SHARE_H
#define CONSOLE_REPORT_SCAN_SHARE_H

#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

#include "console/boxes/boxes.h"

/* {"state","every","buffers","left_out"}: of `count` boxes, which may still be written to; null where there are none.
 * NULL on lack of memory. */
json_t *scan_share_json(const struct box_entry *entries, size_t count);
/* One line, the label in as many columns as `label`; that nothing is known for null. */
void scan_share_print(FILE *out, int label, const json_t *scan);

#endif
