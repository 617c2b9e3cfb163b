/* SPDX-License-Identifier: MIT */
#include "analysis/network/transfer.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/numbers/alike.h"
#include "analysis/hang/desync.h"
#include "analysis/measure/lateness.h"
#include "analysis/model.h"
#include "analysis/explain/port_evidence.h"
#include "analysis/numbers/sorting.h"

static struct transfer *get(struct transfers *transfers, const struct communicator *communicator)
{
	if (communicator->index >= transfers->count) {
		uint32_t count = communicator->index + 16;
		struct transfer **items = realloc(transfers->items, count * sizeof(*items));
		if (!items)
			return NULL;
		memset(items + transfers->count, 0, (count - transfers->count) * sizeof(*items));
		transfers->items = items;
		transfers->count = count;
	}
	struct transfer **item = &transfers->items[communicator->index];
	if (!*item)
		*item = calloc(1, sizeof(**item));
	if (*item)
		(*item)->communicator = communicator;
	return *item;
}

static bool spans_hosts(const struct transfer *transfer)
{
	return transfer->communicator->hosts > 1;
}

/* The transfers of an AlltoAll are one kernel on each rank, which ends when all of them are done: what the first member
 * has for itself stands for all of it. */
static bool stands_for_all(const struct instance *instance)
{
	return instance->source == instance->target && instance->source == instance->communicator->members[0].comm_rank;
}

/* When the last member came to an AlltoAll, by the parts that they have for themselves; 0 not known. */
static uint64_t exchange_start(const struct instances *instances, const struct instance *instance)
{
	uint64_t start_ns = 0;

	for (uint32_t i = 0; i < instance->communicator->member_count; i++) {
		int32_t own = instance->communicator->members[i].comm_rank;
		const struct instance_key key = { .communicator = instance->communicator->index,
						  .function = RW_FUNCTION_SEND_RECV,
						  .source = own,
						  .target = own,
						  .sequence = instance->sequence };
		const struct instance *part = instances_find(instances, &key);
		const struct operation *operation = part ? instance_joined(part, i) : NULL;
		if (!operation || !(operation->state & OPERATION_STARTED))
			return 0;
		start_ns = operation->arrival_ns > start_ns ? operation->arrival_ns : start_ns;
	}
	return start_ns;
}

/* From the last arrival to the last end; 0: not seen by the GPUs of all who took part. */
static uint64_t duration_of(const struct instance *instance, uint64_t start_ns)
{
	uint64_t end_ns = 0;
	for (uint32_t i = 0; i < instance->communicator->member_count; i++)
		if (!instance_is_told(instance, i))
			return 0; /* who may be late */
	for (uint32_t i = 0; i < instance->room; i++) {
		const struct operation *operation = &instance->operations[i];
		if (!operation->ticket)
			continue;
		if (operation->state & (OPERATION_HOST | OPERATION_EXCLUDED) || !(operation->state & OPERATION_DONE))
			return 0;
		end_ns = operation->done_ns > end_ns ? operation->done_ns : end_ns;
	}
	return start_ns && end_ns > start_ns ? end_ns - start_ns : 0;
}

/* Within one host all ranks must be seen. Between hosts they seldom are, and the finding says so. */
static bool is_judged(const struct communicator *communicator)
{
	return communicator->hosts > 1 || (communicator->hosts == 1 && !job_unseen(communicator));
}

static void account_slowest(struct transfer *transfer, const struct instance *instance, uint64_t took_ns)
{
	uint64_t step = instance->place.step;
	struct transfer_slowest *slowest = &transfer->slowest[step % 2];

	if (step > slowest->step)
		*slowest = (struct transfer_slowest){ .step = step };
	if (step < slowest->step || took_ns <= slowest->ns)
		return;
	slowest->ns = took_ns;
	slowest->kernels = kernel_start_state(instance, took_ns);
	slowest->instance = *instance;
	slowest->instance.operations = NULL;
	slowest->instance.room = 0;
}

/* Of the latest step that was judged; NULL: no duration in it is known. */
static const struct transfer_slowest *slowest_judged(const struct transfer *transfer)
{
	const struct transfer_slowest *slowest = &transfer->slowest[transfer->judged % 2];

	return slowest->step == transfer->judged && slowest->ns ? slowest : NULL;
}

void transfer_account(struct analysis *analysis, const struct instance *instance)
{
	uint64_t step = instance->place.step;
	bool exchange = instance_is_point_to_point(instance) && alike_exchange(instance->communicator);
	if (!is_judged(instance->communicator) || instance->place.place == STEPS_NO_PLACE ||
	    (exchange && !stands_for_all(instance)))
		return;
	uint64_t took_ns =
	    duration_of(instance, exchange ? exchange_start(&analysis->instances, instance) : instance->start_ns);
	struct transfer *transfer = get(&analysis->transfers, instance->communicator);
	if (!transfer)
		return;
	struct transfer_step *slot = &transfer->steps[step % TRANSFER_STEPS];
	if (slot->step != step)
		*slot = (struct transfer_step){ .step = step };
	slot->ns += took_ns < LATENESS_NOISE_NS ? 0 : took_ns;
	account_slowest(transfer, instance, took_ns);
	transfer->newest = step > transfer->newest ? step : transfer->newest;
}

int transfer_add_network(struct transfers *transfers, const struct communicator *communicator, uint32_t member,
			 const struct analysis_network *seen)
{
	struct transfer *transfer =
	    communicator->index < transfers->count ? transfers->items[communicator->index] : NULL;
	return transfer && transfer->since_step ? network_add(&transfer->network, member, seen) : 0;
}

static uint64_t step_cost(const struct transfer *transfer, uint64_t step)
{
	const struct transfer_step *slot = &transfer->steps[step % TRANSFER_STEPS];
	return slot->step == step ? slot->ns : 0;
}

static uint64_t limit_of(uint64_t step_ns)
{
	uint64_t share = (uint64_t)(TRANSFER_SHARE_MIN * (double)step_ns);
	return share > TRANSFER_COST_MIN_NS ? share : TRANSFER_COST_MIN_NS;
}

/* Steps ]last - count, last] as far as they are known, in order of cost. */
static uint32_t sorted_costs(const struct transfer *transfer, uint64_t last, uint64_t first_step, uint64_t *costs)
{
	uint32_t count = 0;
	for (uint64_t step = last; step && step >= first_step && count < TRANSFER_BEFORE; step--)
		costs[count++] = step_cost(transfer, step);
	sort_u64(costs, count);
	return count;
}

/* Median duration of the steps from `first` to `last`, the latest of them; 0: too few are known. */
static uint64_t usual_duration_ns(const struct pace *pace, uint64_t first, uint64_t last, uint32_t least)
{
	uint64_t durations[TRANSFER_BEFORE];
	uint32_t count = 0;
	for (uint64_t step = last; step && step >= first && step + TRANSFER_STEPS > last && count < TRANSFER_BEFORE;
	     step--) {
		durations[count] = pace_duration_ns(pace, step);
		count += durations[count] != 0;
	}
	sort_u64(durations, count);
	return count >= least ? durations[count / 2] : 0;
}

/* Operations that run beside computation can take longer, and steps as long as before. Where it is not certain what a
 * step is, nobody knows. */
static uint64_t longer_steps_ns(const struct transfer *transfer, const struct transfer_slowest *slowest,
				const struct pace *pace)
{
	uint64_t now_ns = usual_duration_ns(pace, transfer->since_step, transfer->judged, 1);
	uint64_t more_ns = step_cost(transfer, transfer->judged) - transfer->usual_ns;
	uint64_t longer_ns = now_ns > transfer->before_ns ? now_ns - transfer->before_ns : 0;
	bool known = transfer->before_ns && now_ns && instance_told_step(&slowest->instance, transfer->since_step) >= 0;

	return known && longer_ns < more_ns ? longer_ns : more_ns;
}

static void judge_cost(struct transfer *transfer, const struct transfer_slowest *slowest, const struct pace *pace,
		       uint64_t step_ns)
{
	uint64_t limit_ns = suspect_limit_ns(step_ns);

	transfer->lost_ns = longer_steps_ns(transfer, slowest, pace);
	transfer->costs =
	    transfer->lost_ns >= (transfer->costs ? (uint64_t)(TRANSFER_LOST_NOT * (double)limit_ns) : limit_ns);
	if (transfer->costs) /* step by step, steps vary by more than this does: not every change of theirs is news */
		transfer->lost_ns = step_cost(transfer, transfer->judged) - transfer->usual_ns;
}

/* Three steps in a row far beyond all that the steps before them took. */
static void look_for_change(struct transfer *transfer, const struct pace *pace, uint64_t step, uint64_t first_step,
			    uint64_t limit_ns)
{
	uint64_t costs[TRANSFER_BEFORE], least_ns = UINT64_MAX;
	if (step < first_step + TRANSFER_IN_A_ROW)
		return;
	uint32_t count = sorted_costs(transfer, step - TRANSFER_IN_A_ROW, first_step, costs);
	if (count < TRANSFER_MIN)
		return;
	for (uint64_t back = 0; back < TRANSFER_IN_A_ROW; back++) {
		uint64_t cost_ns = step_cost(transfer, step - back);
		least_ns = cost_ns < least_ns ? cost_ns : least_ns;
	}
	uint64_t usual_ns = costs[count / 2], worst_ns = costs[(count - 1) * 95 / 100];
	if (least_ns < usual_ns + limit_ns || least_ns < TRANSFER_FACTOR * worst_ns)
		return;
	transfer->usual_ns = usual_ns;
	transfer->since_step = step - TRANSFER_IN_A_ROW + 1;
	/* The first slow operation may belong to the end of the step before, as that is counted. */
	transfer->before_ns = usual_duration_ns(pace, first_step, transfer->since_step - 2, TRANSFER_MIN);
	transfer->costs = false;
	transfer->clean = 0;
	transfer->detail_ns = transfer->asked_ns = 0;
	network_clear(&transfer->network);
	free(transfer->answer.members);
	transfer->answer = (struct network_answer){ 0 };
}

/* One step after the other, each when the next has begun. */
static void judge_steps(struct transfer *transfer, const struct pace *pace, uint64_t first_step, uint64_t limit_ns)
{
	uint64_t step = transfer->judged + 1;
	if (step + TRANSFER_STEPS < transfer->newest)
		step = transfer->newest - TRANSFER_STEPS / 2;
	for (; step < transfer->newest; step++) {
		bool slow = step_cost(transfer, step) >= transfer->usual_ns + limit_ns;
		if (!transfer->since_step)
			look_for_change(transfer, pace, step, first_step, limit_ns);
		else if (slow)
			transfer->clean = 0;
		else if (++transfer->clean >= TRANSFER_CLEAN)
			transfer->since_step = 0;
		transfer->judged = step;
	}
}

/* A rank that is late, or stands still, slows the transfers that it takes part in, too. So do calls that do not
 * meet. */
static bool has_other_explanation(const struct analysis *analysis, const struct transfer *transfer, uint64_t now_ns)
{
	if (desync_since(analysis, transfer->communicator, now_ns))
		return true;
	for (uint32_t i = 0; i < analysis->stragglers.suspect_count; i++)
		if (analysis->stragglers.suspects[i].decided_ns)
			return true;
	return analysis->hangs.count != 0;
}

static void consider(struct analysis *analysis, struct transfer *transfer, uint64_t step_ns, uint64_t now_ns)
{
	const struct transfer_slowest *slowest = slowest_judged(transfer);
	if (!slowest || transfer->clean || (!transfer->open && has_other_explanation(analysis, transfer, now_ns)))
		return;
	judge_cost(transfer, slowest, &analysis->stragglers.pace, step_ns);
	struct record *record =
	    transfer_record(analysis, transfer, slowest, step_cost(transfer, transfer->judged), step_ns);
	if (!record)
		return;
	if (!transfer->decided_ns)
		transfer->decided_ns = slowest->instance.start_ns;
	record->finding.first_seen_ns = transfer->decided_ns;
	/* It was decided by the last of these steps. */
	uint64_t row_ns = TRANSFER_IN_A_ROW * step_ns;
	if (spans_hosts(transfer))
		port_evidence_attach(analysis, record,
				     transfer->decided_ns > row_ns ? transfer->decided_ns - row_ns : 0);
	if (now_ns > transfer->decided_ns && transfer->decided_ns > analysis->first_tick_ns)
		record->finding.detect_ms = (double)(now_ns - transfer->decided_ns) / 1e6;
	transfer->open = true;
	findings_tell(&analysis->findings, record, now_ns);
}

static void look_for_link(const struct analysis *analysis, struct transfer *transfer)
{
	uint64_t took_ns = step_cost(transfer, transfer->judged);
	const struct network_question question = {
		.job = &analysis->job,
		.communicator = transfer->communicator,
		.step_ns = pace_step_ns(&analysis->stragglers.pace, TRANSFER_IN_A_ROW),
		.took_ns = took_ns,
		.longer_ns = took_ns > transfer->usual_ns ? took_ns - transfer->usual_ns : 0,
	};
	struct network_answer answer;
	transfer->asked_ns = transfer->network.to_ns;
	if (question.longer_ns && network_answer(&transfer->network, &question, &answer))
		transfer->answer = answer;
}

/* With each new step; from boxes alone all that was recorded comes at once. */
static bool is_to_ask(const struct analysis *analysis, const struct transfer *transfer, bool new_step)
{
	return transfer->since_step && !transfer->answer.members && transfer->network.to_ns > transfer->asked_ns &&
	       (new_step || analysis->post_mortem);
}

/* Detail costs the job something: for a time, then a pause. Within a host no proxy thread moves the data. */
static void want_detail(struct transfer *transfer, uint64_t now_ns)
{
	bool wants = spans_hosts(transfer) && transfer->open && !transfer->answer.members;
	if (!wants || (transfer->detail_ns && now_ns < transfer->detail_ns + TRANSFER_DETAIL_NS + TRANSFER_PAUSE_NS))
		return;
	transfer->detail_ns = now_ns;
	network_clear(&transfer->network);
}

static bool wants_detail(const struct transfer *transfer, uint64_t now_ns)
{
	return transfer->open && transfer->since_step && !transfer->answer.members && transfer->detail_ns &&
	       now_ns < transfer->detail_ns + TRANSFER_DETAIL_NS;
}

size_t transfer_wanted_details(const struct analysis *analysis, struct analysis_detail *details, size_t room)
{
	size_t count = 0;
	for (uint32_t i = 0; i < analysis->transfers.count; i++) {
		const struct transfer *transfer = analysis->transfers.items[i];
		if (!transfer || !wants_detail(transfer, analysis->now_ns))
			continue;
		const struct communicator *communicator = transfer->communicator;
		for (uint32_t k = 0; k < communicator->member_count; k++, count++)
			if (count < room)
				details[count] = (struct analysis_detail){ communicator->members[k].process->id,
									   communicator->id };
	}
	return count;
}

static void close_finding(struct analysis *analysis, struct transfer *transfer, uint64_t now_ns)
{
	if (!transfer->open)
		return;
	findings_close(&analysis->findings, RW_KIND_SLOWDOWN, transfer->communicator->index, now_ns);
	transfer->open = false;
	transfer->decided_ns = 0;
}

void transfer_tick(struct analysis *analysis, uint64_t now_ns)
{
	uint64_t step_ns = pace_step_ns(&analysis->stragglers.pace, PACE_USUAL);
	for (uint32_t i = 0; i < analysis->transfers.count && step_ns; i++) {
		struct transfer *transfer = analysis->transfers.items[i];
		bool new_step = transfer && transfer->judged + 1 < transfer->newest;
		if (new_step)
			judge_steps(transfer, &analysis->stragglers.pace, analysis->stragglers.first_step,
				    limit_of(step_ns));
		bool asks = transfer && is_to_ask(analysis, transfer, new_step);
		if (asks)
			look_for_link(analysis, transfer);
		if (!new_step && !asks)
			continue;
		if (!transfer->since_step) {
			close_finding(analysis, transfer, now_ns);
			continue;
		}
		consider(analysis, transfer, step_ns, now_ns);
		want_detail(transfer, now_ns);
	}
}

static void transfer_free(struct transfer *transfer)
{
	if (!transfer)
		return;
	network_free(&transfer->network);
	free(transfer->answer.members);
	free(transfer);
}

bool transfers_drop(struct transfers *transfers, uint32_t communicator)
{
	if (communicator >= transfers->count || !transfers->items[communicator])
		return true;
	if (transfers->items[communicator]->open)
		return false;
	transfer_free(transfers->items[communicator]);
	transfers->items[communicator] = NULL;
	return true;
}

void transfers_free(struct transfers *transfers)
{
	for (uint32_t i = 0; i < transfers->count; i++)
		transfer_free(transfers->items[i]);
	free(transfers->items);
	*transfers = (struct transfers){ 0 };
}
