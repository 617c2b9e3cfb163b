/* SPDX-License-Identifier: MIT */
#include "analysis/hang/hang.h"

#include <stdlib.h>
#include <sys/wait.h>

#include "analysis/host/children.h"
#include "analysis/hang/circle.h"
#include "analysis/measure/flights.h"
#include "analysis/explain/gpu_evidence.h"
#include "analysis/hang/hang_verdict.h"
#include "analysis/model.h"
#include "analysis/explain/port_evidence.h"
#include "analysis/known/process.h"
#include "analysis/hang/standstill.h"
#include "analysis/report/text.h"
#include "analysis/measure/waiting.h"

static enum rw_phase phase_of(const struct instance *instance, uint32_t member, const struct cause *cause)
{
	uint16_t state = flight_state(instance, member);
	if (!state)
		return RW_PHASE_NONE;
	if (state & OPERATION_INSIDE)
		return RW_PHASE_CONNECT;
	if (!(state & OPERATION_LAUNCHED))
		return cause->class_ == RW_CAUSE_SOCKET ? RW_PHASE_CONNECT : RW_PHASE_ENQUEUED;
	return state & OPERATION_STARTED ? RW_PHASE_RUNNING : RW_PHASE_LAUNCHED;
}

/* The watchdog counts from the earliest unfinished enqueue of any rank. */
static uint64_t earliest_enqueue(const struct job *job, uint64_t otherwise_ns)
{
	uint64_t earliest_ns = otherwise_ns;
	for (uint32_t i = 0; i < job->communicator_count; i++)
		for (const struct instance *at = job->communicators[i]->unfinished_first; at; at = at->next)
			if (at->created_ns && at->created_ns < earliest_ns && flight_is_open(at))
				earliest_ns = at->created_ns;
	return earliest_ns;
}

static int set_waiting(struct record *record, const struct analysis *analysis, const struct waiting *waiting,
		       const struct hang_root *root)
{
	uint32_t *ranks = calloc(analysis->job.rank_count + 1, sizeof(*ranks)), count = 0;
	if (!ranks)
		return -1;
	for (uint32_t i = 0; i < analysis->job.rank_count; i++)
		if (waiting->blocked[i] && i != root->rank)
			ranks[count++] = i;
	int err = record_set_waiting(record, &analysis->job, ranks, count);
	free(ranks);
	return err;
}

static bool is_seen_by_host(const struct instance *instance)
{
	for (uint32_t i = 0; i < instance->room; i++)
		if (instance->operations[i].state & (OPERATION_HOST | OPERATION_INSIDE))
			return true;
	return false;
}

/* Do those who wait do so by what their hosts say, because the operation's turn was not to have GPU progress? */
static bool is_sampled_out(const struct instance *instance)
{
	for (uint32_t i = 0; i < instance->room; i++)
		if (instance->operations[i].state & OPERATION_HOST && instance->operations[i].state & OPERATION_APART)
			return true;
	return false;
}

/* Can the network between the hosts have to do with it? A rank that NCCL told of a broken connection fails by itself;
 * of one that is known by its box alone, nobody knows whether it did. */
static bool is_of_network(const struct rw_finding *finding, const struct instance *instance,
			  const struct process *process)
{
	if (instance->communicator->hosts == 1)
		return false;
	if (finding->kind == RW_KIND_GONE)
		return process->exit_status < 0 || (process->exit_status > 0 && WIFEXITED(process->exit_status));
	return finding->operation.phase == RW_PHASE_CONNECT || finding->cause.class_ == RW_CAUSE_SOCKET;
}

/* A child process that works is reported, so that the reader can judge whether it does so for this rank. */
static void add_children(struct record *record, const struct analysis *analysis, const struct process *process,
			 uint64_t now_ns)
{
	uint64_t from_ns = now_ns > HANG_PROGRESS_WINDOW_NS ? now_ns - HANG_PROGRESS_WINDOW_NS : 0;
	char what[CHILDREN_TEXT];
	if (!children_get_on(process->children, from_ns, now_ns))
		return;
	children_describe(process->children, &analysis->intern, from_ns, now_ns, what, sizeof(what));
	record_add_evidence(record, CHILDREN_SOURCE, -1, what);
}

static struct record *make_record(const struct analysis *analysis, const struct waiting *waiting,
				  const struct hang_root *root, const struct hang_verdict *verdict, uint64_t now_ns)
{
	const struct instance *instance = root->standing->instance;
	const struct process *process = analysis->job.ranks[root->rank].process;
	struct record *record = record_new(&analysis->job, verdict->kind, RW_SCOPE_RANK, &root->rank, 1);
	if (!record)
		return NULL;
	struct rw_finding *finding = &record->finding;
	bool host = is_seen_by_host(instance);
	record->subject = root->rank;
	finding->severity = verdict->severity;
	finding->confidence = verdict->confidence;
	if (verdict->kind == RW_KIND_HANG && is_sampled_out(instance)) {
		if (finding->confidence == RW_CERTAIN)
			finding->confidence = RW_LIKELY;
		record_add_missing(record, "whether its GPU had finished the operations before: "
					   "of small operations in a row one in 16 has GPU progress");
	}
	finding->arrival = host ? RW_ARRIVAL_HOST : RW_ARRIVAL_GPU;
	finding->first_seen_ns = root->standing->since_ns;
	finding->detect_ms = (double)(now_ns - root->standing->since_ns) / 1e6;
	finding->late.present = true;
	finding->late.by_ms = finding->detect_ms;
	record_set_operation(record, &analysis->job, instance, phase_of(instance, root->member, &verdict->cause));
	record_set_cause(record, &analysis->intern, process, &verdict->cause);
	if (verdict->kind == RW_KIND_HANG && verdict->cause.class_ != RW_CAUSE_GPU)
		add_children(record, analysis, process, now_ns);
	uint64_t waited_ns = now_ns - earliest_enqueue(&analysis->job, root->standing->since_ns);
	record_set_watchdog(record, root->watchdog, analysis->stragglers.first_step != 0, waited_ns);
	if (verdict->cause.seen == RW_LEVEL_NONE && verdict->kind == RW_KIND_HANG)
		record_add_missing(record, "whether this rank makes progress: its threads could not be sampled");
	if (verdict->ended_before)
		record_add_missing(record, "whether this wait ends by itself: an earlier one on the same socket did");
	if (verdict->kind == RW_KIND_HANG && verdict->cause.class_ == RW_CAUSE_GPU)
		record_add_missing(
		    record, "what its GPU runs, and what it waits for there: only a debugger on its host shows that");
	if (verdict->kind == RW_KIND_GONE && verdict->confidence == RW_LIKELY)
		record_add_missing(
		    record,
		    "whether any rank has reached this operation: the last ones were small, and have no GPU progress");
	if (set_waiting(record, analysis, waiting, root)) {
		record_free(record);
		return NULL;
	}
	oom_kills_explain(analysis, record, process);
	if (verdict->kind == RW_KIND_GONE)
		text_gone(record);
	else
		text_hang(record);
	uint64_t at_ns = verdict->kind == RW_KIND_GONE ? process->life_ns : root->standing->since_ns;
	gpu_evidence_explain_end(analysis, record, root->rank, at_ns);
	if (is_of_network(finding, instance, process))
		port_evidence_attach(analysis, record, at_ns);
	return record;
}

static struct hang *find_open(struct hangs *hangs, uint32_t rank)
{
	for (uint32_t i = 0; i < hangs->count; i++)
		if (hangs->open[i].rank == rank)
			return &hangs->open[i];
	return NULL;
}

static void tell(struct analysis *analysis, const struct waiting *waiting, const struct hang_root *root,
		 uint64_t now_ns)
{
	struct hangs *hangs = &analysis->hangs;
	struct hang *open = find_open(hangs, root->rank);
	struct hang_verdict verdict;
	if (!hang_verdict_reach(analysis, root, now_ns, &verdict))
		return;
	/* What ends or stops after the first was told, does so because of it (watchdog, launcher). */
	bool late = hangs->first_told_ns && now_ns > hangs->first_told_ns + HANG_TOGETHER_NS;
	if (!open && (late || hangs->count == HANG_OPEN_MAX))
		return;
	/* What was only noted gives way to what is known now; what was named ends as it may. */
	bool changed = open && open->kind != verdict.kind;
	if (changed && (open->severity > RW_NOTICE || late))
		return;
	struct record *record = make_record(analysis, waiting, root, &verdict, now_ns);
	if (!record)
		return;
	if (changed)
		findings_close(&analysis->findings, open->kind, open->rank, now_ns);
	if (!open)
		open = &hangs->open[hangs->count++];
	*open = (struct hang){
		.rank = root->rank,
		.kind = verdict.kind,
		.severity = verdict.severity,
		.instance = root->standing->instance,
		.serial = root->standing->instance->serial,
		.member = root->member,
	};
	if (verdict.severity > RW_NOTICE && !hangs->first_told_ns)
		hangs->first_told_ns = now_ns;
	findings_tell(&analysis->findings, record, now_ns);
}

/* Over when the rank has come after all, or the instance is through. */
static bool is_over(const struct hang *hang)
{
	if (hang->instance->serial != hang->serial || hang->instance->finished)
		return true;
	return !waiting_misses(hang->instance, hang->member);
}

static void close_over(struct analysis *analysis, uint64_t now_ns)
{
	struct hangs *hangs = &analysis->hangs;
	for (uint32_t i = 0; i < hangs->count;) {
		if (!is_over(&hangs->open[i])) {
			i++;
			continue;
		}
		findings_close(&analysis->findings, hangs->open[i].kind, hangs->open[i].rank, now_ns);
		hangs->open[i] = hangs->open[--hangs->count];
	}
	if (!hangs->count)
		hangs->first_told_ns = 0;
}

/* Those who wait are ended by their watchdogs; its own does not run while it is in no operation. */
static void set_watchdog(const struct waiting *waiting, const struct job *job, struct hang_root *root)
{
	const struct process *first = waiting_watchdog(waiting, job, root->rank);
	root->watchdog = first ? first : job->ranks[root->rank].process;
}

/* Where more are missing than wait, nobody who lives is judged (hang_verdict.c): such an instance counts only where
 * there is no other. */
static bool is_better(const struct process *root, const struct standing *standing, const struct standing *than)
{
	bool lives = root->life != ANALYSIS_STOPPED && !process_is_dead(root);
	bool judged = !lives || standing->missing <= standing->waiters,
	     than_judged = !lives || than->missing <= than->waiters;

	return judged != than_judged ? judged : standing->since_ns < than->since_ns;
}

/* Each root once, with the oldest of the instances in which others that live wait for it, and in which it can be
 * judged. */
static size_t collect_roots(const struct waiting *waiting, const struct job *job, struct hang_root *roots)
{
	size_t count = 0;
	for (size_t i = 0; i < waiting->count; i++) {
		const struct standing *standing = &waiting->standings[i];
		const struct communicator *communicator = standing->instance->communicator;
		for (uint32_t member = 0; standing->since_ns && member < communicator->member_count; member++) {
			uint32_t rank = communicator->members[member].rank;
			if (!waiting_is_root(waiting, standing, member))
				continue;
			size_t at = 0;
			while (at < count && roots[at].rank != rank)
				at++;
			if (at < count && !is_better(job->ranks[rank].process, standing, roots[at].standing))
				continue;
			roots[at] = (struct hang_root){ .standing = standing, .member = member, .rank = rank };
			count += at == count;
		}
	}
	for (size_t i = 0; i < count; i++)
		set_watchdog(waiting, job, &roots[i]);
	return count;
}

void hang_tick(struct analysis *analysis, uint64_t now_ns)
{
	struct waiting waiting;
	struct hang_root *roots = NULL;
	close_over(analysis, now_ns);
	if (!waiting_look(&waiting, &analysis->job) && waiting.count)
		roots = calloc(analysis->job.rank_count + 1, sizeof(*roots));
	size_t count = roots ? collect_roots(&waiting, &analysis->job, roots) : 0;
	for (size_t i = 0; i < count; i++)
		tell(analysis, &waiting, &roots[i], now_ns);
	bool blamed = count || (waiting.count && !roots);
	blamed |= circle_tick(analysis, &waiting, blamed, now_ns);
	standstill_tick(analysis, &waiting, blamed, now_ns);
	free(roots);
	waiting_free(&waiting);
}

size_t hang_suspects(const struct analysis *analysis, struct analysis_suspect *suspects, size_t room)
{
	struct waiting waiting;
	struct hang_root *roots = NULL;
	size_t found = 0;
	if (!waiting_look(&waiting, &analysis->job) && waiting.count)
		roots = calloc(analysis->job.rank_count + 1, sizeof(*roots));
	size_t count = roots ? collect_roots(&waiting, &analysis->job, roots) : 0;
	for (size_t i = 0; i < count; i++) {
		const struct standing *standing = roots[i].standing;
		const struct process *process = analysis->job.ranks[roots[i].rank].process;
		if (analysis->now_ns < standing->since_ns + HANG_SUSPECT_NS ||
		    standing->missing > standing->waiters || process_is_dead(process))
			continue;
		if (found < room)
			suspects[found] = (struct analysis_suspect){ .process = process->id,
								     .tid = process->enqueue_tid,
								     .since_ns = standing->since_ns };
		found++;
	}
	free(roots);
	waiting_free(&waiting);
	return found;
}
