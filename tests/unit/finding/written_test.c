/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "finding/written.h"

/* The state that is written down for this one; "" nothing is. */
static const char *write_down(struct written *written, const char *id, const char *state)
{
	static char text[16];
	json_t *finding = json_pack("{s:s, s:s, s:s}", "id", id, "state", state, "text", "slow");
	char *line = written_line(written, finding);
	json_t *read = line ? json_loads(line, 0, NULL) : NULL;

	text[0] = '\0';
	if (read)
		strcpy(text, json_string_value(json_object_get(read, "state")));
	cr_expect_str_eq(json_string_value(json_object_get(finding, "state")), state, "the finding itself was changed");
	json_decref(read);
	json_decref(finding);
	free(line);
	return text;
}

/* A collector tells of a notice, which is not written down, and later that it has become a warning. */
Test(written, each_finding_begins_with_open_and_ends_with_closed)
{
	struct written written = { 0 };

	cr_expect_str_eq(write_down(&written, "a", "update"), "open");
	cr_expect_str_eq(write_down(&written, "a", "update"), "update");
	cr_expect_str_eq(write_down(&written, "b", "open"), "open");
	cr_expect_str_eq(write_down(&written, "a", "closed"), "closed");
	cr_expect_str_eq(write_down(&written, "a", "update"), "open");
	cr_expect_str_eq(write_down(&written, "c", "closed"), "", "of what the file does not know");
	written_free(&written);
}
