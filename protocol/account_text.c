/* SPDX-License-Identifier: MIT */
#include "protocol/account_text.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/late/excursion.h"
#include "finding/finding_json.h"
#include "finding/path_text.h"
#include "protocol/turns_text.h"
#include "finding/json_text.h"

enum { PATH_COLUMNS = 40 };
static const double worth_a_line = 0.05; /* of the time; */
static const double large = 0.25;        /* this where it may well be as it should */

static json_t *count_or_null(uint64_t count)
{
	return count ? json_integer((json_int_t)count) : json_null();
}

/* Why the rank that they waited for is not named; NULL: it is. Follows "rank 0 is not named: ". */
static json_t *why_unnamed(const struct analysis_loss *loss)
{
	unsigned long compared = loss->compared, late = loss->steps, all = loss->of_steps;

	switch (loss->unnamed) {
	case ANALYSIS_NAMED:
		break;
	case ANALYSIS_UNNAMED_STEPS:
		return json_string(
		    "which operations make a step is not known, and what its time adds up to has not been clearly "
		    "more than others' for long enough");
	case ANALYSIS_UNNAMED_SHORT:
		return json_sprintf("%lu step%s seen; ranks are judged for being late from the %dth on", compared,
				    compared == 1 ? " was" : "s were", EXCURSION_STEPS_MIN);
	case ANALYSIS_UNNAMED_EARLY:
		return json_sprintf("only %lu steps were seen: until the %dth, only steady lateness, a sudden one of a "
				    "fifth of the step, or one "
				    "whose cause is seen can be told from chance",
				    compared, EXCURSION_EARLY);
	case ANALYSIS_UNNAMED_SPREAD:
		return json_string("it is late by a little in many operations, and what that adds up to has not been "
				   "clearly more than others' for "
				   "long enough");
	case ANALYSIS_UNNAMED_LITTLE:
		return json_string("no training step lost 20 ms to it, the least that is judged");
	case ANALYSIS_UNNAMED_FEW:
		return json_sprintf(
		    "it was late in %lu of %lu steps: fewer than three in a row, or four in all, may be chance", late,
		    all);
	case ANALYSIS_UNNAMED_UNSURE:
		return json_string("it was late, but steps would not clearly be shorter without it");
	case ANALYSIS_UNNAMED_ONE:
		return json_string("there is only one other rank to compare it with: that takes 24 steps of steady "
				   "lateness, or a cause that is seen");
	case ANALYSIS_UNNAMED_CHANCE:
		return json_string("others were at times late by nearly as much, so it may be chance");
	}
	return json_null();
}

static json_t *loss_json(const struct analysis_loss *loss)
{
	bool known = *loss->cause;

	return json_pack("{s:i, s:f, s:b, s:b, s:s?, s:o, s:o, s:o, s:o, s:o, s:s?, s:o, s:o}", "rank", (int)loss->rank,
			 "share", loss->share, "at_least", loss->at_least, "spread_out", loss->spread_out, "by",
			 loss->by == RW_LATE_HOST     ? "host"
			 : loss->by == RW_LATE_DEVICE ? "device"
						      : NULL,
			 "steps", count_or_null(loss->steps), "of_steps", count_or_null(loss->of_steps), "step_ms",
			 loss->step_ms > 0 ? json_real(loss->step_ms) : json_null(), "class",
			 known ? json_string(finding_cause_name(loss->cause_class)) : json_null(), "cause",
			 json_printable(loss->cause), "confidence",
			 !known         ? NULL
			 : loss->likely ? "likely"
					: "certain",
			 "path", json_printable(loss->path), "not_named", why_unnamed(loss));
}

json_t *account_json(const struct analysis_account *account)
{
	json_t *losses;

	if (!account->known)
		return json_null();
	losses = json_array();
	for (uint32_t i = 0; i < account->loss_count; i++)
		json_array_append_new(losses, loss_json(&account->losses[i]));
	return json_pack("{s:f, s:f, s:f, s:f, s:f, s:b, s:o, s:o}", "own", account->own, "wait", account->wait,
			 "transfer", account->transfer, "unseen", account->unseen, "nobody", account->nobody,
			 "left_out", account->left_out, "waited_for", losses, "turns", turns_json(&account->turns));
}

static double number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

static int percent(const json_t *object, const char *key)
{
	return (int)(number(object, key) * 100 + 0.5);
}

static void print_label(FILE *out, const char *before, int label, const char *text)
{
	fprintf(out, "%s%-*s", before, label, text);
}

/* Some of the time is unseen. */
static bool is_least(const json_t *loss)
{
	return json_is_true(json_object_get(loss, "at_least"));
}

static void print_steps(FILE *out, const json_t *loss)
{
	json_int_t steps = json_integer_value(json_object_get(loss, "steps"));
	json_int_t of_steps = json_integer_value(json_object_get(loss, "of_steps"));

	if (json_is_true(json_object_get(loss, "spread_out")))
		fputs(", a little in each operation", out);
	else if (steps && of_steps)
		fprintf(out, ": %s%" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT " steps, %.0f ms in each",
			is_least(loss) ? "seen in " : "", steps, of_steps, number(loss, "step_ms"));
}

static bool is_by(const json_t *loss, const char *whom)
{
	const char *by = json_string_value(json_object_get(loss, "by"));

	return by && strcmp(by, whom) == 0;
}

static bool is_likely(const json_t *loss)
{
	const char *confidence = json_string_value(json_object_get(loss, "confidence"));

	return confidence && strcmp(confidence, "certain") != 0;
}

static void print_rank(FILE *out, const json_t *loss)
{
	if (json_integer_value(json_object_get(loss, "rank")) < 0)
		fputs("a rank whose number is not known", out);
	else
		fprintf(out, "rank %" JSON_INTEGER_FORMAT, json_integer_value(json_object_get(loss, "rank")));
}

static void print_loss(FILE *out, const json_t *loss)
{
	const char *cause = json_string_value(json_object_get(loss, "cause"));
	const char *path = json_string_value(json_object_get(loss, "path"));

	fprintf(out, "others waited %s%d %% of the time for ", is_least(loss) ? "at least " : "",
		percent(loss, "share"));
	print_rank(out, loss);
	print_steps(out, loss);
	if (cause)
		fprintf(out, ", %s%s", is_likely(loss) ? "likely " : "", cause);
	else if (is_by(loss, "device"))
		fputs(", late by its GPU", out);
	if (cause && path) {
		fputs(" on ", out);
		path_text_print(out, path, PATH_COLUMNS);
	}
	fputc('\n', out);
}

/* Does a finding name one of them? Then why others have none matters to nobody. */
static bool is_any_named(const json_t *losses)
{
	const json_t *loss;
	size_t i;

	json_array_foreach(losses, i, loss)
		if (!json_string_value(json_object_get(loss, "not_named")))
			return true;
	return false;
}

/* Without this, "no finding" beside it would look like a contradiction. */
static void print_not_named(FILE *out, const char *before, int label, const json_t *loss)
{
	const char *why = json_string_value(json_object_get(loss, "not_named"));

	if (!why)
		return;
	print_label(out, before, label, "not named");
	print_rank(out, loss);
	fprintf(out, ": %s\n", why);
}

/* Where no rank can be named it is said why. */
static void print_unnamed(FILE *out, const char *before, int label, const json_t *account)
{
	if (number(account, "nobody") >= worth_a_line) {
		print_label(out, before, label, "waited");
		fprintf(out,
			"%d %% of the time where no single rank was late: half of the ranks came as late, or too "
			"little was seen of them\n",
			percent(account, "nobody"));
	} else if (!json_array_size(json_object_get(account, "waited_for")) &&
		   number(account, "wait") >= worth_a_line && !json_is_object(json_object_get(account, "turns"))) {
		print_label(out, before, label, "waited");
		fputs("the ranks for each other by turns: in the steps that ended none was late more than the others\n",
		      out);
	}
	if (number(account, "transfer") >= large) {
		print_label(out, before, label, "transfers");
		fprintf(out,
			"for %d %% of the time all ranks had come: the transfers were slow, or GPUs had no room for "
			"NCCL's kernels\n",
			percent(account, "transfer"));
	}
}

/* Without this a slow job of small operations would end with "findings none" and no word of why. */
static void print_left_out(FILE *out, const char *before, int label)
{
	print_label(out, before, label, "not seen");
	fputs("most of the time: the budget pays for the GPU progress of a part of the small operations; "
	      "RANKWATCH_GPU_TIME=watermark records all of them\n",
	      out);
}

void account_print(FILE *out, const char *before, int label, const json_t *account)
{
	const json_t *losses = json_object_get(account, "waited_for");
	size_t i;
	const json_t *loss;
	bool left_out = json_is_true(json_object_get(account, "left_out")), named = is_any_named(losses);

	if (!json_is_object(account) || (!left_out && number(account, "wait") < worth_a_line &&
					 !json_array_size(losses) && number(account, "transfer") < large))
		return;
	print_label(out, before, label, "time");
	fprintf(out, "own work %d %%, waiting for other ranks %d %%, transfers %d %%, not seen %d %%\n",
		percent(account, "own"), percent(account, "wait"), percent(account, "transfer"),
		percent(account, "unseen"));
	json_array_foreach(losses, i, loss)
	{
		print_label(out, before, label, "waited");
		print_loss(out, loss);
		if (!named)
			print_not_named(out, before, label, loss);
	}
	turns_print(out, before, label, json_object_get(account, "turns"));
	print_unnamed(out, before, label, account);
	if (left_out)
		print_left_out(out, before, label);
}
