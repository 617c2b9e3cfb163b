/* SPDX-License-Identifier: MIT */
/* From a rank that is late by its rows to its finding. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/hang/desync.h"
#include "analysis/late/excursion.h"
#include "analysis/explain/gpu_evidence.h"
#include "analysis/report/host_cause.h"
#include "analysis/measure/lateness.h"
#include "analysis/model.h"
#include "analysis/numbers/late_level.h"
#include "analysis/report/text.h"

static const uint32_t host_subject = 1u << 31;

#define LONGEST_MS 1e12 /* of a damaged box times may be any */

/* Sums over the latest rows in which the rank was late. */
struct recent {
	uint32_t count; /* of windows */
	uint32_t rows, operations;
	uint64_t all_ns;    /* how long they lasted */
	uint64_t beyond_ns; /* late by more than any other */
	uint64_t before_ns; /* how long a row lasted before; 0 not known */
	uint64_t grown_ns;  /* by how much longer than that they lasted, in all */
	uint64_t late_ns, host_ns, device_ns, unlaunched_ns, single_ns;
	int64_t shift_ns;
	double late_ms; /* signed: late_ns is this, but not less than 0 */
	struct cause_window windows[ROWS_TOLD];
};

static void add_row(struct recent *recent, const struct row *row)
{
	if (recent->count < ROWS_TOLD)
		recent->windows[recent->count++] = (struct cause_window){ row->from_ns, row->until_ns };
	recent->rows++;
	recent->operations += row->operations;
	recent->all_ns += row->until_ns - row->from_ns;
	recent->late_ms += row->late_ms;
	recent->late_ns = (uint64_t)(fmin(fmax(recent->late_ms, 0), LONGEST_MS) * 1e6);
	recent->beyond_ns += (uint64_t)(row->beyond_ms * 1e6);
	recent->host_ns += row->host_ns;
	recent->shift_ns += row->shift_ns;
	recent->single_ns += row->single_ns;
	recent->device_ns += row->device_ns;
	recent->unlaunched_ns += row->unlaunched_ns;
}

/* Late by half of what it has to be; where it is late by little, row after row, in single ones noise may hide that. */
static bool is_late_row(const struct rows *rows, uint32_t rank, const struct row *row)
{
	return rows->judge.ranks[rank].of_level ||
	       row->late_ms * 2e6 >= LATE_SERIES_SHARE * (double)(row->until_ns - row->from_ns);
}

/* Late by more than any other of its group, all rows together: single ones show noise. */
static uint64_t beyond_others(const struct rows *rows, uint32_t index, uint64_t late_ns)
{
	uint64_t newest = rows->ranks[index].late_row;
	double next_ms = 0;

	for (uint32_t i = 0; i < rows->rank_count; i++) {
		double sum_ms = 0;
		if (i == index || rows->ranks[i].group != rows->ranks[index].group || rows_suspect(rows, i))
			continue;
		for (uint64_t back = 0; back < ROWS_KEPT && back < newest; back++) {
			const struct row *row = &rows->ranks[i].rows[(newest - back) % ROWS_KEPT];
			sum_ms += row->number == newest - back && !isnan(row->late_ms) ? row->late_ms : 0;
		}
		next_ms = fmax(next_ms, sum_ms);
	}
	return (double)late_ns > next_ms * 1e6 ? late_ns - (uint64_t)(next_ms * 1e6) : 0;
}

static bool is_shown_by_operations(const struct recent *recent)
{
	return recent->single_ns * 2 >= recent->late_ns;
}

/* Each operation is read to LATENESS_NOISE_NS: many of them in a row add up to as much as it is late by. */
static bool are_rows_noisy(const struct recent *recent)
{
	double noise_ns = LATENESS_NOISE_NS * sqrt((double)recent->operations / recent->rows);

	return (double)recent->late_ns / recent->rows < ROWS_READ * noise_ns;
}

/* Of the rows since it is late, which may be fewer than it takes to be sure of a cause. */
static void look_back(const struct rows *rows, uint32_t index, struct recent *recent)
{
	const struct rows_rank *rank = &rows->ranks[index];
	bool level = rows->judge.ranks[index].of_level;
	uint64_t most = level ? ROWS_KEPT : ROWS_TOLD;

	*recent = (struct recent){ .before_ns = rank->before_ns };
	for (uint64_t back = 0; back < most && back < rank->late_row; back++) {
		const struct row *row = &rank->rows[(rank->late_row - back) % ROWS_KEPT];
		if (row->number == rank->late_row - back && !isnan(row->late_ms) && is_late_row(rows, index, row))
			add_row(recent, row);
	}
	if (level && !is_shown_by_operations(recent) && are_rows_noisy(recent))
		recent->beyond_ns = beyond_others(rows, index, recent->late_ns);
	uint64_t usual_ns = recent->rows * recent->before_ns;
	recent->grown_ns = recent->all_ns > usual_ns ? recent->all_ns - usual_ns : 0;
}

/* Where they show nearly all of it, their tests know more of it, if they know steps. In a pipeline a half suffices:
 * there they tell the first late step. */
static bool is_left_to_operations(const struct analysis *analysis, const struct recent *recent)
{
	if (!analysis->rows.steps)
		return false;
	if (analysis->job.pipelined)
		return is_shown_by_operations(recent);
	return recent->single_ns >= ROWS_SHOWN_WHOLE * (double)recent->late_ns;
}

/* A little before each operation, and not much before a few. In a pipeline single operations only show what has
 * changed. */
static bool is_spread(const struct analysis *analysis, const struct recent *recent)
{
	return !analysis->job.pipelined && !is_shown_by_operations(recent);
}

/* Without it the others would have waited for the next one. The next one of a late host is of the same host, and says
 * nothing. */
static uint64_t cost_ns(const struct recent *recent, uint32_t ranks)
{
	uint64_t lost_ns = ranks > 1 ? recent->late_ns : recent->beyond_ns;

	return recent->before_ns && recent->grown_ns < lost_ns ? recent->grown_ns : lost_ns;
}

/* What is summed is a fair sample only if the rank looks at its GPU at times that have nothing to do with what is to be
 * seen. Operations end on all ranks at once: who sees that later or earlier than the others, on average, looks at other
 * times, as one whose threads get no CPU while it waits. */
static bool is_fair(const struct recent *recent)
{
	return (uint64_t)llabs(recent->shift_ns) * ROWS_FAIR <= recent->late_ns;
}

/* What single operations show, the tests that look at steps judge better, if they can: in some rows they would have.
 * Lateness that is spread over many operations they cannot, as others may be late by nearly as much at each, unseen. */
static bool is_left_to_steps(const struct analysis *analysis, uint32_t rank, const struct recent *recent)
{
	uint64_t left_ns = analysis->rows.judge.ranks[rank].decided_ns + ROWS_LEFT * rows_last_ns(&analysis->rows);

	return is_left_to_operations(analysis, recent) && recent->windows[0].to_ns < left_ns;
}

/* What it works longer is its host's where that much of its work was spent without a launch, and its device's where the
 * host had launched nearly all before. Else nothing tells, nor where much of it was in front of replays of graphs. */
static enum rw_late_kind kind_of(const struct recent *recent)
{
	if (recent->host_ns >= recent->late_ns)
		return RW_LATE_HOST;
	uint64_t host_ns = recent->host_ns + recent->unlaunched_ns;
	return recent->device_ns > host_ns && host_ns * 2 < recent->late_ns ? RW_LATE_DEVICE : RW_LATE_NONE;
}

static int set_waiting(struct record *record, const struct analysis *analysis, const uint32_t *ranks, uint32_t count)
{
	const struct rows *rows = &analysis->rows;
	uint32_t *waiting = calloc(analysis->job.rank_count + 1, sizeof(*waiting)), waiting_count = 0;

	if (!waiting)
		return -1;
	for (uint32_t i = 0; i < rows->rank_count; i++) {
		bool named = false;
		for (uint32_t k = 0; k < count; k++)
			named |= ranks[k] == i;
		if (!named && rows->ranks[i].group == rows->ranks[ranks[0]].group)
			waiting[waiting_count++] = i;
	}
	int err = record_set_waiting(record, &analysis->job, waiting, waiting_count);
	free(waiting);
	return err;
}

static void find_cause(const struct analysis *analysis, uint32_t rank, enum rw_late_kind kind,
		       const struct recent *recent, struct cause *cause)
{
	const struct process *process = analysis->job.ranks[rank].process;
	const struct account_rank *account = &analysis->account.ranks[rank];
	uint32_t count = account->window_count < CAUSE_WINDOWS ? account->window_count : CAUSE_WINDOWS;

	*cause = (struct cause){ .share = -1, .fd = -1 };
	/* The account keeps when others waited long for its host. */
	if (kind == RW_LATE_HOST && !is_spread(analysis, recent) && count)
		cause_find(&analysis->intern, process, account->window_tid, account->windows, count, cause);
	if (kind == RW_LATE_DEVICE) {
		gpu_evidence_explain(analysis, rank, recent->windows, recent->count,
				     recent->windows[recent->count - 1].from_ns, cause);
		if (!cause->gpu_advice)
			cause->gpu_advice =
			    "check this rank's GPU (nvidia-smi -q -d CLOCK,PERFORMANCE,ECC), or profile its kernels";
	}
}

static void explain(const struct analysis *analysis, struct record *record, const uint32_t *ranks, uint32_t count,
		    enum rw_late_kind kind, const struct recent *recent)
{
	struct host_cause host = { 0 };

	for (uint32_t i = 0; i < count; i++) {
		struct cause cause;

		find_cause(analysis, ranks[i], kind, recent, &cause);
		host_cause_add(&host, &analysis->job, ranks[i], &cause);
	}
	host_cause_end(&host);
	host_cause_set(record, &analysis->intern, &analysis->job, &host);
	if (kind == RW_LATE_DEVICE)
		gpu_evidence_attach(analysis, record, host.rank, recent->windows[recent->count - 1].from_ns,
				    recent->windows[0].to_ns);
}

static bool knows_steps(const struct analysis *analysis)
{
	uint32_t clock = analysis->stragglers.clock;

	return clock != JOB_NONE && analysis->job.processes[clock]->steps.trust == STEPS_CERTAIN;
}

/* Of these ranks, one of which is `rank`. */
static struct record *make_record(const struct analysis *analysis, enum rw_scope scope, const uint32_t *ranks,
				  uint32_t count, uint32_t rank, const struct recent *recent)
{
	const struct rows *rows = &analysis->rows;
	const struct process *process = analysis->job.ranks[ranks[0]].process;
	struct record *record = record_new(&analysis->job, RW_KIND_STRAGGLER, scope, ranks, count);
	if (!record)
		return NULL;
	struct rw_finding *finding = &record->finding;
	uint64_t step_ns = pace_step_ns(&analysis->stragglers.pace, PACE_USUAL);
	double all_ns = (double)recent->all_ns;
	record->subject = scope == RW_SCOPE_HOST ? host_subject | process->host : ranks[0];
	finding->severity = RW_WARNING;
	finding->confidence = RW_LIKELY;
	finding->arrival = RW_ARRIVAL_GPU;
	finding->first_seen_ns = rows->judge.ranks[rank].decided_ns;
	finding->late.present = true;
	finding->late.spread_out = is_spread(analysis, recent);
	finding->late.kind = kind_of(recent);
	finding->late.by_ms = -1;
	finding->late.longer_share = (double)recent->late_ns / all_ns;
	finding->late.lost_share = (double)cost_ns(recent, count) / all_ns;
	/* In a pipeline what repeats may be its passes, and stages may be a step or two apart. */
	if (rows->steps && rows->ranks[rank].since_row && knows_steps(analysis) && !analysis->job.pipelined)
		finding->late.since_step = (int64_t)rows_step(rows, rows->ranks[rank].since_row);
	if (knows_steps(analysis) && step_ns)
		finding->late.lost_ms_per_step = finding->late.lost_share * (double)step_ns / 1e6;
	explain(analysis, record, ranks, count, finding->late.kind, recent);
	record_add_missing(
	    record, "whether the rank waited for something outside of its operations: only sums over many operations "
		    "show the difference");
	if (set_waiting(record, analysis, ranks, count)) {
		record_free(record);
		return NULL;
	}
	record->longer_ms = knows_steps(analysis) && step_ns ? finding->late.longer_share * (double)step_ns / 1e6 : -1;
	text_works_longer(record);
	return record;
}

/* All ranks of its stage that are known to be late with it. */
static uint32_t choose_stage(const struct analysis *analysis, uint32_t rank, uint32_t *ranks)
{
	const struct rows *rows = &analysis->rows;
	uint32_t count = 0;

	for (uint32_t i = 0; i < rows->rank_count && i < analysis->job.rank_count; i++)
		if (rows->judge.ranks[i].of_stage && rows->judge.ranks[i].decided_ns &&
		    rows->judge.ranks[i].stage == rows->judge.ranks[rank].stage)
			ranks[count++] = i;
	return count;
}

/* Not sure of by itself, but half as late as one of its host that is: what one of them did before does not make the
 * others' lateness another story. */
static bool is_late_beside(const struct analysis *analysis, uint32_t rank, uint32_t named)
{
	return 2 * rows_late_ns(&analysis->rows, rank, ROWS_TOLD) >= rows_late_ns(&analysis->rows, named, ROWS_TOLD);
}

/* The first of them that is named: the finding is made for it. */
static bool is_first(const struct rows *rows, const uint32_t *ranks, uint32_t count, uint32_t rank)
{
	for (uint32_t i = 0; i < count; i++)
		if (rows_suspect(rows, ranks[i]))
			return ranks[i] == rank;
	return false;
}

/* The whole stage of a pipeline; or the whole host, where most of its ranks work longer for certain, the others nearly
 * as long, and another host is seen. */
static uint32_t choose_ranks(const struct analysis *analysis, uint32_t rank, uint32_t *ranks, enum rw_scope *scope)
{
	const struct job *job = &analysis->job;
	uint32_t host = job->ranks[rank].process->host, count = 0, named = 0;
	bool all = job->host_count > 1;

	*scope = RW_SCOPE_STAGE;
	if (analysis->rows.judge.ranks[rank].of_stage)
		return choose_stage(analysis, rank, ranks);
	*scope = RW_SCOPE_HOST;

	for (uint32_t i = 0; i < job->rank_count && all; i++) {
		if (job->ranks[i].process->host != host)
			continue;
		named += rows_suspect(&analysis->rows, i);
		all = rows_suspect(&analysis->rows, i) || is_late_beside(analysis, i, rank);
		ranks[count++] = i;
	}
	if (all && count > 1 && named * ROWS_MOST >= count * (ROWS_MOST - 1))
		return count;
	*scope = RW_SCOPE_RANK;
	ranks[0] = rank;
	return 1;
}

/* What single operations show is told better by those: the finding is theirs then. */
static const struct suspect *by_operations(const struct analysis *analysis, uint32_t rank)
{
	const struct stragglers *stragglers = &analysis->stragglers;

	return rank < stragglers->suspect_count ? &stragglers->suspects[rank] : NULL;
}

static bool is_theirs(const struct analysis *analysis, uint32_t rank)
{
	const struct suspect *suspect = by_operations(analysis, rank);

	return suspect && suspect->open;
}

/* A finding about a whole host is open for its first rank only. */
static bool is_on_a_named_host(const struct stragglers *stragglers, const struct suspect *suspect)
{
	for (uint32_t i = 0; i < stragglers->suspect_count; i++)
		if (stragglers->suspects[i].open && stragglers->suspects[i].host == suspect->host)
			return true;
	return false;
}

/* What the tests of steps suspect and do not report within some rows, because single operations may show too little of
 * its cost, is left to the rows. */
static bool is_suspected(const struct analysis *analysis, uint32_t rank, uint64_t now_ns)
{
	const struct suspect *suspect = by_operations(analysis, rank);

	if (!suspect || suspect->open || !suspect->decided_ns)
		return suspect && suspect->open;
	return now_ns < suspect->decided_ns + ROWS_LEFT * rows_last_ns(&analysis->rows) ||
	       is_on_a_named_host(&analysis->stragglers, suspect);
}

/* It was reported while it was late, and is late no longer: its newest rows show less than half of that. */
static bool is_told_and_over(const struct analysis *analysis, uint32_t rank, const struct recent *recent)
{
	const struct suspect *suspect = by_operations(analysis, rank);
	const struct rows *rows = &analysis->rows;

	if (!suspect)
		return false;
	const struct rows_rank *late = &rows->ranks[rank];
	const struct row *since = &late->rows[late->since_row % ROWS_KEPT];
	uint64_t newest_ns = rows_late_ns(rows, rank, ROW_JUDGE_CLEAN);
	return since->number == late->since_row && suspect->told_ns > since->from_ns &&
	       newest_ns * recent->rows * 2 < recent->late_ns;
}

/* Where the others wait for another rank nearly as long, what this one works longer costs next to nothing, and with no
 * cause that is seen it may as well be noise, or what a rank works longer that others make wait. */
static bool is_worth_telling(const struct record *record)
{
	const struct rw_finding *finding = &record->finding;

	return finding->cause.class_ != RW_CAUSE_UNKNOWN ||
	       finding->late.lost_share * ROWS_COSTS_LESS >= finding->late.longer_share;
}

/* Less than what a lateness must cost to be reported. */
static bool costs_too_little(const struct rows *rows, uint32_t rank, const struct record *record)
{
	return !rows->judge.ranks[rank].of_level && record->finding.late.lost_share < LATE_SERIES_SHARE;
}

/* Is it in a communicator of which not all ranks are seen? What it waited for there made it late elsewhere by as
 * little. */
static bool may_wait_unseen(const struct job *job, uint32_t rank)
{
	for (uint32_t i = 0; i < job->communicator_count; i++) {
		const struct communicator *communicator = job->communicators[i];
		if (communicator->ended_ns || !job_unseen(communicator))
			continue;
		for (uint32_t k = 0; k < communicator->member_count; k++)
			if (communicator->members[k].rank == rank)
				return true;
	}
	return false;
}

/* Of many hosts, noise that lasts makes one rank stand out on some host: who is late is left to those who compare the
 * ranks of all hosts, by messages or from all boxes. Where nobody does, many ranks of one host are enough. */
static bool is_left_to_judge(const struct analysis *analysis, uint32_t rank)
{
	const struct rows *rows = &analysis->rows;
	uint32_t alike = 0;

	for (uint32_t i = 0; i < rows->rank_count; i++)
		alike += rows->ranks[i].group == rows->ranks[rank].group;
	return job_is_partial(&analysis->job) && (analysis->has_judge || alike < ROWS_ALIKE);
}

static bool is_little(const struct recent *recent)
{
	return (double)recent->late_ns < ROWS_LITTLE * (double)recent->all_ns;
}

static bool is_left_open(const struct analysis *analysis, uint32_t rank, const struct recent *recent, uint64_t now_ns)
{
	const struct row_judge_rank *judged = &analysis->rows.judge.ranks[rank];

	return is_told_and_over(analysis, rank, recent) || desync_of_rank(analysis, rank, now_ns) ||
	       is_left_to_judge(analysis, rank) ||
	       (is_little(recent) && judged->of_level && may_wait_unseen(&analysis->job, rank));
}

static void consider(struct analysis *analysis, uint32_t rank, uint32_t *ranks, uint64_t now_ns)
{
	struct rows_rank *late = &analysis->rows.ranks[rank];
	uint64_t decided_ns = analysis->rows.judge.ranks[rank].decided_ns;
	struct recent recent;
	enum rw_scope scope;
	uint32_t count = choose_ranks(analysis, rank, ranks, &scope);

	look_back(&analysis->rows, rank, &recent);
	if (!late->told_ns && is_left_open(analysis, rank, &recent, now_ns))
		return;
	if (!recent.count || !is_fair(&recent) || !is_first(&analysis->rows, ranks, count, rank) ||
	    is_left_to_steps(analysis, rank, &recent))
		return;
	struct record *record = make_record(analysis, scope, ranks, count, rank, &recent);
	if (!record)
		return;
	if (!late->told_ns && (!is_worth_telling(record) || costs_too_little(&analysis->rows, rank, record))) {
		record_free(record);
		return;
	}
	if (now_ns > decided_ns && decided_ns > analysis->first_tick_ns)
		record->finding.detect_ms = (double)(now_ns - decided_ns) / 1e6;
	late->told_ns = now_ns;
	findings_tell(&analysis->findings, record, now_ns);
}

static void close_one(struct findings *findings, uint32_t subject, uint64_t now_ns)
{
	struct record *record = findings_over(findings, RW_KIND_STRAGGLER, subject);

	if (record) {
		record->finding.late.over = true;
		text_straggler_over(record, &(struct text_over){ 0 });
	}
	findings_close(findings, RW_KIND_STRAGGLER, subject, now_ns);
}

static void acquit(struct analysis *analysis, uint32_t rank, uint64_t now_ns)
{
	analysis->rows.ranks[rank].told_ns = 0;
	if (is_theirs(analysis, rank))
		return;
	close_one(&analysis->findings, rank, now_ns);
	close_one(&analysis->findings, host_subject | analysis->job.ranks[rank].process->host, now_ns);
}

void rows_tick(struct analysis *analysis, uint64_t now_ns)
{
	struct rows *rows = &analysis->rows;
	uint32_t *ranks = NULL;

	rows_fit(rows, pace_step_ns(&analysis->stragglers.pace, PACE_USUAL));
	for (uint32_t i = 0; i < rows->rank_count; i++) {
		uint64_t told_ns = rows->ranks[i].told_ns;
		if (told_ns && (!rows_suspect(rows, i) || is_theirs(analysis, i)))
			acquit(analysis, i, now_ns);
		if (!rows_suspect(rows, i) || is_suspected(analysis, i, now_ns) ||
		    (told_ns && now_ns < told_ns + ROWS_UPDATE_NS))
			continue;
		if (!ranks)
			ranks = calloc(analysis->job.rank_count + 1, sizeof(*ranks));
		if (!ranks)
			return;
		consider(analysis, i, ranks, now_ns);
	}
	free(ranks);
}
