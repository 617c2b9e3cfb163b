/* SPDX-License-Identifier: MIT */
#include "plugin/launch.h"

void launch_begin(struct recording *recording, struct communicator *communicator, struct operation_launch *launch,
		  uint64_t stream)
{
	uint64_t number = atomic_load_explicit(&communicator->entry->launched, memory_order_relaxed) + 1;

	launch->plan = atomic_fetch_add_explicit(&communicator->plans, 1, memory_order_relaxed) + 1;
	launch->stream = stream;
	launch->end_ns = 0;
	launch->begin_ns = recording_clock();
	bool followed = progress_begin(&recording->progress, &communicator->words, stream, number);
	launch->progress = followed ? number : 0;
	/* One that the GPU will not report must not look unfinished. */
	if (followed || !communicator->words.write)
		atomic_store_explicit(&communicator->entry->launched, number, memory_order_relaxed);
}

void launch_end(struct recording *recording, struct communicator *communicator, struct operation_launch *launch)
{
	launch->end_ns = recording_clock();
	if (launch->progress)
		progress_end(&recording->progress, &communicator->words, launch->stream, launch->progress);
}
