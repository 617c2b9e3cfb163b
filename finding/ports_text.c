/* SPDX-License-Identifier: MIT */
#include "finding/ports_text.h"

#include "finding/value.h"

static bool is_port(const json_t *evidence)
{
	return value_is(evidence, "source", "port") && value_text(evidence, "what");
}

bool ports_text_is(const json_t *finding)
{
	const json_t *evidence = json_object_get(finding, "evidence");

	for (size_t i = 0; i < json_array_size(evidence); i++)
		if (is_port(json_array_get(evidence, i)))
			return true;
	return false;
}

void ports_text_write(FILE *out, const json_t *finding)
{
	const json_t *evidence = json_object_get(finding, "evidence");
	const char *before = "";

	for (size_t i = 0; i < json_array_size(evidence); i++) {
		const json_t *piece = json_array_get(evidence, i);

		if (!is_port(piece))
			continue;
		fprintf(out, "%s%s", before, value_text(piece, "what"));
		before = "; ";
	}
}
