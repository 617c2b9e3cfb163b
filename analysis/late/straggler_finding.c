/* SPDX-License-Identifier: MIT */
/* From a suspected rank to its finding: what it costs, why, and when to say so. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/hang/desync.h"
#include "analysis/late/excursion.h"
#include "analysis/explain/gpu_evidence.h"
#include "analysis/report/host_cause.h"
#include "analysis/model.h"
#include "analysis/explain/port_evidence.h"
#include "analysis/late/straggler_cause.h"
#include "analysis/late/straggler_cost.h"
#include "analysis/host/tally.h"
#include "analysis/report/text.h"
#include "analysis/host/usual_sleep.h"

/* Evidence of the same moment comes by several ways; the first words shall not be the poorest. */
static const uint64_t evidence_first_ns = 300000000;
static const uint64_t evidence_wait_ns = 1000000000;
static const uint64_t update_pause_ns = 1000000000;
static const uint32_t host_subject = 1u << 31;
enum { LEAST_ONE_IN = 200 /* of a step: less would read "0 % of the step" */ };

/* Is what makes the rank late its own GPU, which explains none of its mates? */
static bool is_late_by_its_gpu_alone(struct analysis *analysis, uint32_t rank)
{
	const struct stragglers *stragglers = &analysis->stragglers;
	uint32_t mates = 0, by_gpu = 0;

	if (!straggler_is_late_by_its_gpu(analysis, rank))
		return false;
	for (uint32_t i = 0; i < stragglers->suspect_count; i++) {
		if (stragglers->suspects[i].host != stragglers->suspects[rank].host)
			continue;
		mates++;
		by_gpu += straggler_is_late_by_its_gpu(analysis, i);
	}
	return host_cause_is_of_few(by_gpu, mates);
}

/* All ranks of its host are as late: to name this one, because the tests of the others do not show as much yet, would
 * mislead. */
static void suspect_its_host(struct analysis *analysis, uint32_t rank)
{
	struct stragglers *stragglers = &analysis->stragglers;
	struct suspect *suspect = &stragglers->suspects[rank];
	uint32_t length = EXCURSION_ROW_MIN, mates = 0, decided = 0, as_late = 0;
	uint64_t least_ns;

	/* One that was late before is suspected again after fewer steps: in these its mates must be late, too. */
	while (!(least_ns = excursions_level_ns(stragglers, suspect, suspect->step, length)) && length > 1)
		length--;
	if (!least_ns || analysis->job.host_count < 2 || suspect->open || suspect->intermittent->decided)
		return;
	for (uint32_t i = 0; i < stragglers->suspect_count; i++) {
		const struct suspect *mate = &stragglers->suspects[i];
		if (mate->host != suspect->host)
			continue;
		mates++;
		decided += mate->decided_ns != 0;
		as_late +=
		    !mate->decided_ns && excursions_level_ns(stragglers, mate, suspect->step, length) * 2 >= least_ns;
	}
	if (!as_late || decided + as_late < mates || is_late_by_its_gpu_alone(analysis, rank))
		return;
	for (uint32_t i = 0; i < stragglers->suspect_count; i++)
		if (stragglers->suspects[i].host == suspect->host && !stragglers->suspects[i].decided_ns)
			suspect_decide(&stragglers->suspects[i], suspect->decided_ns);
}

/* Ranks of a host that do the same, and are late together while those of other hosts are not, are so by something of
 * their host. If this does not make all of the host late, it is not known what it is, and no single one of them is at
 * fault. */
static bool is_late_with_its_mates(const struct analysis *analysis, uint32_t rank)
{
	const struct stragglers *stragglers = &analysis->stragglers;
	const struct suspect *suspect = &stragglers->suspects[rank];
	uint64_t least_ns = excursions_level_ns(stragglers, suspect, suspect->step, EXCURSION_ROW_MIN);
	uint32_t mates = 0, others = 0;

	for (uint32_t i = 0; i < stragglers->suspect_count; i++) {
		const struct suspect *other = &stragglers->suspects[i];
		if (i == rank || other->group != suspect->group)
			continue;
		if (other->host == suspect->host &&
		    excursions_level_ns(stragglers, other, suspect->step, EXCURSION_ROW_MIN) * 2 < least_ns)
			return false;
		mates += other->host == suspect->host;
		others += other->host != suspect->host;
	}
	return least_ns && mates && others;
}

/* The ranks that the finding is about: the whole host where all its ranks are suspected and another host is seen. */
static uint32_t choose_ranks(const struct analysis *analysis, uint32_t rank, uint32_t *ranks)
{
	const struct job *job = &analysis->job;
	uint32_t host = job->ranks[rank].process->host, count = 0;
	bool all = job->host_count > 1;
	for (uint32_t i = 0; i < job->rank_count && all; i++) {
		if (job->ranks[i].process->host != host)
			continue;
		all = i < analysis->stragglers.suspect_count && analysis->stragglers.suspects[i].decided_ns;
		ranks[count++] = i;
	}
	if (all && count > 1)
		return count;
	ranks[0] = rank;
	return 1;
}

static void set_late(struct record *record, const struct suspect *suspect, const struct straggler_cost *cost)
{
	struct rw_finding *finding = &record->finding;
	bool host_arrival = straggler_shown_operation(suspect)->state & OPERATION_HOST;
	finding->severity = RW_WARNING;
	finding->arrival = host_arrival ? RW_ARRIVAL_HOST : RW_ARRIVAL_GPU;
	finding->confidence = host_arrival ? RW_LIKELY : RW_CERTAIN;
	finding->late.present = true;
	finding->late.kind = straggler_is_host_late(suspect)		? RW_LATE_HOST
			     : straggler_host_part_is_unknown(suspect)	? RW_LATE_NONE
									: RW_LATE_DEVICE;
	finding->late.by_ms = straggler_shown_operation(suspect)->by_us / 1e3;
	if (instance_is_in_step(straggler_shown_instance(suspect)))
		finding->late.lost_ms_per_step = (double)cost->lost_ns / 1e6;
	/* Nothing loses all of its time: then how long a step takes is not known. */
	if (cost->lost_ns < cost->step_ns)
		finding->late.lost_share = (double)cost->lost_ns / (double)cost->step_ns;
	finding->late.since_step =
	    suspect->untold ? -1 : instance_told_step(straggler_shown_instance(suspect), cost->since_step);
	if (suspect->intermittent->decided)
		finding->late.one_in = suspect_interval(suspect->intermittent);
	finding->late.at_least = cost->at_least;
	if (cost->at_least)
		record_add_missing(
		    record,
		    "lateness in operations without GPU progress, small ones in a row (RANKWATCH_GPU_TIME=watermark "
		    "follows them, too): it costs at least that much");
	if (cost->at_most_ns > cost->lost_ns + cost->lost_ns / 5)
		record_add_missing(record,
				   "how far the others' GPUs computed ahead while they waited: it may cost more");
	if (host_arrival)
		record_add_missing(
		    record, "no GPU times: a late GPU and a slow transfer cannot be told apart from a late host");
}

/* Of replays without times nothing says when they ran. In the group itself all others wait in them as long as this rank
 * does. */
static bool replays_another_group(const struct process *process, uint32_t rank, const struct communicator *communicator)
{
	for (uint32_t i = 0; i < process->membership_count; i++) {
		const struct member *member = job_member_of(&process->memberships[i]);
		if (member && member->rank == rank && job_untimed_calls(member) &&
		    process->memberships[i].communicator != communicator)
			return true;
	}
	return false;
}

/* It may be a victim: it waited for another rank where nobody sees it. What was seen of its own threads excludes
 * that. */
static void doubt(struct record *record, const struct analysis *analysis, const struct suspect *suspect, uint32_t rank,
		  const struct cause *cause)
{
	const struct process *process = analysis->job.ranks[rank].process;
	const struct stragglers *stragglers = &analysis->stragglers;
	const struct unknown_share share = rank < stragglers->unknown_share_count ? stragglers->unknown_shares[rank]
										  : (struct unknown_share){ 0 };
	const char *where = NULL;

	if (straggler_is_told_by(cause) && cause->class_ != RW_CAUSE_GPU)
		return;
	if (share.after_unknown_ns * 2 > share.late_ns)
		where = "in the operations without GPU times directly before";
	else if (replays_another_group(process, rank, straggler_shown_instance(suspect)->communicator))
		where = "in its CUDA graphs, whose collectives have no times";
	if (!where)
		return;
	record->finding.confidence = RW_LIKELY;
	char text[192];
	snprintf(text, sizeof(text), "it may have waited for another rank %s: then that one was late", where);
	record_add_missing(record, text);
}

static int set_waiting(struct record *record, const struct analysis *analysis, const struct suspect *suspect,
		       const uint32_t *ranks, uint32_t count)
{
	const struct instance *instance = straggler_shown_instance(suspect);
	const struct communicator *communicator = instance->communicator;
	uint32_t *waiting = calloc(communicator->member_count + 1, sizeof(*waiting)), waiting_count = 0;
	if (!waiting)
		return -1;
	for (uint32_t i = 0; i < communicator->member_count; i++) {
		bool named = false;
		for (uint32_t k = 0; k < count; k++)
			named |= ranks[k] == communicator->members[i].rank;
		if (!named && instance_concerns(instance, i) && instance_is_told(instance, i))
			waiting[waiting_count++] = communicator->members[i].rank;
	}
	int err = record_set_waiting(record, &analysis->job, waiting, waiting_count);
	free(waiting);
	return err;
}

/* What would tell more of a lateness that nobody saw the reason of. What was not looked at was not in time. */
static void miss_gpu(struct record *record, const struct analysis *analysis, const struct suspect *suspect,
		     uint32_t rank, const struct cause *cause)
{
	bool gpu = gpu_evidence_is_seen(analysis, rank, analysis->now_ns), threads = cause->seen != RW_LEVEL_NONE;

	if (cause->class_ != RW_CAUSE_UNKNOWN)
		return;
	if (straggler_host_part_is_unknown(suspect))
		record_add_missing(record, threads ? "when its GPU finished its earlier work: so it is not known "
						     "whether the host or the GPU was late"
						   : "when its GPU finished its earlier work, and what its threads "
						     "did: so it is not known whether the host or the GPU was late");
	else if (!threads)
		record_add_missing(
		    record,
		    gpu ? "nothing was seen of the host's threads, but it had launched in time, and NVML shows nothing "
			  "unusual of this GPU"
			: "nothing was seen of the host's threads, but it had launched in time: the GPU's clocks, "
			  "throttling and errors would tell more");
	else if (gpu)
		record_add_missing(record, "the host was in time, and NVML shows nothing unusual of this GPU");
	else
		record_add_missing(record,
				   "the host was in time: the GPU's clocks, throttling and errors would show more");
}

/* What it was late by since then was no more than healthy ranks are. */
static uint64_t last_late_step(const struct stragglers *stragglers, const struct suspect *suspect)
{
	uint64_t limit_ns = suspect_limit_ns(pace_step_ns(&stragglers->pace, PACE_USUAL)), step = suspect->step;

	while (step + STRAGGLER_STEPS > suspect->step && step > suspect->since_step &&
	       suspect_blame(suspect, step).late_ns < limit_ns)
		step--;
	return step;
}

/* told_late: it is told now that it is over. Else it is closed. */
static void say_over(const struct analysis *analysis, const struct suspect *suspect, struct record *record,
		     bool told_late)
{
	struct rw_finding *finding = &record->finding;
	uint64_t last =
	    finding->late.one_in > 0 ? suspect->intermittent->last : last_late_step(&analysis->stragglers, suspect);
	uint64_t until_ns = suspect->last_operation.done_ns, from_ns = finding->first_seen_ns;
	struct text_over over = { .lasted_ns = until_ns > from_ns ? until_ns - from_ns : 0, .told_late = told_late };

	if (suspect->since_step && last >= suspect->since_step)
		over.steps = last - suspect->since_step + 1;
	if (finding->late.since_step >= 0)
		finding->late.until_step = instance_told_step(straggler_shown_instance(suspect), last);
	finding->late.over = true;
	text_straggler_over(record, &over);
}

static struct record *make_record(struct analysis *analysis, const struct suspect *suspect, const uint32_t *ranks,
				  uint32_t count, const struct straggler_cost *cost, const struct host_cause *host)
{
	const struct cause *cause = &host->cause;
	struct record *record =
	    record_new(&analysis->job, RW_KIND_STRAGGLER, count > 1 ? RW_SCOPE_HOST : RW_SCOPE_RANK, ranks, count);
	if (!record)
		return NULL;
	const struct process *process = analysis->job.ranks[ranks[0]].process;
	record->subject = count > 1 ? host_subject | process->host : ranks[0];
	if (!straggler_is_host_late(suspect))
		miss_gpu(record, analysis, suspect, host->rank, cause);
	set_late(record, suspect, cost);
	doubt(record, analysis, suspect, ranks[0], cause);
	record_set_operation(record, &analysis->job, straggler_shown_instance(suspect), RW_PHASE_LAUNCHED);
	host_cause_set(record, &analysis->intern, &analysis->job, host);
	if (cause->queued) {
		record->finding.confidence = RW_LIKELY;
		record_add_missing(record, "what filled its GPU: only when NCCL's kernel began is known, long after "
					   "its stream had come to it");
	}
	if (!straggler_is_host_late(suspect)) {
		struct cause_window windows[CAUSE_WINDOWS], last = { 0 };
		uint32_t window_count = straggler_windows(suspect, false, 0, windows);
		for (uint32_t i = 0; i < window_count; i++)
			last = windows[i].to_ns > last.to_ns ? windows[i] : last;
		gpu_evidence_attach(analysis, record, host->rank, last.from_ns, last.to_ns);
	}
	record_set_watchdog(record, process, true, analysis->stragglers.longest_wait_ns);
	if (!suspect->intermittent->decided)
		pace_course_attach(analysis, record, cost->lost_ns);
	if (set_waiting(record, analysis, suspect, ranks, count)) {
		record_free(record);
		return NULL;
	}
	record->finding.first_seen_ns = suspect->decided_ns;
	if (suspect->clean && !suspect->intermittent->decided)
		say_over(analysis, suspect, record, true);
	else
		text_straggler(record);
	return record;
}

static void find_causes(const struct analysis *analysis, const uint32_t *ranks, uint32_t count,
			const struct straggler_cost *cost, struct host_cause *host)
{
	struct cause cause;

	*host = (struct host_cause){ 0 };
	for (uint32_t i = 0; i < count; i++) {
		straggler_find_cause(analysis, ranks[i], cost, &cause);
		host_cause_add(host, &analysis->job, ranks[i], &cause);
	}
	host_cause_end(host);
}

static bool is_settled(const struct analysis *analysis, const struct suspect *suspect, const struct host_cause *host,
		       uint64_t now_ns)
{
	uint64_t waited_ns = now_ns - suspect->candidate_ns;
	if (analysis->post_mortem || suspect->open || waited_ns >= evidence_wait_ns)
		return true;
	return waited_ns >= evidence_first_ns && host->known;
}

static void consider(struct analysis *analysis, uint32_t rank, uint32_t *ranks, uint64_t now_ns)
{
	struct suspect *suspect = &analysis->stragglers.suspects[rank];
	struct host_cause host;
	if (!suspect->candidate_ns)
		suspect->candidate_ns = now_ns;
	suspect_its_host(analysis, rank);
	uint32_t count = choose_ranks(analysis, rank, ranks);
	if ((suspect->clean && suspect->open && !suspect->intermittent->decided) || (count > 1 && ranks[0] != rank))
		return; /* after a clean step wait for the next, in whichever direction; a host is told once */
	if (suspect->intermittent->decided && suspect->intermittent->times < INTERMITTENT_TIMES_SEEN)
		return; /* steps were numbered anew: its pattern is not known again yet */
	struct straggler_cost cost = straggler_cost(analysis, ranks, count);
	if (suspect->open && cost.lost_ns * LEAST_ONE_IN < cost.step_ns)
		return; /* what was reported stands until it costs something again, or is over */
	if (!suspect->open && !suspect->intermittent->decided && cost.at_most_ns < suspect_limit_ns(cost.step_ns)) {
		suspect->decided_ns = 0; /* late, but it costs the job nothing: the tests go on */
		return;
	}
	if (!suspect->open && !suspect->intermittent->decided && cost.lost_ns * 4 < suspect_limit_ns(cost.step_ns) * 3)
		return; /* it may cost more, but nobody would know why such a finding was told */
	find_causes(analysis, ranks, count, &cost, &host);
	if (count == 1 && !suspect->open && !suspect->intermittent->decided && !straggler_is_told_by(&host.cause) &&
	    is_late_with_its_mates(analysis, rank)) {
		suspect->decided_ns = 0;
		return;
	}
	if (!is_settled(analysis, suspect, &host, now_ns))
		return;
	uint64_t parted_ns = suspect->open ? 0 : desync_of_rank(analysis, rank, now_ns);
	if (parted_ns && suspect->decided_ns >= parted_ns)
		return; /* ranks whose calls do not meet wait for that */
	struct record *record = make_record(analysis, suspect, ranks, count, &cost, &host);
	if (!record)
		return;
	if (host.cause.class_ == RW_CAUSE_SOCKET)
		port_evidence_attach(analysis, record, suspect->decided_ns);
	/* What was decided from history, before anybody looked, was not detected late. */
	if (now_ns > suspect->decided_ns && suspect->decided_ns > analysis->first_tick_ns)
		record->finding.detect_ms = (double)(now_ns - suspect->decided_ns) / 1e6;
	if (!suspect->open)
		excursions_forget(suspect); /* nobody is measured by a fault */
	suspect->open = true;
	suspect->told_ns = now_ns;
	findings_tell(&analysis->findings, record, now_ns);
}

static void close_one(struct analysis *analysis, const struct suspect *suspect, uint32_t subject, uint64_t now_ns)
{
	struct record *record = findings_over(&analysis->findings, RW_KIND_STRAGGLER, subject);

	if (record)
		say_over(analysis, suspect, record, false);
	findings_close(&analysis->findings, RW_KIND_STRAGGLER, subject, now_ns);
}

static void acquit(struct analysis *analysis, uint32_t rank, uint64_t now_ns)
{
	struct suspect *suspect = &analysis->stragglers.suspects[rank];
	suspect->open = false;
	suspect->candidate_ns = 0;
	close_one(analysis, suspect, rank, now_ns);
	close_one(analysis, suspect, host_subject | analysis->job.ranks[rank].process->host, now_ns);
}

void straggler_tick(struct analysis *analysis, uint64_t now_ns)
{
	struct stragglers *stragglers = &analysis->stragglers;
	uint32_t *ranks = NULL;
	intermittent_tick(analysis, now_ns);
	for (uint32_t i = 0; i < stragglers->suspect_count; i++) {
		struct suspect *suspect = &stragglers->suspects[i];
		if (suspect->open && !suspect->decided_ns)
			acquit(analysis, i, now_ns);
		if (suspect->striking_ns && !suspect->decided_ns && straggler_is_explained(analysis, i))
			suspect_decide(suspect, suspect->striking_ns);
		if (!suspect->decided_ns || (suspect->open && now_ns < suspect->told_ns + update_pause_ns))
			continue;
		if (!ranks)
			ranks = calloc(analysis->job.rank_count, sizeof(*ranks));
		if (!ranks)
			return;
		consider(analysis, i, ranks, now_ns);
	}
	free(ranks);
}
