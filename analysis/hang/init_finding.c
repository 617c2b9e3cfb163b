/* SPDX-License-Identifier: MIT */
#include "analysis/hang/init_finding.h"

#include <errno.h>
#include <stdio.h>

#include "analysis/report/text.h"

/* What an idle process waits for is its own affair, and nobody saw how one ended that is not there any more. */
static const struct {
	uint64_t after_ns;
	enum rw_kind kind;
	enum rw_cause_class class_;
	enum rw_severity severity;
	enum rw_confidence confidence;
	bool has_process;
	const char *missing;
} states[] = {
	[ANALYSIS_ABSENT_UNKNOWN] = { .after_ns = UINT64_MAX },
	[ANALYSIS_ABSENT_NONE] = { INIT_UNSEEN_NS, RW_KIND_HANG, RW_CAUSE_UNKNOWN, RW_WARNING, RW_INCONCLUSIVE, false,
				   "whether its process was started: its launcher's log shows that" },
	[ANALYSIS_ABSENT_ENDED] = { INIT_AFTER_NS, RW_KIND_GONE, RW_CAUSE_GONE, RW_CRITICAL, RW_LIKELY, false,
				    "how it ended: its exit status was not seen, and it had not called NCCL" },
	[ANALYSIS_ABSENT_STOPPED] = { INIT_STOPPED_NS, RW_KIND_GONE, RW_CAUSE_STOPPED, RW_CRITICAL, RW_CERTAIN, true,
				      NULL },
	[ANALYSIS_ABSENT_IDLE] = { INIT_AFTER_NS, RW_KIND_HANG, RW_CAUSE_UNKNOWN, RW_CRITICAL, RW_LIKELY, true,
				   "what it waits for: its threads could not be sampled" },
	[ANALYSIS_ABSENT_BUSY] = { .after_ns = UINT64_MAX },
};

uint64_t init_finding_after_ns(enum analysis_absence absence)
{
	return states[absence].after_ns;
}

enum rw_kind init_finding_kind(enum analysis_absence absence)
{
	return states[absence].kind;
}

bool init_finding_has_process(enum analysis_absence absence)
{
	return states[absence].has_process;
}

static void set_operation(struct rw_finding *finding, const struct gathering *gathering)
{
	finding->operation.present = true;
	finding->operation.comm = gathering->parent ? gathering->parent->id : gathering->id;
	finding->operation.comm_size = gathering->size;
	finding->operation.phase = RW_PHASE_INIT;
}

static void set_times(struct rw_finding *finding, uint64_t since_ns, uint64_t now_ns)
{
	finding->arrival = RW_ARRIVAL_NONE;
	finding->first_seen_ns = since_ns;
	finding->detect_ms = finding->late.by_ms = (double)(now_ns - since_ns) / 1e6;
	finding->late.present = true;
}

static const char *call_name(const struct gathering *gathering)
{
	switch (gathering->call) {
	case RW_INIT_CALL_GROW:
		return "ncclCommGrow";
	case RW_INIT_CALL_SUSPEND:
		return "ncclCommSuspend";
	case RW_INIT_CALL_RESUME:
		return "ncclCommResume";
	default:
		return gathering->split ? "ncclCommSplit" : "ncclCommInitRank";
	}
}

int init_finding_begin(struct record *record, enum analysis_absence absence, const struct gathering *gathering,
		       uint64_t now_ns)
{
	struct rw_finding *finding = &record->finding;

	finding->severity = states[absence].severity;
	/* Which ranks a part of the world has is inferred. */
	finding->confidence =
	    states[absence].confidence == RW_CERTAIN && !gathering->certain ? RW_LIKELY : states[absence].confidence;
	set_times(finding, gathering->since_ns, now_ns);
	set_operation(finding, gathering);
	finding->cause.present = true;
	finding->cause.class_ = states[absence].class_;
	return record_set_waiting_worlds(record, gathering->present, gathering->present_count);
}

void init_finding_end(struct record *record, enum analysis_absence absence, int32_t pid,
		      const struct gathering *gathering, bool cause_seen)
{
	if (absence == ANALYSIS_ABSENT_ENDED && gathering->split)
		record_add_missing(record, "how it ended: its exit status was not seen");
	else if (states[absence].missing && !cause_seen)
		record_add_missing(record, states[absence].missing);
	if (!gathering->certain)
		record_add_missing(record, "whether the rank is one of the communicator's: NCCL has not reported "
					   "these, and it is inferred from the places of those that wait");
	text_init(record, call_name(gathering), absence, pid);
}

void init_finding_advise_first(struct record *record, enum rw_cause_class class_)
{
	bool prepares = class_ == RW_CAUSE_PROCESS || class_ == RW_CAUSE_IO || class_ == RW_CAUSE_SOCKET ||
			class_ == RW_CAUSE_RUNNING;

	if (!prepares)
		return;
	snprintf(record->advice, sizeof(record->advice),
		 "prepare data before the job starts, or after init_process_group(device_id=...), or give that a "
		 "timeout longer than this takes");
	record->finding.advice = record->advice;
}

int init_finding_write_circle(struct record *record, const struct init_circle *circle, uint64_t now_ns)
{
	struct text_init_link links[TEXT_CIRCLE_LINKS];
	int32_t ranks[CIRCLE_RANKS_MAX];
	struct rw_finding *finding = &record->finding;
	bool split = false, makes = true;

	for (uint32_t i = 0; i < circle->count; i++) {
		const struct init_circle_link *link = &circle->links[i],
					      *next = &circle->links[(i + 1) % circle->count];
		ranks[i] = link->rank;
		if (i < TEXT_CIRCLE_LINKS)
			links[i] = (struct text_init_link){ link->rank, next->rank, link->gathering->size,
							    call_name(link->gathering) };
		split |= link->gathering->split;
		makes &= link->gathering->call != RW_INIT_CALL_SUSPEND && link->gathering->call != RW_INIT_CALL_RESUME;
	}
	if (record_set_waiting_worlds(record, ranks, circle->count))
		return -ENOMEM;
	finding->standing = RW_STANDING_CIRCLE;
	finding->severity = RW_WARNING;
	finding->confidence = RW_INCONCLUSIVE;
	set_times(finding, circle->since_ns, now_ns);
	set_operation(finding, circle->links[0].gathering);
	text_init_circle(record, links, circle->count,
			 !makes  ? TEXT_INIT_OTHERS
			 : split ? TEXT_INIT_SPLITS
				 : TEXT_INIT_MAKES);
	return 0;
}
