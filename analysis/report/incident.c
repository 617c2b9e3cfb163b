/* SPDX-License-Identifier: MIT */
#include "analysis/report/incident.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "analysis/report/cause_text.h"
#include "analysis/hang/hang.h"
#include "analysis/report/naming.h"
#include "analysis/known/process.h"
#include "analysis/report/text.h"

#define KIND(kind) (1u << (kind))
#define KINDS_OF_VALUES                                                                                                \
	(KIND(RW_KIND_NAN) | KIND(RW_KIND_INF) | KIND(RW_KIND_OVERFLOW) | KIND(RW_KIND_SATURATION) |                   \
	 KIND(RW_KIND_CORRUPTION))
#define KINDS_OF_STANDING (KIND(RW_KIND_HANG) | KIND(RW_KIND_GONE))

static bool has_rank(const int32_t *ranks, size_t count, int32_t rank)
{
	for (size_t i = 0; i < count; i++)
		if (ranks[i] == rank)
			return true;
	return false;
}

static bool names_all(const struct rw_finding *before, const struct rw_finding *after)
{
	for (size_t i = 0; i < after->rank_count; i++)
		if (!has_rank(before->ranks, before->rank_count, after->ranks[i]))
			return false;
	return after->rank_count > 0;
}

/* The latest of this world rank; NULL none is seen. */
static const struct process *process_of(const struct job *job, int32_t world_rank)
{
	const struct process *latest = NULL;

	for (uint32_t i = 0; i < job->rank_count; i++) {
		const struct process *process = job->ranks[i].process;
		if (job->ranks[i].world == world_rank && (!latest || process->generation > latest->generation))
			latest = process;
	}
	return latest;
}

static bool has_ended(const struct process *process)
{
	return process && process_is_dead(process);
}

/* By itself: an exception, an assertion, an abort; no signal of somebody else's, and no regular end. */
static bool has_failed(const struct process *process)
{
	int status = has_ended(process) ? process->exit_status : -1;

	if (status < 0)
		return false;
	return WIFSIGNALED(status) ? WTERMSIG(status) == SIGABRT : WEXITSTATUS(status) != 0;
}

/* The rules: does `after` follow from `before`? Where it does, `sure` says how certain that is. */

/* A program that looks for NaN raises where it finds one. Others may fail for reasons of their own: likely. */
static bool failed_over_values(const struct job *job, const struct rw_finding *before, const struct rw_finding *after,
			       enum rw_confidence *sure)
{
	int32_t rank = after->ranks[0];

	*sure = RW_LIKELY;
	if (after->cause.class_ != RW_CAUSE_GONE || (!has_rank(before->ranks, before->rank_count, rank) &&
						     !has_rank(before->victims, before->victim_count, rank)))
		return false;
	/* A hang of class gone: its main thread has ended, the process lives on. */
	const struct process *process = process_of(job, rank);
	bool hangs = after->kind == RW_KIND_HANG;
	uint64_t end_ns = hangs || !process ? after->first_seen_ns : process->life_ns;
	return (hangs || has_failed(process)) && end_ns >= before->first_seen_ns &&
	       end_ns - before->first_seen_ns <= INCIDENT_AFTER_NS;
}

/* Ranks that call different things on a communicator never meet there again. */
static bool stands_in_desync(const struct job *job, const struct rw_finding *before, const struct rw_finding *after,
			     enum rw_confidence *sure)
{
	(void)job;
	*sure = before->confidence;
	return after->operation.present && before->operation.comm == after->operation.comm &&
	       before->operation.comm_size == after->operation.comm_size && before->state != RW_FINDING_CLOSED;
}

/* A rank that came later and later does not come at all, and for the same reason. */
static bool has_stopped_coming(const struct job *job, const struct rw_finding *before, const struct rw_finding *after,
			       enum rw_confidence *sure)
{
	enum rw_cause_class class_ = after->cause.class_;
	bool recent = before->state != RW_FINDING_CLOSED || before->time_ns + INCIDENT_GAP_NS >= after->first_seen_ns;

	(void)job;
	*sure = RW_LIKELY;
	return recent && class_ != RW_CAUSE_UNKNOWN && class_ == before->cause.class_ && names_all(before, after);
}

static bool drifted_before(const struct job *job, const struct rw_finding *before, const struct rw_finding *after,
			   enum rw_confidence *sure)
{
	(void)job;
	*sure = RW_LIKELY;
	return before->rank_count == 1 && names_all(before, after) && after->confidence != RW_INCONCLUSIVE;
}

/* The later finding's own cause is what the earlier one is about. */
static bool blames(enum rw_cause_class one, enum rw_cause_class other, const struct rw_finding *before,
		   const struct rw_finding *after, enum rw_confidence *sure)
{
	*sure = after->confidence;
	return after->cause.present && (after->cause.class_ == one || after->cause.class_ == other) &&
	       names_all(before, after);
}

static bool blames_gpu(const struct job *job, const struct rw_finding *before, const struct rw_finding *after,
		       enum rw_confidence *sure)
{
	(void)job;
	return blames(RW_CAUSE_GPU, RW_CAUSE_THROTTLE, before, after, sure);
}

/* The group was full, and this is what happens then; that the host was full as well is not excluded. */
static bool blames_memory(const struct job *job, const struct rw_finding *before, const struct rw_finding *after,
			  enum rw_confidence *sure)
{
	bool it_does = blames(RW_CAUSE_MEMORY, RW_CAUSE_MEMORY, before, after, sure);

	(void)job;
	if (*sure == RW_CERTAIN)
		*sure = RW_LIKELY;
	return it_does;
}

/* The nearest first. From kind to kind they never lead back: no chain is a circle. */
static const struct rule {
	unsigned before, after; /* kinds */
	bool (*follows)(const struct job *, const struct rw_finding *before, const struct rw_finding *after,
			enum rw_confidence *);
} rules[] = {
	{ KINDS_OF_VALUES, KINDS_OF_STANDING, failed_over_values },
	{ KIND(RW_KIND_DESYNC), KINDS_OF_STANDING, stands_in_desync },
	{ KIND(RW_KIND_STRAGGLER), KINDS_OF_STANDING, has_stopped_coming },
	{ KIND(RW_KIND_DRIFT), KIND(RW_KIND_NAN) | KIND(RW_KIND_INF), drifted_before },
	{ KIND(RW_KIND_MEMORY), KIND(RW_KIND_STRAGGLER) | KINDS_OF_STANDING, blames_memory },
	{ KIND(RW_KIND_GPU), KIND(RW_KIND_STRAGGLER) | KINDS_OF_STANDING | KINDS_OF_VALUES, blames_gpu },
};

/* Both of the same life of the rank, and the first one did not begin after the other. A GPU's fault may be seen a
 * moment later than what it does. */
static bool may_follow(const struct job *job, const struct rw_finding *before, const struct rw_finding *after)
{
	const struct process *process = after->rank_count ? process_of(job, after->ranks[0]) : NULL;
	uint64_t after_ns = after->first_seen_ns;

	if (after->kind == RW_KIND_GONE && has_ended(process) && process->life_ns > after_ns)
		after_ns = process->life_ns;
	return before->severity > RW_NOTICE && after->severity > RW_NOTICE && process &&
	       before->first_seen_ns >= process->created_ns && before->first_seen_ns <= after_ns + INCIDENT_WATCHDOG_NS;
}

static struct record *find_before(const struct findings *findings, const struct record *record,
				  enum rw_confidence *sure)
{
	const struct rw_finding *after = &record->finding;
	struct record *found = NULL;

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]) && !found; i++) {
		for (uint32_t k = 0; k < findings->count && rules[i].after & KIND(after->kind); k++) {
			struct record *other = findings->records[k];
			const struct rw_finding *before = &other->finding;
			enum rw_confidence this_sure = RW_CERTAIN;

			if (other == record || !(rules[i].before & KIND(before->kind)) ||
			    (found && before->first_seen_ns <= found->finding.first_seen_ns) ||
			    !rules[i].follows(findings->job, before, after, &this_sure) ||
			    !may_follow(findings->job, before, after))
				continue;
			found = other;
			*sure = this_sure;
		}
	}
	return found;
}

struct record *incident_root(const struct findings *findings, struct record *record)
{
	enum rw_confidence sure;

	for (struct record *before; (before = find_before(findings, record, &sure));)
		record = before;
	return record;
}

/* The chain. */

static struct rw_incident_link *add(struct record *record, enum rw_incident_event event, int32_t follows,
				    enum rw_confidence sure, uint64_t at_ns)
{
	size_t count = record->finding.incident.count;

	if (count == RW_INCIDENT_LINKS)
		return NULL;
	record->finding.incident.count++;
	record->links[count] = (struct rw_incident_link){
		.event = event, .follows = follows, .confidence = sure, .at_ns = at_ns
	};
	return &record->links[count];
}

/* Its first sentence: who waits for it comes as a link of its own. */
static void copy_head(char *text, size_t room, const struct rw_finding *finding)
{
	char who[128];
	size_t skip = strlen(naming_ranks(who, sizeof(who), finding->ranks, finding->rank_count)) + 1;
	size_t length = strlen(finding->text);
	const char *end = length > skip ? strpbrk(finding->text + skip, ":;") : NULL;

	/* The colon of "2:30" or of a PCI address is none. */
	while (end && end[1] != ' ')
		end = strpbrk(end + 1, ":;");
	snprintf(text, room, "%.*s", (int)(end ? end - finding->text : (long)length), finding->text);
}

/* Of the ranks that wait: did all end, who was the first, and since when is none left. */
struct ends {
	bool all;
	const struct process *first;
};

static struct ends look_at_ends(const struct job *job, const struct rw_finding *finding)
{
	struct ends ends = { .all = finding->late.waiting_count > 0 };

	for (size_t i = 0; i < finding->late.waiting_count && ends.all; i++) {
		const struct process *process = process_of(job, finding->late.waiting[i]);
		ends.all = has_ended(process);
		if (ends.all && (!ends.first || process->life_ns < ends.first->life_ns))
			ends.first = process;
	}
	return ends;
}

static bool is_abort(const struct process *process)
{
	return process->exit_status >= 0 && WIFSIGNALED(process->exit_status) &&
	       WTERMSIG(process->exit_status) == SIGABRT;
}

static void write_seconds(char *text, size_t room, uint64_t ns)
{
	snprintf(text, room, "%.*f s", ns < UINT64_C(10000000000) ? 1 : 0, (double)ns / 1e9);
}

/* "ranks 0-2,4-7 waited for 100 s, until rank 0 was killed by signal 6: the watchdog's time (100 s) was over" */
static void write_end(struct rw_incident_link *link, const struct ends *ends, const struct rw_finding *finding)
{
	const struct process *first = ends->first;
	uint64_t waited_ns = first->life_ns - finding->first_seen_ns, limit_ns = first->watchdog_ms * 1000000;
	bool watchdog = limit_ns && waited_ns + INCIDENT_WATCHDOG_NS >= limit_ns;
	char who[64], how[96], waited[32], limit[64] = "";

	naming_ranks(who, sizeof(who), finding->late.waiting, finding->late.waiting_count);
	if (first->exit_status >= 0)
		cause_text_end(how, sizeof(how), first);
	else
		snprintf(how, sizeof(how), first->life == ANALYSIS_EXITED ? "exited" : "fell silent");
	write_seconds(waited, sizeof(waited), waited_ns);
	if (watchdog)
		snprintf(limit, sizeof(limit), ": the watchdog's %.0f s were over", (double)limit_ns / 1e9);
	/* Who else may have ended them is not known, so this is what was seen and no more. */
	link->confidence = watchdog && is_abort(first) ? RW_CERTAIN : RW_LIKELY;
	snprintf(link->text, sizeof(link->text), "%s waited %s, until the first of them %s%s%s", who, waited,
		 first->exit_status >= 0 && WIFSIGNALED(first->exit_status) ? "was " : "", how, limit);
}

static void add_waiting(const struct findings *findings, struct record *record, const struct rw_finding *finding,
			int32_t place)
{
	const struct ends ends = look_at_ends(findings->job, finding);
	bool ended = ends.all && ends.first->life_ns >= finding->first_seen_ns && finding->state != RW_FINDING_CLOSED;
	struct rw_incident_link *link;
	char who[64];

	if (!(KINDS_OF_STANDING & KIND(finding->kind)) || !finding->late.present || !finding->late.waiting_count)
		return;
	link = add(record, ended ? RW_INCIDENT_END : RW_INCIDENT_WAIT, place, RW_CERTAIN,
		   ended ? ends.first->life_ns : finding->first_seen_ns);
	if (!link)
		return;
	if (ended) {
		write_end(link, &ends, finding);
		return;
	}
	naming_ranks(who, sizeof(who), finding->late.waiting, finding->late.waiting_count);
	snprintf(link->text, sizeof(link->text), "%s wait%s for it", who, finding->late.waiting_count == 1 ? "s" : "");
}

static bool ended_first(const struct job *job, const struct process *process)
{
	for (uint32_t i = 0; i < job->process_count; i++) {
		const struct process *other = job->processes[i];
		if (other != process && other->generation == process->generation && has_ended(other) &&
		    other->life_ns + HANG_SEEN_WITHIN_NS < process->life_ns)
			return false;
	}
	return true;
}

/* Nobody may have waited for it long enough for a finding: launchers are quick to end the rest. */
static void add_own_end(const struct findings *findings, struct record *record, const struct rw_finding *finding,
			int32_t place)
{
	const struct process *process = finding->rank_count == 1 ? process_of(findings->job, finding->ranks[0]) : NULL;
	bool by_itself = has_failed(process) && finding->confidence != RW_INCONCLUSIVE && finding->severity > RW_NOTICE;
	struct rw_incident_link *link;
	char how[96];

	if (!by_itself || !((KINDS_OF_VALUES | KIND(RW_KIND_GPU)) & KIND(finding->kind)) ||
	    process->life_ns < finding->first_seen_ns ||
	    process->life_ns - finding->first_seen_ns > INCIDENT_AFTER_NS || !ended_first(findings->job, process))
		return;
	link = add(record, RW_INCIDENT_END, place, RW_LIKELY, process->life_ns);
	if (!link)
		return;
	cause_text_end(how, sizeof(how), process);
	snprintf(link->text, sizeof(link->text), "rank %d %s%s, before any other", finding->ranks[0],
		 WIFSIGNALED(process->exit_status) ? "was " : "", how);
}

/* The finding, what it did to others, and what follows from it: told ones in order. */
static void add_family(const struct findings *findings, struct record *record, struct record *at, int32_t follows,
		       enum rw_confidence sure)
{
	struct rw_incident_link *link = add(record, RW_INCIDENT_FINDING, follows, sure, at->finding.first_seen_ns);
	int32_t place = (int32_t)record->finding.incident.count - 1;

	if (!link)
		return;
	link->finding = at->finding.id;
	link->kind = at->finding.kind;
	copy_head(link->text, sizeof(link->text), &at->finding);
	add_waiting(findings, record, &at->finding, place);
	size_t before = record->finding.incident.count;
	for (uint32_t i = 0; i < findings->count; i++) {
		enum rw_confidence next_sure;
		if (find_before(findings, findings->records[i], &next_sure) == at)
			add_family(findings, record, findings->records[i], place, next_sure);
	}
	if (record->finding.incident.count == before)
		add_own_end(findings, record, &at->finding, place);
}

/* By what is in it, not by what its findings say of themselves: a straggler's share may change with each step. */
static uint32_t hash_chain(const struct rw_finding *finding)
{
	uint32_t hash = 0x811c9dc5u;

	for (size_t i = 0; i < finding->incident.count; i++) {
		const struct rw_incident_link *link = &finding->incident.links[i];
		for (const char *at = link->finding ? link->finding : link->text; *at; at++)
			hash = (hash ^ (unsigned char)*at) * 0x01000193u;
	}
	return hash;
}

void incident_write(const struct findings *findings, struct record *record)
{
	struct record *root = incident_root(findings, record), *first = record;

	for (uint32_t i = findings->count; i-- > 0;)
		if (incident_root(findings, findings->records[i]) == root)
			first = findings->records[i];
	memcpy(record->incident, first->finding.id, sizeof(record->incident));
	record->finding.incident.count = 0;
	add_family(findings, record, root, -1, RW_CERTAIN);
	record->finding.incident.id = record->incident;
	record->finding.incident.links = record->links;
	record->chain_hash = hash_chain(&record->finding);
}
