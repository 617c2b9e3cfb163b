/* SPDX-License-Identifier: MIT */
/* What share of the buffers was looked at, over the boxes of a job. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/report/scan_share.h"

static void expect(const struct box_entry *entries, size_t count, const char *begins)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	json_t *scan = scan_share_json(entries, count);

	scan_share_print(out, 6, scan);
	fclose(out);
	cr_expect(strncmp(text, begins, strlen(begins)) == 0, "%s, expected %s", text, begins);
	json_decref(scan);
	free(text);
}

Test(scan_share, is_that_of_all_boxes_and_of_the_sparsest_rank)
{
	static struct box_entry entries[3];

	strcpy(entries[0].reader.header.scan_state, "auto");
	for (int i = 0; i < 3; i++)
		entries[i].reader.header.scan_buffers = 10;
	expect(entries, 3, "scan  no operation was left out for the sake of cost; 30 buffers were scanned\n");
	entries[1].reader.header.scan_sampled_out = 7;
	expect(entries, 3, "scan  sampled, every operation now: 30 buffers were scanned and 7 operations left out. ");
	entries[2].reader.header.scan_every = 64;
	expect(entries, 3, "scan  sampled, now 1 operation in 64: 30 buffers were scanned and 7 operations left out. ");
}

Test(scan_share, that_nothing_was_looked_at_is_said_with_the_reason)
{
	static struct box_entry entry;

	strcpy(entry.reader.header.scan_state, "off\033[31m");
	expect(&entry, 1, "scan  no buffer was scanned (off\\x1b[31m): that no NaN is found says nothing here\n");
	*entry.reader.header.scan_state = '\0';
	expect(&entry, 1, "scan  no buffer was scanned (none): ");
	expect(NULL, 0, "scan  its black boxes cannot be read from here\n");
}
