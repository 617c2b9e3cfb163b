/* SPDX-License-Identifier: MIT */
#include "plugin/operations/share.h"

#include "plugin/recording/recording.h"

/* By communicator index; of the thread that uses the communicator. */
struct share {
	struct operation_launch launch;
	uint64_t stream;
	uint32_t group;
	uint32_t captured;    /* the last group with a captured call */
	uint16_t next;        /* index + 1 */
	bool several_streams; /* only NCCL knows where they meet, or when: no GPU progress */
	bool foreign; /* when the launches began, the thread's context was another one than the communicator's */
};

static struct share table[RW_BOX_COMMS];

/* Where threads use a communicator at the same time, which NCCL does not allow, they overwrite each other's links, and
 * these can form a circle: no walk is longer than the table. */
#define FOR_EACH_SHARE(at, shares)                                                                                     \
	for (uint32_t at = (shares)->first, left = RW_BOX_COMMS; at && left; at = table[at - 1].next, left--)

void share_join(struct shares *shares, const struct communicator *communicator, uint64_t stream)
{
	struct share *share = &table[communicator->index];

	if (share->group == shares->group) {
		share->several_streams |= share->stream != stream;
		return;
	}
	*share = (struct share){ .stream = stream, .group = shares->group, .next = shares->first };
	shares->first = (uint16_t)(communicator->index + 1);
}

void share_is_not_followed(const struct communicator *communicator)
{
	table[communicator->index].several_streams = true;
}

void shares_are_not_followed(const struct shares *shares)
{
	FOR_EACH_SHARE (at, shares)
		table[at - 1].several_streams = true;
}

void share_note_captured(const struct shares *shares, const struct communicator *communicator)
{
	table[communicator->index].captured = shares->group;
}

bool share_is_in(const struct shares *shares, const struct communicator *communicator)
{
	const struct share *share = &table[communicator->index];

	return shares->group && (share->group == shares->group || share->captured == shares->group);
}

const struct operation_launch *share_launch(const struct communicator *communicator)
{
	return &table[communicator->index].launch;
}

static void note_context(struct recording *recording, const struct communicator *communicator, struct share *share)
{
	driver_context current;

	share->foreign = communicator->counters.write && recording->progress.driver.context_current(&current) == 0 &&
			 current != communicator->counters.context;
}

static void begin_share(struct recording *recording, struct communicator *communicator, struct share *share)
{
	if (share->several_streams) {
		share->launch = (struct operation_launch){ .begin_ns = clock_ns(), .stream = share->stream };
		share->launch.plan = atomic_fetch_add_explicit(&communicator->plans, 1, memory_order_relaxed) + 1;
	} else {
		launch_begin(communicator, &share->launch, share->stream);
		/* Captured calls have no share. */
		if (!communicator->counters.write)
			launch_count_next(communicator);
		else if (launches_are_followed(communicator, share->group))
			launch_follow_begin(recording, communicator, &share->launch, false);
	}
}

static void end_share(struct recording *recording, struct communicator *communicator, struct share *share)
{
	launch_end(recording, communicator, &share->launch);
}

/* The progress counters belong to the communicator's context; one thread can drive several devices in a group. */
static void with_context(struct recording *recording, struct communicator *communicator, struct share *share,
			 void (*step)(struct recording *, struct communicator *, struct share *))
{
	const struct driver *driver = &recording->progress.driver;
	driver_context current;
	bool pushed = share->foreign && driver->context_push(communicator->counters.context) == 0;

	step(recording, communicator, share);
	if (pushed)
		driver->context_pop(&current);
}

static void for_each(struct recording *recording, const struct shares *shares,
		     void (*step)(struct recording *, struct communicator *, struct share *))
{
	FOR_EACH_SHARE (at, shares) {
		struct communicator *communicator = &recording->communicators[at - 1];

		if (!communicator->launches_elsewhere)
			with_context(recording, communicator, &table[at - 1], step);
	}
}

void shares_begin_launches(struct recording *recording, const struct shares *shares, uint32_t tid)
{
	FOR_EACH_SHARE (at, shares) {
		struct communicator *communicator = &recording->communicators[at - 1];

		table[at - 1].launch.tid = tid;
		if (!communicator->launches_elsewhere && !table[at - 1].several_streams &&
		    launches_are_followed(communicator, table[at - 1].group))
			note_context(recording, communicator, &table[at - 1]);
	}
	for_each(recording, shares, begin_share);
}

void shares_end_launches(struct recording *recording, const struct shares *shares)
{
	for_each(recording, shares, end_share);
}
