/* SPDX-License-Identifier: MIT */
#include "finding/seen_live_text.h"

#include <string.h>

#include "finding/python_text.h"
#include "finding/value.h"

/* What a finding calls it, and people. */
struct source {
	const char *name, *words;
};

static void add_if(json_t *by, bool is, const char *words)
{
	if (is)
		json_array_append_new(by, json_string(words));
}

static bool has_evidence(const json_t *finding, const char *source)
{
	const json_t *piece;
	size_t i;

	json_array_foreach(json_object_get(finding, "evidence"), i, piece)
		if (value_is(piece, "source", source))
			return true;
	return false;
}

json_t *seen_live_json(const json_t *live, bool in_boxes)
{
	static const struct source levels[] = { { "ebpf", "eBPF" }, { "root", "/proc as root" }, { "proc", "/proc" } };
	static const struct source pieces[] = { { "children", "what child processes did" },
						{ "nvml", "NVML" },
						{ "kernel-log", "the kernel's log" },
						{ "port", "network ports" } };
	json_t *by = json_array();

	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++)
		add_if(by, value_is(live, "level", levels[i].name), levels[i].words);
	add_if(by, python_text_is(live), "Python's stack");
	for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++)
		add_if(by, has_evidence(live, pieces[i].name), pieces[i].words);
	return json_pack("{s:o, s:O?, s:b}", "by", by, "until", json_object_get(live, "time"), "in_boxes", in_boxes);
}

bool seen_live_text_is(const json_t *finding)
{
	return json_is_object(json_object_get(finding, "seen_live"));
}

void seen_live_text_write(FILE *out, const json_t *finding)
{
	const json_t *seen = json_object_get(finding, "seen_live"), *by = json_object_get(seen, "by");
	size_t count = json_array_size(by);
	const char *until = value_text(seen, "until");
	bool alone = json_is_false(json_object_get(seen, "in_boxes"));

	fputs("seen live", out);
	if (alone && until && strlen(until) > 19)
		fprintf(out, " until %.10s %.8s UTC", until, until + 11);
	for (size_t i = 0; i < count; i++) {
		const char *words = json_string_value(json_array_get(by, i));

		fprintf(out, "%s%s", !i ? ", by " : i + 1 < count ? ", " : " and ", words ? words : "?");
	}
	if (alone)
		fputs("; the black boxes alone do not show it", out);
}
