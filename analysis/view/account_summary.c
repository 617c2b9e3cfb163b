/* SPDX-License-Identifier: MIT */
/* What of the account is worth a line: whom the others waited for, why no finding names it, and where nobody can be
 * named. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report/cause_text.h"
#include "analysis/late/excursion.h"
#include "analysis/model.h"
#include "analysis/numbers/sorting.h"
#include "analysis/report/text.h"
#include "analysis/view/turns.h"

/* Of the time of all others; and of it what single operations showed, the rest only adds up over many. */
struct share {
	uint32_t rank;
	double waited, seen;
};

static int by_share(const void *left, const void *right)
{
	const struct share *a = left, *b = right;
	return (a->waited < b->waited) - (a->waited > b->waited);
}

static double median(double *values, uint32_t count)
{
	sort_doubles(values, count);
	return values[count / 2];
}

static double length_of(const struct account_rank *rank)
{
	return (double)account_sum(&rank->whole.parts);
}

/* Of its own time. */
static double inside_share(const struct account_rank *rank)
{
	double length = length_of(rank);

	return length > 0 ? (double)(rank->whole.parts.wait_ns + rank->whole.parts.transfer_ns) / length : 0;
}

/* Where all that the ranks do is seen, and they do the same, the one that is in its operations for less time than the
 * others is waited for, however little in each of them. */
static bool is_comparable(const struct account *account)
{
	for (uint32_t i = 0; i < account->rank_count; i++) {
		const struct account_rank *rank = &account->ranks[i];
		double least = ACCOUNT_SHARE_MIN * length_of(&account->ranks[0]);
		if (length_of(rank) <= 0 || (double)rank->whole.parts.unseen_ns > least ||
		    length_of(rank) + least < length_of(&account->ranks[0]) ||
		    length_of(rank) > length_of(&account->ranks[0]) + least)
			return false;
	}
	return account->rank_count > 2;
}

/* What each rank is in its operations for less than the median, beyond ACCOUNT_BEYOND times what is usual. */
static void add_lacking(const struct account *account, struct share *shares, double *values)
{
	uint32_t count = account->rank_count;

	if (!is_comparable(account))
		return;
	for (uint32_t i = 0; i < count; i++)
		values[i] = inside_share(&account->ranks[i]);
	double middle = median(values, count);
	for (uint32_t i = 0; i < count; i++) {
		double away = inside_share(&account->ranks[i]) - middle;
		values[i] = away < 0 ? -away : away;
	}
	double spread = median(values, count);
	for (uint32_t i = 0; i < count; i++) {
		double lacks = middle - inside_share(&account->ranks[i]);
		if (lacks >= ACCOUNT_BEYOND * spread && lacks > shares[i].waited)
			shares[i].waited = lacks;
	}
}

/* In the first steps ranks compile and load, one longer than the other. */
static bool is_short(const struct account *account)
{
	return account_steps(account) < ACCOUNT_STEPS_MIN;
}

static struct share share_of(const struct account *account, uint32_t rank, double all_ns)
{
	double others_ns = all_ns - length_of(&account->ranks[rank]);
	double waited = others_ns > 0 ? (double)account->ranks[rank].waited_ns / others_ns : 0;

	return (struct share){ .rank = rank, .waited = waited, .seen = waited };
}

/* By share, the largest first; how many of them stand out. */
static uint32_t rank_shares(const struct account *account, double all_ns, struct share *shares, double *values)
{
	uint32_t count = account->rank_count, out = 0;

	for (uint32_t i = 0; i < count; i++)
		shares[i] = share_of(account, i, all_ns);
	add_lacking(account, shares, values);
	qsort(shares, count, sizeof(*shares), by_share);
	for (uint32_t i = 0; i < count; i++)
		values[i] = shares[i].waited;
	for (; out < count && out < ANALYSIS_LOSSES; out++) {
		/* The median of the others: it is in the lower half. */
		double usual = values[(count + out) / 2 < count ? (count + out) / 2 : count - 1];
		double least = is_short(account) ? ACCOUNT_SHORT_SHARE : ACCOUNT_SHARE_MIN;
		if (shares[out].waited < least || shares[out].waited < ACCOUNT_BEYOND * usual)
			break;
	}
	return out;
}

/* As a finding with this cause would be `likely` at most: it is inferred, or some of its time's evidence is not there
 * any more. */
static bool is_likely(const struct analysis *analysis, const struct process *process, const struct account_rank *rank,
		      uint32_t count, const struct cause *cause)
{
	uint64_t since_ns = evidence_since_ns(&process->evidence);
	bool sampled_sleep = cause->class_ == RW_CAUSE_SLEEP && cause->level < RW_LEVEL_EBPF, forgotten = false;

	for (uint32_t i = 0; i < count; i++)
		forgotten |= rank->windows[i].to_ns < since_ns;
	if (cause->class_ == RW_CAUSE_STOPPED)
		return cause->inferred;
	return cause->inferred || sampled_sleep || forgotten || losses_in(&analysis->losses, rank->windows, count);
}

/* The finding about this rank, where there is one, has looked at its lateness while that was new: what is shown beside
 * it says the same. */
static bool take_cause(const struct analysis *analysis, uint32_t rank, struct analysis_loss *loss)
{
	const struct record *record = findings_latest(&analysis->findings, RW_KIND_STRAGGLER, rank);
	const struct rw_finding *finding = record ? &record->finding : NULL;

	if (!finding || !finding->cause.present || finding->cause.class_ == RW_CAUSE_UNKNOWN)
		return false;
	loss->cause_class = finding->cause.class_;
	loss->likely = finding->confidence != RW_CERTAIN;
	snprintf(loss->cause, sizeof(loss->cause), "%s", finding->cause.text);
	snprintf(loss->path, sizeof(loss->path), "%s", finding->cause.path ? finding->cause.path : "");
	return true;
}

/* Else what is still known of its latest long waits. */
static void find_cause(const struct analysis *analysis, const struct account_rank *rank, const struct process *process,
		       struct analysis_loss *loss)
{
	uint32_t count = rank->window_count < CAUSE_WINDOWS ? rank->window_count : CAUSE_WINDOWS;
	struct cause cause;

	if (!count)
		return;
	cause_find(&analysis->intern, process, rank->window_tid, rank->windows, count, &cause);
	if (cause.class_ == RW_CAUSE_UNKNOWN)
		return;
	loss->cause_class = cause.class_;
	loss->likely = is_likely(analysis, process, rank, count, &cause);
	cause_text(loss->cause, sizeof(loss->cause), &cause, process);
	snprintf(loss->path, sizeof(loss->path), "%s", intern_text(&analysis->intern, cause.path));
}

static enum rw_late_kind late_by(const struct account_rank *rank)
{
	if (!rank->host_ns && !rank->device_ns)
		return RW_LATE_NONE;
	return rank->host_ns >= rank->device_ns ? RW_LATE_HOST : RW_LATE_DEVICE;
}

/* Does a finding say that others wait for this rank? */
static bool is_named(const struct findings *findings, int32_t world)
{
	for (uint32_t i = 0; i < findings->count; i++) {
		const struct rw_finding *finding = &findings->records[i]->finding;
		bool holds_up = finding->kind == RW_KIND_STRAGGLER || finding->kind == RW_KIND_HANG ||
				finding->kind == RW_KIND_GONE;
		for (size_t k = 0; holds_up && k < finding->rank_count; k++)
			if (finding->ranks[k] == world)
				return true;
	}
	return false;
}

/* What the tests lack: docs/summaries.md, "Where the time went". */
static enum analysis_unnamed why_unnamed(const struct analysis *analysis, uint32_t rank,
					 const struct analysis_loss *loss)
{
	const struct stragglers *stragglers = &analysis->stragglers;

	if (is_named(&analysis->findings, loss->rank))
		return ANALYSIS_NAMED;
	if (loss->spread_out)
		return ANALYSIS_UNNAMED_SPREAD;
	if (!loss->compared)
		return ANALYSIS_UNNAMED_STEPS;
	if (loss->compared < EXCURSION_STEPS_MIN)
		return ANALYSIS_UNNAMED_SHORT;
	if (!loss->steps)
		return ANALYSIS_UNNAMED_LITTLE;
	if (loss->steps < EXCURSION_ROW_MIN)
		return ANALYSIS_UNNAMED_FEW;
	if (rank < stragglers->suspect_count && stragglers->suspects[rank].decided_ns)
		return ANALYSIS_UNNAMED_UNSURE;
	if (loss->compared < EXCURSION_EARLY)
		return ANALYSIS_UNNAMED_EARLY;
	return analysis->job.rank_count == 2 ? ANALYSIS_UNNAMED_ONE : ANALYSIS_UNNAMED_CHANCE;
}

static uint64_t compared_steps(const struct stragglers *stragglers)
{
	return stragglers->first_step && stragglers->newest_step >= stragglers->first_step
		   ? stragglers->newest_step - stragglers->first_step + 1
		   : 0;
}

static void tell_late(const struct analysis *analysis, const struct share *share, struct analysis_loss *loss)
{
	const struct account *account = &analysis->account;
	const struct account_rank *rank = &account->ranks[share->rank];
	const struct rank *who = &analysis->job.ranks[share->rank];
	uint64_t others = account->rank_count > 1 ? account->rank_count - 1 : 1, waits_ns;

	loss->steps = account_late_steps(account, rank, &waits_ns);
	loss->of_steps = account_steps(account);
	if (loss->steps)
		loss->step_ms = (double)rank->waited_ns / (double)others / (double)loss->steps / 1e6;
	loss->by = late_by(rank);
	if (loss->by == RW_LATE_HOST && !take_cause(analysis, share->rank, loss))
		find_cause(analysis, rank, who->process, loss);
}

static void tell_loss(const struct analysis *analysis, const struct share *share, struct analysis_loss *loss)
{
	*loss = (struct analysis_loss){ .rank = analysis->job.ranks[share->rank].world, .share = share->waited,
					.compared = compared_steps(&analysis->stragglers) };
	if (share->seen * 2 < share->waited)
		loss->spread_out = true;
	else
		tell_late(analysis, share, loss);
	loss->unnamed = why_unnamed(analysis, share->rank, loss);
}

static void sum_up(const struct account *account, struct analysis_account *told, double *all_ns)
{
	struct account_parts parts = { 0 };

	for (uint32_t i = 0; i < account->rank_count; i++) {
		const struct account_parts *own = &account->ranks[i].whole.parts;
		parts.own_ns += own->own_ns;
		parts.wait_ns += own->wait_ns;
		parts.transfer_ns += own->transfer_ns;
		parts.unseen_ns += own->unseen_ns;
	}
	*all_ns = (double)account_sum(&parts);
	if (*all_ns <= 0)
		return;
	told->known = true;
	told->own = (double)parts.own_ns / *all_ns;
	told->wait = (double)parts.wait_ns / *all_ns;
	told->transfer = (double)parts.transfer_ns / *all_ns;
	told->unseen = (double)parts.unseen_ns / *all_ns;
	told->nobody = (double)account->nobody_ns / *all_ns;
	told->left_out = 2 * told->unseen > 1 && 2 * account->left_out > account->untimed;
}

void account_tell(const struct analysis *analysis, struct analysis_account *told)
{
	const struct account *account = &analysis->account;
	double all_ns;

	*told = (struct analysis_account){ 0 };
	sum_up(account, told, &all_ns);
	if (!told->known)
		return;
	struct share *shares = calloc(account->rank_count, sizeof(*shares));
	double *values = calloc(account->rank_count, sizeof(*values));
	if (shares && values)
		told->loss_count = rank_shares(account, all_ns, shares, values);
	for (uint32_t i = 0; i < told->loss_count; i++) {
		tell_loss(analysis, &shares[i], &told->losses[i]);
		told->losses[i].at_least = told->unseen >= ACCOUNT_UNSEEN_SHARE;
	}
	if (!told->loss_count && !is_short(account))
		turns_tell(analysis, all_ns, &told->turns);
	told->turns.at_least = told->unseen >= ACCOUNT_UNSEEN_SHARE;
	free(shares);
	free(values);
}
