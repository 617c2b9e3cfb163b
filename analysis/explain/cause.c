/* SPDX-License-Identifier: MIT */
#include "analysis/explain/cause.h"

#include <stdio.h>
#include <string.h>

#include "analysis/explain/convoy.h"
#include "analysis/host/tally.h"

static const uint64_t looked_at_ns = 2000000000;
/* Between two waits, so short that they are one. */
static const uint64_t window_gap_ns = 1000000;

struct search {
	const struct intern *intern;
	const struct process *process;
	uint32_t visited[CAUSE_HOPS + 1]; /* threads followed so far: never in circles */
	uint32_t visited_count;
};

static intern_id thread_name(const struct evidence *evidence, uint32_t tid)
{
	uint64_t kept = evidence_kept(evidence);
	for (uint64_t age = 0; age < kept; age++) {
		const struct evidence_piece *piece = evidence_at(evidence, age);
		if (piece->tid == tid && piece->thread)
			return piece->thread;
		if (piece->waker_tid == tid && piece->waker)
			return piece->waker;
	}
	return 0;
}

/* "99 % in write(2)" would be false of a thread that spends half of that in fsync(2). */
static const char *second_call(const struct tally *tally, const struct tally_group *first)
{
	const struct system_call *own = first->class_.system_call;
	const char *second = NULL;
	uint64_t most_ns = tally->by_class[first->class_.class_] / 4;
	for (uint32_t i = 0; own && i < tally->group_count; i++) {
		const struct tally_group *group = &tally->groups[i];
		const struct system_call *call = group->class_.system_call;
		if (group->class_.class_ != first->class_.class_ || !call || call == own || group->ns < most_ns)
			continue;
		second = call->name;
		most_ns = group->ns;
	}
	return second;
}

static void describe(const struct tally *tally, const struct tally_group *group, struct cause *cause)
{
	const struct evidence_piece *piece = group->longest;
	cause->class_ = group->class_.class_;
	cause->idle = group->class_.idle;
	cause->level = tally->level;
	cause->system_call = group->class_.system_call ? group->class_.system_call->name : NULL;
	cause->second_call = second_call(tally, group);
	cause->fd = piece->fd;
	cause->path = piece->path;
	cause->file_system = piece->file_system;
	cause->device = piece->device_name;
	cause->frame_count = piece->frame_count;
	memcpy(cause->frames, piece->frames, sizeof(cause->frames));
}

/* Why a cause is likely and no more, as a finding says it. */
static const char in_files_meanwhile[] =
    "which thread ends that wait: it was not observed; the thread that used files meanwhile is assumed";
static const char waker_unseen[] =
    "which thread or process was to end that wait: the samples do not show it, and the cause lies there";
static const char other_end_seen[] =
    "which process ends that wait: it was not observed; the only child that can is assumed";
static const char few_samples[] =
    "what it did in most of that time: it was sampled too seldom, and what the samples show is assumed to have lasted";
static const char state_only[] =
    "what it waits for: only its state (D, uninterruptible) was seen, which most often is a wait for a disk";
static const char has_a_rival[] = "which of two causes it is: another one took nearly as much of that time";

/* Every other class counts, sleep too: a thread that sleeps for as long as it waits for a lock is not certain to be
 * held up by the lock. What runs while it has a CPU and waits for one else is one story. */
static bool has_rival(const struct tally *tally, enum rw_cause_class class_)
{
	double limit = (tally->sampled ? CAUSE_NEAR_SAMPLED : CAUSE_NEAR_EXACT) * (double)tally->by_class[class_];

	for (int other = 0; other < RW_CAUSE_COUNT; other++) {
		bool same = other == (int)class_ || (class_ == RW_CAUSE_CPU && other == RW_CAUSE_RUNNING) ||
			    (class_ == RW_CAUSE_RUNNING && other == RW_CAUSE_CPU);
		if (!same && tally->by_class[other] && (double)tally->by_class[other] >= limit)
			return true;
	}
	return false;
}

static const char *what_name(const struct tally_group *group)
{
	if (group->class_.class_ == RW_CAUSE_CPU)
		return "run queue";
	if (group->class_.class_ == RW_CAUSE_RUNNING)
		return "on the CPU";
	if (group->class_.class_ == RW_CAUSE_STOPPED)
		return "stopped";
	return group->class_.system_call ? group->class_.system_call->name : "off the CPU";
}

static void list_evidence(const struct tally *tally, struct cause *cause)
{
	cause->evidence_count = 0;
	for (uint32_t i = 0; i < tally->group_count && cause->evidence_count < CAUSE_EVIDENCE; i++) {
		const struct tally_group *group = &tally->groups[i];
		if (group->ns * 20 < tally->window_ns)
			continue;
		cause->evidence[cause->evidence_count++] =
		    (struct cause_evidence){ .ns = group->ns, .level = tally->level, .what = what_name(group) };
	}
}

/* Samples of one long wait lie end to end, sums of short ones nearly so and around longer ones: they are one window, or
 * there would be no room for all. */
static uint32_t add_window(struct cause_window *windows, uint32_t count, uint64_t from_ns, uint64_t to_ns)
{
	uint32_t kept = 0;

	if (to_ns <= from_ns)
		return count;
	for (uint32_t i = 0; i < count; i++) {
		if (from_ns > windows[i].to_ns + window_gap_ns || windows[i].from_ns > to_ns + window_gap_ns) {
			windows[kept++] = windows[i];
			continue;
		}
		from_ns = windows[i].from_ns < from_ns ? windows[i].from_ns : from_ns;
		to_ns = windows[i].to_ns > to_ns ? windows[i].to_ns : to_ns;
	}
	if (kept < CAUSE_WINDOWS)
		windows[kept++] = (struct cause_window){ from_ns, to_ns };
	return kept;
}

/* The parts of the windows that the thread spent in waits of this group. */
static uint32_t wait_windows(const struct search *search, uint32_t tid, const struct tally *tally,
			     const struct tally_group *group, const struct cause_window *windows, uint32_t count,
			     struct cause_window *waits)
{
	const struct evidence *evidence = &search->process->evidence;
	uint64_t kept = evidence_kept(evidence);
	uint32_t wait_count = 0;
	for (uint64_t age = 0; age < kept; age++) {
		const struct evidence_piece *piece = evidence_at(evidence, age);
		bool sampled = piece->kind == ANALYSIS_WAIT_SAMPLE;
		if (piece->tid != tid || piece->level != tally->level || sampled != tally->sampled)
			continue;
		if (wait_classify(search->intern, piece).class_ != group->class_.class_)
			continue;
		for (uint32_t i = 0; i < count; i++) {
			uint64_t from = piece->start_ns > windows[i].from_ns ? piece->start_ns : windows[i].from_ns;
			uint64_t to = piece->end_ns < windows[i].to_ns ? piece->end_ns : windows[i].to_ns;
			wait_count = add_window(waits, wait_count, from, to);
		}
	}
	return wait_count;
}

static bool is_visited(const struct search *search, uint32_t tid)
{
	for (uint32_t i = 0; i < search->visited_count; i++)
		if (search->visited[i] == tid)
			return true;
	return false;
}

/* A pipe, or a socket of this host, has its other end in the process that ends the wait; a network card's interrupt
 * wakes on behalf of whoever happens to run. */
static bool is_local_channel(const struct intern *intern, const struct evidence_piece *piece)
{
	static const char *const local[] = { "pipe_", "anon_pipe_", "unix_" };
	const char *path = intern_text(intern, piece->path);

	if (!strncmp(path, "pipe:", 5) || !strcmp(intern_text(intern, piece->file_system), "pipefs"))
		return true;
	for (uint32_t i = 0; i < piece->frame_count; i++)
		for (size_t k = 0; k < sizeof(local) / sizeof(*local); k++)
			if (!strncmp(intern_text(intern, piece->frames[i]), local[k], strlen(local[k])))
				return true;
	return false;
}

/* A child that ends, or the other end of a pipe: one process that ended nearly all of this class's waits. 0: none. */
static int32_t process_that_woke(const struct search *search, const struct tally *tally,
				 const struct tally_group *group)
{
	const struct evidence_piece *piece = group->longest;
	bool is_told = piece->out_of_process_wake && piece->waker_pid && piece->waker &&
		       (group->class_.class_ == RW_CAUSE_PROCESS ||
			(group->class_.class_ == RW_CAUSE_SOCKET && is_local_channel(search->intern, piece)));
	bool is_one = (double)group->ns >= CAUSE_ONE_PROCESS * (double)tally->by_class[group->class_.class_];

	return is_told && is_one ? piece->waker_pid : 0;
}

/* Levels without wakers, waits that have not ended, and TCP over the loopback interface: the child that has the other
 * end, or that is to end. Where a waker is known it must be that child. */
static int32_t process_at_other_end(const struct search *search, uint32_t tid, const struct tally_group *group,
				    const struct cause_window *waits, uint32_t count)
{
	const struct evidence_piece *piece = group->longest;
	bool may_be = group->class_.class_ == RW_CAUSE_PROCESS || group->class_.class_ == RW_CAUSE_SOCKET;
	int32_t pid = may_be ? other_looks_awaited(search->process->others, tid, waits, count) : 0;

	return !piece->waker_tid || (piece->out_of_process_wake && piece->waker_pid == pid) ? pid : 0;
}

static void name_process(const struct search *search, uint32_t tid, const struct tally *tally,
			 const struct tally_group *group, const struct cause_window *waits, uint32_t count,
			 struct cause *cause)
{
	const struct other_looks *others = search->process->others;
	int32_t woke = process_that_woke(search, tally, group);
	int32_t pid = woke ? woke : process_at_other_end(search, tid, group, waits, count);
	const struct other_look *seen = other_looks_latest(others, pid);
	intern_id name = seen && seen->name ? seen->name : group->longest->waker;

	if (!pid || cause->hop_count == CAUSE_HOPS)
		return;
	struct cause_hop *hop = &cause->hops[cause->hop_count++];
	*hop = (struct cause_hop){ .tid = tid,
				   .thread = thread_name(&search->process->evidence, tid),
				   .waits_for_tid = (uint32_t)pid };
	snprintf(hop->waits_for, sizeof(hop->waits_for), "%s %d \"%s\"",
		 seen && seen->is_child ? "its child" : "process", pid, intern_text(search->intern, name));
	other_looks_describe(others, search->intern, pid, waits, count, hop->does, sizeof(hop->does));
	cause->by_process = true;
	cause->fork_lock = other_looks_held_at_fork(others, pid, waits, count);
	if (!woke && !group->longest->waker_tid)
		cause->inferred = other_end_seen;
}

/* The kernel's stack shows TCP, whose packets an interrupt brings: there is no waker to follow, but a child may be at
 * the other end. */
static void name_peer(const struct search *search, uint32_t tid, const struct tally *tally,
		      const struct tally_group *group, const struct cause_window *windows, uint32_t count,
		      struct cause *cause)
{
	struct cause_window waits[CAUSE_WINDOWS];
	uint32_t wait_count = wait_windows(search, tid, tally, group, windows, count, waits);

	name_process(search, tid, tally, group, waits, wait_count, cause);
}

/* Levels without wakers: the other thread whose time in files and disks covers most of the wait. */
static uint32_t busiest_in_files(const struct search *search, const struct cause_window *waits, uint32_t count)
{
	const struct evidence *evidence = &search->process->evidence;
	uint32_t tried[EVIDENCE_THREADS], tried_count = 0, best_tid = 0;
	uint64_t kept = evidence_kept(evidence), best_ns = 0, wait_ns = tally_overlap(waits, count, 0, UINT64_MAX);

	for (uint64_t age = 0; age < kept && tried_count < EVIDENCE_THREADS; age++) {
		uint32_t tid = evidence_at(evidence, age)->tid, i = 0;
		while (i < tried_count && tried[i] != tid)
			i++;
		if (i < tried_count || is_visited(search, tid))
			continue;
		tried[tried_count++] = tid;
		struct tally tally;
		tally_best(search->intern, evidence, tid, waits, count, &tally);
		if (tally.by_class[RW_CAUSE_IO] > best_ns) {
			best_ns = tally.by_class[RW_CAUSE_IO];
			best_tid = tid;
		}
	}
	return (double)best_ns >= CAUSE_INFERRED_MIN * (double)wait_ns ? best_tid : 0;
}

static bool find_cause(struct search *search, uint32_t tid, const struct cause_window *windows, uint32_t count,
		       struct cause *cause);

static bool follow(struct search *search, uint32_t tid, const struct tally *tally, const struct tally_group *group,
		   const struct cause_window *windows, uint32_t count, struct cause *cause)
{
	struct cause_window waits[CAUSE_WINDOWS];
	uint32_t wait_count = wait_windows(search, tid, tally, group, windows, count, waits);
	const struct tally_group *woken = tally_group_woken(tally, group->class_.class_);
	const struct evidence_piece *piece = group->longest;
	/* Of a wait that is many short ones, the last was ended by a thread, the others by its timer. */
	if (piece->kind == ANALYSIS_WAIT_SHORT && !piece->waker_tid && woken)
		piece = woken->longest;
	uint32_t next = piece->out_of_process_wake ? 0 : piece->waker_tid;
	/* A lock that another process ends is a wait that a signal ended: it still was for somebody in here. */
	bool inferred = !next && group->class_.class_ != RW_CAUSE_PROCESS &&
			(!piece->out_of_process_wake || group->class_.class_ == RW_CAUSE_LOCK);

	if (inferred)
		next = busiest_in_files(search, waits, wait_count);
	if (!next)
		name_process(search, tid, tally, group, waits, wait_count, cause);
	if (!next || is_visited(search, next) || cause->hop_count == CAUSE_HOPS)
		return false;
	struct cause deeper = *cause;
	struct cause_hop *hop = &deeper.hops[deeper.hop_count++];
	hop->tid = tid;
	hop->thread = thread_name(&search->process->evidence, tid);
	intern_id next_name = thread_name(&search->process->evidence, next);
	hop->waits_for_tid = next;
	snprintf(hop->waits_for, sizeof(hop->waits_for), "thread %s", intern_text(search->intern, next_name));
	if (inferred)
		deeper.inferred = in_files_meanwhile;
	bool found = find_cause(search, next, waits, wait_count, &deeper);
	if (!found || deeper.class_ == RW_CAUSE_UNKNOWN || deeper.class_ == RW_CAUSE_SLEEP) {
		/* The thread that holds it up shows no wait but its own will: it is the wait itself that is the
		 * cause. */
		cause->hops[cause->hop_count++] = *hop;
		cause->last_thread = next_name;
		cause->last_tid = next;
		return false;
	}
	/* Locks behind a lock are one story, whoever of those who pass it on was followed. There may have been room for
	 * some of the waits only: they stand for all. */
	if (deeper.class_ == group->class_.class_)
		deeper.share = cause->share;
	else
		deeper.share *= cause->share;
	*cause = deeper;
	return true;
}

/* Who holds the lock changes all the time: there is no one thread to follow. */
static bool join_convoy(const struct search *search, uint32_t tid, const struct tally *tally,
			const struct cause_window *windows, uint32_t count, struct cause *cause)
{
	const struct evidence *evidence = &search->process->evidence;
	struct convoy convoy;

	if (tally->sampled ||
	    !convoy_find(search->intern, evidence, tid, windows, count, tally->by_class[RW_CAUSE_LOCK], &convoy))
		return false;
	struct cause_hop *hop = &cause->hops[cause->hop_count++];
	hop->tid = tid;
	hop->thread = thread_name(evidence, tid);
	if (convoy.name)
		snprintf(hop->waits_for, sizeof(hop->waits_for), "its threads \"%s\" in turn",
			 intern_text(search->intern, convoy.name));
	else
		snprintf(hop->waits_for, sizeof(hop->waits_for), "its other threads in turn");
	cause->convoy = true;
	cause->like_python = convoy.like_python;
	cause->holders = convoy.holders;
	cause->holders_cpu = convoy.cpu;
	cause->last_thread = convoy.name;
	cause->last_tid = 0;
	return true;
}

/* Fills class, share and details for this thread, or for the one that it waits for. */
static bool find_cause(struct search *search, uint32_t tid, const struct cause_window *windows, uint32_t count,
		       struct cause *cause)
{
	struct tally tally;
	search->visited[search->visited_count++] = tid;
	tally_best(search->intern, &search->process->evidence, tid, windows, count, &tally);
	enum rw_cause_class class_ = tally_class(&tally);
	const struct tally_group *group = tally_group_of(&tally, class_);
	if (!group || (double)tally.by_class[class_] < CAUSE_SHARE_MIN * (double)tally.window_ns)
		return false;
	list_evidence(&tally, cause);
	describe(&tally, group, cause);
	cause->last_thread = thread_name(&search->process->evidence, tid);
	cause->last_tid = tid;
	cause->share = tally.window_ns ? (double)tally.by_class[class_] / (double)tally.window_ns : -1;
	if (has_rival(&tally, class_))
		cause->inferred = has_a_rival;
	else if (!cause->inferred && !tally_shows(&tally, class_))
		cause->inferred = few_samples;
	else if (!cause->inferred && group->class_.by_state)
		cause->inferred = state_only;
	if (cause->share > 1)
		cause->share = 1;
	if (class_ == RW_CAUSE_LOCK && cause->hop_count < CAUSE_HOPS &&
	    join_convoy(search, tid, &tally, windows, count, cause))
		return true;
	if (class_ == RW_CAUSE_SOCKET && !group->class_.by_waker)
		name_peer(search, tid, &tally, group, windows, count, cause);
	if (!group->class_.by_waker || search->visited_count > CAUSE_HOPS)
		return true;
	/* Samples can miss the thread that ends the wait: what it does is then the cause, and not the wait. */
	if (!follow(search, tid, &tally, group, windows, count, cause) && tally.sampled && !cause->by_process)
		cause->inferred = waker_unseen;
	return true;
}

static enum rw_level seen_level(const struct process *process, const struct cause_window *windows, uint32_t count)
{
	enum rw_level best = RW_LEVEL_NONE;
	uint64_t last_ns = 0;
	for (uint32_t i = 0; i < count; i++)
		last_ns = windows[i].to_ns > last_ns ? windows[i].to_ns : last_ns;
	uint64_t kept = evidence_kept(&process->evidence);
	for (uint64_t age = 0; age < kept; age++) {
		const struct evidence_piece *piece = evidence_at(&process->evidence, age);
		if (piece->end_ns + looked_at_ns >= last_ns && piece->level > best)
			best = (enum rw_level)piece->level;
	}
	return best;
}

void cause_find(const struct intern *intern, const struct process *process, uint32_t tid,
		const struct cause_window *windows, uint32_t count, struct cause *cause)
{
	struct search search = { .intern = intern, .process = process };
	*cause = (struct cause){ .class_ = RW_CAUSE_UNKNOWN, .share = -1, .fd = -1, .tid = tid };
	python_looks_ask(process->python, tid, windows, count, &cause->python);
	if (!process->evidence.pieces)
		return;
	cause->thread = cause->last_thread = thread_name(&process->evidence, tid);
	cause->seen = seen_level(process, windows, count);
	if (tid)
		find_cause(&search, tid, windows, count, cause);
}

bool cause_progress(const struct intern *intern, const struct process *process, uint32_t tid, bool on_gpu,
		    uint64_t from_ns, uint64_t to_ns)
{
	const struct cause_window window = { from_ns, to_ns };
	uint64_t kept = evidence_kept(&process->evidence), cpu_ns = 0, own_cpu_ns = 0;
	for (uint64_t age = 0; age < kept; age++) {
		const struct evidence_piece *piece = evidence_at(&process->evidence, age);
		if (!tally_overlap(&window, 1, piece->start_ns, piece->end_ns) ||
		    wait_is_helper(intern_text(intern, piece->thread)) || (on_gpu && piece->tid == tid))
			continue;
		struct wait_class class_ = wait_classify(intern, piece);
		if (class_.class_ == RW_CAUSE_IO || class_.class_ == RW_CAUSE_MEMORY ||
		    (class_.class_ == RW_CAUSE_CPU && !on_gpu))
			return true;
		cpu_ns += piece->cpu_ns;
		own_cpu_ns += piece->tid == tid ? piece->cpu_ns : 0;
	}
	return !on_gpu && (own_cpu_ns * 20 >= to_ns - from_ns || cpu_ns * 2 >= to_ns - from_ns ||
			   children_get_on(process->children, from_ns, to_ns));
}

bool cause_is_in_driver(const struct intern *intern, const struct process *process, uint32_t tid, uint64_t from_ns,
			uint64_t to_ns)
{
	uint64_t kept = evidence_kept(&process->evidence), newest_ns = 0;
	bool in_driver = false;

	for (uint64_t age = 0; age < kept; age++) {
		const struct evidence_piece *piece = evidence_at(&process->evidence, age);
		if (piece->tid != tid || piece->end_ns < from_ns || piece->end_ns > to_ns || piece->end_ns <= newest_ns)
			continue;
		newest_ns = piece->end_ns;
		in_driver = wait_classify(intern, piece).gpu;
	}
	return in_driver;
}

bool cause_ended_before(const struct intern *intern, const struct process *process, const struct cause *cause,
			uint64_t ended_by_ns)
{
	static const char socket[] = "socket:";
	uint64_t kept = evidence_kept(&process->evidence);
	/* A pipe or a lock is another thread's or child's to end; what that does is looked at, or can be. Of TCP a
	 * child that has the other end is only likely to end it. */
	bool is_followed = cause->hop_count && !(cause->by_process && strstr(intern_text(intern, cause->path), " to "));
	if (cause->class_ != RW_CAUSE_SOCKET || is_followed ||
	    strncmp(intern_text(intern, cause->path), socket, strlen(socket)) != 0)
		return false;
	for (uint64_t age = 0; age < kept; age++) {
		const struct evidence_piece *piece = evidence_at(&process->evidence, age);
		if (piece->tid == cause->last_tid && piece->path == cause->path && piece->end_ns <= ended_by_ns &&
		    wait_classify(intern, piece).class_ == RW_CAUSE_SOCKET)
			return true;
	}
	return false;
}
