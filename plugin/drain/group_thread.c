/* SPDX-License-Identifier: MIT */
#include "plugin/drain/group_thread.h"

#include <time.h>
#include <unistd.h>

#include "plugin/drain/task_list.h"
#include "plugin/drain/task_state.h"
#include "plugin/guest/clock.h"
#include "plugin/guest/thread_start.h"

enum {
	ASK_AFTER_NS = 500000000, /* of the return: few groups take so long, and of those that do not nothing is read */
	ASK_AGAIN_NS = 250000000,
	/* A walk misses threads where others end meanwhile, so there is more than one, … */
	WALKS = 3,
	WALK_AGAIN_NS = 1000000000,
	WALK_THREADS = 8, /* … at each poll of the drain */
	SECOND_NS = 1000000000,
};

static uint64_t read_clock(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * SECOND_NS + (uint64_t)time.tv_nsec;
}

/* CLOCK_BOOTTIME less CLOCK_MONOTONIC: time that the machine was suspended. Exact within what lies between two
 * readings. */
struct suspended {
	uint64_t least, most;
};

static struct suspended suspended(void)
{
	uint64_t before = clock_ns(), boot = read_clock(CLOCK_BOOTTIME), after = clock_ns();

	return (struct suspended){ .least = boot > after ? boot - after : 0, .most = boot - before };
}

static uint64_t ticks(uint64_t boot_ns)
{
	long per_second = sysconf(_SC_CLK_TCK);

	return boot_ns / (SECOND_NS / (uint64_t)(per_second > 0 ? per_second : 100));
}

static bool nccl_answered(const struct communicator *communicator, uint64_t since_ns)
{
	return atomic_load_explicit(&communicator->in_progress_ns, memory_order_relaxed) >= since_ns ||
	       atomic_load_explicit(&communicator->settled_ns, memory_order_relaxed) > since_ns;
}

static void begin(struct group_threads *threads, const struct recording *recording, const struct glimpse *op)
{
	struct suspended slept = suspended();

	threads->search = (struct group_search){
		.on = true,
		.comm = op->comm,
		.created = ticks(recording->communicators[op->comm].created_ns + slept.least),
		.called = ticks(op->api_ns + slept.least),
		.returned = ticks(op->return_ns + slept.most),
		.found = { .group = op->group },
	};
}

/* Some gone, others alive: it was not one group's thread, or the threads of a group that goes on. */
static void read_found(struct group_thread *thread, struct communicator *communicator, uint64_t now)
{
	unsigned int living = 0;
	uint64_t born;

	for (unsigned int i = 0; i < thread->count; i++)
		living += task_born(thread->mates[i].tid, &born) && born == thread->mates[i].born;
	thread->next_ns = now + ASK_AGAIN_NS;
	if (living == thread->count || (!living && thread->count == 1)) {
		communicator_answered(communicator, living > 0, now);
		if (living)
			return;
	} else {
		communicator_not_answered(communicator);
	}
	thread->count = 0;
	thread->next_ns = UINT64_MAX;
}

void group_threads_ask(struct group_threads *threads, struct recording *recording, const struct glimpse *op,
		       uint64_t now)
{
	struct communicator *communicator = &recording->communicators[op->comm];
	struct group_thread *thread = &threads->of[op->comm];
	bool blocks = atomic_load_explicit(&communicator->launches_here, memory_order_relaxed);

	if (!op->group || !(op->known & RW_KNOWN_RETURN) || blocks || !recording->starts[op->comm].address)
		return;
	if (thread->group != op->group)
		*thread = (struct group_thread){ .group = op->group, .next_ns = op->return_ns + ASK_AFTER_NS };
	if (now < thread->next_ns)
		return;
	if (thread->count)
		read_found(thread, communicator, now);
	else if (!threads->search.on && !nccl_answered(communicator, op->return_ns))
		begin(threads, recording, op);
}

static void add(struct group_thread *found, uint32_t tid, uint64_t born)
{
	if (found->count < GROUP_THREAD_MATES)
		found->mates[found->count] = (struct group_thread_mate){ tid, born };
	found->count++;
}

/* Those made since the communicator, and not within the call, are of other groups. */
static void examine(struct group_search *search, const struct thread_start *start, uint32_t tid)
{
	uint64_t born;

	if (!tid || !task_born(tid, &born))
		return;
	bool older = born < search->created, within = born >= search->called && born <= search->returned;
	if ((!older && !within) || !thread_start_is(tid, start))
		return;
	search->common |= older;
	if (within && search->found.count <= GROUP_THREAD_MATES)
		add(&search->found, tid, born);
}

static void end(struct group_threads *threads, uint64_t now)
{
	struct group_search *search = &threads->search;
	struct group_thread *thread = &threads->of[search->comm];

	search->on = false;
	if (thread->group != search->found.group)
		return;
	thread->walks++;
	if (search->common || search->found.count > GROUP_THREAD_MATES ||
	    (!search->found.count && thread->walks == WALKS)) {
		thread->next_ns = UINT64_MAX;
	} else if (!search->found.count) {
		thread->next_ns = now + WALK_AGAIN_NS;
	} else {
		*thread = search->found;
	}
}

void group_threads_poll(struct group_threads *threads, struct recording *recording, uint64_t now)
{
	struct group_search *search = &threads->search;
	struct task_entry entries[TASK_LIST_ROOM];

	if (!search->on)
		return;
	size_t count = task_list(search->at, entries);
	for (size_t i = 0; i < count && i < WALK_THREADS; i++) {
		examine(search, &recording->starts[search->comm], entries[i].tid);
		search->at = entries[i].after;
	}
	if (!count)
		end(threads, now);
}
