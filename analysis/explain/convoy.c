/* SPDX-License-Identifier: MIT */
#include "analysis/explain/convoy.h"

#include <string.h>

#include "analysis/host/tally.h"

enum { ENDERS = 16 };

/* sys.getswitchinterval() and what a timer's end may be late. */
static const uint64_t switch_least_ns = 4900000, switch_most_ns = 6500000;
/* Samples that are further apart belong to two waits of the others, and in between the threads did something else. */
static const uint64_t sampled_within_ns = 250000000;
/* A thread that ended so much of the waits is the one to follow; a name that so many bear is that of all. */
static const double nearly_all = 0.75;

struct enders {
	uint32_t tids[ENDERS], count;
	intern_id names[ENDERS];
	uint64_t ns[ENDERS], sum_ns;
};

static void add_ender(struct enders *enders, const struct evidence_piece *piece, uint64_t ns)
{
	uint32_t i = 0;

	while (i < enders->count && enders->tids[i] != piece->waker_tid)
		i++;
	if (i == ENDERS)
		return;
	if (i == enders->count) {
		enders->tids[i] = piece->waker_tid;
		enders->names[i] = piece->waker;
		enders->count++;
	}
	enders->ns[i] += ns;
	enders->sum_ns += ns;
}

/* Whoever passes a lock on has it or waits for it; a thread that spends its time in files does neither. */
static bool works_elsewhere(const struct enders *enders, const struct intern *intern, const struct evidence *evidence,
			    const struct cause_window *windows, uint32_t count)
{
	struct tally tally;
	uint32_t most = 0;

	for (uint32_t i = 1; i < enders->count; i++)
		most = enders->ns[i] > enders->ns[most] ? i : most;
	if (!enders->count)
		return false;
	tally_best(intern, evidence, enders->tids[most], windows, count, &tally);
	return tally.by_class[RW_CAUSE_IO] * 2 >= tally.window_ns;
}

static bool is_one_thread(const struct enders *enders)
{
	for (uint32_t i = 0; i < enders->count; i++)
		if ((double)enders->ns[i] >= nearly_all * (double)enders->sum_ns)
			return true;
	return !enders->count;
}

/* take_gil() waits with a timer, which ends nearly all of its waits: which threads were seen to end others is
 * chance. */
static bool is_ended_by_timers(const struct convoy *convoy, const struct enders *enders, uint64_t lock_ns)
{
	return convoy->like_python && enders->sum_ns * 2 < lock_ns;
}

/* Of a lock whose waits timers end, too few ends may have been seen to name those who hold it. */
static bool are_too_few(const struct enders *enders, uint64_t lock_ns)
{
	return enders->sum_ns * 4 < lock_ns;
}

static intern_id common_name(const struct enders *enders)
{
	for (uint32_t i = 0; i < enders->count; i++) {
		uint64_t ns = 0;
		for (uint32_t k = 0; k < enders->count; k++)
			ns += enders->names[k] == enders->names[i] ? enders->ns[k] : 0;
		if ((double)ns >= nearly_all * (double)enders->sum_ns)
			return enders->names[i];
	}
	return 0;
}

/* Of the time of the windows between two samples of the thread, how much was it on a CPU? -1: there are no such
 * samples. */
static double cpu_share(const struct evidence *evidence, uint32_t tid, const struct cause_window *windows,
			uint32_t count)
{
	const struct evidence_piece *later = NULL;
	uint64_t kept = evidence_kept(evidence), seen_ns = 0;
	double cpu_ns = 0;

	for (uint64_t age = 0; age < kept; age++) {
		const struct evidence_piece *piece = evidence_at(evidence, age);

		if (piece->tid != tid || piece->kind != ANALYSIS_WAIT_SAMPLE)
			continue;
		uint64_t between_ns = later && later->end_ns > piece->end_ns ? later->end_ns - piece->end_ns : 0;
		uint64_t shared_ns = between_ns ? tally_overlap(windows, count, piece->end_ns, later->end_ns) : 0;

		if (between_ns && between_ns <= sampled_within_ns) {
			cpu_ns += (double)later->cpu_ns * (double)shared_ns / (double)between_ns;
			seen_ns += shared_ns;
		}
		later = piece;
	}
	return seen_ns ? cpu_ns / (double)seen_ns : -1;
}

/* Who ended its waits, and who waited for a lock in short turns as well: they all pass it on, though not all of them to
 * it. */
static uint32_t find_holders(const struct intern *intern, const struct evidence *evidence, uint32_t tid,
			     const struct cause_window *windows, uint32_t count, const struct enders *enders,
			     uint32_t *tids)
{
	uint64_t kept = evidence_kept(evidence);
	uint32_t found = enders->count;

	memcpy(tids, enders->tids, found * sizeof(*tids));
	for (uint64_t age = 0; age < kept && found < CONVOY_HOLDERS; age++) {
		const struct evidence_piece *piece = evidence_at(evidence, age);
		uint32_t i = 0;

		while (i < found && tids[i] != piece->tid)
			i++;
		if (i == found && piece->tid != tid && piece->kind == ANALYSIS_WAIT_SHORT && piece->waker_tid &&
		    !piece->out_of_process_wake && tally_overlap(windows, count, piece->start_ns, piece->end_ns) &&
		    wait_classify(intern, piece).class_ == RW_CAUSE_LOCK)
			tids[found++] = piece->tid;
	}
	return found;
}

static double cpu_of_all(const uint32_t *tids, uint32_t holders, const struct evidence *evidence,
			 const struct cause_window *windows, uint32_t count)
{
	uint32_t seen = 0;
	double sum = 0;

	for (uint32_t i = 0; i < holders; i++) {
		double share = cpu_share(evidence, tids[i], windows, count);

		if (share < 0)
			continue;
		seen++;
		sum += share < 1 ? share : 1;
	}
	return seen * 2 > holders ? sum : -1;
}

bool convoy_find(const struct intern *intern, const struct evidence *evidence, uint32_t tid,
		 const struct cause_window *windows, uint32_t count, uint64_t lock_ns, struct convoy *convoy)
{
	uint64_t kept = evidence_kept(evidence), short_ns = 0, python_ns = 0;
	struct enders enders = { 0 };

	for (uint64_t age = 0; age < kept; age++) {
		const struct evidence_piece *piece = evidence_at(evidence, age);
		uint64_t shared_ns = tally_overlap(windows, count, piece->start_ns, piece->end_ns);
		if (piece->tid != tid || !shared_ns || wait_classify(intern, piece).class_ != RW_CAUSE_LOCK)
			continue;
		uint64_t ns = tally_blocked(piece, shared_ns);
		if (piece->waker_tid && !piece->out_of_process_wake)
			add_ender(&enders, piece, ns);
		if (piece->kind != ANALYSIS_WAIT_SHORT)
			continue;
		short_ns += ns;
		if (piece->longest_ns >= switch_least_ns && piece->longest_ns <= switch_most_ns)
			python_ns += ns;
	}
	*convoy = (struct convoy){ .like_python = short_ns && python_ns * 2 >= short_ns, .cpu = -1 };
	bool by_timers = is_ended_by_timers(convoy, &enders, lock_ns);

	if (short_ns * 2 < lock_ns || (!by_timers && is_one_thread(&enders)) ||
	    works_elsewhere(&enders, intern, evidence, windows, count))
		return false;
	convoy->name = by_timers && are_too_few(&enders, lock_ns) ? 0 : common_name(&enders);
	uint32_t tids[CONVOY_HOLDERS];
	convoy->holders = find_holders(intern, evidence, tid, windows, count, &enders, tids);
	convoy->cpu = cpu_of_all(tids, convoy->holders, evidence, windows, count);
	return true;
}
