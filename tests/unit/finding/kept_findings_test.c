/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "finding/kept_findings.h"
#include "finding/value.h"

static void take(struct kept_findings *kept, const char *record)
{
	kept_findings_take(kept, record, strlen(record));
}

Test(kept_findings, the_last_record_of_an_entry_counts)
{
	struct kept_findings kept = { 0 };
	json_t *finding = json_pack("{s:s}", "id", "a");
	char *record = kept_findings_record(7, finding);

	take(&kept, "{\"entry\":7,\"finding\":{\"id\":\"b\"}}");
	take(&kept, "{\"entry\":8,\"finding\":{\"id\":\"c\"}}");
	take(&kept, record);
	cr_expect_eq(json_object_size(kept.entries), 2);
	cr_expect_str_eq(value_text(json_object_get(kept.entries, "7"), "id"), "a");
	cr_expect_eq(kept.refused, 0);
	kept_findings_free(&kept);
	json_decref(finding);
	free(record);
}

Test(kept_findings, what_has_another_form_is_counted)
{
	struct kept_findings kept = { 0 };

	take(&kept, "");
	take(&kept, "[1]");
	take(&kept, "{\"entry\":\"7\",\"finding\":{}}");
	take(&kept, "{\"entry\":7,\"finding\":[]}");
	take(&kept, "{\"entry\":7,\"finding\":{}");
	cr_expect_eq(json_object_size(kept.entries), 0);
	cr_expect_eq(kept.refused, 5);
	kept_findings_free(&kept);
}

Test(kept_findings, their_number_has_a_bound)
{
	struct kept_findings kept = { 0 };
	char record[64];

	for (int i = 0; i < KEPT_FINDINGS_MOST + 3; i++) {
		snprintf(record, sizeof(record), "{\"entry\":%d,\"finding\":{}}", i);
		take(&kept, record);
	}
	cr_expect_eq(json_object_size(kept.entries), KEPT_FINDINGS_MOST);
	cr_expect_eq(kept.refused, 3);
	kept_findings_free(&kept);
}
