/* SPDX-License-Identifier: MIT */
#include "analysis/report/record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report/advice.h"
#include "analysis/report/cause_text.h"
#include "analysis/report/naming.h"
#include "analysis/numbers/sorting.h"
#include "analysis/report/text.h"
#include "analysis/known/usual.h"

/* World ranks of ranks, ascending; malloc'ed. */
static int32_t *world_ranks_of(const struct job *job, const uint32_t *ranks, uint32_t count)
{
	int32_t *world = calloc(count + 1, sizeof(*world));
	if (!world)
		return NULL;
	for (uint32_t i = 0; i < count; i++)
		world[i] = job->ranks[ranks[i]].world;
	sort_i32(world, count);
	return world;
}

static void write_uuid(char *text, size_t room, const uint8_t *uuid)
{
	int used = snprintf(text, room, "GPU-");
	for (int i = 0; i < 16; i++)
		used += snprintf(text + used, room - used, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
				 uuid[i]);
}

static void set_where(struct record *record, uint32_t at, const struct rank *rank)
{
	const struct process *process = rank->process;
	const struct rw_device *device = &process->devices[rank->device];
	snprintf(record->hosts[at], sizeof(*record->hosts), "%s", process->host_name);
	snprintf(record->rank_from[at], sizeof(*record->rank_from), "%s", process->rank_from);
	snprintf(record->pcis[at], sizeof(*record->pcis), "%s", device->pci);
	if (device->used)
		write_uuid(record->gpus[at], sizeof(*record->gpus), device->uuid);
	record->where[at] = (struct rw_where){
		.rank = rank->world,
		.host = record->hosts[at],
		.pid = process->pid,
		.gpu = record->gpus[at][0] ? record->gpus[at] : NULL,
		.pci = record->pcis[at][0] ? record->pcis[at] : NULL,
		.rank_from = record->rank_from[at][0] ? record->rank_from[at] : NULL,
	};
}

static int by_where(const void *left, const void *right)
{
	const struct rw_where *a = left, *b = right;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

static bool allocate(struct record *record, uint32_t count)
{
	size_t room = count + 1;
	record->where = calloc(room, sizeof(*record->where));
	record->hosts = calloc(room, sizeof(*record->hosts));
	record->gpus = calloc(room, sizeof(*record->gpus));
	record->pcis = calloc(room, sizeof(*record->pcis));
	record->rank_from = calloc(room, sizeof(*record->rank_from));
	return record->where && record->hosts && record->gpus && record->pcis && record->rank_from;
}

static void set_job(struct record *record, const struct job *job)
{
	const struct process *process = job->process_count ? job->processes[0] : NULL;
	if (process)
		snprintf(record->job, sizeof(record->job), "%s", process->job);
	record->finding.job.id = record->job;
	record->finding.job.generation = process ? process->generation : 0;
	record->finding.job.ranks_seen = (int32_t)job->rank_count;
	record->finding.job.ranks_total = job_world_size(job);
}

/* Takes the ranks; all that nobody says yet is absent. */
static struct record *record_made(enum rw_kind kind, enum rw_scope scope, int32_t *ranks, uint32_t count)
{
	struct record *record = calloc(1, sizeof(*record));
	if (record)
		record->ranks = ranks;
	else
		free(ranks);
	if (!record || !ranks || !allocate(record, count)) {
		record_free(record);
		return NULL;
	}
	struct rw_finding *finding = &record->finding;
	finding->kind = kind;
	finding->scope = scope;
	finding->ranks = record->ranks;
	finding->rank_count = count;
	finding->where = record->where;
	finding->where_count = count;
	finding->detect_ms = -1;
	finding->operation.step = finding->operation.peer_or_root = -1;
	finding->values.absmax_before = finding->values.saturated = -1;
	finding->values.first_bad = RW_NO_INDEX;
	finding->late.lost_ms_per_step = finding->late.lost_share = -1;
	finding->late.since_step = finding->late.until_step = -1;
	finding->cause.rank = -1;
	finding->cause.share = finding->cause.fd = finding->cause.tid = finding->cause.at_tid = -1;
	finding->watchdog.left_ms = -1;
	finding->text = record->text;
	return record;
}

struct record *record_new(const struct job *job, enum rw_kind kind, enum rw_scope scope, const uint32_t *ranks,
			  uint32_t count)
{
	struct record *record = record_made(kind, scope, world_ranks_of(job, ranks, count), count);
	if (!record)
		return NULL;
	for (uint32_t i = 0; i < count; i++)
		set_where(record, i, &job->ranks[ranks[i]]);
	qsort(record->where, count, sizeof(*record->where), by_where);
	set_job(record, job);
	return record;
}

struct record *record_new_named(enum rw_kind kind, enum rw_scope scope, const struct record_subject *subjects,
				uint32_t count)
{
	struct record *record = record_made(kind, scope, calloc(count + 1, sizeof(int32_t)), count);
	if (!record)
		return NULL;
	for (uint32_t i = 0; i < count; i++) {
		record->ranks[i] = subjects[i].world_rank;
		snprintf(record->hosts[i], sizeof(*record->hosts), "%s", subjects[i].host);
		if (subjects[i].uuid)
			write_uuid(record->gpus[i], sizeof(*record->gpus), subjects[i].uuid);
		record->where[i] = (struct rw_where){
			.rank = subjects[i].world_rank,
			.host = record->hosts[i],
			.pid = subjects[i].pid,
			.gpu = subjects[i].uuid ? record->gpus[i] : NULL,
		};
	}
	record->finding.job.id = record->job;
	return record;
}

struct record *record_new_absent(const struct job *job, enum rw_kind kind, int32_t world_rank, const char *host,
				 int32_t pid)
{
	struct record *record = record_new(job, kind, RW_SCOPE_RANK, NULL, 0);
	if (!record)
		return NULL;
	record->ranks[0] = world_rank;
	record->finding.rank_count = record->finding.where_count = 1;
	snprintf(record->hosts[0], sizeof(record->hosts[0]), "%s", host);
	record->where[0] = (struct rw_where){ .rank = world_rank, .host = record->hosts[0], .pid = pid };
	return record;
}

int record_set_waiting_worlds(struct record *record, const int32_t *world_ranks, uint32_t count)
{
	free(record->waiting);
	record->waiting = calloc(count + 1, sizeof(*record->waiting));
	if (!record->waiting)
		return -ENOMEM;
	memcpy(record->waiting, world_ranks, count * sizeof(*world_ranks));
	record->finding.late.waiting = record->finding.victims = record->waiting;
	record->finding.late.waiting_count = record->finding.victim_count = count;
	return 0;
}

void record_free(struct record *record)
{
	if (!record)
		return;
	free(record->ranks);
	free(record->waiting);
	free(record->where);
	free(record->hosts);
	free(record->gpus);
	free(record->pcis);
	free(record->rank_from);
	free(record);
}

int record_set_waiting(struct record *record, const struct job *job, const uint32_t *ranks, uint32_t count)
{
	free(record->waiting);
	record->waiting = world_ranks_of(job, ranks, count);
	if (!record->waiting)
		return -ENOMEM;
	record->finding.late.waiting = record->finding.victims = record->waiting;
	record->finding.late.waiting_count = record->finding.victim_count = count;
	return 0;
}

void record_set_operation(struct record *record, const struct job *job, const struct instance *instance,
			  enum rw_phase phase)
{
	const struct communicator *communicator = instance->communicator;
	struct rw_finding *finding = &record->finding;
	naming_communicator(record->comm_name, sizeof(record->comm_name), job, communicator);
	finding->operation.present = true;
	finding->operation.comm = communicator->id;
	finding->operation.comm_name = record->comm_name;
	finding->operation.comm_size = communicator->size ? communicator->size : -1;
	finding->operation.function = instance->function;
	bool replay = instance_is_replay(instance);
	finding->operation.sequence = replay ? rw_captured_call(instance->sequence) : instance->sequence;
	finding->operation.replay = replay ? rw_captured_replay(instance->sequence) + 1 : 0;
	finding->operation.step = instance_step(instance);
	finding->operation.dtype = instance->dtype;
	finding->operation.count = instance->count;
	finding->operation.algorithm = instance->algorithm;
	finding->operation.protocol = instance->protocol;
	finding->operation.phase = phase;
	finding->operation.peer_or_root = instance->root_or_peer;
	int32_t unseen = job_unseen(communicator);
	if (!unseen)
		return;
	char what[192];
	if (unseen > 0)
		snprintf(what, sizeof(what), "only %u of this communicator's %d ranks %s seen: " RECORD_UNSEEN_MEMBERS,
			 communicator->member_count, communicator->size,
			 communicator->member_count == 1 ? "was" : "were");
	else
		snprintf(what, sizeof(what),
			 "this NCCL does not report how many ranks this communicator has: ranks that were not seen "
			 "cannot be named");
	if (unseen < 0 && finding->confidence == RW_CERTAIN)
		finding->confidence = RW_LIKELY;
	record_add_missing(record, what);
}

static const char *or_null(const char *text)
{
	return *text ? text : NULL;
}

static void set_chain(struct record *record, const struct intern *intern, const struct cause *cause)
{
	for (uint32_t i = 0; i < cause->hop_count; i++) {
		snprintf(record->chain_threads[i], sizeof(record->chain_threads[i]), "%s",
			 intern_text(intern, cause->hops[i].thread));
		snprintf(record->chain_waits[i], sizeof(record->chain_waits[i]), "%s", cause->hops[i].waits_for);
		snprintf(record->chain_does[i], sizeof(record->chain_does[i]), "%s", cause->hops[i].does);
		record->chain[i] = (struct rw_chain_link){
			.tid = (int32_t)cause->hops[i].tid,
			.thread = record->chain_threads[i],
			.waits_for = record->chain_waits[i],
			.waits_for_tid = cause->hops[i].waits_for_tid ? (int32_t)cause->hops[i].waits_for_tid : -1,
			.does = or_null(record->chain_does[i]),
		};
	}
	record->finding.cause.chain = record->chain;
	record->finding.cause.chain_count = cause->hop_count;
}

static void set_stack(struct record *record, const struct intern *intern, const struct cause *cause)
{
	for (uint32_t i = 0; i < cause->frame_count; i++) {
		snprintf(record->stack[i], sizeof(record->stack[i]), "%s", intern_text(intern, cause->frames[i]));
		record->stack_pointers[i] = record->stack[i];
	}
	record->finding.cause.stack = record->stack_pointers;
	record->finding.cause.stack_count = cause->frame_count;
}

static struct rw_python_place python_place(struct record *record, const struct intern *intern, int at,
					    const struct python_looks_place *place)
{
	snprintf(record->python[at].function, sizeof(record->python[at].function), "%s",
		 intern_text(intern, place->function));
	snprintf(record->python[at].file, sizeof(record->python[at].file), "%s", intern_text(intern, place->file));
	return (struct rw_python_place){ .function = or_null(record->python[at].function),
					 .file = or_null(record->python[at].file),
					 .line = place->line };
}

static void set_python(struct record *record, const struct intern *intern, const struct cause *cause)
{
	const struct python_looks_answer *python = &cause->python;
	struct rw_finding *finding = &record->finding;
	if (cause->class_ == RW_CAUSE_STOPPED || (!python->seen && !python->waits && !python->collecting))
		return;
	finding->cause.python.looks = python->looks;
	finding->cause.python.seen = python->seen;
	finding->cause.python.place = python_place(record, intern, 0, &python->place);
	finding->cause.python.inner = python_place(record, intern, 1, &python->inner);
	finding->cause.python.waits = python->waits;
	finding->cause.python.held = python->held;
	finding->cause.python.holder_tid = python->holder ? (int32_t)python->holder : -1;
	finding->cause.python.holder = python_place(record, intern, 2, &python->holder_place);
	finding->cause.python.collecting = python->collecting;
}

static void set_turns(struct record *record, const struct cause *cause)
{
	if (!cause->convoy)
		return;
	record->finding.cause.turns.holders = cause->holders;
	record->finding.cause.turns.cpu = cause->holders_cpu > 0 ? cause->holders_cpu : -1;
	record->finding.cause.turns.like_python = cause->like_python;
}

static void set_evidence(struct record *record, const struct cause *cause)
{
	static const char *const sources[] = { "none", "self", "proc", "proc", "bpf" };
	for (uint32_t i = 0; i < cause->evidence_count; i++)
		record->evidence[i] = (struct rw_evidence){
			.source = sources[cause->evidence[i].level],
			.ms = (double)cause->evidence[i].ns / 1e6,
			.what = cause->evidence[i].what,
		};
	record->finding.evidence = record->evidence;
	record->finding.evidence_count = cause->evidence_count;
}

/* A stop or an end is seen by other means. */
static void set_losses(struct record *record, const struct cause *cause)
{
	char what[96];

	if (cause->class_ == RW_CAUSE_STOPPED || cause->class_ == RW_CAUSE_GONE || (!cause->lost && !cause->forgotten))
		return;
	if (record->finding.confidence == RW_CERTAIN)
		record->finding.confidence = RW_LIKELY;
	record->finding.lost = cause->lost;
	snprintf(what, sizeof(what),
		 cause->lost == 1 ? "%" PRIu64 " event was lost: a cause may be missing"
				  : "%" PRIu64 " events were lost: a cause may be missing",
		 cause->lost);
	if (cause->lost)
		record_add_missing(record, what);
	if (cause->forgotten)
		record_add_missing(record, "older evidence was overwritten: a cause may be missing");
}

void record_set_cause(struct record *record, const struct intern *intern, const struct process *process,
		      const struct cause *cause)
{
	struct rw_finding *finding = &record->finding;
	snprintf(record->path, sizeof(record->path), "%s", intern_text(intern, cause->path));
	snprintf(record->file_system, sizeof(record->file_system), "%s", intern_text(intern, cause->file_system));
	snprintf(record->device, sizeof(record->device), "%s", intern_text(intern, cause->device));
	snprintf(record->thread, sizeof(record->thread), "%s", intern_text(intern, cause->thread));
	snprintf(record->at_thread, sizeof(record->at_thread), "%s", intern_text(intern, cause->last_thread));
	cause_text(record->cause_text, sizeof(record->cause_text), cause, process);
	advice_find(record->advice, sizeof(record->advice), cause, process);
	set_chain(record, intern, cause);
	set_stack(record, intern, cause);
	set_turns(record, cause);
	set_python(record, intern, cause);
	set_evidence(record, cause);
	finding->level = cause->level != RW_LEVEL_NONE ? cause->level : cause->seen;
	finding->cause.present = true;
	finding->cause.class_ = cause->class_;
	finding->cause.share = cause->share;
	finding->cause.text = record->cause_text;
	finding->cause.system_call = cause->system_call;
	finding->cause.fd = cause->fd;
	finding->cause.path = or_null(record->path);
	finding->cause.file_system = or_null(record->file_system);
	finding->cause.device = or_null(record->device);
	finding->cause.tid = cause->tid ? (int32_t)cause->tid : -1;
	finding->cause.thread = or_null(record->thread);
	finding->cause.at_tid = cause->last_tid ? (int32_t)cause->last_tid : -1;
	finding->cause.at_thread = or_null(record->at_thread);
	finding->advice = or_null(record->advice);
	if (cause->inferred && finding->confidence == RW_CERTAIN)
		finding->confidence = RW_LIKELY;
	if (cause->inferred)
		record_add_missing(record, cause->inferred);
	set_losses(record, cause);
}

void record_set_watchdog(struct record *record, const struct process *process, bool first_step_done, uint64_t waited_ns)
{
	uint64_t timeout_ms = process->watchdog_ms;
	if (!first_step_done && process->watchdog_init_ms)
		timeout_ms = process->watchdog_init_ms;
	if (!timeout_ms)
		return;
	struct rw_finding *finding = &record->finding;
	snprintf(record->watchdog_from, sizeof(record->watchdog_from), "%s", process->watchdog_from);
	double waited_ms = (double)waited_ns / 1e6;
	finding->watchdog.present = true;
	finding->watchdog.timeout_ms = (double)timeout_ms;
	finding->watchdog.from = record->watchdog_from;
	finding->watchdog.longest_wait_ms = waited_ms;
	finding->watchdog.left_ms = process->past                    ? -1
				    : waited_ms < (double)timeout_ms ? (double)timeout_ms - waited_ms
								     : 0;
}

void record_set_words(struct record *record, enum rw_cause_class class_, const char *cause, const char *advice)
{
	struct rw_finding *finding = &record->finding;
	snprintf(record->cause_text, sizeof(record->cause_text), "%s", cause);
	snprintf(record->advice, sizeof(record->advice), "%s", advice);
	finding->cause.present = true;
	finding->cause.class_ = class_;
	finding->cause.text = record->cause_text;
	finding->advice = record->advice;
}

void record_add_evidence(struct record *record, const char *source, double ms, const char *what)
{
	size_t at = record->finding.evidence_count;
	if (at == RECORD_EVIDENCE)
		return;
	snprintf(record->evidence_what[at], sizeof(record->evidence_what[at]), "%s", what);
	record->evidence[at] = (struct rw_evidence){ .source = source, .ms = ms, .what = record->evidence_what[at] };
	record->finding.evidence = record->evidence;
	record->finding.evidence_count++;
}

void record_add_missing(struct record *record, const char *what)
{
	size_t at = record->finding.missing_count;
	if (at == RECORD_MISSING)
		return;
	snprintf(record->missing[at], sizeof(record->missing[at]), "%s", what);
	record->missing_pointers[at] = record->missing[at];
	record->finding.missing = record->missing_pointers;
	record->finding.missing_count++;
}

void record_set_values(struct record *record, const struct instance *instance, uint32_t member, enum value_side side,
		       enum rw_values_origin origin)
{
	const struct rw_scan *scan = value_scan(instance, member, side);
	const struct usual *usual = usual_find(instance, member, side);
	bool fp8 = instance->dtype == RW_DTYPE_FLOAT8_E4M3 || instance->dtype == RW_DTYPE_FLOAT8_E5M2;

	record->finding.values.present = true;
	record->finding.values.output = side == VALUE_OUT;
	record->finding.values.origin = origin;
	record->finding.values.absmax_before = usual && usual->clean ? (double)usual->absmax : -1;
	record->finding.values.first_bad = RW_NO_INDEX;
	record->finding.values.saturated = -1;
	if (!scan)
		return;
	record->finding.values.nan = scan->nan;
	record->finding.values.inf = scan->inf;
	record->finding.values.first_bad = scan->first_bad;
	record->finding.values.digest = scan->digest;
	if (fp8)
		record->finding.values.saturated = scan->saturated;
}

void record_set_seen(struct record *record, const struct instance *instance, uint32_t member, uint64_t now_ns)
{
	const struct operation *operation = instance_joined(instance, member);
	uint64_t seen_ns = operation && operation->done_ns ? operation->done_ns : operation ? operation->api_ns : 0;

	record->finding.first_seen_ns = seen_ns && seen_ns < now_ns ? seen_ns : now_ns;
	record->finding.detect_ms = (double)(now_ns - record->finding.first_seen_ns) / 1e6;
}
