/* SPDX-License-Identifier: MIT */
#include "analysis/host/tally.h"

enum { TICK_NS = 10000000 };

uint64_t tally_overlap(const struct cause_window *windows, uint32_t window_count, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < window_count; i++) {
		uint64_t from = from_ns > windows[i].from_ns ? from_ns : windows[i].from_ns;
		uint64_t to = to_ns < windows[i].to_ns ? to_ns : windows[i].to_ns;
		sum += to > from ? to - from : 0;
	}
	return sum;
}

static bool same_group(const struct tally_group *group, const struct wait_class *class_,
		       const struct evidence_piece *piece)
{
	return group->class_.class_ == class_->class_ && group->class_.system_call == class_->system_call &&
	       group->class_.by_waker == class_->by_waker && group->longest->path == piece->path &&
	       group->longest->waker_tid == piece->waker_tid;
}

static void note_shown(struct tally *tally, enum rw_cause_class class_, const struct evidence_piece *piece, uint64_t ns)
{
	uint8_t shown = class_ == RW_CAUSE_CPU ? piece->queue_shown : piece->shown;

	if (shown == EVIDENCE_SAME_WAIT)
		tally->same_wait_ns[class_] += ns;
	if (shown != EVIDENCE_BETWEEN_SAMPLES)
		return;
	tally->between_ns[class_] += ns;
	tally->between_count[class_]++;
}

static void add_to_group(struct tally *tally, const struct wait_class *class_, const struct evidence_piece *piece,
			 uint64_t ns)
{
	struct tally_group *group = tally->groups;
	struct tally_group *end = tally->groups + tally->group_count;
	if (!ns)
		return;
	tally->by_class[class_->class_] += ns;
	tally->explained_ns += ns;
	if (tally->sampled)
		note_shown(tally, class_->class_, piece, ns);
	while (group < end && !same_group(group, class_, piece))
		group++;
	if (group == end) {
		if (tally->group_count == TALLY_GROUPS)
			return;
		*group = (struct tally_group){ .class_ = *class_, .longest = piece };
		tally->group_count++;
	}
	group->ns += ns;
	if (ns > group->longest_ns) {
		group->longest_ns = ns;
		group->longest = piece;
	}
}

/* `part` of `whole`, as much as `shared` of `length`. */
static uint64_t portion(uint64_t part, uint64_t shared, uint64_t length)
{
	if (part > length)
		part = length;
	return length ? (uint64_t)((double)part * (double)shared / (double)length) : 0;
}

uint64_t tally_blocked(const struct evidence_piece *piece, uint64_t shared_ns)
{
	if (piece->kind != ANALYSIS_WAIT_SHORT)
		return shared_ns;
	return portion(piece->blocked_ns, shared_ns, piece->end_ns - piece->start_ns);
}

/* A sample shows that a thread can run. Whether it does or waits for a CPU shows the time that it used; its counter of
 * the run queue grows only when it gets a CPU again. Counters of CPU time may be a tick behind. */
static uint64_t ran(const struct evidence_piece *piece, uint64_t shared, uint64_t queued)
{
	uint64_t rest = shared - queued;
	uint64_t used = portion(piece->cpu_ns + TICK_NS, shared, piece->end_ns - piece->start_ns);

	return piece->cpu_known && used < rest ? used : rest;
}

/* queue_shared: how much of the windows lies in [queue_from_ns, end_ns] of a sample. */
static void add_sample(struct tally *tally, const struct wait_class *class_, const struct evidence_piece *piece,
		       uint64_t shared, uint64_t queue_shared)
{
	static const struct wait_class without_cpu = { .class_ = RW_CAUSE_CPU, .known = true };
	uint64_t length = piece->end_ns - piece->queue_from_ns;
	uint64_t queued = portion(piece->run_queue_ns, queue_shared, length),
		 within = portion(piece->run_queue_ns, shared, length);

	add_to_group(tally, &without_cpu, piece, queued);
	if (class_->known)
		add_to_group(tally, class_, piece,
			     class_->class_ == RW_CAUSE_RUNNING ? ran(piece, shared, within) : shared - within);
}

static void add_piece(struct tally *tally, const struct intern *intern, const struct evidence_piece *piece,
		      uint64_t shared, uint64_t queue_shared)
{
	static const struct wait_class without_cpu = { .class_ = RW_CAUSE_CPU, .known = true };
	struct wait_class class_ = wait_classify(intern, piece);
	uint64_t length = piece->end_ns - piece->start_ns;
	uint64_t queued = portion(piece->run_queue_ns, shared, length);

	if (piece->kind == ANALYSIS_WAIT_SAMPLE) {
		add_sample(tally, &class_, piece, shared, queue_shared);
		return;
	}
	if (piece->kind == ANALYSIS_WAIT_RUN_QUEUE) {
		add_to_group(tally, &class_, piece, queued);
		return;
	}
	if (piece->kind == ANALYSIS_WAIT_SHORT) {
		add_to_group(tally, &class_, piece, class_.known ? tally_blocked(piece, shared) : 0);
		return;
	}
	add_to_group(tally, &without_cpu, piece, queued);
	if (class_.known)
		add_to_group(tally, &class_, piece, shared - queued);
}

static void tally_up(const struct intern *intern, const struct evidence *evidence, uint32_t tid,
		     const struct cause_window *windows, uint32_t window_count, struct tally *tally)
{
	uint64_t kept = evidence_kept(evidence);
	for (uint64_t age = 0; age < kept; age++) {
		const struct evidence_piece *piece = evidence_at(evidence, age);
		bool sampled = piece->kind == ANALYSIS_WAIT_SAMPLE;
		if (piece->tid != tid || piece->level != tally->level || sampled != tally->sampled)
			continue;
		uint64_t shared = tally_overlap(windows, window_count, piece->start_ns, piece->end_ns);
		uint64_t queue_shared =
		    sampled ? tally_overlap(windows, window_count, piece->queue_from_ns, piece->end_ns) : shared;
		if (shared || queue_shared)
			add_piece(tally, intern, piece, shared, queue_shared);
	}
}

void tally_best(const struct intern *intern, const struct evidence *evidence, uint32_t tid,
		const struct cause_window *windows, uint32_t window_count, struct tally *best)
{
	uint64_t window_ns = tally_overlap(windows, window_count, 0, UINT64_MAX);
	*best = (struct tally){ .window_ns = window_ns };
	for (int pass = 2 * RW_LEVEL_EBPF + 1; pass >= 2 * RW_LEVEL_SELF; pass--) {
		struct tally tally = {
			.window_ns = window_ns,
			.level = (enum rw_level)(pass / 2),
			.sampled = !(pass & 1),
		};
		tally_up(intern, evidence, tid, windows, window_count, &tally);
		if (tally.explained_ns > best->explained_ns)
			*best = tally;
		if (best->explained_ns * 2 >= window_ns)
			return;
	}
}

bool tally_shows(const struct tally *tally, enum rw_cause_class class_)
{
	uint64_t shown_ns = tally->same_wait_ns[class_];

	if (tally->between_count[class_] >= TALLY_SAMPLES)
		shown_ns += tally->between_ns[class_];
	return !tally->sampled || shown_ns * TALLY_SHOWN_PART >= tally->by_class[class_];
}

enum rw_cause_class tally_class(const struct tally *tally)
{
	enum rw_cause_class best = RW_CAUSE_UNKNOWN;
	for (int class_ = 0; class_ < RW_CAUSE_COUNT; class_++)
		if (tally->by_class[class_] > tally->by_class[best])
			best = (enum rw_cause_class)class_;
	return best;
}

const struct tally_group *tally_group_woken(const struct tally *tally, enum rw_cause_class class_)
{
	const struct tally_group *best = NULL;
	for (uint32_t i = 0; i < tally->group_count; i++) {
		const struct tally_group *group = &tally->groups[i];
		if (group->class_.class_ == class_ && group->longest->waker_tid &&
		    !group->longest->out_of_process_wake && (!best || group->ns > best->ns))
			best = group;
	}
	return best;
}

const struct tally_group *tally_group_of(const struct tally *tally, enum rw_cause_class class_)
{
	const struct tally_group *best = NULL;
	for (uint32_t i = 0; i < tally->group_count; i++)
		if (tally->groups[i].class_.class_ == class_ && (!best || tally->groups[i].ns > best->ns))
			best = &tally->groups[i];
	return best;
}
