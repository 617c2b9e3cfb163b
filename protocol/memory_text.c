/* SPDX-License-Identifier: MIT */
#include "protocol/memory_text.h"

#include "finding/value.h"

static const double gibibyte = 1 << 30;

static json_t *known(uint64_t value)
{
	return value ? json_integer((json_int_t)value) : json_null();
}

json_t *memory_text_json(const struct analysis_gpu_memory *memory)
{
	bool grows = memory->course == ANALYSIS_MEMORY_GROWS;

	if (memory->course == ANALYSIS_MEMORY_UNKNOWN || memory->rank < 0)
		return json_null();
	return json_pack(
	    "{s:s, s:i, s:I, s:I, s:o, s:o, s:o, s:f, s:o, s:o, s:o}", "course", grows ? "grows" : "flat", "rank",
	    (int)memory->rank, "used", (json_int_t)memory->used, "total", (json_int_t)memory->total, "grown",
	    grows ? json_null() : json_integer(memory->grown), grows ? "since_step" : "until_step",
	    known(memory->until_step), "steps", known(memory->steps), "seconds", memory->seconds, "bytes_per_s",
	    grows ? json_real(memory->bytes_per_s) : json_null(), "full_in_s",
	    grows ? json_real(memory->full_in_s) : json_null(), "full_at_step", known(memory->full_at_step));
}

static long long integer(const json_t *memory, const char *key)
{
	return (long long)json_integer_value(json_object_get(memory, key));
}

static void print_growth(FILE *out, const json_t *memory)
{
	double seconds = value_number(memory, "seconds", 0), rate = value_number(memory, "bytes_per_s", 0);
	long long steps = integer(memory, "steps"), full = integer(memory, "full_at_step");

	fprintf(out, "of rank %lld's GPU grows", integer(memory, "rank"));
	if (steps && seconds > 0)
		fprintf(out, " by %.2f GiB a step", rate * seconds / (double)steps / gibibyte);
	else
		fprintf(out, " by %.2f GiB a minute", rate * 60 / gibibyte);
	fprintf(out, ", %.1f of %.1f GiB are in use", (double)integer(memory, "used") / gibibyte,
		(double)integer(memory, "total") / gibibyte);
	if (full)
		fprintf(out, ": full at step %lld, if it goes on\n", full);
	else
		fprintf(out, ": full in %.0f min, if it goes on\n", value_number(memory, "full_in_s", 0) / 60);
}

static void print_warm_up(FILE *out, const json_t *memory)
{
	long long until = integer(memory, "until_step"), steps = integer(memory, "steps");

	fprintf(out, "of rank %lld's GPU grew by %.1f GiB", integer(memory, "rank"),
		(double)integer(memory, "grown") / gibibyte);
	if (until)
		fprintf(out, " up to step %lld", until);
	else
		fputs(" at first", out);
	if (until && steps)
		fprintf(out, " and stayed for the %lld steps since: warm-up, no leak\n", steps);
	else
		fprintf(out, " and stayed for the %.0f s since: warm-up, no leak\n",
			value_number(memory, "seconds", 0));
}

void memory_text_print(FILE *out, const char *before, int label, const json_t *memory)
{
	if (!json_is_object(memory))
		return;
	fprintf(out, "%s%-*s", before, label, "memory");
	if (value_is(memory, "course", "grows"))
		print_growth(out, memory);
	else
		print_warm_up(out, memory);
}
