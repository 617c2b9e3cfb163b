/* SPDX-License-Identifier: MIT */
#include "console/report/scan_line.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/foreign_text.h"
#include "console/dump/box_json.h"

enum { PPM_OF_PERCENT = 10000 };

static void print_skipped(FILE *out, const struct rw_box_header *header)
{
	const char *before = "; not seen: ";

	for (size_t i = 1; i < RW_UNSCANNABLE_COUNT; i++) {
		if (!header->scan_unscannable[i] || !box_json_unscannable_names[i])
			continue;
		fprintf(out, "%s%" PRIu64 " %s", before, (uint64_t)header->scan_unscannable[i],
			box_json_unscannable_names[i]);
		before = ", ";
	}
}

void scan_line_print(FILE *out, const struct rw_box_header *header)
{
	if (!header->scan_state[0]) { /* written by a version that does not scan */
		fputs("none", out);
		return;
	}
	foreign_put(out, header->scan_state);
	if (header->scan_every > 1)
		fprintf(out, ", 1 operation in %u", header->scan_every);
	if (!header->scan_launches)
		return;
	fprintf(out, ", %" PRIu64 " buffers", (uint64_t)header->scan_buffers);
	if (header->scan_sampled_out)
		fprintf(out, ", %" PRIu64 " operations left out", (uint64_t)header->scan_sampled_out);
	fprintf(out, "; cost %.2f %% of the time", (double)header->cost_ppm / PPM_OF_PERCENT);
	print_skipped(out, header);
}
