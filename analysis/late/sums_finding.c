/* SPDX-License-Identifier: MIT */
/* From a rank that works longer than its peers to its finding. */
#include <stdlib.h>
#include <string.h>

#include "analysis/hang/desync.h"
#include "analysis/late/excursion.h"
#include "analysis/explain/gpu_evidence.h"
#include "analysis/report/host_cause.h"
#include "analysis/model.h"
#include "analysis/numbers/sorting.h"
#include "analysis/numbers/steadiness.h"
#include "analysis/report/text.h"

static const uint32_t host_subject = 1u << 31;

/* Of the latest windows: their sums. */
struct recent {
	uint32_t count;
	uint64_t all_ns; /* how long they lasted */
	bool by_rows; /* then: */
	uint64_t beyond_ns; /* late by more than any other */
	uint64_t before_ns, grown_ns; /* how long a row lasted before, 0 not known; by how much longer they lasted than that, in all */
	uint64_t late_ns, met_ns, held_ns, host_ns, device_ns, unlaunched_ns, single_ns, stepped_ns;
	int64_t shift_ns;
	struct cause_window windows[SUMS_TOLD];
};

static void add_row(struct recent *recent, const struct row *row)
{
	recent->windows[recent->count++] = (struct cause_window){ row->from_ns, row->until_ns };
	recent->all_ns += row->until_ns - row->from_ns;
	recent->late_ns += (uint64_t)(row->late_ms * 1e6);
	recent->beyond_ns += (uint64_t)(row->beyond_ms * 1e6);
	recent->host_ns += row->host_ns;
	recent->shift_ns += row->shift_ns;
	recent->single_ns += row->single_ns;
	recent->device_ns += row->device_ns;
	recent->unlaunched_ns += row->unlaunched_ns;
}

/* Of the rows since it is late, which may be fewer than it takes to be sure of a cause. */
static void look_back_by_rows(const struct rows *rows, uint32_t index, struct recent *recent)
{
	const struct rows_rank *rank = &rows->ranks[index];

	*recent = (struct recent){ .by_rows = true, .before_ns = rank->before_ns };
	for (uint64_t back = 0; back < ROWS_TOLD && back < rank->late_row; back++) {
		const struct row *row = &rank->rows[(rank->late_row - back) % ROWS_KEPT];
		if (row->number == rank->late_row - back && row->late_ms * 2e6 >= LATE_SERIES_SHARE * (double)(row->until_ns - row->from_ns))
			add_row(recent, row);
	}
	uint64_t usual_ns = recent->count * recent->before_ns;
	recent->grown_ns = recent->all_ns > usual_ns ? recent->all_ns - usual_ns : 0;
}

static void look_back(const struct sums *sums, uint32_t rank, struct recent *recent)
{
	const struct suspect *suspect = &sums->watched.suspects[rank];

	*recent = (struct recent){ 0 };
	for (uint64_t back = 0; back < SUMS_TOLD && suspect->step >= sums->watched.first_step + back; back++) {
		uint64_t number = suspect->step - back;
		struct blame blame = suspect_blame(suspect, number);
		if (!blame.late_ns)
			continue;
		recent->windows[recent->count++] =
		    (struct cause_window){ number * sums->window_ns, (number + 1) * sums->window_ns };
		recent->all_ns += sums->window_ns;
		recent->late_ns += blame.late_ns;
		recent->met_ns += sums->ranks[rank].met_ns[number % STRAGGLER_STEPS];
		recent->held_ns += sums->ranks[rank].held_ns[number % STRAGGLER_STEPS];
		recent->host_ns += sums->ranks[rank].host_ns[number % STRAGGLER_STEPS];
		recent->shift_ns += sums->ranks[rank].shift_ns[number % STRAGGLER_STEPS];
		recent->single_ns += sums->ranks[rank].single_ns[number % STRAGGLER_STEPS];
		recent->stepped_ns += sums->ranks[rank].stepped_ns[number % STRAGGLER_STEPS];
		recent->device_ns += sums->ranks[rank].device_ns[number % STRAGGLER_STEPS];
		recent->unlaunched_ns += sums->ranks[rank].unlaunched_ns[number % STRAGGLER_STEPS];
	}
}

static bool is_shown_by_operations(const struct recent *recent)
{
	return recent->single_ns * 2 >= recent->late_ns;
}

/* Where they show nearly all of it, their tests know more of it. In a pipeline a half suffices: there they tell the
 * first late step. */
static bool is_left_to_operations(const struct analysis *analysis, const struct recent *recent)
{
	if (analysis->job.pipelined)
		return is_shown_by_operations(recent);
	return recent->single_ns >= SUMS_SHOWN_WHOLE * (double)recent->late_ns;
}

/* A little before each operation, and not much before a few. In a pipeline single operations only show what has
 * changed. */
static bool is_spread(const struct analysis *analysis, const struct recent *recent)
{
	return !analysis->job.pipelined && !is_shown_by_operations(recent);
}

/* Where collectives show most of it: for so long all others waited. Without it they would have waited for the next one.
 * The next one of a late host is of the same host, and says nothing. */
static uint64_t cost_ns(const struct recent *recent, uint32_t ranks)
{
	if (recent->by_rows) {
		uint64_t lost_ns = ranks > 1 ? recent->late_ns : recent->beyond_ns;
		return recent->before_ns && recent->grown_ns < lost_ns ? recent->grown_ns : lost_ns;
	}
	bool shown = ranks == 1 && recent->met_ns * 2 >= recent->late_ns;

	return shown && recent->held_ns < recent->late_ns ? recent->held_ns : recent->late_ns;
}

/* What is summed is a fair sample only if the rank looks at its GPU at times that have nothing to do with what is to be
 * seen. Operations end on all ranks at once: who sees that later or earlier than the others, on average, looks at other
 * times, as one whose threads get no CPU while it waits. */
static bool is_fair(const struct recent *recent)
{
	return (uint64_t)llabs(recent->shift_ns) * SUMS_FAIR <= recent->late_ns;
}

static uint64_t median_ns(const struct suspect *suspect)
{
	uint64_t values[SUMS_TOLD];

	for (uint32_t i = 0; i < SUMS_TOLD; i++)
		values[i] = suspect_shown_ns(suspect, suspect->step - i);
	sort_u64(values, SUMS_TOLD);
	return values[SUMS_TOLD / 2];
}

/* As noise that lasts does, which steps show better; or is it over? Of what is late evenly, by little, a window in four
 * may be noise. */
static bool varies(const struct sums *sums, uint32_t rank)
{
	const struct suspect *suspect = &sums->watched.suspects[rank];
	uint64_t level_ns = sums->ranks[rank].even ? median_ns(suspect) : excursions_level_ns(&sums->watched, suspect, suspect->step, SUMS_TOLD);

	if ((double)level_ns < sums_least_share(&sums->ranks[rank]) * (double)sums->window_ns)
		return true;
	return steadiness(suspect, SUMS_TOLD, level_ns, EXCURSION_STEADY_PART) < SUMS_STEADY && wanders(suspect, SUMS_TOLD);
}

/* What single operations show, the tests that look at steps judge better, if they can: in some windows they would have.
 * Lateness that is spread over many operations they cannot, as others may be late by nearly as much at each, unseen;
 * sums see that they are not. */
static bool is_left_to_steps(const struct analysis *analysis, uint32_t rank, const struct recent *recent)
{
	const struct stragglers *stragglers = &analysis->stragglers;
	const struct step_start *newest = &stragglers->pace.starts[stragglers->newest_step % PACE_STEPS];
	const struct sums *sums = &analysis->sums;
	uint64_t decided_ns = sums->watched.suspects[rank].decided_ns, theirs_ns = (sums->ranks[rank].theirs + 1) * sums->window_ns;
	uint64_t left_ns = (decided_ns > theirs_ns ? decided_ns : theirs_ns) + SUMS_LEFT * sums->window_ns;

	if (sums->ranks[rank].by_rows)
		return is_left_to_operations(analysis, recent) && recent->windows[0].to_ns < decided_ns + SUMS_LEFT * rows_last_ns(&analysis->rows);
	return recent->stepped_ns * 2 >= recent->late_ns && (recent->windows[0].to_ns < left_ns || varies(sums, rank)) && stragglers->newest_step && newest->step == stragglers->newest_step &&
	       newest->start_ns + SUMS_TOLD * analysis->sums.window_ns >= recent->windows[0].from_ns;
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
	const struct sums *sums = &analysis->sums;
	uint32_t *waiting = calloc(analysis->job.rank_count + 1, sizeof(*waiting)), waiting_count = 0;

	if (!waiting)
		return -1;
	for (uint32_t i = 0; i < sums->rank_count; i++) {
		bool named = false;
		for (uint32_t k = 0; k < count; k++)
			named |= ranks[k] == i;
		if (!named && sums->ranks[i].group == sums->ranks[ranks[0]].group)
			waiting[waiting_count++] = i;
	}
	int err = record_set_waiting(record, &analysis->job, waiting, waiting_count);
	free(waiting);
	return err;
}

static void find_cause(const struct analysis *analysis, uint32_t rank, enum rw_late_kind kind, const struct recent *recent,
		       struct cause *cause)
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

static void explain(const struct analysis *analysis, struct record *record, const uint32_t *ranks, uint32_t count, enum rw_late_kind kind,
		    const struct recent *recent)
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
static struct record *make_record(const struct analysis *analysis, enum rw_scope scope, const uint32_t *ranks, uint32_t count,
				  uint32_t rank, const struct recent *recent)
{
	const struct sums *sums = &analysis->sums;
	const struct process *process = analysis->job.ranks[ranks[0]].process;
	struct record *record =
	    record_new(&analysis->job, RW_KIND_STRAGGLER, scope, ranks, count);
	if (!record)
		return NULL;
	struct rw_finding *finding = &record->finding;
	uint64_t step_ns = pace_step_ns(&analysis->stragglers.pace, PACE_USUAL);
	double all_ns = (double)recent->all_ns;
	record->subject = scope == RW_SCOPE_HOST ? host_subject | process->host : ranks[0];
	finding->severity = RW_WARNING;
	finding->confidence = RW_LIKELY;
	finding->arrival = RW_ARRIVAL_GPU;
	finding->first_seen_ns = sums->watched.suspects[rank].decided_ns;
	finding->late.present = true;
	finding->late.spread_out = is_spread(analysis, recent);
	finding->late.kind = kind_of(recent);
	finding->late.by_ms = -1;
	finding->late.longer_share = (double)recent->late_ns / all_ns;
	finding->late.lost_share = (double)cost_ns(recent, count) / all_ns;
	/* In a pipeline what repeats may be its passes, and stages may be a step or two apart. */
	if (sums->ranks[rank].by_rows && knows_steps(analysis) && !analysis->job.pipelined)
		finding->late.since_step = (int64_t)rows_step(&analysis->rows, analysis->rows.ranks[rank].since_row);
	if (knows_steps(analysis) && step_ns)
		finding->late.lost_ms_per_step = finding->late.lost_share * (double)step_ns / 1e6;
	explain(analysis, record, ranks, count, finding->late.kind, recent);
	record_add_missing(record, "whether the rank waited for something outside of its operations: only sums over many operations "
				   "show the difference");
	if (set_waiting(record, analysis, ranks, count)) {
		record_free(record);
		return NULL;
	}
	record->longer_ms = knows_steps(analysis) && step_ns ? finding->late.longer_share * (double)step_ns / 1e6 : -1;
	text_works_longer(record);
	return record;
}

static bool is_named(const struct sums *sums, uint32_t rank)
{
	return rank < sums->rank_count && sums->watched.suspects[rank].decided_ns;
}

/* All ranks of its stage that are known to be late with it. */
static uint32_t choose_stage(const struct analysis *analysis, uint32_t rank, uint32_t *ranks)
{
	const struct rows *rows = &analysis->rows;
	uint32_t count = 0;

	for (uint32_t i = 0; i < rows->rank_count && i < analysis->job.rank_count; i++)
		if (rows->judge.ranks[i].of_stage && rows->judge.ranks[i].decided_ns && rows->judge.ranks[i].stage == rows->judge.ranks[rank].stage)
			ranks[count++] = i;
	return count;
}

/* Not sure of by itself, but half as late as one of its host that is: what one of them did before does not make the
 * others' lateness another story. */
static bool is_late_beside(const struct analysis *analysis, uint32_t rank, uint32_t named)
{
	return analysis->sums.ranks[named].by_rows &&
	       2 * rows_late_ns(&analysis->rows, rank, SUMS_TOLD) >= rows_late_ns(&analysis->rows, named, SUMS_TOLD);
}

/* The first of them that is named: the finding is made for it. */
static bool is_first(const struct sums *sums, const uint32_t *ranks, uint32_t count, uint32_t rank)
{
	for (uint32_t i = 0; i < count; i++)
		if (is_named(sums, ranks[i]))
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
	if (analysis->sums.ranks[rank].by_rows && analysis->rows.judge.ranks[rank].of_stage)
		return choose_stage(analysis, rank, ranks);
	*scope = RW_SCOPE_HOST;

	for (uint32_t i = 0; i < job->rank_count && all; i++) {
		if (job->ranks[i].process->host != host)
			continue;
		named += is_named(&analysis->sums, i);
		all = is_named(&analysis->sums, i) || is_late_beside(analysis, i, rank);
		ranks[count++] = i;
	}
	if (all && count > 1 && named * SUMS_MOST >= count * (SUMS_MOST - 1))
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

/* What the tests of steps suspect and do not report within some windows, because single operations may show too little
 * of its cost, is left to the sums. */
static bool is_suspected(const struct analysis *analysis, uint32_t rank, uint64_t now_ns)
{
	const struct suspect *suspect = by_operations(analysis, rank);

	if (!suspect || suspect->open || !suspect->decided_ns)
		return suspect && suspect->open;
	uint64_t row_ns = analysis->sums.ranks[rank].by_rows ? rows_last_ns(&analysis->rows) : analysis->sums.window_ns;
	return now_ns < suspect->decided_ns + SUMS_LEFT * row_ns || is_on_a_named_host(&analysis->stragglers, suspect);
}

/* It was reported while it was late, and is late no longer: its newest rows show less than half of that. */
static bool is_told_and_over(const struct analysis *analysis, uint32_t rank, const struct recent *recent)
{
	const struct suspect *suspect = by_operations(analysis, rank);
	const struct rows *rows = &analysis->rows;

	if (!recent->by_rows || !suspect)
		return false;
	const struct rows_rank *late = &rows->ranks[rank];
	const struct row *since = &late->rows[late->since_row % ROWS_KEPT];
	uint64_t newest_ns = rows_late_ns(rows, rank, ROW_JUDGE_CLEAN) * rows->steps; /* in a row, on average */
	return since->number == late->since_row && suspect->told_ns > since->from_ns && newest_ns * recent->count * 2 < recent->late_ns;
}

/* Where the others wait for another rank nearly as long, what this one works longer costs next to nothing, and with no
 * cause that is seen it may as well be noise, or what a rank works longer that others make wait. */
static bool is_worth_telling(const struct record *record)
{
	const struct rw_finding *finding = &record->finding;

	return finding->cause.class_ != RW_CAUSE_UNKNOWN || finding->late.lost_share * SUMS_COSTS_LESS >= finding->late.longer_share;
}

/* Less than what a lateness must cost to be told. */
static bool costs_too_little(const struct record *record, const struct recent *recent)
{
	return recent->by_rows && record->finding.late.lost_share < LATE_SERIES_SHARE;
}

static void consider(struct analysis *analysis, uint32_t rank, uint32_t *ranks, uint64_t now_ns)
{
	struct suspect *suspect = &analysis->sums.watched.suspects[rank];
	struct recent recent;
	enum rw_scope scope;
	uint32_t count = choose_ranks(analysis, rank, ranks, &scope);

	if (analysis->sums.ranks[rank].by_rows)
		look_back_by_rows(&analysis->rows, rank, &recent);
	else
		look_back(&analysis->sums, rank, &recent);
	if (!analysis->sums.ranks[rank].told && (is_told_and_over(analysis, rank, &recent) || desync_of_rank(analysis, rank, now_ns)))
		return;
	if (!recent.count || !is_fair(&recent) || !is_first(&analysis->sums, ranks, count, rank) || is_left_to_steps(analysis, rank, &recent))
		return;
	struct record *record = make_record(analysis, scope, ranks, count, rank, &recent);
	if (!record)
		return;
	if (!analysis->sums.ranks[rank].told && (!is_worth_telling(record) || costs_too_little(record, &recent))) {
		record_free(record);
		return;
	}
	if (now_ns > suspect->decided_ns && suspect->decided_ns > analysis->first_tick_ns)
		record->finding.detect_ms = (double)(now_ns - suspect->decided_ns) / 1e6;
	analysis->sums.ranks[rank].told = true;
	suspect->told_ns = now_ns;
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
	analysis->sums.ranks[rank].told = false;
	if (is_theirs(analysis, rank))
		return;
	close_one(&analysis->findings, rank, now_ns);
	close_one(&analysis->findings, host_subject | analysis->job.ranks[rank].process->host, now_ns);
}

/* Whole steps, as long as steps are long: else one window would show more of what a rank does once in a step than the
 * next. Once many windows were judged, steps must change by much for all of them to be forgotten. */
static uint64_t fitting_ns(const struct sums *sums, uint64_t step_ns)
{
	uint64_t steps_ns = step_ns < SUMS_WINDOW_MAX_NS / SUMS_STEPS ? SUMS_STEPS * step_ns : SUMS_WINDOW_MAX_NS;
	uint64_t window_ns = steps_ns > SUMS_WINDOW_NS ? steps_ns : SUMS_WINDOW_NS, first = sums->watched.first_step;
	uint64_t off_ns = window_ns > sums->window_ns ? window_ns - sums->window_ns : sums->window_ns - window_ns;
	bool settled = first && sums->next >= first + SUMS_SETTLED;
	return off_ns * (settled ? SUMS_OFF_LATER : SUMS_OFF) <= sums->window_ns ? sums->window_ns : window_ns;
}

static void fit_windows(struct sums *sums, uint64_t step_ns)
{
	uint64_t window_ns = sums->window_ns && step_ns ? fitting_ns(sums, step_ns) : sums->window_ns;

	sums->step_ns = step_ns;
	if (window_ns == sums->window_ns)
		return;
	sums->window_ns = window_ns;
	sums->next = sums->newest = sums->current = sums->current_ns = sums->uneven = 0;
	sums->watched.first_step = 0;
	sums->watched.pace = (struct pace){ 0 };
	for (uint32_t i = 0; i < sums->rank_count; i++) {
		struct suspect *suspect = &sums->watched.suspects[i];
		memset(sums->ranks[i].windows, 0, sizeof(sums->ranks[i].windows));
		sums->ranks[i].operations = 0;
		memset(suspect->blames, 0, sizeof(suspect->blames));
		excursions_forget(suspect);
		suspect->step = 0;
		sums->ranks[i].clean = 0;
		sums->ranks[i].theirs = 0;
		if (sums->ranks[i].told || sums->ranks[i].by_rows)
			continue; /* other windows do not acquit it */
		suspect->decided_ns = 0;
		suspect->open = false;
	}
}

/* A few steps that take much longer do not change the windows. But who waits early in such a step does its work in
 * another window than who waits late in it. */
static void leave_out_long_steps(struct sums *sums, uint64_t step_ns)
{
	if (sums->window_ns * (SUMS_OFF_LATER + 1) < SUMS_STEPS * step_ns * SUMS_OFF_LATER)
		sums->uneven = sums->newest;
}

/* Whom the rows name, or no longer name. */
static void take_rows(struct analysis *analysis)
{
	struct sums *sums = &analysis->sums;

	for (uint32_t i = 0; i < sums->rank_count; i++) {
		struct suspect *suspect = &sums->watched.suspects[i];
		bool late = rows_suspect(&analysis->rows, i);
		if (late && !suspect->decided_ns) {
			suspect_decide(suspect, analysis->rows.judge.ranks[i].decided_ns);
			suspect->host = analysis->job.ranks[i].process->host;
			suspect->open = sums->ranks[i].by_rows = true;
			excursions_forget(suspect); /* nobody is measured by a fault */
		} else if (!late && sums->ranks[i].by_rows) {
			suspect->decided_ns = 0;
			suspect->open = sums->ranks[i].by_rows = false;
		}
	}
}

void sums_tick(struct analysis *analysis, uint64_t now_ns)
{
	struct sums *sums = &analysis->sums;
	uint32_t *ranks = NULL;

	fit_windows(sums, pace_step_ns(&analysis->stragglers.pace, PACE_USUAL));
	rows_fit(&analysis->rows, pace_step_ns(&analysis->stragglers.pace, PACE_USUAL));
	take_rows(analysis);
	leave_out_long_steps(sums, pace_step_ns(&analysis->stragglers.pace, SUMS_LATEST));
	for (uint32_t i = 0; i < sums->rank_count; i++) {
		struct suspect *suspect = &sums->watched.suspects[i];
		bool told = sums->ranks[i].told;
		if (told && (!suspect->decided_ns || is_theirs(analysis, i)))
			acquit(analysis, i, now_ns);
		if (is_suspected(analysis, i, now_ns))
			sums->ranks[i].theirs = suspect->step;
		if (!suspect->decided_ns || is_suspected(analysis, i, now_ns) ||
		    (told && now_ns < suspect->told_ns + SUMS_UPDATE_NS))
			continue;
		if (!ranks)
			ranks = calloc(analysis->job.rank_count + 1, sizeof(*ranks));
		if (!ranks)
			return;
		consider(analysis, i, ranks, now_ns);
	}
	free(ranks);
}
