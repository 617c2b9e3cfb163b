/* SPDX-License-Identifier: MIT */
#include "analysis/report/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/measure/lateness.h"
#include "analysis/report/naming.h"
#include "analysis/hang/pair.h"

/* of what a rank works longer: what it costs is told beside it, for then others are often as late */
#define COSTS_LESS 0.75

/* "1.31 s", "45 ms" */
static const char *duration(char *text, size_t room, double ms)
{
	if (ms >= 9995)
		snprintf(text, room, "%.1f s", ms / 1e3);
	else if (ms >= 1000)
		snprintf(text, room, "%.2f s", ms / 1e3);
	else
		snprintf(text, room, "%.0f ms", ms);
	return text;
}

static const char *subject(char *text, size_t room, const struct record *record)
{
	char ranks[128];
	naming_ranks(ranks, sizeof(ranks), record->finding.ranks, record->finding.rank_count);
	if (record->finding.scope == RW_SCOPE_HOST)
		snprintf(text, room, "host %s (%s)", record->finding.where[0].host, ranks);
	else if (record->finding.scope == RW_SCOPE_STAGE && record->finding.rank_count > 1)
		snprintf(text, room, "the pipeline's stage of %s", ranks);
	else
		snprintf(text, room, "%s", ranks);
	return text;
}

/* ", since step 9"; nothing where steps are not counted. */
static const char *since(char *text, size_t room, const struct rw_finding *finding)
{
	text[0] = '\0';
	if (finding->late.since_step >= 0)
		snprintf(text, room, ", since step %" PRId64, finding->late.since_step);
	return text;
}

/* Not all was seen that may have been late. */
static const char *at_least(const struct rw_finding *finding)
{
	return finding->late.at_least ? "at least " : "";
}

/* ": 60 % of the step"; nothing where it is not known what that is. */
static const char *share(char *text, size_t room, const struct rw_finding *finding, const char *of_what)
{
	text[0] = '\0';
	if (finding->late.lost_share >= 0)
		snprintf(text, room, ": %s%.0f %% of the %s", at_least(finding), finding->late.lost_share * 100,
			 of_what);
	return text;
}

/* "1 of 10 steps", "2 of 3 steps" */
static const char *now_and_then(char *text, size_t room, double one_in)
{
	if (one_in >= 1.75)
		snprintf(text, room, "1 of %.0f steps", one_in);
	else
		snprintf(text, room, "%.0f of 10 steps", 10 / one_in);
	return text;
}

/* One rank makes, several make: the verb's ending. */
static const char *ending(const struct record *record)
{
	return record->finding.rank_count == 1 || record->finding.scope == RW_SCOPE_HOST ||
		       record->finding.scope == RW_SCOPE_STAGE
		   ? "s"
		   : "";
}

/* Where it is not known what a step is, shares are all there is to say: they are the same of any part that repeats. */
void text_straggler(struct record *record)
{
	const struct rw_finding *finding = &record->finding;
	char who[256], lost[32], part[48], from[48], often[32];
	subject(who, sizeof(who), record);
	if (finding->late.lost_ms_per_step < 0)
		snprintf(record->text, sizeof(record->text), "%s keep%s the others waiting%s", who, ending(record),
			 share(part, sizeof(part), finding, "time is lost"));
	else if (finding->late.one_in > 0)
		snprintf(record->text, sizeof(record->text), "%s make%s %s%s %s longer%s%s", who, ending(record),
			 at_least(finding), now_and_then(often, sizeof(often), finding->late.one_in),
			 duration(lost, sizeof(lost), finding->late.lost_ms_per_step * finding->late.one_in),
			 share(part, sizeof(part), finding, "time"), since(from, sizeof(from), finding));
	else
		snprintf(record->text, sizeof(record->text), "%s make%s every step %s%s longer%s%s", who,
			 ending(record), at_least(finding),
			 duration(lost, sizeof(lost), finding->late.lost_ms_per_step),
			 share(part, sizeof(part), finding, "step"), since(from, sizeof(from), finding));
}

static void write_works_longer(struct record *record, bool over)
{
	const struct rw_finding *finding = &record->finding;
	const char *where = finding->late.spread_out ? ", a little before each operation" : "";
	bool known = record->longer_ms >= 0;
	char who[256], ms[32], longer[48] = "longer", costs[80] = "", from[48];

	subject(who, sizeof(who), record);
	if (known)
		snprintf(longer, sizeof(longer), "%s longer in a step", duration(ms, sizeof(ms), record->longer_ms));
	if (finding->late.lost_share < COSTS_LESS * finding->late.longer_share)
		snprintf(costs, sizeof(costs), "; it cost%s about %.0f %%", over ? "" : "s",
			 finding->late.lost_share * 100);
	snprintf(record->text, sizeof(record->text), "%s work%s %s than %s%s: %.0f %% of the %s%s%s", who,
		 over ? "ed" : ending(record), longer,
		 finding->scope == RW_SCOPE_STAGE ? "it used to, and the others do not" : "the others", where,
		 finding->late.longer_share * 100, known ? "step" : "time", since(from, sizeof(from), finding), costs);
}

void text_works_longer(struct record *record)
{
	write_works_longer(record, false);
}

/* ", from step 9 to 22" or, where steps have no numbers, ", for 9.60 s", with "; that is over" */
static const char *from_to(char *text, size_t room, const struct rw_finding *finding, const struct text_over *over)
{
	int64_t since_step = finding->late.since_step, until_step = finding->late.until_step;
	const char *end = over->told_late ? "; that is over" : "";
	char lasted[32];

	if (since_step >= 0 && until_step == since_step)
		snprintf(text, room, ", step %" PRId64 "%s", since_step, end);
	else if (since_step >= 0 && until_step > since_step)
		snprintf(text, room, ", from step %" PRId64 " to %" PRId64 "%s", since_step, until_step, end);
	else if (over->lasted_ns)
		snprintf(text, room, ", for %s%s", duration(lasted, sizeof(lasted), (double)over->lasted_ns / 1e6),
			 end);
	else
		snprintf(text, room, "%s", end);
	return text;
}

/* "14 steps", "steps" */
static const char *some_steps(char *text, size_t room, uint64_t steps)
{
	if (steps)
		snprintf(text, room, "%" PRIu64 " step%s", steps, steps == 1 ? "" : "s");
	else
		snprintf(text, room, "steps");
	return text;
}

void text_straggler_over(struct record *record, const struct text_over *over)
{
	const struct rw_finding *finding = &record->finding;
	char who[256], lost[32], part[48], when[80], steps[48];

	subject(who, sizeof(who), record);
	from_to(when, sizeof(when), finding, over);
	if (finding->late.longer_share > 0)
		write_works_longer(record, true);
	else if (finding->late.lost_ms_per_step < 0)
		snprintf(record->text, sizeof(record->text), "%s kept the others waiting%s%s", who,
			 share(part, sizeof(part), finding, "time was lost"), when);
	else if (finding->late.one_in > 0)
		snprintf(record->text, sizeof(record->text), "%s made %s%s %s longer%s%s", who, at_least(finding),
			 now_and_then(steps, sizeof(steps), finding->late.one_in),
			 duration(lost, sizeof(lost), finding->late.lost_ms_per_step * finding->late.one_in),
			 share(part, sizeof(part), finding, "time"), when);
	else
		snprintf(record->text, sizeof(record->text), "%s made %s %s%s longer%s%s", who,
			 some_steps(steps, sizeof(steps), over->steps), at_least(finding),
			 duration(lost, sizeof(lost), finding->late.lost_ms_per_step),
			 share(part, sizeof(part), finding, "step"), when);
}

void text_transfer(struct record *record, const char *what, double now_ms, double usual_ms)
{
	struct rw_finding *finding = &record->finding;
	bool seen = usual_ms > 0; /* transfers below the noise are not added up */
	char now[32], usual[32], from[48];
	snprintf(record->text, sizeof(record->text), "%s on %s take %s a step instead of %s%s%s%s%s; no rank is late",
		 what, finding->operation.comm_name, duration(now, sizeof(now), now_ms), seen ? "" : "less than ",
		 duration(usual, sizeof(usual), seen ? usual_ms : LATENESS_NOISE_NS / 1e6), seen ? "" : " each",
		 since(from, sizeof(from), finding),
		 finding->severity == RW_NOTICE ? ", and steps take hardly longer" : "");
	snprintf(
	    record->advice, sizeof(record->advice),
	    "check the network between these hosts: link speed and errors (ethtool -S), other traffic, limits (tc)");
	finding->advice = record->advice;
}

void text_network(struct record *record, const struct network_answer *answer, struct text_end from, struct text_end to)
{
	const struct rw_finding *finding = &record->finding;
	char *end = strrchr(record->text, ';');
	size_t room = end ? sizeof(record->text) - (size_t)(end - record->text) : 0;
	const char *back = answer->both_ways ? ", and the other way round" : "";
	double percent = answer->share * 100;
	if (!end)
		return;
	if (answer->scope == RW_SCOPE_LINK && finding->rank_count == 2)
		snprintf(end, room, ": rank %d (%s) waits %.0f %% of that time for the network to rank %d (%s)%s",
			 from.rank, from.host, percent, to.rank, to.host, back);
	else if (answer->scope == RW_SCOPE_LINK)
		snprintf(end, room, ": the ranks of %s wait %.0f %% of that time for the network to %s%s", from.host,
			 percent, to.host, back);
	else if (answer->scope == RW_SCOPE_RANK)
		snprintf(end, room, ": %.0f %% of that time goes into the network between rank %d (%s) and its peers",
			 percent, finding->ranks[0], finding->where[0].host);
	else
		snprintf(end, room, ": %.0f %% of that time goes into the network between %s and the other hosts",
			 percent, finding->where[0].host);
}

static const char *operation_name(char *text, size_t room, const struct rw_finding *finding)
{
	snprintf(text, room, "%s #%" PRIu64 " on %s", naming_function(finding->operation.function),
		 finding->operation.sequence, finding->operation.comm_name);
	return text;
}

static const char *waiting_name(char *text, size_t room, const struct rw_finding *finding)
{
	return naming_ranks(text, room, finding->late.waiting, finding->late.waiting_count);
}

void text_hang(struct record *record)
{
	static const char *const phases[] = {
		[RW_PHASE_NONE] = "not joined",
		[RW_PHASE_INIT] = "not joined",
		[RW_PHASE_CONNECT] = "not connected for",
		[RW_PHASE_ENQUEUED] = "enqueued but not launched",
		[RW_PHASE_LAUNCHED] = "launched but not started",
		[RW_PHASE_RUNNING] = "started but not finished",
	};
	const struct rw_finding *finding = &record->finding;
	char who[128], operation[160], waiting[128], waited[32];
	snprintf(record->text, sizeof(record->text), "%s %s %s %s: %s %s waited %s", subject(who, sizeof(who), record),
		 finding->rank_count == 1 ? "has" : "have", phases[finding->operation.phase],
		 operation_name(operation, sizeof(operation), finding), waiting_name(waiting, sizeof(waiting), finding),
		 finding->late.waiting_count == 1 ? "has" : "have",
		 duration(waited, sizeof(waited), finding->late.by_ms));
}

void text_standstill(struct record *record)
{
	const struct rw_finding *finding = &record->finding;
	char operation[160], waiting[128], waited[32];
	snprintf(record->text, sizeof(record->text), "%s have reached %s and %s after %s: no rank is missing",
		 waiting_name(waiting, sizeof(waiting), finding), operation_name(operation, sizeof(operation), finding),
		 finding->operation.phase == RW_PHASE_CONNECT ? "are not connected" : "it has not finished",
		 duration(waited, sizeof(waited), finding->late.by_ms));
}

static void add_text(struct record *record, const char *text)
{
	size_t used = strlen(record->text);

	snprintf(record->text + used, sizeof(record->text) - used, "%s", text);
}

enum { CIRCLE_ORDER = 2 /* the last of circle_words */ };

/* How ranks come to wait for each other. */
static const struct circle_words {
	unsigned functions; /* bits 1 << function: each of them waits in one of these; 0: in any */
	const char *because, *advice;
} circle_words[] = {
	{ 1u << RW_FUNCTION_RECV, "each waits for a Send that the next one of them has not called",
	  "each Recv needs a Send of its peer: find where one of these ranks receives and should send, or receives "
	  "once more "
	  "than it is sent to" },
	{ 1u << RW_FUNCTION_SEND | 1u << RW_FUNCTION_RECV,
	  "each waits in another operation, in which the next one of them is missing",
	  "ranks that send to each other must not all send first: call Send and Recv in one group (ncclGroupStart, "
	  "batch_isend_irecv), or let one of them receive first" },
	[CIRCLE_ORDER] = { 0, "each waits in another operation, in which the next one of them is missing",
			   "all ranks must make the calls that they share in one order, over all communicators: find "
			   "where the order of these "
			   "calls differs" },
};

static const struct circle_words *words_of_circle(const struct text_circle_link *links, uint32_t count)
{
	const struct circle_words *words = circle_words;
	unsigned functions = count > TEXT_CIRCLE_LINKS ? ~0u : 0;

	for (uint32_t i = 0; i < count && i < TEXT_CIRCLE_LINKS; i++)
		functions |= 1u << links[i].function;
	while (words->functions && functions & ~words->functions)
		words++;
	return words;
}

void text_circle(struct record *record, const struct text_circle_link *links, uint32_t count)
{
	const struct rw_finding *finding = &record->finding;
	char waiting[128], waited[32], text[256];

	snprintf(record->text, sizeof(record->text), "%s wait for each other",
		 waiting_name(waiting, sizeof(waiting), finding));
	for (uint32_t i = 0; i < count && i < TEXT_CIRCLE_LINKS; i++) {
		const struct text_circle_link *link = &links[i];
		snprintf(text, sizeof(text), "%s rank %d in %s #%" PRIu64 " on %s for rank %d", i ? "," : ":",
			 link->rank, naming_function(link->function), link->sequence, link->comm_name, link->awaited);
		add_text(record, text);
	}
	snprintf(text, sizeof(text), "%s; for %s", count > TEXT_CIRCLE_LINKS ? ", and so on" : "",
		 duration(waited, sizeof(waited), finding->late.by_ms));
	add_text(record, text);
	const struct circle_words *words = words_of_circle(links, count);
	record_set_words(record, RW_CAUSE_UNKNOWN, words->because, words->advice);
	record_add_missing(record, "which of them left the order: each of them waits for another one");
}

void text_crossing(struct record *record, const struct text_circle_link *link)
{
	const struct rw_finding *finding = &record->finding;
	char who[128], operation[160], waiting[128], waited[32];

	snprintf(record->text, sizeof(record->text),
		 "%s waits in %s #%" PRIu64 " on %s, and %s wait for it in %s; for %s",
		 subject(who, sizeof(who), record), naming_function(link->function), link->sequence, link->comm_name,
		 waiting_name(waiting, sizeof(waiting), finding), operation_name(operation, sizeof(operation), finding),
		 duration(waited, sizeof(waited), finding->late.by_ms));
	record_set_words(record, RW_CAUSE_UNKNOWN,
			 "it calls the two in another order than all others, or leaves one call out",
			 circle_words[CIRCLE_ORDER].advice);
	record_add_missing(record, "whether its order is the wrong one: all others have the other one");
}

/* Why ranks wait for each other in calls to which all ranks of a communicator come. By enum text_init_calls. */
static const struct {
	const char *because, *advice;
} init_circle_words[] = {
	[TEXT_INIT_MAKES] = { "each makes another communicator, to which the next one of them has not come",
			      "all ranks must make the communicators that they share in one order; PyTorch makes one "
			      "at the first collective of its "
			      "group: find where the order of first collectives differs, or call init_process_group "
			      "with device_id" },
	[TEXT_INIT_SPLITS] = { "each makes another communicator, to which the next one of them has not come",
			       "all ranks must make the communicators that they share in one order, and all ranks of a "
			       "communicator must take part in "
			       "each split of it: find where the order of these calls (PyTorch: of new_group) "
			       "differs" },
	[TEXT_INIT_OTHERS] = { "each waits for all ranks of another communicator, and the next one of them has not "
			       "come",
			       "all ranks of a communicator must make, suspend and resume it, and all of them in one "
			       "order: find where the order of "
			       "these calls differs" },
};

void text_init_circle(struct record *record, const struct text_init_link *links, uint32_t count,
		      enum text_init_calls calls)
{
	const struct rw_finding *finding = &record->finding;
	char waiting[128], waited[32], text[128];

	snprintf(record->text, sizeof(record->text), "%s wait for each other",
		 waiting_name(waiting, sizeof(waiting), finding));
	for (uint32_t i = 0; i < count && i < TEXT_CIRCLE_LINKS; i++) {
		snprintf(text, sizeof(text), "%s rank %d in %s of %d ranks for rank %d", i ? "," : ":", links[i].rank,
			 links[i].call, links[i].size, links[i].awaited);
		add_text(record, text);
	}
	snprintf(text, sizeof(text), "%s; for %s", count > TEXT_CIRCLE_LINKS ? ", and so on" : "",
		 duration(waited, sizeof(waited), finding->late.by_ms));
	add_text(record, text);
	record_set_words(record, RW_CAUSE_UNKNOWN, init_circle_words[calls].because, init_circle_words[calls].advice);
	record_add_missing(record, "which of them left the order: each of them waits for another one");
}

void text_stuck_call(struct record *record, const struct text_stuck_call *call)
{
	const struct rw_finding *finding = &record->finding;
	char waiting[128], waited[32];

	snprintf(record->text, sizeof(record->text), "%s %s waited %s in %s",
		 waiting_name(waiting, sizeof(waiting), finding), finding->late.waiting_count == 1 ? "has" : "have",
		 duration(waited, sizeof(waited), finding->late.by_ms), call->name);
	record_set_words(record, RW_CAUSE_UNKNOWN, call->because, call->advice);
	record_add_missing(record, call->missing);
}

void text_gone(struct record *record)
{
	const struct rw_finding *finding = &record->finding;
	char who[128], operation[160], waiting[128];
	bool stopped = finding->cause.class_ == RW_CAUSE_STOPPED;
	bool passive = stopped || !strncmp(record->cause_text, "killed", strlen("killed"));
	snprintf(record->text, sizeof(record->text), "%s %s%s: %s %s for it in %s", subject(who, sizeof(who), record),
		 passive ? "was " : "", stopped ? "stopped" : record->cause_text,
		 waiting_name(waiting, sizeof(waiting), finding), finding->late.waiting_count == 1 ? "waits" : "wait",
		 operation_name(operation, sizeof(operation), finding));
}

void text_ended_first(struct record *record, double before_ms)
{
	const struct rw_finding *finding = &record->finding;
	char who[128], others[128], before[32];
	bool passive = !strncmp(record->cause_text, "killed", strlen("killed"));
	if (before_ms < 0) {
		snprintf(record->text, sizeof(record->text), "%s %s%s, and %s ended with it",
			 subject(who, sizeof(who), record), passive ? "was " : "", record->cause_text,
			 waiting_name(others, sizeof(others), finding));
		return;
	}
	snprintf(record->text, sizeof(record->text), "%s %s%s, %s before %s ended", subject(who, sizeof(who), record),
		 passive ? "was " : "", record->cause_text, duration(before, sizeof(before), before_ms),
		 waiting_name(others, sizeof(others), finding));
}

void text_init(struct record *record, const char *call, enum analysis_absence absence, int32_t pid)
{
	static const char *const states[] = {
		[ANALYSIS_ABSENT_NONE] = "has not arrived (no process of it was seen on this host)",
		[ANALYSIS_ABSENT_STOPPED] = "was stopped",
		[ANALYSIS_ABSENT_IDLE] = "has not arrived",
	};
	const struct rw_finding *finding = &record->finding;
	char who[128], waiting[128], waited[32], ended[64];
	const char *what = absence == ANALYSIS_ABSENT_ENDED ? ended : states[absence];
	snprintf(ended, sizeof(ended), "has no process any more (pid %d has ended)", pid);
	snprintf(record->text, sizeof(record->text), "%s %s: %s %s waited %s for it in %s of %d ranks",
		 subject(who, sizeof(who), record), what, waiting_name(waiting, sizeof(waiting), finding),
		 finding->late.waiting_count == 1 ? "has" : "have",
		 duration(waited, sizeof(waited), finding->late.by_ms), call, finding->operation.comm_size);
}

void text_init_unknown(struct record *record, const int32_t *world_ranks, uint32_t count)
{
	const struct rw_finding *finding = &record->finding;
	char unknown[128], waiting[128], waited[32], what[224];

	naming_ranks(unknown, sizeof(unknown), world_ranks, count);
	snprintf(record->text, sizeof(record->text),
		 "%s %s waited %s in ncclCommInitRank of %d ranks, and no host reports what %s %s",
		 waiting_name(waiting, sizeof(waiting), finding), finding->late.waiting_count == 1 ? "has" : "have",
		 duration(waited, sizeof(waited), finding->late.by_ms), finding->operation.comm_size, unknown,
		 count == 1 ? "does" : "do");
	record_set_words(record, RW_CAUSE_UNKNOWN, "ranks have not come of which nothing is heard",
			 "look whether their launcher has started them, and whether a collector of their host is heard "
			 "(rankwatch ls)");
	snprintf(what, sizeof(what), "%s: not started, without the plugin, or on a host that is not heard", unknown);
	record_add_missing(record, what);
}

/* What PyTorch's barrier calls, and what reduces a loss or a metric. */
static bool is_scalar(const struct call *call)
{
	return call->function == RW_FUNCTION_ALL_REDUCE && call->count == 1;
}

static const char *scalar_words(const struct call *call)
{
	return is_scalar(call) ? " (a barrier or a scalar reduction)" : "";
}

/* "AllGather #36 of 8192 bf16", rooted ones with their root. */
static const char *call_name(char *text, size_t room, const struct call *call)
{
	int used = snprintf(text, room, "%s #%" PRIu64 " of %" PRIu64 " %s%s", naming_function(call->function),
			    call->sequence, call->count, naming_dtype(call->dtype), scalar_words(call));
	if (call_has_root(call) && call->root >= 0 && used > 0 && (size_t)used < room)
		snprintf(text + used, room - (size_t)used, " with root %d", call->root);
	return text;
}

void text_desync(struct record *record, const struct call *odd, const struct call *usual)
{
	struct rw_finding *finding = &record->finding;
	char who[128], others[128], called[128], usually[128];
	if (finding->confidence == RW_INCONCLUSIVE) {
		snprintf(record->text, sizeof(record->text), "%s call different collectives on %s: %s or %s",
			 subject(who, sizeof(who), record), finding->operation.comm_name,
			 call_name(usually, sizeof(usually), usual), call_name(called, sizeof(called), odd));
		snprintf(
		    record->advice, sizeof(record->advice),
		    "compare what these ranks do before this call: all must make the same calls in the same order");
		finding->advice = record->advice;
		return;
	}
	snprintf(record->text, sizeof(record->text), "%s %s %s on %s where %s %s %s", subject(who, sizeof(who), record),
		 finding->rank_count == 1 ? "calls" : "call", call_name(called, sizeof(called), odd),
		 finding->operation.comm_name, waiting_name(others, sizeof(others), finding),
		 finding->late.waiting_count == 1 ? "calls" : "call", call_name(usually, sizeof(usually), usual));
	snprintf(record->advice, sizeof(record->advice),
		 "find where %s left the common path before this call: a branch on data, an exception, one batch less",
		 finding->rank_count == 1 ? "this rank" : "these ranks");
	finding->advice = record->advice;
}

/* How a rank left the others' order; NULL: the two calls say it. */
static const struct alignment_words {
	const char *one, *more, *advice;
	const char *scalar; /* advice where the first of these calls is an AllReduce of one element; NULL: the same */
} alignment_words[] = {
	[ALIGNMENT_OMITTED] = { "it has left out", "it has left out",
				"find why this rank leaves these calls out: an expert without tokens, a branch on "
				"data, an exception that was "
				"caught, one batch less than the others have" },
	[ALIGNMENT_EXTRA] = { "it has made one call more,", "it has made",
			      "find what this rank alone calls there: a save, a log or an evaluation under `if rank == "
			      "0`, one batch more than "
			      "the others have",
			      .scalar =
				  "find what this rank alone calls there: a barrier around a save, or a loss or metric "
				  "that it reduces, under `if rank == 0`" },
	[ALIGNMENT_SWAPPED] = { .advice = "find what decides the order of these two calls on this rank: a set, a dict, "
					  "or threads that race" },
	[ALIGNMENT_CHANGED] = { 0 },
};

void text_alignment(struct record *record, const struct alignment *alignment, const struct call *first, int64_t step)
{
	const struct alignment_words *words = &alignment_words[alignment->kind];
	char called[96], in[32] = "", text[224];

	if (!words->advice)
		return;
	snprintf(called, sizeof(called), "%s of %" PRIu64 " %s%s", naming_function(first->function), first->count,
		 naming_dtype(first->dtype), scalar_words(first));
	if (step >= 0)
		snprintf(in, sizeof(in), ", in step %" PRId64, step);
	if (alignment->kind == ALIGNMENT_SWAPPED)
		snprintf(text, sizeof(text), "; it has called these two in the other order%s", in);
	else if (alignment->calls == 1)
		snprintf(text, sizeof(text), "; %s %s%s", words->one, called, in);
	else
		snprintf(text, sizeof(text), "; %s %u calls%s, the first is %s%s", words->more, alignment->calls,
			 alignment->kind == ALIGNMENT_EXTRA ? " more" : "", called, in);
	add_text(record, text);
	snprintf(record->advice, sizeof(record->advice), "%s",
		 is_scalar(first) && words->scalar ? words->scalar : words->advice);
	record->finding.advice = record->advice;
}

void text_pair(struct record *record, const struct job *job, const struct communicator *communicator)
{
	struct rw_finding *finding = &record->finding;
	const struct pair_parting *pair = communicator->pair;
	int32_t sender = job->ranks[communicator->members[pair->sender].rank].world,
		receiver = job->ranks[communicator->members[pair->receiver].rank].world;
	bool odd = finding->confidence != RW_INCONCLUSIVE;

	snprintf(record->text, sizeof(record->text),
		 "rank %d sends %" PRIu64 " %s to rank %d, which receives %" PRIu64 " %s (#%" PRIu64
		 " between them on %s)",
		 sender, pair->sent.count, naming_dtype(pair->sent.dtype), receiver, pair->received.count,
		 naming_dtype(pair->received.dtype), pair->sent.sequence, finding->operation.comm_name);
	if (odd) {
		char usual[96];
		snprintf(usual, sizeof(usual), ": rank %d is the one that left what both did %d times before",
			 finding->ranks[0], PAIR_STEADY);
		add_text(record, usual);
	}
	snprintf(record->advice, sizeof(record->advice),
		 "compare what both ends take for the shape of this transfer: NCCL needs the same count on both");
	finding->advice = record->advice;
}
