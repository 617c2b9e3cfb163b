/* SPDX-License-Identifier: MIT */
#include "finding/evidence_text.h"

#include "finding/value.h"

static bool is_from(const json_t *evidence, const char *source)
{
	return value_is(evidence, "source", source) && value_text(evidence, "what");
}

bool evidence_text_is(const json_t *finding, const char *source)
{
	const json_t *evidence = json_object_get(finding, "evidence");

	for (size_t i = 0; i < json_array_size(evidence); i++)
		if (is_from(json_array_get(evidence, i), source))
			return true;
	return false;
}

void evidence_text_write(FILE *out, const json_t *finding, const char *source)
{
	const json_t *evidence = json_object_get(finding, "evidence");
	const char *before = "";

	for (size_t i = 0; i < json_array_size(evidence); i++) {
		const json_t *piece = json_array_get(evidence, i);

		if (!is_from(piece, source))
			continue;
		fprintf(out, "%s%s", before, value_text(piece, "what"));
		before = "; ";
	}
}
