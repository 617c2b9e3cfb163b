/* SPDX-License-Identifier: MIT */
#include "plugin/operations/event.h"

__thread struct thread this_thread __attribute__((tls_model("initial-exec")));

__attribute__((noinline, cold)) void *event_start_measured(event_start_function *start, struct recording *recording,
							   struct communicator *communicator, const void *parent,
							   const void *what)
{
	uint64_t begin = clock_ns();
	void *handle = start(recording, communicator, parent, what);

	cost_add(recording_cost(recording, this_thread.launch.tid), begin, recording->cost_sample);
	return handle;
}

__attribute__((noinline, cold)) void event_end_measured(event_end_function *end, struct recording *recording,
							uint64_t number)
{
	uint64_t begin = clock_ns();

	end(recording, number);
	cost_add(recording_cost(recording, this_thread.launch.tid), begin, recording->cost_sample);
}
