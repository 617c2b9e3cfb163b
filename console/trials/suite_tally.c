/* SPDX-License-Identifier: MIT */
#include "console/trials/suite_tally.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/paragraph.h"
#include "finding/finding_json.h"
#include "suite/oracle.h"

enum { ALL = -1, FAULTY = -2 }; /* in place of a fault */
enum { INDENT = 4 };

/* Faults of lateness, by how many times as late as any healthy rank those at fault were. */
static const struct {
	double from, until;
} bands[] = { { 0, 1.5 }, { 1.5, 3 }, { 3, 6 }, { 6, 12 }, { 12, INFINITY } };

/* Jobs of one fault. */
struct row {
	unsigned jobs, of[VERDICTS];
	unsigned seen,
	    seen_named; /* jobs in which the oracle sees the fault; those of them in which all at fault were named */
	double *steps, *ratios;    /* to the finding, and that divided by the oracle's; sorted */
	size_t step_count, ratio_count;
};

int suite_tally_add(struct suite_tally *tally, const struct suite_draw *draw, const struct suite_result *result)
{
	if (tally->count == tally->room) {
		size_t room = tally->room ? 2 * tally->room : 64;
		struct suite_job *jobs = realloc(tally->jobs, room * sizeof(*jobs));
		if (!jobs)
			return -ENOMEM;
		tally->jobs = jobs;
		tally->room = room;
	}
	tally->jobs[tally->count++] = (struct suite_job){ *draw, *result };
	return 0;
}

void suite_tally_free(struct suite_tally *tally)
{
	free(tally->jobs);
	*tally = (struct suite_tally){ 0 };
}

unsigned suite_tally_count(const struct suite_tally *tally, enum suite_verdict verdict)
{
	unsigned count = 0;

	for (size_t i = 0; i < tally->count; i++)
		count += tally->jobs[i].result.verdict == verdict;
	return count;
}

static bool is_named(const struct suite_result *result)
{
	return result->verdict == VERDICT_RIGHT || result->verdict == VERDICT_CAUSE;
}

static bool is_of(const struct suite_draw *draw, int fault)
{
	return fault == ALL || (fault == FAULTY ? draw->fault != FAULT_HEALTHY : (int)draw->fault == fault);
}

static int by_value(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static void add_job(struct row *row, const struct suite_job *job)
{
	const struct suite_result *result = &job->result;
	double steps = result->found_step - job->draw.fault_step + 1;

	row->jobs++;
	row->of[result->verdict]++;
	row->seen += result->oracle_steps > 0;
	row->seen_named += result->oracle_steps > 0 && is_named(result);
	if (!result->found_step || result->verdict == VERDICT_WRONG || result->verdict == VERDICT_FALSE)
		return;
	row->steps[row->step_count++] = steps;
	if (oracle_applies(&job->draw) && result->oracle_steps > 0 && is_named(result))
		row->ratios[row->ratio_count++] = steps / result->oracle_steps;
}

/* False: no memory. The caller calls forget_row() in both cases. */
static bool make_row(struct row *row, const struct suite_tally *tally, int fault)
{
	*row = (struct row){ .steps = calloc(tally->count + 1, sizeof(double)),
			     .ratios = calloc(tally->count + 1, sizeof(double)) };
	if (!row->steps || !row->ratios)
		return false;
	for (size_t i = 0; i < tally->count; i++)
		if (is_of(&tally->jobs[i].draw, fault))
			add_job(row, &tally->jobs[i]);
	qsort(row->steps, row->step_count, sizeof(double), by_value);
	qsort(row->ratios, row->ratio_count, sizeof(double), by_value);
	return true;
}

static void forget_row(struct row *row)
{
	free(row->steps);
	free(row->ratios);
}

/* Calls for each fault of which there are jobs, "healthy" included, in their order. */
static void each_row(const struct suite_tally *tally,
		     void (*visit)(void *argument, const char *fault, const struct row *row), void *argument)
{
	for (int fault = 0; fault < FAULTS; fault++) {
		struct row row;
		if (make_row(&row, tally, fault) && row.jobs)
			visit(argument, suite_fault_name((enum suite_fault)fault), &row);
		forget_row(&row);
	}
}

static void print_verdicts(void *argument, const char *fault, const struct row *row)
{
	fprintf(argument, "%-24s %4u %5u %6u %6u %7u %6u %5u %5u\n", fault, row->jobs, row->of[VERDICT_RIGHT],
		row->of[VERDICT_CAUSE], row->of[VERDICT_PARTLY], row->of[VERDICT_INCONCLUSIVE], row->of[VERDICT_MISSED],
		row->of[VERDICT_WRONG], row->of[VERDICT_FALSE]);
}

static void print_quantiles(FILE *out, const double *values, size_t count)
{
	if (count)
		fprintf(out, " %7.3g %7.3g", values[count / 2], values[count * 9 / 10]);
	else
		fprintf(out, " %7s %7s", "-", "-");
}

static void print_times(void *argument, const char *fault, const struct row *row)
{
	char seen[32];

	if (!row->step_count)
		return;
	snprintf(seen, sizeof(seen), "%u of %u", row->seen_named, row->seen);
	fprintf(argument, "%-24s %16s", fault, seen);
	print_quantiles(argument, row->steps, row->step_count);
	print_quantiles(argument, row->ratios, row->ratio_count);
	fputc('\n', argument);
}

static void print_bands(const struct suite_tally *tally, FILE *out)
{
	fputs("\nlate ranks stand out by   jobs  all named  a healthy one named\n", out);
	for (size_t i = 0; i < sizeof(bands) / sizeof(*bands); i++) {
		unsigned jobs = 0, named = 0, wrong = 0;
		char what[48];
		for (size_t k = 0; k < tally->count; k++) {
			const struct suite_result *result = &tally->jobs[k].result;
			if (!isfinite(result->stands_out) || result->stands_out < bands[i].from ||
			    result->stands_out >= bands[i].until)
				continue;
			jobs++;
			named += is_named(result);
			wrong += result->verdict == VERDICT_WRONG;
		}
		if (isfinite(bands[i].until))
			snprintf(what, sizeof(what), "%g to %g times", bands[i].from, bands[i].until);
		else
			snprintf(what, sizeof(what), "%g times and more", bands[i].from);
		fprintf(out, "%-24s %5u %10u %20u\n", what, jobs, named, wrong);
	}
}

/* A share and the ends of its 95 % interval (Wilson 1927). */
struct share {
	const char *key, *what;
	unsigned happened, times;
};

static double bound(const struct share *share, int side)
{
	double z = 1.96, n = share->times, p = share->happened / n;
	double centre = p + z * z / (2 * n), half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n));

	return fmin(fmax((centre + side * half) / (1 + z * z / n), 0), 1);
}

enum { SHARES = 5 };

/* False: no memory. */
static bool find_shares(const struct suite_tally *tally, struct share *shares)
{
	struct row faulty, healthy;
	bool found = make_row(&faulty, tally, FAULTY);

	found = make_row(&healthy, tally, FAULT_HEALTHY) && found;
	unsigned named = faulty.of[VERDICT_RIGHT] + faulty.of[VERDICT_CAUSE];
	const struct share all[SHARES] = {
		{ "named", "all ranks at fault named", named, faulty.jobs },
		{ "named_where_seen", "  where the oracle sees the fault", faulty.seen_named, faulty.seen },
		{ "cause", "  cause right where they were named", faulty.of[VERDICT_RIGHT], named },
		{ "wrong", "a healthy rank named in faulty jobs", faulty.of[VERDICT_WRONG], faulty.jobs },
		{ "false", "a rank named in healthy jobs", healthy.of[VERDICT_FALSE], healthy.jobs },
	};
	memcpy(shares, all, sizeof(all));
	forget_row(&faulty);
	forget_row(&healthy);
	return found;
}

static void print_shares(const struct suite_tally *tally, FILE *out)
{
	struct share shares[SHARES];

	fputc('\n', out);
	for (size_t i = 0; find_shares(tally, shares) && i < SHARES; i++)
		if (shares[i].times)
			fprintf(out, "%-36s %4u of %4u  %5.1f %% (95 %%: %.1f to %.1f)\n", shares[i].what,
				shares[i].happened, shares[i].times, 100.0 * shares[i].happened / shares[i].times,
				100 * bound(&shares[i], -1), 100 * bound(&shares[i], 1));
}

void suite_tally_print_job(const struct suite_job *job, FILE *out, int width)
{
	const struct suite_result *result = &job->result;
	char what[512], line[640];

	suite_describe(&job->draw, what, sizeof(what));
	snprintf(line, sizeof(line), "%u: %s: %s", job->draw.seed, suite_verdict_name(result->verdict), what);
	paragraph_print(out, line, 0, INDENT, width);
	if (isfinite(result->stands_out) && result->oracle_steps)
		fprintf(out, "%*sstands out by %.1f; the oracle knows it after %d step%s\n", INDENT, "",
			result->stands_out, result->oracle_steps, result->oracle_steps == 1 ? "" : "s");
	else if (!result->oracle_steps)
		fprintf(out, "%*sthe oracle does not know it either: it stands out by %.1f\n", INDENT, "",
			result->stands_out);
	snprintf(line, sizeof(line), "%s%s", *result->text ? "reported: " : "nothing was reported", result->text);
	fprintf(out, "%*s", INDENT, "");
	paragraph_print(out, line, INDENT, INDENT, width);
}

static void print_mistakes(const struct suite_tally *tally, const char *again, FILE *out, int width)
{
	unsigned right = suite_tally_count(tally, VERDICT_RIGHT);

	if (right < tally->count)
		fputs("\nnot right:\n", out);
	for (size_t i = 0; i < tally->count; i++) {
		if (tally->jobs[i].result.verdict == VERDICT_RIGHT)
			continue;
		suite_tally_print_job(&tally->jobs[i], out, width);
		fprintf(out, "%*sagain: %s %u\n", INDENT, "", again, tally->jobs[i].draw.seed);
	}
}

void suite_tally_print(const struct suite_tally *tally, const char *again, FILE *out, int width)
{
	struct row all;

	fputs("                                     wrong         incon-\n"
	      "fault                    jobs right  cause partly clusive missed wrong false\n",
	      out);
	each_row(tally, print_verdicts, out);
	if (make_row(&all, tally, ALL))
		print_verdicts(out, "all", &all);
	forget_row(&all);
	fputs("\n"
	      "                              named where   steps to it    times oracle's\n"
	      "fault                    the oracle sees  median    90 %  median    90 %\n",
	      out);
	each_row(tally, print_times, out);
	print_bands(tally, out);
	print_shares(tally, out);
	print_mistakes(tally, again, out, width);
}

json_t *suite_tally_job_json(const struct suite_job *job, const char *again)
{
	const struct suite_draw *draw = &job->draw;
	const struct suite_result *result = &job->result;
	char what[512], command[160];

	suite_describe(draw, what, sizeof(what));
	snprintf(command, sizeof(command), "%s %u", again, draw->seed);
	json_t *object = json_pack("{s:i, s:s, s:s, s:i, s:s, s:s, s:s, s:s}", "job", (int)draw->seed, "verdict",
				   suite_verdict_name(result->verdict), "shape", suite_shape_name(draw->shape), "ranks",
				   draw->ranks, "fault", suite_fault_name(draw->fault), "description", what, "reported",
				   result->text, "again", command);
	if (result->found_step)
		json_object_set_new(object, "steps", json_integer(result->found_step - draw->fault_step + 1));
	if (oracle_applies(draw) && result->oracle_steps)
		json_object_set_new(object, "oracle_steps", json_integer(result->oracle_steps));
	if (isfinite(result->stands_out))
		json_object_set_new(object, "stands_out", json_real(result->stands_out));
	if (result->kind >= 0) {
		json_object_set_new(object, "kind", json_string(finding_kind_name((enum rw_kind)result->kind)));
		json_object_set_new(object, "cause",
				    json_string(finding_cause_name((enum rw_cause_class)result->cause)));
	}
	return object;
}

static void set_quantiles(json_t *object, const char *key, const double *values, size_t count)
{
	if (count)
		json_object_set_new(
		    object, key, json_pack("{s:f, s:f}", "median", values[count / 2], "p90", values[count * 9 / 10]));
}

static void append_row(void *argument, const char *fault, const struct row *row)
{
	json_t *object = json_pack("{s:s, s:i}", "fault", fault, "jobs", (int)row->jobs), *verdicts = json_object();

	for (int i = 0; i < VERDICTS; i++)
		json_object_set_new(verdicts, suite_verdict_name((enum suite_verdict)i), json_integer(row->of[i]));
	json_object_set_new(object, "verdicts", verdicts);
	set_quantiles(object, "steps", row->steps, row->step_count);
	set_quantiles(object, "times_oracle", row->ratios, row->ratio_count);
	json_array_append_new(argument, object);
}

json_t *suite_tally_json(const struct suite_tally *tally, bool interrupted)
{
	struct share shares[SHARES];
	json_t *faults = json_array(), *summary;

	each_row(tally, append_row, faults);
	summary = json_pack("{s:i, s:b, s:o}", "jobs", (int)tally->count, "interrupted", interrupted, "faults", faults);
	for (size_t i = 0; find_shares(tally, shares) && i < SHARES; i++) {
		const struct share *share = &shares[i];
		if (share->times)
			json_object_set_new(summary, share->key,
					    json_pack("{s:i, s:i, s:f, s:f}", "jobs", (int)share->happened, "of",
						      (int)share->times, "low", bound(share, -1), "high",
						      bound(share, 1)));
	}
	return json_pack("{s:o}", "summary", summary);
}
