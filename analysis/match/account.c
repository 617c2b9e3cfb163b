/* SPDX-License-Identifier: MIT */
#include "analysis/match/account.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/measure/lateness.h"
#include "analysis/model.h"
#include "analysis/known/suspension.h"
#include "analysis/known/trace.h"
#include "analysis/known/values.h"

enum {
	SKIPPED_MAX = 64, /* operations between two that are looked up one by one */
	DEPTH_MAX = 8,    /* that follow each other within one look at the GPU */
};

/* What is known of one instance as a whole. */
struct meeting {
	const struct instance *instance;
	bool waits;           /* nobody could leave before the last had come */
	bool whole;           /* all members were seen there */
	uint32_t last;        /* member that came last; JOB_NONE none is known */
	uint32_t root;        /* rank that the others waited for; JOB_NONE not known */
	uint64_t transfer_ns; /* from the last one's arrival to its end */
	uint64_t step;        /* as it may be told; 0 none */
	bool apart;           /* they came so far apart that it is no noise */
	uint64_t ended_ns;    /* when all saw it end, on average; 0 not known of all */
};

/* Its GPU was seen to come and to end. */
static bool is_timed(const struct operation *operation)
{
	const uint32_t timed = OPERATION_STARTED | OPERATION_DONE;
	const uint32_t never = OPERATION_HOST | OPERATION_EXCLUDED | OPERATION_APART;

	return (operation->state & timed) == timed && !(operation->state & never) &&
	       operation->done_ns >= operation->arrival_ns;
}

static const struct operation *timed_operation(const struct instance *instance, uint32_t member)
{
	const struct operation *operation = instance_joined(instance, member);

	return operation && is_timed(operation) ? operation : NULL;
}

static uint64_t duration_of(const struct job *job, const struct operation *operation)
{
	return operation->done_ns - operation->arrival_ns -
	       suspension_between(job, operation->arrival_ns, operation->done_ns);
}

static struct account_rank *rank_of(struct account *account, const struct instance *instance, uint32_t member)
{
	return &account->ranks[instance->communicator->members[member].rank];
}

/* The last one made the others wait: by its own work, or because it waited for somebody itself since these last met. */
static uint32_t find_root(struct account *account, const struct instance *instance, uint32_t last)
{
	const struct member *member = &instance->communicator->members[last];
	const struct operation *operation = &instance->operations[last];
	const struct account_rank *rank = rank_of(account, instance, last);

	if (!operation->by_us)
		return JOB_NONE; /* half of them came as late */
	if (operation->own_us >= operation->by_us / 2)
		return member->rank;
	bool since = rank->left_until_ns > member->met_ns && rank->left_until_ns <= operation->arrival_ns;
	return since && rank->left_ns / 1000 >= operation->by_us / 2 ? rank->left_root : JOB_NONE;
}

/* named: a rank may be named. In pipelines who comes last does so by schedule. */
static struct meeting look_at(struct account *account, const struct instance *instance, bool named)
{
	const struct job *job = instance->communicator->members[0].process->of_job;
	struct meeting meeting = {
		.instance = instance, .waits = instance_keeps_all(instance), .last = JOB_NONE, .root = JOB_NONE
	};
	uint64_t first_ns = UINT64_MAX, last_ns = 0, ends_ns = 0;
	uint32_t timed = 0;

	for (uint32_t i = 0; i < instance->communicator->member_count; i++) {
		const struct operation *operation = timed_operation(instance, i);
		if (!operation)
			continue;
		timed++;
		ends_ns += operation->done_ns / instance->communicator->member_count;
		first_ns = operation->arrival_ns < first_ns ? operation->arrival_ns : first_ns;
		if (meeting.last != JOB_NONE && operation->arrival_ns <= last_ns)
			continue;
		last_ns = operation->arrival_ns;
		meeting.last = i;
	}
	meeting.whole = timed == instance->communicator->member_count && !job_unseen(instance->communicator);
	if (meeting.last == JOB_NONE || !instance->judged)
		meeting.waits = false;
	if (!meeting.waits)
		return meeting;
	int64_t told = instance_step_in_row(instance);
	meeting.step = told > 0 ? (uint64_t)told : 0;
	meeting.ended_ns = meeting.whole ? ends_ns : 0;
	meeting.transfer_ns = duration_of(job, &instance->operations[meeting.last]);
	meeting.apart = last_ns - first_ns - suspension_between(job, first_ns, last_ns) >= LATENESS_NOISE_NS;
	if (meeting.apart && named)
		meeting.root = find_root(account, instance, meeting.last);
	return meeting;
}

/* On its own clock; where somebody was not seen, up to when the last of the others had come, if it was that one's
 * doing. */
static uint64_t wait_in(const struct meeting *meeting, const struct job *job, const struct operation *operation)
{
	uint64_t inside_ns = duration_of(job, operation);

	if (!meeting->waits || !meeting->apart)
		return 0;
	if (meeting->whole)
		return inside_ns > meeting->transfer_ns ? inside_ns - meeting->transfer_ns : 0;
	if (meeting->root == JOB_NONE)
		return 0;
	uint64_t last_ns = meeting->instance->operations[meeting->last].arrival_ns;
	uint64_t wait_ns = last_ns - operation->arrival_ns;
	return wait_ns < inside_ns ? wait_ns : inside_ns;
}

/* Still in flight on this rank, or accounted for with all others. What is over here, and of which others have not told
 * yet, may have been a wait. */
static bool is_known(const struct trace *trace)
{
	const struct instance *instance = trace ? trace_instance(trace) : NULL;

	if (trace && trace->mark)
		return true;
	if (instance && instance->timed)
		return instance->accounted;
	if (!instance || instance->operations[trace->member].state & OPERATION_APART)
		return false;
	return instance->finished || !trace->done_ns;
}

/* Is all known that the process called since the newest operation that is accounted for? */
static bool is_gapless(const struct process *process, const struct account_rank *rank, uint64_t ticket)
{
	if (ticket > rank->ticket + SKIPPED_MAX)
		return false;
	for (uint64_t at = rank->ticket + 1; at < ticket; at++)
		if (!is_known(trace_find(process, at)))
			return false;
	return true;
}

static uint64_t *part_of(struct account_parts *parts, enum analysis_part part)
{
	static const size_t at[ANALYSIS_PARTS] = {
		[ANALYSIS_OWN] = offsetof(struct account_parts, own_ns),
		[ANALYSIS_WAIT] = offsetof(struct account_parts, wait_ns),
		[ANALYSIS_TRANSFER] = offsetof(struct account_parts, transfer_ns),
		[ANALYSIS_UNSEEN] = offsetof(struct account_parts, unseen_ns),
	};

	return (uint64_t *)((char *)parts + at[part]);
}

/* root: whom it waited for; JOB_NONE: it did not, or nobody knows. */
static void tell(const struct account *account, const struct account_rank *rank, const struct job *job,
		 enum analysis_part part, uint64_t ns, uint32_t root)
{
	uint32_t index = (uint32_t)(rank - account->ranks);

	account->visit(account->visit_argument, &(struct analysis_stretch){
						    .rank = index,
						    .world_rank = job->ranks[index].world,
						    .process = job->ranks[index].process->id,
						    .part = part,
						    .waited_for = root == JOB_NONE ? ANALYSIS_NO_RANK : root,
						    .from_ns = rank->whole.until_ns,
						    .until_ns = rank->whole.until_ns + ns,
						    .step = rank->step.step,
						});
}

/* inside: in an operation. */
static void add(struct account *account, struct account_rank *rank, const struct process *process,
		enum analysis_part part, bool inside, uint64_t ns, uint32_t root)
{
	if (!ns)
		return;
	if (account->visit)
		tell(account, rank, process->of_job, part, ns, root);
	if (account->rows)
		rows_note(account->rows, (uint32_t)(rank - account->ranks), part, inside, rank->whole.until_ns,
			  rank->whole.until_ns + ns);
	*part_of(&rank->whole.parts, part) += ns;
	*part_of(&rank->step.parts, part) += ns;
	rank->whole.until_ns += ns;
	rank->step.until_ns += ns;
}

/* The job was suspended for so long. */
static void pass_over(struct account_rank *rank, uint64_t ns)
{
	rank->whole.until_ns += ns;
	rank->step.until_ns += ns;
}

static void begin_step(struct account *account, struct account_rank *rank, uint64_t step)
{
	if (!step || step == rank->step.step)
		return;
	if (account->rows)
		rows_begin_step(account->rows, (uint32_t)(rank - account->ranks), step, rank->whole.until_ns);
	rank->ended_step = rank->step;
	rank->step =
	    (struct account_stretch){ .step = step, .from_ns = rank->whole.until_ns, .until_ns = rank->whole.until_ns };
}

/* Is the step that the rank is in one in which others wait for it? */
static bool is_late_step(const struct account *account, const struct account_rank *root)
{
	uint64_t others = account->rank_count > 1 ? account->rank_count - 1 : 1;

	return root->late_step && root->late_ns / others >= ACCOUNT_TOLD_NS;
}

static void end_late_step(const struct account *account, struct account_rank *root)
{
	if (is_late_step(account, root)) {
		root->late_steps++;
		root->late_steps_ns += root->late_ns;
	}
	root->late_ns = 0;
}

uint32_t account_late_steps(const struct account *account, const struct account_rank *rank, uint64_t *waits_ns)
{
	bool now = is_late_step(account, rank);

	*waits_ns = rank->late_steps_ns + (now ? rank->late_ns : 0);
	return rank->late_steps + now;
}

static void charge(struct account *account, const struct meeting *meeting, uint64_t wait_ns)
{
	if (meeting->root == JOB_NONE) {
		account->nobody_ns += wait_ns;
		return;
	}
	struct account_rank *root = &account->ranks[meeting->root];
	struct cell *cell = wait_ns
				? cells_at(account->cells, meeting->root,
					   meeting->step ? meeting->step : root->step.step, meeting->instance->start_ns)
				: NULL;
	if (cell)
		cell->lost_ms += (float)wait_ns / 1e6f;
	root->waited_ns += wait_ns;
	if (meeting->step != root->late_step) {
		end_late_step(account, root);
		root->late_step = meeting->step;
	}
	root->late_ns += wait_ns;
}

/* Until it came: its own time, unless something is not known of it. */
static void account_gap(struct account *account, struct account_rank *rank, const struct process *process,
			const struct operation *operation)
{
	if (!rank->whole.from_ns)
		rank->whole.from_ns = rank->whole.until_ns = rank->step.from_ns = rank->step.until_ns =
		    operation->arrival_ns;
	if (operation->arrival_ns <= rank->whole.until_ns)
		return;
	pass_over(rank, suspension_between(process->of_job, rank->whole.until_ns, operation->arrival_ns));
	uint64_t gap_ns = operation->arrival_ns - rank->whole.until_ns;
	bool unseen = rank->blind || job_hides_waits(process) || !is_gapless(process, rank, operation->ticket);
	if (account->rows && !unseen)
		rows_note_launch(account->rows, (uint32_t)(rank - account->ranks), rank->whole.until_ns,
				 operation->launch_ns, operation->arrival_ns);
	add(account, rank, process, unseen ? ANALYSIS_UNSEEN : ANALYSIS_OWN, false, gap_ns, JOB_NONE);
}

/* What another operation has been charged for already counts once. */
static void account_inside(struct account *account, struct account_rank *rank, const struct process *process,
			   const struct meeting *meeting, const struct operation *operation)
{
	const struct job *job = process->of_job;
	uint64_t wait_ns = wait_in(meeting, job, operation), until_ns = rank->whole.until_ns;
	uint64_t charged_ns = until_ns > operation->arrival_ns
				  ? until_ns - operation->arrival_ns -
					suspension_between(job, operation->arrival_ns, until_ns)
				  : 0;

	if (operation->done_ns > until_ns) {
		uint64_t suspended_ns = suspension_between(job, until_ns, operation->done_ns);
		uint64_t left_ns = operation->done_ns - until_ns - suspended_ns,
			 waited_ns = wait_ns > charged_ns ? wait_ns - charged_ns : 0;
		pass_over(rank, suspended_ns);
		add(account, rank, process, ANALYSIS_WAIT, true, waited_ns, meeting->root);
		charge(account, meeting, waited_ns);
		add(account, rank, process, meeting->waits && meeting->whole ? ANALYSIS_TRANSFER : ANALYSIS_UNSEEN,
		    true, left_ns - waited_ns, JOB_NONE);
	}
	if (wait_ns < LATENESS_NOISE_NS)
		return;
	/* The long wait is what delays it elsewhere, not the short one behind it. */
	if (wait_ns < rank->left_ns / 2 && rank->left_until_ns >= rank->step.from_ns)
		return;
	rank->left_root = meeting->root;
	rank->left_ns = wait_ns;
	rank->left_until_ns = operation->done_ns;
}

/* What the operation and the time before it have added. */
static void note_cell(struct account *account, const struct instance *instance, uint32_t i,
		      const struct account_parts *before)
{
	uint32_t rank = instance->communicator->members[i].rank;
	const struct account_parts *now = &account->ranks[rank].whole.parts;
	struct cell *cell =
	    cells_at(account->cells, rank, account->ranks[rank].step.step, instance->operations[i].done_ns);

	if (!cell)
		return;
	cell->own_ms += (float)(now->own_ns - before->own_ns) / 1e6f;
	cell->wait_ms += (float)(now->wait_ns - before->wait_ns) / 1e6f;
	cell->transfer_ms += (float)(now->transfer_ns - before->transfer_ns) / 1e6f;
	cell->unseen_ms += (float)(now->unseen_ns - before->unseen_ns) / 1e6f;
	cell->bad +=
	    value_state(instance, i, VALUE_IN) == VALUE_BAD || value_state(instance, i, VALUE_OUT) == VALUE_BAD;
	cell->outside += instance->place_member != JOB_NONE && instance->place.place == STEPS_NO_PLACE;
}

static void tell_passage(const struct account *account, const struct instance *instance, uint32_t i, uint64_t from_ns,
			 const struct account_parts *before, const struct account_parts *came)
{
	const struct account_parts *now = &account->ranks[instance->communicator->members[i].rank].whole.parts;

	account->visit_passage(account->passage_argument, &(struct account_passage){
							      .instance = instance,
							      .member = i,
							      .from_ns = from_ns,
							      .own_ns = came->own_ns - before->own_ns,
							      .unseen_ns = came->unseen_ns - before->unseen_ns,
							      .inside_ns = account_sum(now) - account_sum(came),
							  });
}

static void note_operation(const struct account *account, const struct meeting *meeting, uint32_t i)
{
	if (account->rows)
		rows_note_operation(account->rows, meeting->instance->communicator->members[i].rank,
				    &meeting->instance->operations[i], meeting->ended_ns);
}

static void account_member(struct account *account, const struct meeting *meeting, uint32_t i)
{
	struct member *member = &meeting->instance->communicator->members[i];
	const struct operation *operation = instance_joined(meeting->instance, i);
	struct account_rank *rank = &account->ranks[member->rank];

	if (!operation)
		return;
	if (is_timed(operation)) {
		struct account_parts before = rank->whole.parts;
		uint64_t from_ns = rank->whole.until_ns;
		account_gap(account, rank, member->process, operation);
		struct account_parts came = rank->whole.parts;
		rank->blind = false;
		begin_step(account, rank, meeting->step);
		account_inside(account, rank, member->process, meeting, operation);
		note_operation(account, meeting, i);
		member->met_ns = operation->done_ns;
		note_cell(account, meeting->instance, i, &before);
		if (account->visit_passage)
			tell_passage(account, meeting->instance, i, from_ns, &before, &came);
	} else {
		account->untimed++;
		account->left_out += operation->state & OPERATION_APART ? 1 : 0;
		rank->blind |= !(operation->state & OPERATION_APART);
	}
	/* Its time is the host's, that may be far ahead: between which others it lies, tickets tell. */
	if (operation->state & OPERATION_APART)
		return;
	if (operation->ticket > rank->ticket)
		rank->ticket = operation->ticket;
}

/* The rank that is waited for, from when half of the others had come. Of what weighs: the cause of noise is of no
 * matter. */
static void add_window(struct account *account, const struct meeting *meeting)
{
	const struct instance *instance = meeting->instance;
	const struct operation *operation = &instance->operations[meeting->last];
	bool own = instance->communicator->members[meeting->last].rank == meeting->root;

	/* Of a replay it is not known when the host launched it. */
	if (!own || operation->own_us < ACCOUNT_TOLD_NS / 1000 || !operation->launch_ns)
		return;
	struct account_rank *root = &account->ranks[meeting->root];
	uint64_t late_ns = (uint64_t)operation->own_us * 1000;
	if (!operation_is_host_late(operation)) {
		root->device_ns += late_ns;
		return;
	}
	root->host_ns += late_ns;
	root->windows[root->window_count++ % CAUSE_WINDOWS] =
	    (struct cause_window){ operation->arrival_ns - late_ns, operation->arrival_ns };
	root->window_tid = operation->tid;
}

static void account_instance(struct account *account, struct instance *instance, bool named, uint32_t depth);

/* Each rank's operations in its own order. They are taken by when the last rank came, as that one's clock tells: of two
 * that follow at once another rank may have seen the second before. */
static void account_before(struct account *account, const struct instance *instance, uint32_t i, bool named,
			   uint32_t depth)
{
	const struct member *member = &instance->communicator->members[i];
	const struct operation *operation = timed_operation(instance, i);
	uint64_t at = account->ranks[member->rank].ticket + 1;

	if (!operation || operation->ticket > at + SKIPPED_MAX)
		return;
	for (; at < operation->ticket; at++) {
		const struct trace *trace = trace_find(member->process, at);
		struct instance *before = trace ? trace_instance(trace) : NULL;
		if (!before || !before->finished || (before->timed && !before->whole) || before->accounted ||
		    trace->rank != member->rank)
			continue;
		const struct operation *earlier = timed_operation(before, trace->member);
		if (earlier && earlier->done_ns <= operation->arrival_ns)
			account_instance(account, before, named, depth + 1);
	}
}

/* The steps that were counted by what repeats, before it was known that the program numbers its steps, have other
 * numbers. */
static void count_step(struct account *account, const struct meeting *meeting)
{
	bool marked = instance_is_marked(meeting->instance);

	if (!meeting->step || account->marked > marked)
		return;
	if (account->first_step && marked > account->marked) {
		account->steps_before = account->last_step - account->first_step + 1;
		account->first_step = account->last_step = 0;
	}
	account->marked = marked;
	if (!account->first_step || meeting->step < account->first_step)
		account->first_step = meeting->step;
	if (meeting->step > account->last_step)
		account->last_step = meeting->step;
}

uint64_t account_steps(const struct account *account)
{
	return account->steps_before + (account->first_step ? account->last_step - account->first_step + 1 : 0);
}

static void account_instance(struct account *account, struct instance *instance, bool named, uint32_t depth)
{
	if (instance->accounted)
		return;
	instance->accounted = true;
	for (uint32_t i = 0; i < instance->communicator->member_count && depth < DEPTH_MAX; i++)
		account_before(account, instance, i, named, depth);
	struct meeting meeting = look_at(account, instance, named);

	for (uint32_t i = 0; i < instance->communicator->member_count; i++)
		account_member(account, &meeting, i);
	if (meeting.root != JOB_NONE)
		add_window(account, &meeting);
	count_step(account, &meeting);
}

void account_note(struct account *account, struct instance *instance)
{
	if (account->waiting_count == account->waiting_room) {
		size_t room = account->waiting_room ? account->waiting_room * 2 : 256;
		struct account_entry *more = realloc(account->waiting, room * sizeof(*more));
		if (!more)
			return;
		account->waiting = more;
		account->waiting_room = room;
	}
	account->waiting[account->waiting_count++] =
	    (struct account_entry){ .instance = instance, .serial = instance->serial };
}

/* The last of those that are seen has ended it; 0: not known. */
static uint64_t ended_at(const struct instance *instance)
{
	uint64_t last_ns = 0;

	for (uint32_t i = 0; i < instance->communicator->member_count; i++) {
		const struct operation *operation = timed_operation(instance, i);
		if (operation && operation->done_ns > last_ns)
			last_ns = operation->done_ns;
	}
	return last_ns;
}

/* When the last one came: where not all are seen, that was shortly before it ended, and not when those came that are
 * seen. Of one that was not judged, when it was called. */
static uint64_t time_of(const struct account_entry *entry)
{
	const struct instance *instance = entry->instance;

	if (!instance->start_ns)
		return instance->created_ns;
	if (!instance_keeps_all(instance) || !job_unseen(instance->communicator))
		return instance->start_ns;
	/* Both times are seen by polling: what is near either is not told apart. */
	uint64_t ended_ns = ended_at(instance), near_ns = 2 * LATENESS_NOISE_NS;
	return ended_ns > instance->start_ns + near_ns ? ended_ns - near_ns : instance->start_ns;
}

static int by_time(const void *left, const void *right)
{
	uint64_t a = time_of(left), b = time_of(right);
	return (a > b) - (a < b);
}

/* Instances mostly end in the order of their times. */
static void sort_waiting(struct account *account, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (time_of(&account->waiting[i - 1]) > time_of(&account->waiting[i])) {
			qsort(account->waiting, count, sizeof(*account->waiting), by_time);
			return;
		}
}

static bool has_ranks(struct account *account, uint32_t count)
{
	if (count <= account->rank_count)
		return true;
	struct account_rank *ranks = realloc(account->ranks, count * sizeof(*ranks));
	if (!ranks)
		return false;
	memset(ranks + account->rank_count, 0, (count - account->rank_count) * sizeof(*ranks));
	account->ranks = ranks;
	account->rank_count = count;
	return true;
}

/* What the pool has forgotten meanwhile leaves a gap. */
static size_t drop_forgotten(struct account *account)
{
	size_t kept = 0;

	for (size_t i = 0; i < account->waiting_count; i++)
		if (account->waiting[i].instance->serial == account->waiting[i].serial)
			account->waiting[kept++] = account->waiting[i];
	return account->waiting_count = kept;
}

/* What a rank did behind its last operation with times is not known where operations without times followed, or graphs
 * may have run. */
static void account_end(struct account *account, const struct job *job, uint64_t now_ns)
{
	for (uint32_t i = 0; i < account->rank_count && i < job->rank_count; i++) {
		struct account_rank *rank = &account->ranks[i];
		const struct process *process = job->ranks[i].process;
		/* a damaged box may say any time */
		uint64_t until_ns = process->last_ns < now_ns ? process->last_ns : now_ns;
		if ((rank->blind || job_hides_waits(process)) && rank->whole.from_ns &&
		    until_ns > rank->whole.until_ns)
			add(account, rank, process, ANALYSIS_UNSEEN, false, until_ns - rank->whole.until_ns, JOB_NONE);
	}
}

void account_tick(struct analysis *analysis, bool over, uint64_t now_ns)
{
	struct account *account = &analysis->account;
	size_t count = drop_forgotten(account), done = 0;

	if (now_ns < ACCOUNT_LAG_NS || !has_ranks(account, analysis->job.rank_count))
		return;
	sort_waiting(account, count);
	while (done < count && (over || time_of(&account->waiting[done]) + ACCOUNT_LAG_NS <= now_ns))
		account_instance(account, account->waiting[done++].instance, !analysis->job.pipelined, 0);
	account->waiting_count -= done;
	if (done)
		memmove(account->waiting, account->waiting + done, account->waiting_count * sizeof(*account->waiting));
	if (over)
		account_end(account, &analysis->job, now_ns);
}

void account_free(struct account *account)
{
	free(account->ranks);
	free(account->waiting);
	*account = (struct account){ 0 };
}
