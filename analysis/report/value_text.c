/* SPDX-License-Identifier: MIT */
#include "analysis/report/value_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analysis/report/naming.h"

enum { WHO = 96, WHERE = 176 };

/* Which of the two it is, only evidence tells: analysis/values/nature.h. */
static const char one_alone[] =
    "only one rank: its data or its GPU? run the step again with the same data on another GPU";
static const char several[] = "several ranks: check what they share: data, learning rate, scaling, a host";

static const char *who(char *text, const struct record *record)
{
	return naming_ranks(text, WHO, record->finding.ranks, record->finding.rank_count);
}

static bool is_one(const struct record *record)
{
	return record->finding.rank_count == 1;
}

/* "ReduceScatter #31 on ~fsdp in step 7", "AllReduce #2 in a CUDA graph (replay 40) on world" */
static const char *where(char *text, const struct record *record)
{
	const struct rw_finding *finding = &record->finding;
	char replay[64] = "", step[32] = "";

	if (finding->operation.replay)
		snprintf(replay, sizeof(replay), " in a CUDA graph (replay %" PRIu64 ")",
			 finding->operation.replay - 1);
	if (finding->operation.step >= 0)
		snprintf(step, sizeof(step), " in step %" PRId64, finding->operation.step);
	snprintf(text, WHERE, "%s #%" PRIu64 "%s on %s%s", naming_function(finding->operation.function),
		 finding->operation.sequence, replay, finding->operation.comm_name, step);
	return text;
}

static void advise(struct record *record, const char *advice)
{
	snprintf(record->advice, sizeof(record->advice), "%s", advice);
	record->finding.advice = record->advice;
}

__attribute__((format(printf, 2, 3))) static void say(struct record *record, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(record->text, sizeof(record->text), format, arguments);
	va_end(arguments);
}

__attribute__((format(printf, 2, 3))) static void append(struct record *record, const char *format, ...)
{
	size_t length = strlen(record->text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(record->text + length, sizeof(record->text) - length, format, arguments);
	va_end(arguments);
}

/* "12 NaN", "3 Inf": NaN where there are both. */
static const char *count_text(char *text, size_t room, const struct rw_finding *finding)
{
	uint64_t nan = finding->values.nan, inf = finding->values.inf;

	snprintf(text, room, "%" PRIu64 " %s", nan ? nan : inf, nan ? "NaN" : "Inf");
	return text;
}

void value_text_born(struct record *record, const struct value_bringers *bringers)
{
	char here[WHO], elsewhere[WHO], operation[WHERE], count[32];

	say(record, "%s brought %s into %s", naming_ranks(here, sizeof(here), bringers->here, bringers->here_count),
	    count_text(count, sizeof(count), &record->finding), where(operation, record));
	if (bringers->elsewhere_count)
		append(record, ", and %s such values into other calls",
		       naming_ranks(elsewhere, sizeof(elsewhere), bringers->elsewhere, bringers->elsewhere_count));
	advise(record, is_one(record) ? one_alone : several);
}

void value_text_overflow(struct record *record)
{
	char operation[WHERE], count[32];

	say(record, "%s made by the reduction: finite values overflow in %s",
	    count_text(count, sizeof(count), &record->finding), where(operation, record));
	advise(record, "numerics, not a GPU: reduce in a wider type, average before the sum, or lower the loss scale");
}

void value_text_unknown(struct record *record, bool from_result, bool unseen)
{
	char ranks[WHO], operation[WHERE], count[32];

	say(record, "%s %s %s, made by %s%s%s", count_text(count, sizeof(count), &record->finding),
	    from_result ? "in the result of" : "first seen in", where(operation, record),
	    is_one(record) ? "" : "one of ", who(ranks, record),
	    unseen ? ", or by a rank that is not seen here" : "");
	advise(record, "scan everything and start again: rankwatch run, RANKWATCH_SCAN=all");
}

void value_text_unseen(struct record *record)
{
	char operation[WHERE], count[32];

	say(record, "%s in the result of %s; " VALUE_TEXT_CLEAN_INPUTS,
	    count_text(count, sizeof(count), &record->finding), where(operation, record));
	advise(record, "let one program hear the collectors of all nodes: rankwatch collect --all-nodes");
}

void value_text_harmless(struct record *record)
{
	char operation[WHERE], count[32];

	/* Who began it is of no interest where it is not known. */
	if (record->finding.confidence == RW_INCONCLUSIVE)
		say(record, "%s first seen in %s", count_text(count, sizeof(count), &record->finding),
		    where(operation, record));
	append(record, "; no sum over ranks became NaN or Inf: padding or a mask");
	advise(record,
	       "nothing, as long as the program does not compute with that part of the buffer (padding, a mask)");
}

void value_text_scaled(struct record *record, const struct value_bringers *all)
{
	char operation[WHERE], count[32];

	/* Not one of them made it for the others. */
	if (record->finding.confidence == RW_INCONCLUSIVE && all)
		value_text_born(record, all);
	else if (record->finding.confidence == RW_INCONCLUSIVE)
		say(record, "%s first seen in %s", count_text(count, sizeof(count), &record->finding),
		    where(operation, record));
	append(record, "; finite again soon after: the loss scale was too large");
	advise(record, "nothing, if gradients are scaled dynamically: the optimizer skips such a step");
}

void value_text_usual(struct record *record)
{
	char ranks[WHO], count[32];

	say(record, "%s: %s at one place of %s on %s since it was first seen: padding or a mask", who(ranks, record),
	    count_text(count, sizeof(count), &record->finding), naming_function(record->finding.operation.function),
	    record->finding.operation.comm_name);
}

void value_text_advise_altered(struct record *record)
{
	advise(
	    record,
	    is_one(record)
		? "take this node out of service and check GPU memory (ECC), NVLink and network errors; go back to an "
		  "older checkpoint"
		: "check GPU memory (ECC), NVLink and network errors of these ranks; go back to an older checkpoint");
}

void value_text_corruption(struct record *record, const struct disagreement *found)
{
	char ranks[WHO], operation[WHERE];

	who(ranks, record);
	where(operation, record);
	if (found->culprit == JOB_NONE)
		say(record, "%s: different bits in %s where they must be the same", ranks, operation);
	else if (found->sender)
		say(record, "%s sent a part of %s that reached all others changed", ranks, operation);
	else if (found->against_sent)
		say(record, "%s received other bits in %s than were sent", ranks, operation);
	else
		say(record, "%s has another result of %s than all others", ranks, operation);
	value_text_advise_altered(record);
}

void value_text_altered(struct record *record, int32_t sender, int32_t receiver)
{
	char ranks[WHO], operation[WHERE];

	who(ranks, record);
	where(operation, record);
	value_text_advise_altered(record);
	if (!is_one(record))
		say(record, "%s: rank %d received other bits than rank %d sent in %s", ranks, receiver, sender,
		    operation);
	else if (sender == receiver)
		say(record, "%s received other bits than it sent itself in %s", ranks, operation);
	else if (record->finding.ranks[0] == sender)
		say(record, "%s sent what reached rank %d changed in %s; its GPU has reported an error", ranks,
		    receiver, operation);
	else
		say(record, "%s received other bits than rank %d sent in %s; its GPU has reported an error", ranks,
		    sender, operation);
}

void value_text_damaged(struct record *record)
{
	char ranks[WHO], operation[WHERE], count[32];

	say(record, "%s: %s in the result of %s, from inputs too small to overflow", who(ranks, record),
	    count_text(count, sizeof(count), &record->finding), where(operation, record));
	advise(record, "check GPU memory (ECC), NVLink and network errors of these ranks");
}

void value_text_parted(struct record *record, double factor)
{
	char ranks[WHO], operation[WHERE];

	char since[48] = "";
	if (record->finding.late.since_step >= 0)
		snprintf(since, sizeof(since), ", since step %" PRId64, record->finding.late.since_step);
	say(record, "%s brings values %.3g × those of the others into %s%s", who(ranks, record), factor,
	    where(operation, record), since);
	advise(record, one_alone);
}

void value_text_nature(struct record *record, const char *nature)
{
	advise(record, nature);
}

void value_text_rising(struct record *record, double largest, double most)
{
	char ranks[WHO], operation[WHERE];

	say(record, "%s: the largest value in %s has grown to %.3g; %s ends at %.3g", who(ranks, record),
	    where(operation, record), largest, naming_dtype(record->finding.operation.dtype), most);
	advise(record, "scale down or use a wider type before it overflows; find what grows");
}

void value_text_saturation(struct record *record, double share, double before)
{
	char ranks[WHO], operation[WHERE];

	say(record, "%s: %.2g %% of the values in %s are saturated, %.2g %% before", who(ranks, record), share * 100,
	    where(operation, record), before * 100);
	advise(record, "the scale lags behind the values: shorten its history, or scale per row");
}
