/* SPDX-License-Identifier: MIT */
#include "analysis/job/late.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report/host_cause.h"
#include "analysis/job/order.h"
#include "analysis/job/told.h"
#include "analysis/numbers/late_level.h"
#include "analysis/report/naming.h"

enum { REASON_SHOWN = 64 /* bytes of a reason, where ranks have different ones */ };

/* How a rank stands by its rows. */
struct view {
	const struct world_comm *comm; /* NULL: it was not compared */
	bool late;     /* decided */
	bool of_level; /* it is late by as much in all rows */
	bool of_stage; /* it is late with its whole stage */
	bool host_late; /* its host is late as a whole */
	double recent; /* share of the time, of late */
	double share;  /* that it costs */
	double late_time, host,
	    device; /* of the same unit: what it was late by, and which part of it was its host's or its device's */
	double lasted_s;   /* newest row, … */
	uint32_t compared; /* … and who was compared in it */
};

/* Of one host. */
struct host_view {
	uint32_t judged, late, near;
	bool whole;        /* it is late as a whole, by the middle one of its ranks */
	bool of_level;     /* those that are decided are of a level, so that noise of a few rows hides who else is */
	double latest;     /* share of the time, of the latest of its ranks that are decided, … */
	double level;      /* … and over the rows that show a level */
	uint64_t since_ns; /* the first of its ranks */
	bool parted;       /* one of those that are late is so since its calls and those of others do not meet */
};

struct views {
	const struct job_rows *rows;
	struct view *ranks; /* by world rank */
	struct host_view *hosts;
	uint64_t *parted_ns; /* by world rank: since when its calls meet those of others no more; UINT64_MAX: they do */
};

static void look_at(const struct job_rows *rows, const struct world *world, uint32_t rank, struct view *view,
		    uint64_t now_ns)
{
	struct job_rows_view seen;

	if (!job_rows_look(rows, world, rank, now_ns, &seen))
		return;
	*view = (struct view){ .comm = seen.comm, .late = seen.late, .of_level = seen.of_level, .of_stage = seen.of_stage,
			       .host_late = seen.host_late,
			       .recent = seen.recent,
			       .share = seen.of_level ? job_rows_level(rows, world, rank) : seen.share,
			       .late_time = seen.late_ms, .host = seen.host_ms, .device = seen.device_ms,
			       .lasted_s = seen.state->lasted_us / 1e6, .compared = seen.state->compared };
}

static bool look(const struct job_rows *rows, struct world *world, struct views *views, uint64_t now_ns)
{
	views->rows = rows;
	views->ranks = calloc(world->rank_room + 1, sizeof(*views->ranks));
	views->hosts = calloc(world->host_count + 1, sizeof(*views->hosts));
	if (!views->ranks || !views->hosts)
		return false;
	for (uint32_t i = 0; i < world->rank_room; i++)
		look_at(rows, world, i, &views->ranks[i], now_ns);
	return true;
}

/* On any communicator of the rank. */
static bool look_for_partings(const struct world *world, const struct findings *findings, struct views *views,
			      uint64_t now_ns)
{
	views->parted_ns = malloc((world->rank_room + 1) * sizeof(*views->parted_ns));
	if (!views->parted_ns)
		return false;
	for (uint32_t i = 0; i < world->rank_room; i++)
		views->parted_ns[i] = UINT64_MAX;
	for (uint32_t i = 0; i < world->comm_count; i++) {
		const struct world_comm *comm = world->comms[i];
		uint64_t since_ns = order_parted_since(world, comm, findings, now_ns);
		for (uint32_t k = 0; since_ns != UINT64_MAX && k < comm->member_count; k++) {
			uint64_t *own = &views->parted_ns[comm->members[k].rank];
			*own = since_ns < *own ? since_ns : *own;
		}
	}
	return true;
}

/* It was not late before. What was told before goes on. */
static bool is_for_parting(const struct world *world, const struct views *views, uint32_t rank)
{
	return views->parted_ns[rank] != UINT64_MAX && world->ranks[rank].late_ns >= views->parted_ns[rank];
}

static void count_late(const struct world *world, struct views *views, uint64_t now_ns)
{
	for (uint32_t i = 0; i < world->rank_room; i++) {
		const struct view *view = &views->ranks[i];
		if (!view->comm)
			continue;
		struct host_view *host = &views->hosts[world->ranks[i].host];
		uint64_t since_ns = world->ranks[i].late_ns ? world->ranks[i].late_ns : now_ns;
		host->judged++;
		host->whole |= view->host_late;
		if (!view->late || view->of_stage)
			continue;
		host->of_level = (host->of_level || !host->late) && view->of_level;
		host->since_ns = !host->late || since_ns < host->since_ns ? since_ns : host->since_ns;
		host->parted |= is_for_parting(world, views, i);
		host->late++;
	}
}

/* What was found in the newest rows is to be so still; a level shows in many of them. */
static bool is_late_now(bool of_level, double share)
{
	return share >= (of_level ? LATE_RECENT_LEVEL * LATE_LEVEL_SHARE : LATE_SERIES_SHARE);
}

static double lateness_of(const struct world *world, const struct views *views, uint32_t rank, bool of_level)
{
	return of_level ? job_rows_level(views->rows, world, rank) : views->ranks[rank].recent;
}

/* Of few rows noise alone may make it so. */
static bool is_near(const struct world *world, const struct views *views, uint32_t rank, const struct host_view *host)
{
	return lateness_of(world, views, rank, host->of_level) >= LATE_NEAR * host->latest &&
	       job_rows_level(views->rows, world, rank) >= LATE_NEAR * host->level;
}

static void count_near(const struct world *world, struct views *views)
{
	for (uint32_t i = 0; i < world->rank_room; i++) {
		const struct view *view = &views->ranks[i];
		if (!view->comm || !view->late || view->of_stage)
			continue;
		struct host_view *host = &views->hosts[world->ranks[i].host];
		host->latest = fmax(host->latest, lateness_of(world, views, i, host->of_level));
		host->level = fmax(host->level, job_rows_level(views->rows, world, i));
	}
	for (uint32_t i = 0; i < world->rank_room; i++) {
		if (!views->ranks[i].comm)
			continue;
		struct host_view *host = &views->hosts[world->ranks[i].host];
		if (host->late)
			host->near += is_near(world, views, i, host);
	}
}

/* Nearly all its ranks are known to be, and the others nearly are, or the middle one is: to name some would mislead.
 * Beside one that is late, noise of the host, or waiting for that one, may make the others seem so. */
static bool is_host_late(const struct host_view *host)
{
	bool all = host->late * 4 >= host->judged * 3 && (host->near == host->judged || host->whole);

	return host->judged > 1 && host->late && all && is_late_now(host->of_level, host->latest);
}

/* Its own host finds it late, and knows more; or has until a moment ago: rows still show what is over. */
static bool is_adopted(const struct world *world, uint32_t rank, uint64_t now_ns)
{
	uint64_t adopted_ns = world->ranks[rank].adopted_ns;

	return adopted_ns && now_ns < adopted_ns + LATE_ADOPTED_NS;
}

static void note_adopted(struct world *world, uint64_t now_ns)
{
	for (uint32_t i = 0; i < world->rank_room; i++)
		if (world->ranks[i].found & (1u << RW_KIND_STRAGGLER))
			world->ranks[i].adopted_ns = now_ns;
}

/* By what its host launched late while its GPU was idle, longer than that of others. */
static bool is_by_host(const struct view *view)
{
	return view->late_time > 0 && view->host >= view->late_time * 0.9;
}

static void set_kind(struct rw_finding *finding, const struct view *view)
{
	if (is_by_host(view))
		finding->late.kind = RW_LATE_HOST;
	else if (view->device > view->host && view->host * 2 < view->late_time)
		finding->late.kind = RW_LATE_DEVICE;
}

/* The other members, in order. Each of many late ranks has thousands of them, so they are not sorted. */
static int set_waiting(struct record *record, const struct world *world, const struct view *view)
{
	bool *waits = calloc(world->rank_room + 1, sizeof(*waits));
	int32_t *ranks = calloc(world->rank_room + 1, sizeof(*ranks));
	uint32_t count = 0;
	int err = -1;

	if (waits && ranks) {
		for (uint32_t i = 0; i < view->comm->member_count; i++)
			waits[view->comm->members[i].rank] = true;
		for (size_t i = 0; i < record->finding.rank_count; i++)
			waits[record->finding.ranks[i]] = false;
		for (uint32_t i = 0; i < world->rank_room; i++)
			if (waits[i] && world_rank(world, i))
				ranks[count++] = (int32_t)i;
		err = record_set_waiting_worlds(record, ranks, count);
	}
	free(waits);
	free(ranks);
	return err;
}

/* works: or "worked", where it is over. */
static void write_sentence(struct record *record, const char *works)
{
	const struct rw_finding *finding = &record->finding;
	char ranks[128];

	naming_ranks(ranks, sizeof(ranks), finding->ranks, finding->rank_count);
	if (finding->scope == RW_SCOPE_STAGE)
		snprintf(
		    record->text, sizeof(record->text),
		    "the pipeline's stage of %s %s longer than it used to, and the others do not: %.0f %% of the time",
		    ranks, works, finding->late.lost_share * 100);
	else if (finding->scope == RW_SCOPE_HOST)
		snprintf(record->text, sizeof(record->text),
			 "host %s (%s) %s longer than the hosts that do the same: %.0f %% of the time", finding->where[0].host, ranks,
			 works, finding->late.lost_share * 100);
	else
		snprintf(record->text, sizeof(record->text),
			 "%s on %s %s longer than the ranks of other hosts that do the same: %.0f %% of the time", ranks,
			 finding->where[0].host, works, finding->late.lost_share * 100);
}

static void write_text(struct record *record, const struct view *view)
{
	const struct rw_finding *finding = &record->finding;
	char what[224];

	write_sentence(record, "works");
	snprintf(what, sizeof(what), "the own work of %u ranks in the same %.1f s, by the messages of their hosts",
		 view->compared, view->lasted_s);
	record_add_evidence(record, "messages", -1, what);
	if (finding->cause.text == record->differing)
		record_add_missing(record, "which of these reasons is the host's: its ranks have different ones");
	else if (finding->cause.class_ == RW_CAUSE_UNKNOWN)
		record_add_missing(record, "what it worked at: messages hold only how long ranks worked, and its host "
					   "saw nothing that would explain it");
	else
		record_add_missing(record,
				   "whether this is why it is late: its host saw this cause in the same seconds, and "
				   "messages hold only sums over these, not the single operations");
}

/* NULL: its host has not said lately why it is late. */
static const struct world_reason *reason_of(const struct world_rank *rank, uint64_t now_ns)
{
	bool known = rank->reason && rank->reason->class_ != RW_CAUSE_UNKNOWN &&
		     now_ns < rank->reason->heard_ns + TOLD_REASON_NS;

	return known ? rank->reason : NULL;
}

/* The first line says what it is. */
static int length_of(const struct world_reason *reason)
{
	size_t length = strcspn(reason->text, "\n");

	return length < REASON_SHOWN ? (int)length : REASON_SHOWN;
}

static void set_different(struct record *record, const struct world *world, uint32_t first, uint32_t other)
{
	const struct world_reason *one = world->ranks[first].reason, *two = world->ranks[other].reason;

	told_set_cause(record, RW_CAUSE_UNKNOWN, one->level, "");
	snprintf(record->differing, sizeof(record->differing),
		 "its ranks are late for different reasons: rank %u %.*s, rank %u %.*s", first, length_of(one),
		 one->text, other, length_of(two), two->text);
	record->finding.cause.text = record->differing;
}

/* Do the reasons of too few of the ranks say that it is their GPUs? Then these are none of the host's. */
static bool is_gpu_of_few(const struct world *world, const uint32_t *ranks, uint32_t count, uint64_t now_ns)
{
	uint32_t by_gpu = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct world_reason *reason = reason_of(&world->ranks[ranks[i]], now_ns);
		by_gpu += reason && host_cause_is_of_gpu(reason->class_);
	}
	return host_cause_is_of_few(by_gpu, count);
}

/* The reason that those of its ranks have of whom one is known; of ranks whose reasons differ none is taken. */
static const struct world_reason *set_reason(struct record *record, const struct world *world, const uint32_t *ranks,
					     uint32_t count, uint64_t now_ns)
{
	const struct world_reason *first = NULL;
	uint32_t chosen = 0, left_out = 0;
	bool without_gpus = is_gpu_of_few(world, ranks, count, now_ns);

	for (uint32_t i = 0; i < count; i++) {
		const struct world_reason *reason = reason_of(&world->ranks[ranks[i]], now_ns);

		if (reason && without_gpus && host_cause_is_of_gpu(reason->class_)) {
			left_out++;
			continue;
		}
		if (first && reason && host_cause_story(first->class_) != host_cause_story(reason->class_)) {
			set_different(record, world, ranks[chosen], ranks[i]);
			return first;
		}
		if (!first && reason) {
			first = reason;
			chosen = i;
		}
	}
	if (!first && left_out) {
		record_add_missing(
		    record,
		    "why all ranks of the host are late: what the GPUs of some of them show explains these only");
		return NULL;
	}
	const struct world_reason *reason = told_set_reason(record, &world->ranks[ranks[chosen]], now_ns);

	if (first && record->finding.scope == RW_SCOPE_HOST)
		record->finding.cause.rank = (int32_t)ranks[chosen];
	return reason;
}

static void tell(const struct world *world, struct findings *findings, const struct views *views, const uint32_t *ranks,
		 uint32_t count, enum rw_scope scope, uint64_t now_ns)
{
	const struct view *view = &views->ranks[ranks[0]];
	struct record *record = told_new(world, RW_KIND_STRAGGLER, scope, ranks, count);
	double share = 0;

	if (!record)
		return;
	uint64_t since_ns = now_ns;
	for (uint32_t i = 0; i < count; i++) {
		const struct view *each = &views->ranks[ranks[i]];
		share = each->share > share ? each->share : share;
		if (world->ranks[ranks[i]].late_ns && world->ranks[ranks[i]].late_ns < since_ns)
			since_ns = world->ranks[ranks[i]].late_ns;
	}
	struct rw_finding *finding = &record->finding;
	record->subject = scope == RW_SCOPE_HOST ? TOLD_HOST | world->ranks[ranks[0]].host : ranks[0];
	finding->severity = RW_WARNING;
	finding->confidence = RW_LIKELY;
	finding->arrival = RW_ARRIVAL_GPU;
	finding->first_seen_ns = since_ns;
	finding->detect_ms = (double)(now_ns - since_ns) / 1e6;
	finding->late.present = true;
	finding->late.by_ms = -1;
	finding->late.lost_share = share;
	set_kind(finding, view);
	const struct world_reason *reason = set_reason(record, world, ranks, count, now_ns);
	if (!reason)
		told_set_cause(record, RW_CAUSE_UNKNOWN, RW_LEVEL_NONE, "");
	else if (finding->late.kind == RW_LATE_NONE)
		finding->late.kind = reason->late_kind;
	if (set_waiting(record, world, view)) {
		record_free(record);
		return;
	}
	write_text(record, view);
	findings_tell(findings, record, now_ns);
}

/* It is late no longer. */
static void close_over(struct findings *findings, uint32_t subject, uint64_t now_ns)
{
	struct record *record = findings_over(findings, RW_KIND_STRAGGLER, subject);

	if (record) {
		record->finding.late.over = true;
		write_sentence(record, "worked");
	}
	findings_close(findings, RW_KIND_STRAGGLER, subject, now_ns);
}

/* Somebody else tells of it: its own host, or the finding about its host. */
static void leave(struct world *world, struct findings *findings, uint32_t rank, uint64_t now_ns)
{
	findings_close(findings, RW_KIND_STRAGGLER, rank, now_ns);
	world->ranks[rank].late_told = false;
}

/* The whole host, once for all its ranks. */
static void tell_host(struct world *world, struct findings *findings, const struct views *views, uint32_t host,
		      uint64_t now_ns)
{
	uint32_t *ranks = calloc(views->hosts[host].judged + 1, sizeof(*ranks)), count = 0;
	bool adopted = false;

	if (!ranks)
		return;
	for (uint32_t i = 0; i < world->rank_room; i++) {
		if (!views->ranks[i].comm || world->ranks[i].host != host)
			continue;
		ranks[count++] = i;
		adopted |= is_adopted(world, i, now_ns);
		leave(world, findings, i, now_ns);
	}
	if (adopted)
		findings_close(findings, RW_KIND_STRAGGLER, TOLD_HOST | host, now_ns);
	else
		tell(world, findings, views, ranks, count, RW_SCOPE_HOST, now_ns);
	free(ranks);
}

/* Its first rank stands for the whole stage. */
static bool is_first_of_stage(const struct world *world, const struct views *views, uint32_t rank)
{
	for (uint32_t i = 0; i < rank; i++)
		if (views->ranks[i].of_stage && job_rows_are_of_one_stage(views->rows, world, i, rank))
			return false;
	return true;
}

static void tell_stage(struct world *world, struct findings *findings, const struct views *views, uint32_t first,
		       uint64_t now_ns)
{
	uint32_t *ranks = calloc(world->rank_room + 1, sizeof(*ranks)), count = 0;
	bool adopted = false;

	for (uint32_t i = first; ranks && i < world->rank_room; i++) {
		if (i != first && !(views->ranks[i].of_stage && job_rows_are_of_one_stage(views->rows, world, first, i)))
			continue;
		ranks[count++] = i;
		adopted |= is_adopted(world, i, now_ns);
		if (i != first)
			leave(world, findings, i, now_ns);
	}
	if (adopted)
		leave(world, findings, first, now_ns);
	else if (count)
		tell(world, findings, views, ranks, count, RW_SCOPE_STAGE, now_ns);
	free(ranks);
}

static void consider(struct world *world, struct findings *findings, const struct views *views, uint32_t i,
		     uint64_t now_ns)
{
	struct world_rank *rank = &world->ranks[i];

	if (!views->ranks[i].late) {
		if (rank->late_ns && views->ranks[i].comm) {
			rank->late_ns = 0;
			close_over(findings, i, now_ns);
			rank->late_told = false;
		}
		return;
	}
	if (!rank->late_ns)
		rank->late_ns = now_ns;
	if (is_adopted(world, i, now_ns)) {
		leave(world, findings, i, now_ns);
		return;
	}
	rank->wanted_ns = now_ns;
	rank->wanted_of_host = is_by_host(&views->ranks[i]);
	bool of_level = views->ranks[i].of_level;
	if (!is_late_now(of_level, lateness_of(world, views, i, of_level)) || is_host_late(&views->hosts[rank->host]) ||
	    now_ns < rank->late_ns + LATE_SETTLE_NS ||
	    findings_open(findings, RW_KIND_STRAGGLER, TOLD_HOST | rank->host))
		return;
	const struct record *open = findings_open(findings, RW_KIND_STRAGGLER, i);
	if (open ? now_ns < open->told_ns + LATE_UPDATE_NS : is_for_parting(world, views, i))
		return;
	if (views->ranks[i].of_stage && !is_first_of_stage(world, views, i))
		return;
	rank->late_told = true;
	if (views->ranks[i].of_stage)
		tell_stage(world, findings, views, i, now_ns);
	else
		tell(world, findings, views, &i, 1, RW_SCOPE_RANK, now_ns);
}

static void consider_host(struct world *world, struct findings *findings, const struct views *views, uint32_t i,
			  uint64_t now_ns)
{
	const struct host_view *host = &views->hosts[i];
	const struct record *open = findings_open(findings, RW_KIND_STRAGGLER, TOLD_HOST | i);

	if (!is_host_late(host)) {
		if (open && host->near * 2 < host->judged)
			close_over(findings, TOLD_HOST | i, now_ns);
		return;
	}
	if (now_ns < host->since_ns + LATE_SETTLE_NS || (open ? now_ns < open->told_ns + LATE_UPDATE_NS : host->parted))
		return;
	tell_host(world, findings, views, i, now_ns);
}

void late_tick(const struct job_rows *rows, struct world *world, struct findings *findings, uint64_t now_ns)
{
	struct views views = { 0 };

	note_adopted(world, now_ns);
	if (look(rows, world, &views, now_ns) && look_for_partings(world, findings, &views, now_ns)) {
		count_late(world, &views, now_ns);
		count_near(world, &views);
		for (uint32_t i = 0; i < world->rank_room; i++)
			if (world->ranks[i].host != WORLD_NONE)
				consider(world, findings, &views, i, now_ns);
		for (uint32_t i = 0; i < world->host_count; i++)
			consider_host(world, findings, &views, i, now_ns);
	}
	free(views.ranks);
	free(views.hosts);
	free(views.parted_ns);
}
