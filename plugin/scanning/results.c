/* SPDX-License-Identifier: MIT */
/* What becomes of results, on the plugin's thread: they go into the box, are charged to the budget, and lead to a line
 * in the log or to the end of the process where the user wants that. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "plugin/guest/message.h"
#include "plugin/nccl/names.h"
#include "plugin/scanning/results.h"
#include "plugin/scanning/scanning.h"
#include "plugin/scanning/state.h"

enum {
	WARN_EVERY_S = 60,
	ABORT_AFTER_MS = 1000, /* for scans that are still out: what they find is wanted, too */
};

struct hit {
	const struct rw_operation *slot;
	const char *side;
	uint64_t elements;
	const struct scan_result *result;
};

static struct rw_scan scan_of(const struct scan_result *result)
{
	return (struct rw_scan){
		.nan = result->nan,
		.inf = result->inf,
		.first_bad = result->first_bad,
		.absmax = result->absmax,
		.saturated = result->saturated,
		.digest = result->digest,
		.lane_sum = result->lane_sum,
	};
}

static void report(const struct recording *recording, const struct hit *hit)
{
	const struct rw_communicator *communicator = &recording->box.communicators[hit->slot->comm];
	int32_t rank = recording->box.header->world_rank;
	uint64_t sequence = hit->slot->sequence;
	char which[64];

	if (sequence & RW_CAPTURED_SEQUENCE)
		snprintf(which, sizeof(which), "%" PRIu64 " in CUDA graphs, replay %" PRIu64 ",",
			 rw_captured_call(sequence), rw_captured_replay(sequence));
	else
		snprintf(which, sizeof(which), "%" PRIu64, sequence);
	message("rank %d: %" PRIu32 " NaN in the %s of %s %s of communicator %#" PRIx64 "%s%.64s%s, first at "
		"%" PRIu64 " of %" PRIu64 " elements",
		rank >= 0 ? rank : communicator->rank, hit->result->nan, hit->side,
		names_of_function(hit->slot->function), which, communicator->id,
		communicator->name[0] ? " (" : "", communicator->name, communicator->name[0] ? ")" : "",
		hit->result->first_bad, hit->elements);
}

static void judge(struct recording *recording, const struct hit *hit, uint64_t now_ns)
{
	if (hit->result->nan || hit->result->inf)
		budget_hit(&scanning.budget, now_ns);
	if (!hit->result->nan || recording->config.on_nan == CONFIG_ON_NAN_RECORD || scanning.abort_ns)
		return;
	bool abort_now = recording->config.on_nan == CONFIG_ON_NAN_ABORT;
	if (abort_now)
		scanning.abort_ns = now_ns + ABORT_AFTER_MS * UINT64_C(1000000);
	if (abort_now || !scanning.reported_ns || now_ns - scanning.reported_ns > WARN_EVERY_S * UINT64_C(1000000000)) {
		report(recording, hit);
		scanning.reported_ns = now_ns;
	}
}

void scanning_record(struct recording *recording, struct rw_operation *slot, uint32_t sides,
		     const struct scan_result *result, uint64_t elements, uint64_t now_ns)
{
	bool in = sides & RW_OWNER_SCAN_IN, out = sides & RW_OWNER_SCAN_OUT;
	struct rw_scan scan = scan_of(result);

	if (in)
		slot->scan_in = scan;
	if (out)
		slot->scan_out = scan;
	box_known(slot, (in ? RW_KNOWN_SCAN_IN : 0) | (out ? RW_KNOWN_SCAN_OUT : 0));
	judge(recording, &(struct hit){ slot, in ? "input" : "output", elements, result }, now_ns);
}

struct taking {
	struct recording *recording;
	uint64_t now_ns;
};

/* NULL: the operation was given up, because too many were unfinished, and takes no result any more. */
static struct rw_operation *find_waiting(struct recording *recording, const struct scan_entry *entry)
{
	struct rw_operation *slot = box_slot(&recording->box, entry->ticket);
	uint32_t owner = slot ? atomic_load_explicit(&slot->owner, memory_order_acquire) : 0;

	return (owner & entry->owner) == entry->owner &&
		       (owner & ~(uint32_t)RW_OWNER_PENDING) == box_owner(entry->ticket, 0)
		   ? slot
		   : NULL;
}

static void take(void *argument, const struct scan_entry *entry, const struct scan_segment *segment,
		 const struct scan_result *result)
{
	const struct taking *taking = argument;
	struct rw_operation *slot = find_waiting(taking->recording, entry);

	if (!slot)
		return;
	scanning_record(taking->recording, slot, entry->owner, result, segment->elements, taking->now_ns);
	box_release(slot, entry->ticket, entry->owner);
}

struct budget_cost scanning_cost(struct recording *recording)
{
	struct rw_box_header *header = recording->box.header;
	uint64_t launches = atomic_load_explicit(&header->scan_launches, memory_order_relaxed);
	uint64_t writes = atomic_load_explicit(&recording->progress.writes, memory_order_relaxed);
	struct budget_cost cost = {
		.total = atomic_load_explicit(&header->own_ns, memory_order_relaxed),
		.scans = atomic_load_explicit(&header->scan_host_ns, memory_order_relaxed) +
			 atomic_load_explicit(&header->scan_gpu_ns, memory_order_relaxed) +
			 launches * atomic_load_explicit(&scanning.scanner.launch_ns, memory_order_relaxed),
		.progress = writes * atomic_load_explicit(&recording->progress.write_ns, memory_order_relaxed),
	};

	cost.total += cost.scans + cost.progress;
	return cost;
}

/* Stores `value`, unless 0 is there: another thread has turned it off, perhaps just now. */
static void set_every(_Atomic uint32_t *every, uint32_t value)
{
	uint32_t before = atomic_load_explicit(every, memory_order_relaxed);

	if (before && before != value)
		atomic_compare_exchange_strong(every, &before, value);
}

static void keep_budget(struct recording *recording, uint64_t now_ns)
{
	struct rw_box_header *header = recording->box.header;
	struct budget *budget = &scanning.budget;
	struct budget_cost cost = scanning_cost(recording);

	budget_judge(budget, now_ns, &cost);
	atomic_store_explicit(&header->cost_ppm, budget->cost_ppm, memory_order_relaxed);
	if (recording->config.scan != CONFIG_SCAN_ALL)
		set_every(&header->scan_every, budget->scan_every);
	set_every(&header->progress_every, budget->progress_every);
}

static void report_end(struct recording *recording)
{
	if (scanning.end_reported || !atomic_load_explicit(&scanning.scanner.given_up, memory_order_acquire))
		return;
	scanning.end_reported = true;
	message("scanning is %s; the job goes on without", recording->box.header->scan_state);
}

bool scanning_drain(struct recording *recording, uint64_t now_ns)
{
	struct taking taking = { recording, now_ns };
	unsigned int out = scanner_collect(&scanning.scanner, take, &taking);
	uint64_t abort_ns = scanning.abort_ns;

	keep_budget(recording, now_ns);
	uint32_t every = atomic_load_explicit(&recording->box.header->scan_every, memory_order_relaxed);
	bool replays = scanning_drain_replays(recording, every, now_ns);
	report_end(recording);
	/* All results are in the box, which stays when the process ends. */
	if (abort_ns && (!out || now_ns >= abort_ns)) {
		message("RANKWATCH_ON_NAN=abort: the process ends here");
		abort();
	}
	return out || replays;
}
