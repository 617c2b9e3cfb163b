/* SPDX-License-Identifier: MIT */
#include "console/report/scan_share.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/foreign_text.h"
#include "finding/value.h"

json_t *scan_share_json(const struct box_entry *entries, size_t count)
{
	uint64_t buffers = 0, left_out = 0;
	uint32_t every = 1;
	char state[sizeof(entries->reader.header.scan_state) + 1] = "";

	if (!count)
		return json_null();
	for (size_t i = 0; i < count; i++) {
		const struct rw_box_header *header = &entries[i].reader.header;

		buffers += header->scan_buffers;
		left_out += header->scan_sampled_out;
		every = header->scan_every > every ? header->scan_every : every;
		if (!*state)
			memcpy(state, header->scan_state, sizeof(header->scan_state));
	}
	char *text = foreign_text(state);
	json_t *reported = json_pack("{s:s, s:I, s:I, s:I}", "state", text ? text : "", "every", (json_int_t)every,
				 "buffers", (json_int_t)buffers, "left_out", (json_int_t)left_out);
	free(text);
	return reported;
}

static void print_sampled(FILE *out, long long buffers, long long left_out, long long every)
{
	if (every > 1)
		fprintf(out, "sampled, now 1 operation in %lld: ", every);
	else
		fputs("sampled, every operation now: ", out);
	fprintf(out,
		"%lld buffers were scanned and %lld operations left out. Bad values that begin in one of these are "
		"reported where they are first "
		"seen, and their origin as unknown\n",
		buffers, left_out);
}

void scan_share_print(FILE *out, int label, const json_t *scan)
{
	long long buffers = (long long)value_number(scan, "buffers", 0),
		  left_out = (long long)value_number(scan, "left_out", 0);
	const char *state = value_text(scan, "state");

	fprintf(out, "%-*s", label, "scan");
	if (!json_is_object(scan))
		fputs("its black boxes cannot be read from here\n", out);
	else if (!buffers)
		fprintf(out, "no buffer was scanned (%s): that no NaN is found says nothing here\n",
			state && *state ? state : "none");
	else if (!left_out)
		fprintf(out, "no operation was left out for the sake of cost; %lld buffers were scanned\n", buffers);
	else
		print_sampled(out, buffers, left_out, (long long)value_number(scan, "every", 1));
}
