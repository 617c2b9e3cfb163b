/* SPDX-License-Identifier: MIT */
/* What becomes of results, on the plugin's thread: they go into the box, are charged to the budget, and lead to a line
 * in the log or to the end of the process where the user wants that. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "plugin/cost/sampling.h"
#include "plugin/guest/message.h"
#include "plugin/nccl/names.h"
#include "plugin/scanning/results.h"
#include "plugin/scanning/scanning.h"
#include "plugin/scanning/state.h"

enum { WARN_EVERY_S = 60 };

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

static void report(const struct recording *recording, const struct rw_operation *slot,
		   const struct scanning_found *found)
{
	const struct rw_communicator *communicator = &recording->box.communicators[slot->comm];
	int32_t rank = recording->box.header->world_rank;
	uint64_t sequence = slot->sequence;
	char which[64];

	if (sequence & RW_CAPTURED_SEQUENCE)
		snprintf(which, sizeof(which), "%" PRIu64 " in CUDA graphs, replay %" PRIu64 ",",
			 rw_captured_call(sequence), rw_captured_replay(sequence));
	else
		snprintf(which, sizeof(which), "%" PRIu64, sequence);
	message("rank %d: %" PRIu32 " NaN in the %s of %s %s of communicator %#" PRIx64 "%s%.64s%s, first at "
		"%" PRIu64 " of %" PRIu64 " elements",
		rank >= 0 ? rank : communicator->rank, found->result->nan,
		found->sides & RW_OWNER_SCAN_IN ? "input" : "output", names_of_function(slot->function), which,
		communicator->id, communicator->name[0] ? " (" : "", communicator->name,
		communicator->name[0] ? ")" : "", found->result->first_bad, found->elements);
}

/* The same in each operation of this kind on this buffer. */
static uint64_t number_of_buffer(const struct recording *recording, const struct rw_operation *slot, uint32_t sides)
{
	return sampling_number(&(struct sampling_name){
		.communicator = recording->box.communicators[slot->comm].id,
		.sequence = sides & RW_OWNER_SCAN_IN ? slot->send_address : slot->recv_address,
		.ranks = slot->count,
		.function = slot->function,
	});
}

/* True: it may end the process, once scans that are out have answered. */
static bool can_end(const struct recording *recording, const struct rw_operation *slot,
		    const struct scanning_found *found, uint64_t now_ns)
{
	const struct scan_result *result = found->result;
	uint64_t before = scanning.on_nan.ticket;
	struct on_nan_scan scan = {
		.ticket = found->ticket,
		.is_first = slot->sequence < RW_SCAN_FIRST,
		.buffer = number_of_buffer(recording, slot, found->sides),
		.elements = found->elements,
		.first_bad = result->first_bad,
		.nan = result->nan,
		.inf = result->inf,
		.is_input = found->sides & RW_OWNER_SCAN_IN,
		.is_output = found->sides & RW_OWNER_SCAN_OUT,
		.is_before = found->is_before,
		.is_half = slot->dtype == RW_DTYPE_FLOAT16,
	};

	if (recording->config.on_nan != CONFIG_ON_NAN_ABORT)
		return false;
	on_nan_take(&scanning.on_nan, &scan, now_ns);
	return scanning.on_nan.ticket != before;
}

static void judge(const struct recording *recording, const struct rw_operation *slot,
		  const struct scanning_found *found, uint64_t now_ns)
{
	if (recording->config.on_nan == CONFIG_ON_NAN_RECORD)
		return;
	bool ends = can_end(recording, slot, found, now_ns);
	bool due = !scanning.reported_ns || now_ns - scanning.reported_ns > WARN_EVERY_S * UINT64_C(1000000000);
	if (!found->result->nan || !(ends || due))
		return;
	report(recording, slot, found);
	scanning.reported_ns = now_ns;
}

void scanning_record(struct recording *recording, struct rw_operation *slot, const struct scanning_found *found,
		     uint64_t now_ns)
{
	bool in = found->sides & RW_OWNER_SCAN_IN, out = found->sides & RW_OWNER_SCAN_OUT;
	struct rw_scan scan = scan_of(found->result);

	if (in)
		slot->scan_in = scan;
	if (out)
		slot->scan_out = scan;
	box_known(slot, (in ? RW_KNOWN_SCAN_IN : 0) | (out ? RW_KNOWN_SCAN_OUT : 0));
	judge(recording, slot, found, now_ns);
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

static void take(void *argument, enum scan_place place, const struct scan_entry *entry,
		 const struct scan_segment *segment, const struct scan_result *result)
{
	const struct taking *taking = argument;
	struct rw_operation *slot = find_waiting(taking->recording, entry);

	if (!slot)
		return;
	scanning_record(taking->recording, slot,
			&(struct scanning_found){ .sides = entry->owner,
						  .is_before = place == SCAN_BEFORE_CALL,
						  .ticket = entry->ticket,
						  .elements = segment->elements,
						  .result = result },
			taking->now_ns);
	box_release(slot, entry->ticket, entry->owner);
}

struct budget_cost scanning_cost(struct recording *recording)
{
	struct rw_box_header *header = recording->box.header;
	uint64_t launch_ns = atomic_load_explicit(&scanning.scanner.launch_ns, memory_order_relaxed);
	uint64_t writes = atomic_load_explicit(&recording->progress.writes, memory_order_relaxed);
	const struct scanner_costs *all = &scanning.scanner.all, *first = &scanning.scanner.first;
	struct budget_cost cost = {
		.total = atomic_load_explicit(&recording->usual_ns, memory_order_relaxed),
		.scans = all->host_ns + atomic_load_explicit(&header->scan_gpu_ns, memory_order_relaxed) +
			 all->launches * launch_ns,
		.progress = writes * atomic_load_explicit(&recording->progress.write_ns, memory_order_relaxed),
		.first = first->host_ns + first->gpu_ns + first->launches * launch_ns,
		.left_out = atomic_load_explicit(&header->progress_sampled_out, memory_order_relaxed),
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
	if (recording->config.gpu_time != CONFIG_GPU_TIME_WATERMARK) /* which asks for the progress of all */
		set_every(&header->progress_every, budget->progress_every);
	atomic_store_explicit(&recording->small_every, budget->small_every, memory_order_relaxed);
	if (!budget_has_first(budget))
		atomic_store_explicit(&recording->scan_first, 0, memory_order_relaxed);
}

static void report_end(struct recording *recording)
{
	if (scanning.end_reported || !atomic_load_explicit(&scanning.scanner.given_up, memory_order_acquire))
		return;
	scanning.end_reported = true;
	message("scanning is %s; the job goes on without", recording->box.header->scan_state);
}

/* All results are in the box, which stays. A core of this process would hold what it has mapped: hundreds of GB, by
 * each rank, onto one file system. RLIMIT_CORE does not keep it from a program to which the kernel pipes cores; this
 * does. */
static void end_process(void)
{
	message("RANKWATCH_ON_NAN=abort: the process ends here");
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	abort();
}

static void end_if_wanted(bool out, uint64_t now_ns)
{
	struct on_nan *on_nan = &scanning.on_nan;
	bool waited = on_nan->ticket;

	if (on_nan_ends(on_nan, out, now_ns))
		end_process();
	if (waited && !on_nan->ticket)
		message("RANKWATCH_ON_NAN=abort: the process goes on, now and at later NaN: %s", on_nan->doubt);
}

bool scanning_drain(struct recording *recording, uint64_t now_ns)
{
	struct taking taking = { recording, now_ns };
	unsigned int out = scanner_collect(&scanning.scanner, take, &taking);

	keep_budget(recording, now_ns);
	uint32_t every = atomic_load_explicit(&recording->box.header->scan_every, memory_order_relaxed);
	bool replays = scanning_drain_replays(recording, every, now_ns);
	report_end(recording);
	end_if_wanted(out, now_ns);
	return out || replays;
}
