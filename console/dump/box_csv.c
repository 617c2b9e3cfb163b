/* SPDX-License-Identifier: MIT */
#include "console/dump/box_csv.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

static const char *const columns[] = {
	"ticket",        "function",      "dtype",       "count",        "sequence",      "replay",
	"reduction",     "root_or_peer",  "comm",        "comm_id",      "comm_name",     "comm_rank",
	"comm_size",     "nccl_sequence", "algorithm",   "protocol",     "channels",      "group",
	"api_tid",       "api_ns",        "stream",      "launch_tid",   "launch_stream", "launch_begin_ns",
	"launch_end_ns", "return_ns",     "plan",        "progress",     "gpu_source",    "started_seen_ns",
	"done_seen_ns",  "gpu_start_raw", "gpu_end_raw", "send_address", "recv_address",  "flags",
	"untracked",     "unscannable",   "pending",     "known",        "step",          "step_from",
};
static const char *const scans[] = { "scan_in", "scan_out" };
static const char *const scan_columns[] = { "nan", "inf", "first_bad", "absmax", "saturated", "digest", "lane_sum" };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

void box_csv_head(FILE *out)
{
	fputs("rank,pid", out);
	for (size_t i = 0; i < COUNT(columns); i++)
		fprintf(out, ",%s", columns[i]);
	for (size_t i = 0; i < COUNT(scans); i++)
		for (size_t k = 0; k < COUNT(scan_columns); k++)
			fprintf(out, ",%s_%s", scans[i], scan_columns[k]);
	putc('\n', out);
}

/* In quotes where it must be, and where a spreadsheet would take it for a formula: names are the job's. */
static void put_text(FILE *out, const char *text)
{
	bool formula = *text && strchr("=+-@\t\r", *text);

	if (!formula && !strpbrk(text, ",\"\r\n")) {
		fputs(text, out);
		return;
	}
	fputs(formula ? "\"'" : "\"", out);
	for (; *text; text++) {
		if (*text == '"')
			putc('"', out);
		putc(*text, out);
	}
	putc('"', out);
}

static void put_list(FILE *out, const json_t *list)
{
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
	    fprintf(out, "%s%s", i ? " " : "", json_string_value(one) ? json_string_value(one) : "");
}

static void put(FILE *out, const json_t *value)
{
	putc(',', out);
	if (json_is_string(value))
		put_text(out, json_string_value(value));
	else if (json_is_integer(value))
		fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	else if (json_is_real(value))
		fprintf(out, "%.9g", json_real_value(value));
	else if (json_is_array(value))
		put_list(out, value);
}

void box_csv_line(FILE *out, int32_t rank, uint32_t pid, const json_t *operation)
{
	if (rank >= 0)
		fprintf(out, "%" PRId32, rank);
	fprintf(out, ",%" PRIu32, pid);
	for (size_t i = 0; i < COUNT(columns); i++)
		put(out, json_object_get(operation, columns[i]));
	for (size_t i = 0; i < COUNT(scans); i++)
		for (size_t k = 0; k < COUNT(scan_columns); k++)
			put(out, json_object_get(json_object_get(operation, scans[i]), scan_columns[k]));
	putc('\n', out);
}
