/* SPDX-License-Identifier: MIT */
#include "feed/feed_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "analysis/report/gpu_record.h"
#include "analysis/explain/port_evidence.h"
#include "blackbox/ending.h"
#include "blackbox/gpu_memory.h"
#include "blackbox/ports.h"

struct feed *feed_new(struct analysis *analysis, analysis_process_id id, struct box_reader *reader)
{
	struct feed *feed = calloc(1, sizeof(*feed));

	if (!feed) {
		box_reader_close(reader);
		return NULL;
	}
	feed->analysis = analysis;
	feed->id = id;
	feed->reader = *reader;
	feed->life = BOX_ALIVE;
	reader->fd = -1;
	return feed;
}

void feed_free(struct feed *feed)
{
	if (!feed)
		return;
	box_reader_close(&feed->reader);
	unfinished_free(&feed->unfinished);
	free(feed);
}

void feed_set_mount(struct feed *feed, feed_mount *mount, void *argument)
{
	feed->mount = mount;
	feed->mount_argument = argument;
}

void feed_set_writer(struct feed *feed, pid_t pid)
{
	feed->has_writer = true;
	feed->writer = pid;
}

enum box_life feed_life(const struct feed *feed)
{
	return feed->life;
}

const struct box_reader *feed_reader(const struct feed *feed)
{
	return &feed->reader;
}

uint64_t feed_rejected(const struct feed *feed)
{
	return feed->rejected;
}

int feed_error(const struct feed *feed)
{
	return feed->error;
}

uint64_t feed_last_ns(const struct feed *feed)
{
	return feed->last_ns;
}

const char *feed_thread_name(const struct feed *feed, uint32_t tid)
{
	return host_samples_thread_name(&feed->samples, tid);
}

bool feed_is_live(const struct feed *feed)
{
	return feed->until_ns == OPERATION_TIME_MAX;
}

void feed_account(struct feed *feed, int err)
{
	if (err == -ENOMEM && !feed->error)
		feed->error = err;
	else if (err)
		feed->rejected++;
}

bool feed_may_still_come(const struct feed *feed)
{
	return feed_is_live(feed) && feed->life != BOX_ORPHANED;
}

bool feed_is_due(struct feed *feed, uint64_t at_ns)
{
	if (at_ns <= feed->until_ns) {
		if (at_ns > feed->last_ns)
			feed->last_ns = at_ns;
		return true;
	}
	if (at_ns < feed->next_ns && at_ns <= OPERATION_TIME_MAX)
		feed->next_ns = at_ns;
	return false;
}

/* Of a copy it does not matter whether its process still runs: it shows the past. */
static bool is_past(const struct feed *feed)
{
	return feed->life == BOX_ORPHANED || (feed->life != BOX_ALIVE && !feed_is_live(feed));
}

static void announce(struct feed *feed)
{
	const struct rw_box_header *header = &feed->reader.header;
	pid_t pid = feed->writer;

	if (!feed->has_writer)
		box_reader_life(&feed->reader, &pid);
	feed_account(feed, analysis_add_process(feed->analysis, &(struct analysis_process){
								    .id = feed->id,
								    .pid = pid ? pid : (int32_t)header->pid,
								    .pid_unproven = feed->has_writer && !pid,
								    .past = is_past(feed),
								    .start_time_ticks = header->start_time_ticks,
								    .box = header,
								}));
	feed->announced = true;
}

static void pass_communicator(struct feed *feed, uint32_t index, struct rw_communicator *communicator)
{
	if (!communicator->created_ns || !feed_is_due(feed, communicator->created_ns))
		return;
	if (!feed_is_due(feed, communicator->ended_ns))
		communicator->ended_ns = 0;
	if (!memcmp(communicator, &feed->communicators[index], sizeof(*communicator)))
		return;
	feed->communicators[index] = *communicator;
	if (!feed->announced)
		announce(feed);
	/* The process may have been announced before it had a communicator, and so before it had a device or called
	 * NCCL. */
	feed_account(feed, analysis_set_box(feed->analysis, feed->id, &feed->reader.header));
	feed_account(feed, analysis_add_communicator(feed->analysis, feed->id, index, communicator));
}

/* A process may wait in its first communicator's init for ever. */
static void pass_init(struct feed *feed)
{
	struct rw_init init = feed->reader.header.init;

	if (!feed_is_due(feed, init.since_ns))
		init.since_ns = 0;
	if (init.since_ns == feed->init_since_ns)
		return;
	if (!feed->announced)
		announce(feed);
	feed->init_since_ns = init.since_ns;
	feed_account(feed, analysis_set_init(feed->analysis, feed->id, &init));
}

/* In init, when there may be no communicator yet. */
static void pass_held(struct feed *feed)
{
	if (!feed_poll_held(feed))
		return;
	if (!feed->announced)
		announce(feed);
	feed_account(feed, analysis_set_held(feed->analysis, feed->id, *feed->held_call ? feed->held_call : NULL,
					     feed->held_remedy, feed->now_ns));
}

/* How many of them are to be passed on: none where nothing has changed since they were. A replay passes entries on as
 * they were before they were read: it reads all. */
static int read_communicators(struct feed *feed, uint32_t first, uint32_t count, struct rw_communicator *run)
{
	if (!feed_is_live(feed))
		return box_reader_communicators(&feed->reader, first, count, run);
	int changed = box_reader_communicators_again(&feed->reader, first, count, feed->communicators + first, run);

	return changed > 0 ? (int)count : changed;
}

static int pass_communicators(struct feed *feed)
{
	struct rw_communicator run[FEED_RUN];
	uint32_t used = (uint32_t)feed->reader.header.comms_used;

	for (uint32_t first = 0; first < used; first += FEED_RUN) {
		int count = read_communicators(feed, first, used - first < FEED_RUN ? used - first : FEED_RUN, run);

		if (count < 0)
			return count;
		for (int i = 0; i < count; i++)
			pass_communicator(feed, first + (uint32_t)i, &run[i]);
	}
	return 0;
}

static void pass_page(struct feed *feed, uint32_t index, const struct rw_gpu_progress *page, uint64_t now_ns)
{
	feed_account(feed,
		     analysis_add_progress(feed->analysis, feed->id, index, page->gpu_started, page->gpu_done, now_ns));
	if (page->signal_waits && feed_is_due(feed, page->signal_since_ns))
		feed_account(feed, analysis_set_signals(feed->analysis, feed->id, index, page));
}

/* feed->progress, of the communicators that were passed on. */
static void pass_progress(struct feed *feed, uint64_t now_ns)
{
	for (uint32_t i = 0; i < feed->reader.header.comms_used; i++)
		if (feed->communicators[i].created_ns)
			pass_page(feed, i, &feed->progress[i], now_ns);
}

int feed_pass_gpu_page(struct feed *feed, uint64_t now_ns)
{
	int count = box_reader_progress(&feed->reader, 0, (uint32_t)feed->reader.header.comms_used, feed->progress);

	if (count >= 0)
		pass_progress(feed, now_ns);
	return count < 0 ? count : 0;
}

/* False: it is not there yet, try again. */
static bool pass_sample(struct feed *feed, const struct rw_host_sample *sample, enum box_slot state)
{
	struct analysis_wait wait;

	if (state == BOX_SLOT_BUSY)
		return !feed_may_still_come(feed);
	if (state != BOX_SLOT_OK)
		return true;
	if (!feed_is_due(feed, sample->monotonic_ns))
		return sample->monotonic_ns > OPERATION_TIME_MAX;
	feed->samples.machine = feed->reader.header.machine;
	if (host_samples_take(&feed->samples, sample, feed->mount, feed->mount_argument, &wait)) {
		wait.process = feed->id;
		feed_account(feed, analysis_add_wait(feed->analysis, &wait));
	}
	return true;
}

static int pass_samples(struct feed *feed)
{
	uint64_t head = feed->reader.header.samples_head;
	uint32_t slots = feed->reader.header.sample_slots;
	struct rw_host_sample run[FEED_RUN];

	if (head - feed->next_sample > slots)
		feed->next_sample = head - slots;
	while (feed->next_sample != head) {
		uint64_t left = head - feed->next_sample;
		int count = box_reader_samples(&feed->reader, feed->next_sample,
					       left < FEED_RUN ? (uint32_t)left : FEED_RUN, run, feed->states);

		for (int i = 0; i < count; i++, feed->next_sample++)
			if (!pass_sample(feed, &run[i], feed->states[i]))
				return 0;
		if (count <= 0)
			return count;
	}
	return 0;
}

/* Once, when its devices are known. It is for who comes when no collector is left, or for one that was started again,
 * which goes on from there. */
static void pass_gpu_memory(struct feed *feed)
{
	struct rw_gpu_memory memory;

	if (feed->gpu_memory_passed || !feed->communicators[0].created_ns)
		return;
	feed->gpu_memory_passed = true;
	if (box_gpu_memory_read(&feed->reader, &memory) > 0)
		feed_account(feed, gpu_record_put(feed->analysis, feed->id, &memory));
}

/* Likewise. */
static void pass_ports(struct feed *feed)
{
	struct rw_ports ports;

	if (feed->ports_passed)
		return;
	feed->ports_passed = true;
	if (box_ports_read(&feed->reader, &ports) > 0)
		feed_account(feed, port_record_put(feed->analysis, feed->id, &ports));
}

static void pass_heartbeat(struct feed *feed)
{
	const struct rw_box_header *header = &feed->reader.header;
	const struct analysis_scanning scanning = { header->scan_buffers, header->scan_sampled_out,
						    header->scan_host_ns, header->scan_gpu_ns, header->own_ns };

	if (!feed_is_due(feed, header->drain_ns))
		return;
	feed_account(feed, analysis_set_heartbeat(feed->analysis, feed->id, header->drain_ns));
	feed_account(feed, analysis_set_scanning(feed->analysis, feed->id, &scanning));
	feed_account(feed, analysis_set_gaps(feed->analysis, feed->id, header));
}

static void pass_interruptions(struct feed *feed)
{
	const struct rw_box_header *header = &feed->reader.header;
	bool any = header->mask_missing && feed_is_due(feed, header->mask_ns);

	for (int i = 0; i < RW_BOX_PAUSES; i++)
		any |= header->pauses[i].until_ns && feed_is_due(feed, header->pauses[i].until_ns);
	if (any)
		feed_account(feed,
			     analysis_set_interruptions(feed->analysis, feed->id, header, feed->until_ns));
}

int feed_advance(struct feed *feed, uint64_t now_ns, uint64_t until_ns)
{
	feed->now_ns = now_ns;
	feed->until_ns = until_ns;
	feed->next_ns = UINT64_MAX;
	feed_is_due(feed, feed->reader.header.created_ns);
	feed_is_due(feed, feed->reader.header.drain_ns);

	pass_init(feed);
	pass_held(feed);
	int err = pass_communicators(feed);

	if (!feed->announced)
		return err;
	pass_heartbeat(feed);
	pass_interruptions(feed);
	pass_gpu_memory(feed);
	pass_ports(feed);
	if (!err)
		err = feed_pass_operations(feed);
	/* After the operations, so that what it finishes is known. */
	if (!err && feed_is_live(feed))
		err = feed_pass_gpu_page(feed, now_ns);
	else if (!err)
		pass_progress(feed, now_ns);
	if (!err)
		err = pass_samples(feed);
	if (!err)
		err = feed_pass_waits(feed);
	return err;
}

void feed_end(struct feed *feed)
{
	bool exited = feed->reader.header.end == RW_BOX_EXITED;

	bool known = exited || (feed->life == BOX_ORPHANED && feed->reader.header.end != RW_BOX_COPIED);

	if (feed->ended || !feed->announced || !known)
		return;
	int status = box_ending_status(&feed->reader);

	/* As collector/boxes/live_boxes.c has it: a record that the process itself left is worth more. */
	exited |= status >= 0 && WIFEXITED(status);
	feed->ended = true;
	feed_account(feed, analysis_set_life(feed->analysis, feed->id, exited ? ANALYSIS_EXITED : ANALYSIS_KILLED,
					     status, feed->last_ns));
}

int feed_poll(struct feed *feed, uint64_t now_ns)
{
	/* Life first: what an orphan left is complete when it is read after. */
	feed->life = box_reader_life(&feed->reader, NULL);
	feed->passed = 0;

	int err = box_reader_refresh(&feed->reader);

	if (!err)
		err = feed_advance(feed, now_ns, OPERATION_TIME_MAX);
	if (err && !feed->error)
		feed->error = err;
	if (feed->error)
		return feed->error;
	feed_end(feed);
	return feed->passed;
}
