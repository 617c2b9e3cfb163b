/* SPDX-License-Identifier: MIT */
/* `rankwatch report --html` on a damaged box: through all that the page is made of, to a page whose data are JSON. */
#include "tests/fuzz/box_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "console/html/html_report.h"
#include "tests/fuzz/damaged_box.h"

static void check_data(const char *page)
{
	static const char before[] = "id=\"data\">";
	const char *begin = strstr(page, before), *end = begin ? strstr(begin, "</script>") : NULL;

	if (!end)
		abort();
	json_t *data = json_loadb(begin + strlen(before), (size_t)(end - begin) - strlen(before), 0, NULL);

	if (!json_is_object(json_object_get(data, "heat")))
		abort();
	json_decref(data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct html_report report = { .kernel_log = "/dev/null", .command = "page" };
	struct box_entry entry = { .path = (char *)"damaged" };
	char *page = NULL;
	size_t length;

	damaged_box_change(data, size, false);
	if (damaged_box_open(&entry.reader) == 0) {
		FILE *out = open_memstream(&page, &length);

		if (!out || html_report_write(out, &report, &entry, 1) || fclose(out))
			abort();
		check_data(page);
		free(page);
	}
	damaged_box_restore();
	return 0;
}
