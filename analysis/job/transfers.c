/* SPDX-License-Identifier: MIT */
#include "analysis/job/transfers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/job/told.h"
#include "analysis/network/transfer_rows.h"
#include "analysis/numbers/trend.h"
#include "analysis/report/naming.h"

/* One of a row's times: what it was before, what it is in the newest rows, and by how much the median of as many rows
 * before was ever another one. */
struct change {
	double before_ms, now_ms, unrest_ms;
};

struct slower {
	struct change of[JOB_ROWS_TIMES];
	bool all; /* each of the newest rows shows it */
};

/* Rows that were cut otherwise are as if they had been of as many steps as those now. */
static double time_of(const struct job_rows *rows, uint64_t row, enum job_rows_time which)
{
	return rows->wholes[row % JOB_ROWS_WHOLES].ms[which] * job_rows_steps(rows);
}

static double median_of(const struct job_rows *rows, uint64_t from, uint64_t until, enum job_rows_time which)
{
	double values[JOB_ROWS_WHOLES];

	for (uint64_t row = from; row < until; row++)
		values[row - from] = time_of(rows, row, which);
	return trend_median(values, until - from);
}

static struct change change_of(const struct job_rows *rows, uint64_t first, enum job_rows_time which)
{
	uint64_t newest = rows->whole_count - TRANSFERS_NEWEST;
	struct change change = { .before_ms = median_of(rows, first, newest, which),
				 .now_ms = median_of(rows, newest, rows->whole_count, which) };

	for (uint64_t row = first; row + TRANSFERS_NEWEST <= newest; row += TRANSFERS_NEWEST) {
		double median_ms = median_of(rows, row, row + TRANSFERS_NEWEST, which);
		change.unrest_ms = fmax(change.unrest_ms, fabs(median_ms - change.before_ms));
	}
	return change;
}

static double rise_of(const struct slower *slower, enum job_rows_time which)
{
	return slower->of[which].now_ms - slower->of[which].before_ms;
}

static double limit_ms(const struct slower *slower)
{
	return fmax(TRANSFERS_COST_NS / 1e6, TRANSFERS_SHARE * slower->of[JOB_ROWS_LASTED].before_ms);
}

/* False: too few rows are known. */
static bool compare(const struct job_rows *rows, struct slower *slower)
{
	uint64_t first = rows->whole_count > JOB_ROWS_WHOLES ? rows->whole_count - JOB_ROWS_WHOLES : 0;

	if (rows->whole_count < TRANSFERS_NEWEST + TRANSFERS_BEFORE)
		return false;
	for (int which = 0; which < JOB_ROWS_TIMES; which++)
		slower->of[which] = change_of(rows, first, (enum job_rows_time)which);
	double least_ms = slower->of[JOB_ROWS_LEAST_INSIDE].before_ms + limit_ms(slower) / 2;
	slower->all = true;
	for (uint64_t row = rows->whole_count - TRANSFERS_NEWEST; row < rows->whole_count; row++)
		slower->all &= time_of(rows, row, JOB_ROWS_LEAST_INSIDE) >= least_ms;
	return true;
}

/* All ranks that work longer by as much would be more work for all: a larger batch, longer sequences. */
static bool is_slower(const struct slower *slower, uint32_t ranks)
{
	double rise_ms = rise_of(slower, JOB_ROWS_LEAST_INSIDE);

	return slower->all && rise_ms >= limit_ms(slower) &&
	       rise_ms >= TRANSFERS_BEYOND * slower->of[JOB_ROWS_LEAST_INSIDE].unrest_ms &&
	       rise_of(slower, JOB_ROWS_LASTED) >= rise_ms / 2 && rise_of(slower, JOB_ROWS_OWN) < ranks * rise_ms / 2;
}

/* That somebody is late, stands or calls otherwise explains it. */
static bool has_other_explanation(const struct job_rows *rows, const struct world *world)
{
	const uint32_t others = 1u << RW_KIND_STRAGGLER | 1u << RW_KIND_HANG | 1u << RW_KIND_GONE |
				1u << RW_KIND_DESYNC;

	for (uint32_t i = 0; i < world->rank_room; i++) {
		const struct world_rank *rank = &world->ranks[i];
		bool late = rank->row_index && rows->judge.ranks[rank->row_index - 1].decided_ns;
		if ((late || rank->found & others) && !world_has_left(world, rank))
			return true;
	}
	for (uint32_t i = 0; i < world->comm_count; i++)
		if (world->comms[i]->parted_ns)
			return true;
	return false;
}

static void write_text(struct record *record, const struct job_rows *rows, const struct slower *slower)
{
	struct rw_finding *finding = &record->finding;
	double rise_ms = rise_of(slower, JOB_ROWS_LEAST_INSIDE);
	char ranks[128], by[48];

	naming_ranks(ranks, sizeof(ranks), finding->ranks, finding->rank_count);
	if (rows->in_steps && rows->steps)
		snprintf(by, sizeof(by), "%.0f ms a step", rise_ms / rows->steps);
	else
		snprintf(by, sizeof(by), "%.0f %% of the time", finding->late.lost_share * 100);
	snprintf(record->text, sizeof(record->text),
		 "operations of %s take longer by %s than before, for all alike; %s", ranks, by,
		 finding->confidence == RW_LIKELY ? "no rank works longer" : "no rank stands out as late");
	finding->advice = "check the network between the hosts: link speed and errors (ethtool -S, ibstat), other traffic, "
			  "limits (tc); then the links within each (nvidia-smi nvlink -e), and what else runs on the GPUs";
}

static void add_evidence(struct record *record, const struct slower *slower)
{
	const struct change *inside = &slower->of[JOB_ROWS_LEAST_INSIDE], *own = &slower->of[JOB_ROWS_OWN],
			    *lasted = &slower->of[JOB_ROWS_LASTED];
	char what[224];

	snprintf(what, sizeof(what),
		 "inside operations, the least of all ranks: %.0f ms of each %.0f ms, and %.0f of %.0f before; own work of all "
		 "together: %.0f ms, %.0f before",
		 inside->now_ms, lasted->now_ms, inside->before_ms, lasted->before_ms, own->now_ms, own->before_ms);
	record_add_evidence(record, "messages", -1, what);
	record_add_missing(record, "which communicator it is, and whether a link is slow or NCCL's kernel waits for room on "
				   "a GPU that other kernels fill: messages hold only how long each rank was inside "
				   "operations");
	if (record->finding.confidence == RW_INCONCLUSIVE)
		record_add_missing(record, "whether another rank is late each time: own work varies by more than that would "
					   "add to it");
}

static void tell(const struct job_rows *rows, const struct world *world, struct findings *findings,
		 const struct slower *slower, uint64_t now_ns)
{
	uint32_t *ranks = calloc(world->rank_room + 1, sizeof(*ranks)), count = 0;
	double rise_ms = rise_of(slower, JOB_ROWS_LEAST_INSIDE), lasted_ms = slower->of[JOB_ROWS_LASTED].now_ms,
	       own_ms = rise_of(slower, JOB_ROWS_OWN) + slower->of[JOB_ROWS_OWN].unrest_ms;

	for (uint32_t i = 0; ranks && i < world->rank_room; i++)
		if (world->ranks[i].row_index && !world_has_left(world, &world->ranks[i]))
			ranks[count++] = i;
	struct record *record = count ? told_new(world, RW_KIND_SLOWDOWN, RW_SCOPE_JOB, ranks, count) : NULL;
	free(ranks);
	if (!record)
		return;
	struct rw_finding *finding = &record->finding;
	uint64_t since_ns = (uint64_t)(TRANSFERS_NEWEST * lasted_ms * 1e6);
	record->subject = TOLD_JOB;
	finding->severity = RW_WARNING;
	finding->confidence = own_ms < rise_ms ? RW_LIKELY : RW_INCONCLUSIVE;
	finding->arrival = RW_ARRIVAL_GPU;
	finding->first_seen_ns = now_ns > since_ns ? now_ns - since_ns : 0;
	finding->detect_ms = (double)(now_ns - finding->first_seen_ns) / 1e6;
	finding->late.present = true;
	finding->late.kind = RW_LATE_TRANSFER;
	finding->late.by_ms = -1;
	finding->late.lost_ms_per_step = rows->in_steps && rows->steps ? rise_ms / rows->steps : -1;
	finding->late.lost_share = rise_ms / lasted_ms;
	write_text(record, rows, slower);
	add_evidence(record, slower);
	findings_tell(findings, record, now_ns);
}

static bool is_over(const struct transfers_before *before, const struct job_rows *rows, const struct world *world,
		    const struct slower *slower)
{
	double now_ms = slower->of[JOB_ROWS_LEAST_INSIDE].now_ms / job_rows_steps(rows);

	return now_ms <= before->inside_ms + before->limit_ms / 2 || has_other_explanation(rows, world);
}

void transfers_tick(struct transfers_before *before, const struct job_rows *rows, const struct world *world,
		    struct findings *findings, uint64_t now_ns)
{
	const struct record *open = findings_open(findings, RW_KIND_SLOWDOWN, TOLD_JOB);
	struct slower slower;

	if (!rows->whole_new)
		return;
	bool known = compare(rows, &slower);
	if (open && (!known || is_over(before, rows, world, &slower)))
		findings_close(findings, RW_KIND_SLOWDOWN, TOLD_JOB, now_ns);
	if (open || !known || !is_slower(&slower, rows->whole_ranks) || has_other_explanation(rows, world))
		return;
	before->inside_ms = slower.of[JOB_ROWS_LEAST_INSIDE].before_ms / job_rows_steps(rows);
	before->limit_ms = limit_ms(&slower) / job_rows_steps(rows);
	tell(rows, world, findings, &slower, now_ns);
}
