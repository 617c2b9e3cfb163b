/* SPDX-License-Identifier: MIT */
#include "finding/step_text.h"

#include <inttypes.h>
#include <math.h>

static const double same = 0.1; /* steps that differ by less are alike */

void step_text_print(FILE *out, uint64_t steps, double first_ms, double last_ms)
{
	if (!steps && last_ms < 0)
		return;
	if (steps)
		fprintf(out, ", %" PRIu64 " step%s", steps, steps == 1 ? "" : "s");
	else
		fputs(", steps", out);
	if (last_ms < 0)
		return;
	if (first_ms >= 0 && fabs(first_ms - last_ms) > same * fmin(first_ms, last_ms))
		fprintf(out, "%s of %.2f s at first and %.2f s at last", steps ? "," : "", first_ms / 1000,
			last_ms / 1000);
	else
		fprintf(out, " of %.2f s", last_ms / 1000);
}
