/* SPDX-License-Identifier: MIT */
#include "plugin/launch.h"

void launch_begin(struct recording *recording, struct communicator *communicator, struct operation_launch *launch,
		  uint64_t stream, bool may_capture)
{
	uint64_t number = atomic_load_explicit(&communicator->numbered, memory_order_relaxed) + 1;

	launch->plan = atomic_fetch_add_explicit(&communicator->plans, 1, memory_order_relaxed) + 1;
	launch->stream = stream;
	launch->end_ns = 0;
	launch->begin_ns = recording_clock();
	bool followed = progress_begin(&recording->progress, &communicator->words, stream, number, may_capture);
	launch->progress = followed ? number : 0;
	/* One that the GPU will not report must not look unfinished. */
	if (!followed && communicator->words.write)
		return;
	atomic_store_explicit(&communicator->numbered, number, memory_order_relaxed);
	atomic_store_explicit(&communicator->entry->launched, number, memory_order_relaxed);
}

void launch_end(struct recording *recording, struct communicator *communicator, struct operation_launch *launch)
{
	launch->end_ns = recording_clock();
	if (!launch->progress)
		return;
	if (progress_end(&recording->progress, &communicator->words, launch->stream, launch->progress)) {
		atomic_store_explicit(&communicator->finishing, launch->progress, memory_order_relaxed);
		return;
	}
	/* Nor one whose end could not be written. Its number is not given again: the word of starts holds it. */
	launch->progress = 0;
	atomic_store_explicit(&communicator->entry->launched,
			      atomic_load_explicit(&communicator->finishing, memory_order_relaxed),
			      memory_order_relaxed);
}
