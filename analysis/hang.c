/* SPDX-License-Identifier: MIT */
#include "analysis/hang.h"

#include <stdlib.h>
#include <sys/wait.h>

#include "analysis/flights.h"
#include "analysis/gpu_evidence.h"
#include "analysis/model.h"
#include "analysis/text.h"
#include "analysis/waiting.h"

/* A root and the oldest instance in which others wait for it. */
struct root {
	const struct standing *standing;
	uint32_t member, rank;
};

struct verdict {
	enum rw_kind kind;
	enum rw_severity severity;
	enum rw_confidence confidence;
	struct cause cause;
};

static uint64_t hang_after(const struct analysis *analysis)
{
	uint64_t step_ns = straggler_step_ns(&analysis->stragglers, STRAGGLER_PLACE_LAST);
	if (!step_ns)
		return HANG_AFTER_UNKNOWN_NS;
	uint64_t after_ns = HANG_STEPS * step_ns;
	if (after_ns > HANG_AFTER_MAX_NS)
		return HANG_AFTER_MAX_NS;
	return after_ns > HANG_AFTER_NS ? after_ns : HANG_AFTER_NS;
}

static uint64_t progress_limit(const struct process *process)
{
	uint64_t share_ns = (uint64_t)(HANG_PROGRESS_SHARE * (double)process->watchdog_ms * 1e6);
	return share_ns > HANG_PROGRESS_NS ? share_ns : HANG_PROGRESS_NS;
}

/* A rank of another host that failed by itself after this one was ended by a signal: its connections broke. */
static bool left_because_of(const struct process *process, const struct process *ended)
{
	bool by_signal = ended->exit_status >= 0 && WIFSIGNALED(ended->exit_status);
	bool failed = process->exit_status >= 0 && WIFEXITED(process->exit_status) && WEXITSTATUS(process->exit_status);
	return by_signal && failed && process->host != ended->host &&
	       process->life_ns + HANG_SEEN_WITHIN_NS >= ended->life_ns;
}

/* Was there still somebody at work well after this process had ended? A job that ends as a whole has lost nobody. */
static bool is_outlived(const struct communicator *communicator, const struct process *ended)
{
	uint32_t others = 0, outlived = 0;
	for (uint32_t i = 0; i < communicator->member_count; i++) {
		const struct process *process = communicator->members[i].process;
		if (process == ended || left_because_of(process, ended))
			continue;
		others++;
		outlived += process->life == ANALYSIS_ALIVE || process->last_ns >= ended->life_ns + HANG_GONE_AFTER_NS;
	}
	return others && outlived * 2 >= others;
}

static bool is_dead(const struct process *process)
{
	return process->life == ANALYSIS_EXITED || process->life == ANALYSIS_KILLED;
}

/* Did the first of the two end because of the second, as far as times tell? They are seen with some delay each. */
static bool ended_after(const struct process *process, const struct process *other, bool other_stood)
{
	if (process->life_ns > other->life_ns + HANG_SEEN_WITHIN_NS)
		return true;
	return !other_stood && process->life_ns + HANG_SEEN_WITHIN_NS >= other->life_ns;
}

/* Between hosts the connections of a rank that has ended break: those who wait for it there get ncclRemoteError, and
 * often leave. A rank that had come and waited for such a one is its consequence. */
static bool is_consequence(const struct root *root, const struct process *process)
{
	const struct instance *instance = root->standing->instance;
	const struct communicator *communicator = instance->communicator;
	if (!waiting_stands(instance, root->member))
		return false;
	for (uint32_t i = 0; i < communicator->member_count; i++) {
		const struct process *other = communicator->members[i].process;
		if (other == process || other->host == process->host || !is_dead(other) || !waiting_misses(instance, i))
			continue;
		if (ended_after(process, other, waiting_stands(instance, i)))
			return true;
	}
	return false;
}

static bool judge_gone(const struct root *root, const struct process *process, uint64_t now_ns, struct verdict *verdict)
{
	uint64_t since_ns = root->standing->since_ns > process->life_ns ? root->standing->since_ns : process->life_ns;
	if (now_ns < since_ns + HANG_GONE_AFTER_NS || is_consequence(root, process) ||
	    !is_outlived(root->standing->instance->communicator, process))
		return false;
	*verdict = (struct verdict){ .kind = RW_KIND_GONE, .severity = RW_CRITICAL, .confidence = RW_CERTAIN };
	verdict->cause = (struct cause){ .class_ = RW_CAUSE_GONE, .share = -1, .fd = -1 };
	return true;
}

static void judge_alive(const struct analysis *analysis, const struct root *root, const struct process *process,
			uint64_t now_ns, struct verdict *verdict)
{
	uint64_t since_ns = root->standing->since_ns, kept_ns = evidence_since_ns(&process->evidence);
	/* Shares are of what can still be known of a long wait. */
	const struct cause_window window = { kept_ns > since_ns ? kept_ns : since_ns, now_ns };
	struct cause *cause = &verdict->cause;
	*verdict = (struct verdict){ .kind = RW_KIND_HANG, .severity = RW_CRITICAL, .confidence = RW_CERTAIN };
	cause_find(&analysis->intern, process, process->enqueue_tid, &window, 1, cause);
	if (process->life == ANALYSIS_STOPPED) {
		cause->class_ = RW_CAUSE_STOPPED;
		cause->system_call = NULL;
		cause->share = now_ns > process->life_ns && process->life_ns > window.from_ns
				   ? (double)(now_ns - process->life_ns) / (double)(now_ns - window.from_ns)
				   : 1;
	}
	if (cause->class_ == RW_CAUSE_STOPPED) {
		verdict->kind = RW_KIND_GONE;
		return;
	}
	uint64_t look_ns = now_ns > HANG_PROGRESS_WINDOW_NS ? now_ns - HANG_PROGRESS_WINDOW_NS : 0;
	bool seen = cause->seen != RW_LEVEL_NONE;
	bool gets_on = seen && cause_progress(&analysis->intern, process, process->enqueue_tid, look_ns, now_ns);
	if (!seen)
		verdict->confidence = RW_LIKELY;
	if ((gets_on || !seen) && now_ns - since_ns < progress_limit(process))
		verdict->severity = RW_NOTICE;
}

/* One that is stopped comes no sooner for a long step, nor in start-up, nor for others that are missing, too. When most
 * are missing, those who stand there are early, and nobody is late. */
static bool is_due(const struct analysis *analysis, const struct root *root, uint64_t waited_ns)
{
	if (analysis->job.ranks[root->rank].process->life == ANALYSIS_STOPPED)
		return waited_ns >= HANG_AFTER_NS;
	return root->standing->missing <= root->standing->waiters && waited_ns >= hang_after(analysis);
}

static bool judge(const struct analysis *analysis, const struct root *root, uint64_t now_ns, struct verdict *verdict)
{
	const struct process *process = analysis->job.ranks[root->rank].process;
	const struct standing *standing = root->standing;
	if (!standing->since_ns || now_ns < standing->since_ns)
		return false;
	if (is_dead(process))
		return judge_gone(root, process, now_ns, verdict);
	if (!is_due(analysis, root, now_ns - standing->since_ns))
		return false;
	judge_alive(analysis, root, process, now_ns, verdict);
	return true;
}

static enum rw_phase phase_of(const struct instance *instance, uint32_t member, const struct cause *cause)
{
	uint8_t state = flight_state(instance, member);
	if (!state)
		return RW_PHASE_NONE;
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
			if (at->born_ns && at->born_ns < earliest_ns && flight_is_open(at))
				earliest_ns = at->born_ns;
	return earliest_ns;
}

static int set_waiting(struct record *record, const struct analysis *analysis, const struct waiting *waiting,
		       const struct root *root)
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
		if (instance->operations[i].state & OPERATION_HOST)
			return true;
	return false;
}

static struct record *make_record(const struct analysis *analysis, const struct waiting *waiting,
				  const struct root *root, const struct verdict *verdict, uint64_t now_ns)
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
	finding->arrival = host ? RW_ARRIVAL_HOST : RW_ARRIVAL_GPU;
	finding->first_seen_ns = root->standing->since_ns;
	finding->detect_ms = (double)(now_ns - root->standing->since_ns) / 1e6;
	finding->late.present = true;
	finding->late.by_ms = finding->detect_ms;
	record_set_operation(record, &analysis->job, instance, phase_of(instance, root->member, &verdict->cause));
	record_set_cause(record, &analysis->intern, process, &verdict->cause);
	uint64_t waited_ns = now_ns - earliest_enqueue(&analysis->job, root->standing->since_ns);
	record_set_watchdog(record, process, analysis->stragglers.first_step != 0, waited_ns);
	if (verdict->cause.seen == RW_LEVEL_NONE && verdict->kind == RW_KIND_HANG)
		record_add_missing(record, "nobody could look at this rank's threads: whether it gets on is not known");
	if (set_waiting(record, analysis, waiting, root)) {
		record_free(record);
		return NULL;
	}
	if (verdict->kind == RW_KIND_GONE)
		text_gone(record);
	else
		text_hang(record);
	gpu_evidence_explain_end(analysis, record, root->rank,
				 verdict->kind == RW_KIND_GONE ? process->life_ns : root->standing->since_ns);
	return record;
}

static struct hang *find_open(struct hangs *hangs, uint32_t rank)
{
	for (uint32_t i = 0; i < hangs->count; i++)
		if (hangs->open[i].rank == rank)
			return &hangs->open[i];
	return NULL;
}

static void tell(struct analysis *analysis, const struct waiting *waiting, const struct root *root, uint64_t now_ns)
{
	struct hangs *hangs = &analysis->hangs;
	struct hang *open = find_open(hangs, root->rank);
	struct verdict verdict;
	if (!judge(analysis, root, now_ns, &verdict))
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

/* Each root once, with the oldest of the instances in which others wait for it. */
static size_t collect_roots(const struct waiting *waiting, struct root *roots)
{
	size_t count = 0;
	for (size_t i = 0; i < waiting->count; i++) {
		const struct standing *standing = &waiting->standings[i];
		const struct communicator *communicator = standing->instance->communicator;
		for (uint32_t member = 0; member < communicator->member_count; member++) {
			uint32_t rank = communicator->members[member].rank;
			if (!waiting_is_root(waiting, standing, member))
				continue;
			size_t at = 0;
			while (at < count && roots[at].rank != rank)
				at++;
			if (at < count && roots[at].standing->since_ns <= standing->since_ns)
				continue;
			roots[at] = (struct root){ .standing = standing, .member = member, .rank = rank };
			count += at == count;
		}
	}
	return count;
}

void hang_tick(struct analysis *analysis, uint64_t now_ns)
{
	struct waiting waiting;
	struct root *roots = NULL;
	close_over(analysis, now_ns);
	if (!waiting_look(&waiting, &analysis->job) && waiting.count)
		roots = calloc(analysis->job.rank_count + 1, sizeof(*roots));
	size_t count = roots ? collect_roots(&waiting, roots) : 0;
	for (size_t i = 0; i < count; i++)
		tell(analysis, &waiting, &roots[i], now_ns);
	free(roots);
	waiting_free(&waiting);
}

size_t hang_suspects(const struct analysis *analysis, struct analysis_suspect *suspects, size_t room)
{
	struct waiting waiting;
	struct root *roots = NULL;
	size_t found = 0;
	if (!waiting_look(&waiting, &analysis->job) && waiting.count)
		roots = calloc(analysis->job.rank_count + 1, sizeof(*roots));
	size_t count = roots ? collect_roots(&waiting, roots) : 0;
	for (size_t i = 0; i < count; i++) {
		const struct standing *standing = roots[i].standing;
		const struct process *process = analysis->job.ranks[roots[i].rank].process;
		if (!standing->since_ns || analysis->now_ns < standing->since_ns + HANG_SUSPECT_NS ||
		    standing->missing > standing->waiters || process->life == ANALYSIS_EXITED ||
		    process->life == ANALYSIS_KILLED)
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
