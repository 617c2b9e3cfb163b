/* SPDX-License-Identifier: MIT */
#include "analysis/host/usual_sleep.h"

#include "analysis/known/process.h"
#include "analysis/numbers/sorting.h"
#include "analysis/host/tally.h"

enum { OTHERS = 64 /* of more ranks, the first */ };

/* 0: it did not, or nobody saw its waits from beginning to end. */
static uint64_t slept_ns(const struct intern *intern, const struct process *process, uint32_t tid,
			 const struct cause_window *windows, uint32_t count)
{
	uint64_t kept = evidence_kept(&process->evidence), slept = 0;

	for (uint64_t age = 0; age < kept; age++) {
		const struct evidence_piece *piece = evidence_at(&process->evidence, age);
		uint64_t shared_ns = tally_overlap(windows, count, piece->start_ns, piece->end_ns);

		if (piece->tid == tid && piece->kind == ANALYSIS_WAIT_INTERVAL && shared_ns &&
		    wait_classify(intern, piece).class_ == RW_CAUSE_SLEEP)
			slept += shared_ns;
	}
	return slept;
}

bool usual_sleep(const struct intern *intern, const struct job *job, const struct rank *rank, uint32_t tid,
		 const struct cause_window *windows, uint32_t count, uint64_t late_ns)
{
	bool first = tid == rank->process->first_tid;
	uint64_t own_ns = slept_ns(intern, rank->process, tid, windows, count), others_ns[OTHERS];
	uint32_t others = 0;

	for (uint32_t i = 0; own_ns && i < job->process_count && others < OTHERS; i++) {
		const struct process *process = job->processes[i];

		if (process == rank->process || process_is_dead(process) || !process->evidence.pieces)
			continue;
		others_ns[others++] =
		    slept_ns(intern, process, first ? process->first_tid : process->enqueue_tid, windows, count);
	}
	if (!others)
		return false;
	sort_u64(others_ns, others);
	uint64_t usual_ns = others_ns[(others - 1) / 2];

	return usual_ns && (double)own_ns < (double)usual_ns + USUAL_SLEEP_SHARE * (double)late_ns;
}
