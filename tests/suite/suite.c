/* SPDX-License-Identifier: MIT */
/* The fault suite: plays drawn jobs, two thirds of them with something wrong, and prints the tables of docs/accuracy.md. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "judge.h"
#include "oracle.h"

struct wanted {
	unsigned draws, first, most_ranks;
	bool verbose;
	int fault, shape; /* -1: all */
};

struct tally {
	unsigned draws, of[VERDICTS];
	unsigned hidden, seen_named; /* jobs in which the oracle sees nothing; those in which it does, and all were named */
	int *steps;		     /* to the finding */
	double *ratios;		     /* of that to the oracle's steps */
	unsigned found, compared;
};

/* Jobs by how far the ranks at fault stand out. */
struct band {
	double from, until;
	unsigned draws, named, wrong;
};

enum { BANDS = 5 };

static const char usage[] =
	"usage: suite [--draws N] [--first SEED] [--ranks MOST] [--only FAULT] [--shape SHAPE] [--verbose]\n"
	"\n"
	"Plays N generated jobs (default 450), two of three with a fault, through the analysis, holds what it says against what\n"
	"is wrong with them, and prints the tables of docs/accuracy.md. Every verdict that is not right goes to standard error.\n"
	"\n"
	"  --draws N      so many jobs\n"
	"  --first SEED   the first one's number (default 0); the same number is the same job\n"
	"  --ranks MOST   jobs of at most so many ranks, 8 to 1024 (default 1024)\n"
	"  --only FAULT   only this fault, as the table names it; \"healthy\": jobs without one\n"
	"  --shape SHAPE  only jobs of this one: FSDP, DDP, HSDP, TP or pipeline\n"
	"  --verbose      every job, with its CPU time and every finding\n"
	"\n"
	"Exit status: 0 nobody was named wrongly, 1 somebody was, 2 wrong usage.\n";

/* Ends of the 95 % interval of `happened` of `times` (Wilson 1927). */
static double bound(unsigned happened, unsigned times, int side)
{
	double z = 1.96, n = times, p = happened / n;
	double centre = p + z * z / (2 * n), half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n));

	return fmin(fmax((centre + side * half) / (1 + z * z / n), 0), 1);
}

static void print_share(const char *what, unsigned happened, unsigned times)
{
	if (times)
		printf("%s: %u of %u, %.1f %% (%.1f to %.1f %%)\n", what, happened, times, 100.0 * happened / times,
		       100 * bound(happened, times, -1), 100 * bound(happened, times, 1));
}

static void tell(const struct suite_draw *draw, const struct suite_result *result, const struct wanted *wanted, double seconds)
{
	char what[512];

	if (result->verdict == VERDICT_RIGHT && !wanted->verbose)
		return;
	suite_describe(draw, what, sizeof(what));
	fprintf(stderr, "%u: %s: %s\n", draw->seed, suite_verdict_name(result->verdict), what);
	if (isfinite(result->stands_out))
		fprintf(stderr, "    stands out by %.1f%s, oracle %d", result->stands_out, result->accounted ? ", accounted for" : "", result->oracle_steps);
	if (result->share >= 0)
		fprintf(stderr, ", %.1f %%", 100 * result->share);
	if (result->kind >= 0)
		fprintf(stderr, ", kind %d, cause %d", result->kind, result->cause);
	fprintf(stderr, "    %lu of %d steps seen, %.1f s: %s\n", result->steps_seen, draw->steps, seconds, result->text);
}

static bool is_named(enum suite_verdict verdict)
{
	return verdict == VERDICT_RIGHT || verdict == VERDICT_CAUSE;
}

static void count_band(struct band *bands, const struct suite_result *result)
{
	for (int i = 0; i < BANDS; i++) {
		if (result->stands_out < bands[i].from || result->stands_out >= bands[i].until)
			continue;
		bands[i].draws++;
		bands[i].named += is_named(result->verdict);
		bands[i].wrong += result->verdict == VERDICT_WRONG;
	}
}

static void print_bands(const struct band *bands)
{
	printf("\n| late ranks stand out by | jobs | all named | a healthy one named |\n|---|---|---|---|\n");
	for (int i = 0; i < BANDS; i++) {
		char until[32] = "";
		if (isfinite(bands[i].until))
			snprintf(until, sizeof(until), " to %.3g", bands[i].until);
		printf("| %.3g%s%s times | %u | %u | %u |\n", bands[i].from, *until ? "" : " and more", until, bands[i].draws, bands[i].named,
		       bands[i].wrong);
	}
}

/* Noise hides it from whoever knows the fault and the noise. */
static bool is_hidden(const struct suite_result *result)
{
	return !result->oracle_steps;
}

static void *grown(void *values, unsigned count, size_t size)
{
	values = realloc(values, (count + 1) * size);
	if (!values)
		abort();
	return values;
}

static void count(struct tally *tally, const struct suite_draw *draw, const struct suite_result *result)
{
	int steps = result->found_step - draw->fault_step + 1;

	tally->draws++;
	tally->of[result->verdict]++;
	tally->hidden += is_hidden(result);
	tally->seen_named += !is_hidden(result) && is_named(result->verdict);
	if (!result->found_step || result->verdict == VERDICT_WRONG)
		return;
	tally->steps = grown(tally->steps, tally->found, sizeof(*tally->steps));
	tally->steps[tally->found++] = steps;
	if (!oracle_applies(draw) || is_hidden(result) || !is_named(result->verdict))
		return;
	tally->ratios = grown(tally->ratios, tally->compared, sizeof(*tally->ratios));
	tally->ratios[tally->compared++] = (double)steps / result->oracle_steps;
}

static int by_value(const void *left, const void *right)
{
	return *(const int *)left - *(const int *)right;
}

static int by_ratio(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static void print_row(const char *what, struct tally *tally)
{
	if (!tally->draws)
		return;
	printf("| %s | %u |", what, tally->draws);
	for (int i = 0; i < VERDICT_FALSE; i++)
		printf(" %u |", tally->of[i]);
	printf(" %u of %u |", tally->seen_named, tally->draws - tally->hidden);
	qsort(tally->steps, tally->found, sizeof(*tally->steps), by_value);
	if (tally->found)
		printf(" %d, %d |", tally->steps[tally->found / 2], tally->steps[tally->found * 9 / 10]);
	else
		printf(" – |");
	qsort(tally->ratios, tally->compared, sizeof(*tally->ratios), by_ratio);
	if (tally->compared)
		printf(" %.3g, %.3g |\n", tally->ratios[tally->compared / 2], tally->ratios[tally->compared * 9 / 10]);
	else
		printf(" – |\n");
}

static void print_faulty(struct tally *tallies)
{
	unsigned all = 0, named = 0, causes = 0, wrong = 0, hidden = 0, seen_named = 0;

	printf("| fault | jobs | right | right rank, wrong cause | partly | inconclusive | missed | wrong | named where the oracle sees it | steps to it: median, 90 %% | times the oracle's steps: median, 90 %% |\n"
	       "|---|---|---|---|---|---|---|---|---|---|---|\n");
	for (int fault = FAULT_EVERY_STEP; fault < FAULTS; fault++) {
		struct tally *tally = &tallies[fault];
		print_row(suite_fault_name((enum suite_fault)fault), tally);
		all += tally->draws;
		named += tally->of[VERDICT_RIGHT] + tally->of[VERDICT_CAUSE];
		causes += tally->of[VERDICT_RIGHT];
		wrong += tally->of[VERDICT_WRONG];
		hidden += tally->hidden;
		seen_named += tally->seen_named;
	}
	printf("\n");
	print_share("all of the ranks at fault named", named, all);
	print_share("the same, where the oracle sees the fault", seen_named, all - hidden);
	print_share("cause right, where they were", causes, named);
	print_share("a rank named wrongly", wrong, all);
}

static unsigned print_tables(struct tally *tallies)
{
	unsigned wrong = tallies[FAULT_HEALTHY].of[VERDICT_FALSE];

	print_faulty(tallies);
	print_share("healthy jobs with a rank named", wrong, tallies[FAULT_HEALTHY].draws);
	for (int fault = 0; fault < FAULTS; fault++) {
		wrong += tallies[fault].of[VERDICT_WRONG];
		free(tallies[fault].steps);
		free(tallies[fault].ratios);
	}
	return wrong;
}

static int fault_of(const char *name)
{
	for (int fault = 0; fault < FAULTS; fault++)
		if (!strcmp(name, suite_fault_name((enum suite_fault)fault)))
			return fault;
	fprintf(stderr, "suite: no fault is named \"%s\"; there are:\n", name);
	for (int fault = 0; fault < FAULTS; fault++)
		fprintf(stderr, "  %s\n", suite_fault_name((enum suite_fault)fault));
	exit(2);
}

static int shape_of(const char *name)
{
	for (int shape = 0; shape < SHAPES; shape++)
		if (!strcmp(name, suite_shape_name((enum suite_shape)shape)))
			return shape;
	fprintf(stderr, "suite: --shape \"%s\" is none of FSDP, DDP, HSDP, TP, pipeline\n", name);
	exit(2);
}

static unsigned number(const char *option, const char *text, unsigned least, unsigned most)
{
	char *end;

	errno = 0;
	unsigned long value = strtoul(text, &end, 10);
	if (errno || *end || end == text || *text == '-' || value < least || value > most) {
		fprintf(stderr, "suite: --%s \"%s\" is no number from %u to %u\n", option, text, least, most);
		exit(2);
	}
	return (unsigned)value;
}

static struct wanted parse(int count, char **arguments)
{
	static const struct option options[] = { { "draws", required_argument, NULL, 'd' }, { "first", required_argument, NULL, 'f' },
						 { "ranks", required_argument, NULL, 'r' }, { "only", required_argument, NULL, 'o' },
						 { "shape", required_argument, NULL, 's' },
						 { "verbose", no_argument, NULL, 'v' },	    { "help", no_argument, NULL, 'h' },
						 { 0 } };
	struct wanted wanted = { .draws = 450, .most_ranks = 1024, .fault = -1, .shape = -1 };
	int option;

	while ((option = getopt_long(count, arguments, "", options, NULL)) >= 0)
		switch (option) {
		case 'd':
			wanted.draws = number("draws", optarg, 1, 1000000);
			break;
		case 'f':
			wanted.first = number("first", optarg, 0, 1000000000);
			break;
		case 'r':
			wanted.most_ranks = number("ranks", optarg, 8, 1024);
			break;
		case 'o':
			wanted.fault = fault_of(optarg);
			break;
		case 's':
			wanted.shape = shape_of(optarg);
			break;
		case 'v':
			wanted.verbose = true;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			fputs(usage, stderr);
			exit(2);
		}
	if (optind < count) {
		fputs(usage, stderr);
		exit(2);
	}
	return wanted;
}

int main(int arguments_count, char **arguments)
{
	struct wanted wanted = parse(arguments_count, arguments);
	struct tally tallies[FAULTS] = { 0 };
	struct band bands[BANDS] = { { 0, 1.5 }, { 1.5, 3 }, { 3, 6 }, { 6, 12 }, { 12, INFINITY } };
	unsigned played = 0;

	for (unsigned seed = wanted.first; played < wanted.draws; seed++) {
		struct suite_draw draw = suite_draw(seed, (int)wanted.most_ranks);
		struct suite_result result;
		if (wanted.fault >= 0 && draw.fault != (enum suite_fault)wanted.fault)
			continue;
		if (wanted.shape >= 0 && draw.shape != (enum suite_shape)wanted.shape)
			continue;
		clock_t before = clock();
		suite_judge(&draw, &result, wanted.verbose ? stderr : NULL);
		tell(&draw, &result, &wanted, (double)(clock() - before) / CLOCKS_PER_SEC);
		count(&tallies[draw.fault], &draw, &result);
		count_band(bands, &result);
		played++;
	}
	unsigned wrong = print_tables(tallies);
	print_bands(bands);
	return wrong > 0;
}
