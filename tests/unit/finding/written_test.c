/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "finding/written.h"

/* The state that is written down for this one; "" nothing is. */
static const char *write_down_as(struct written *written, const char *id, const char *state, const char *severity)
{
	static char text[16];
	json_t *finding = json_pack("{s:i, s:s, s:s, s:s, s:s}", "schema", 1, "id", id, "state", state, "severity", severity,
				    "text", "slow");
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

static const char *write_down(struct written *written, const char *id, const char *state)
{
	return write_down_as(written, id, state, "warning");
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

Test(written, what_became_a_notice_is_followed_to_its_end)
{
	struct written written = { 0 };

	cr_expect_str_eq(write_down_as(&written, "a", "open", "notice"), "");
	cr_expect_str_eq(write_down_as(&written, "a", "closed", "notice"), "", "never more than a notice");
	cr_expect_str_eq(write_down(&written, "a", "open"), "open");
	cr_expect_str_eq(write_down_as(&written, "a", "update", "notice"), "update");
	cr_expect_str_eq(write_down_as(&written, "a", "closed", "notice"), "closed");
	cr_expect_str_eq(write_down_as(&written, "a", "open", "notice"), "", "it begins anew as a notice");
	written_free(&written);
}

Test(written, what_a_new_collector_announces_again_is_not_written_twice)
{
	struct written written = { 0 };

	cr_expect_str_eq(write_down(&written, "a", "open"), "open");
	cr_expect_str_eq(write_down(&written, "a", "open"), "");
	cr_expect_str_eq(write_down(&written, "a", "closed"), "closed");
	cr_expect_str_eq(write_down(&written, "a", "open"), "open");
	written_free(&written);
}
