/* SPDX-License-Identifier: MIT */
/* Before profiler ABI v5 NCCL reports no call: the task is the first event of an operation, right after the launch. */
#include "plugin/operations/call.h"
#include "plugin/operations/event.h"
#include "plugin/operations/recorder.h"

EVENT void *start_bare_task(struct recording *recording, struct communicator *communicator, const void *parent,
			    const void *what)
{
	const struct reported_bare_task *event = what;
	struct thread *thread = &this_thread;
	struct operation_group none = { 0 };
	uint64_t ticket;

	(void)parent;
	if (!communicator_know(communicator, &event->identity))
		return NULL;
	if (call_task(recording, communicator, event, &ticket) == CALL_TASK_OURS)
		return ticket ? handle_make(HANDLE_TASK, ticket) : NULL;
	operation_count_call(communicator);
	thread_know(thread);
	ticket = operation_call(recording, communicator, &event->call, &none, thread->launch.tid, RW_OWNER_HOST);
	uint64_t now = clock_ns();
	struct operation_launch launch = { .tid = thread->launch.tid, .begin_ns = now, .end_ns = now };
	if (!operation_task(recording, communicator, ticket, &event->task, &launch))
		return NULL;
	return handle_make(HANDLE_TASK, ticket);
}

void *recorder_start_bare_task(void *context, const struct reported_bare_task *task)
{
	return event_start(start_bare_task, context, NULL, task);
}
