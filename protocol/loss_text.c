/* SPDX-License-Identifier: MIT */
#include "protocol/loss_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/foreign_text.h"
#include "finding/rank_list.h"
#include "finding/value.h"
#include "finding/json_text.h"

json_t *loss_text_json(const struct analysis_pipeline *pipeline)
{
	json_t *ranks = pipeline->pipelines ? json_array() : NULL;

	if (!pipeline->pipelines)
		return json_null();
	for (uint32_t i = 0; i < pipeline->rank_count; i++)
		json_array_append_new(ranks, json_integer(pipeline->ranks[i]));
	return json_pack("{s:o, s:b, s:s, s:i, s:i, s:o, s:o}", "ranks", ranks, "more", pipeline->more, "confidence",
			 pipeline->open	    ? "inconclusive"
			 : pipeline->likely ? "likely"
					    : "certain",
			 "pipelines", (int)pipeline->pipelines, "stages", (int)pipeline->stages, "host",
			 json_printable(pipeline->host), "local_rank",
			 pipeline->local_rank < 0 ? json_null() : json_integer(pipeline->local_rank));
}

/* "rank 7", "ranks 4-7"; false: a number is not known. */
static bool name_ranks(char *text, size_t room, const json_t *loss)
{
	const json_t *ranks = json_object_get(loss, "ranks");
	int32_t numbers[ANALYSIS_LOSS_RANKS];
	size_t count = json_array_size(ranks);
	char list[128];

	if (!count || count > ANALYSIS_LOSS_RANKS)
		return false;
	for (size_t i = 0; i < count; i++) {
		numbers[i] = (int32_t)json_integer_value(json_array_get(ranks, i));
		if (numbers[i] < 0)
			return false;
	}
	snprintf(text, room, "rank%s %s%s", count == 1 ? "" : "s", rank_list_text(list, sizeof(list), numbers, count),
		 json_is_true(json_object_get(loss, "more")) ? " and others" : "");
	return true;
}

static void print_label(FILE *out, const char *before, int label, const char *text)
{
	fprintf(out, "%s%-*s", before, label, text);
}

void loss_text_print(FILE *out, const char *before, int label, const json_t *loss)
{
	const json_t *local_rank = json_object_get(loss, "local_rank");
	const char *host = value_text(loss, "host");
	char ranks[160];

	if (!json_is_object(loss) || !name_ranks(ranks, sizeof(ranks), loss))
		return;
	print_label(out, before, label, "loss");
	if (value_is(loss, "confidence", "inconclusive")) {
		fprintf(out, "at one end of the pipeline, among %s: -1.0 or none elsewhere is normal\n", ranks);
		return;
	}
	fprintf(out, "on %s, where the pipeline ends%s: -1.0 or none elsewhere is normal", ranks,
		value_is(loss, "confidence", "likely") ? " (likely)" : "");
	if (json_is_integer(local_rank) && host) {
		fprintf(out, "; LOG_RANK=%lld on node ", (long long)json_integer_value(local_rank));
		foreign_put(out, host);
	}
	fputc('\n', out);
}
