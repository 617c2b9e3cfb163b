/* SPDX-License-Identifier: MIT */
#include "plugin/drain/self_sampler.h"

#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "plugin/drain/task_list.h"
#include "plugin/drain/task_state.h"

enum {
	SILENT_NS = 50000000, /* without a call: sampled */
	PERIOD_NS = 50000000, /* 20 Hz at most */
	SLICE_NS = 100000,    /* CPU time of one sample for the threads that do not enqueue */
	COST_DIVISOR = 500,   /* at most 0.2 % of a core on average: a sample delays the next one by its cost × this */
	RECORDED_AGAIN = RW_BOX_SAMPLES / 2, /* before the ring overwrites a name */
};

/* What a sample showed of a thread. */
enum task_sampled {
	SAMPLED_GONE,
	SAMPLED_IDLE, /* of no interest: it enqueues nothing */
	SAMPLED_OTHER,
	SAMPLED_DISK, /* it waits for a disk, or is in a call on a file */
};

void self_sampler_open(struct self_sampler *sampler, struct box_writer *box)
{
	*sampler = (struct self_sampler){ .box = box };
}

void self_sampler_note(struct self_sampler *sampler, uint32_t tid, uint64_t api_ns)
{
	struct self_sampler_enqueuer *oldest = &sampler->enqueuers[0];

	for (int i = 0; i < SELF_SAMPLER_ENQUEUERS; i++) {
		struct self_sampler_enqueuer *enqueuer = &sampler->enqueuers[i];

		if (enqueuer->tid == tid) {
			enqueuer->last_ns = api_ns;
			return;
		}
		if (enqueuer->last_ns < oldest->last_ns)
			oldest = enqueuer;
	}
	*oldest = (struct self_sampler_enqueuer){ tid, api_ns };
}

static uint64_t hash(uint64_t seed, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;

	for (; size; size--)
		seed = (seed ^ *at++) * 0x100000001b3u; /* FNV-1a */
	return seed;
}

/* Was this recorded never, or so long ago that it must be recorded again? */
static bool must_record(struct self_sampler *sampler, uint64_t key)
{
	uint64_t number = atomic_load_explicit(&sampler->box->header->samples_head, memory_order_relaxed);
	struct self_sampler_recorded *recorded = &sampler->recorded[key % SELF_SAMPLER_RECORDED];

	if (recorded->key == key && number - recorded->number < RECORDED_AGAIN)
		return false;
	*recorded = (struct self_sampler_recorded){ key, number };
	return true;
}

static void record_name(struct self_sampler *sampler, const struct rw_host_sample *state, const char name[TASK_NAME])
{
	struct rw_host_sample sample = {
		.monotonic_ns = state->monotonic_ns,
		.tid = state->tid,
		.kind = RW_SAMPLE_THREAD,
		.fd = -1,
	};

	if (!must_record(sampler, hash(state->tid, name, strlen(name))))
		return;
	memcpy(sample.text, name, strlen(name));
	box_writer_sample(sampler->box, &sample);
}

/* The path in pieces; the last one is never full, so that a reader sees the end. False: no path that a disk or a server
 * may be behind. */
static bool record_file(struct self_sampler *sampler, const struct rw_host_sample *state)
{
	struct rw_host_sample sample = {
		.monotonic_ns = state->monotonic_ns,
		.tid = state->tid,
		.kind = RW_SAMPLE_FILE,
		.fd = state->fd,
	};
	char path[TASK_PATH];
	size_t length = task_file(state->fd, path, &sample.detail);
	bool is_file = length > 5 && path[0] == '/' && strncmp(path, "/dev/", 5) != 0;

	if (length == 0 || !must_record(sampler, hash((uint64_t)state->tid << 32 | (uint32_t)state->fd, path, length)))
		return is_file;
	for (size_t at = 0; at <= length; at += sizeof(sample.text), sample.state++) {
		size_t piece = length - at < sizeof(sample.text) ? length - at : sizeof(sample.text);

		memset(sample.text, 0, sizeof(sample.text));
		memcpy(sample.text, path + at, piece);
		box_writer_sample(sampler->box, &sample);
	}
	return is_file;
}

/* FUSE, and NFS with its interruptible waits, sleep in S where a disk's wait is D: a call on a file is enough. */
static enum task_sampled sample_thread(struct self_sampler *sampler, uint32_t tid, bool enqueues, uint64_t now)
{
	struct rw_host_sample sample = { .monotonic_ns = now, .tid = tid, .kind = RW_SAMPLE_STATE };
	char name[TASK_NAME];
	bool in_file = false;

	if (!task_system_call(tid, &sample.system_call, &sample.fd))
		return SAMPLED_GONE;
	if (!enqueues && task_is_idle(sample.system_call))
		return SAMPLED_IDLE;
	if (!task_state(tid, &sample, name))
		return SAMPLED_GONE;
	record_name(sampler, &sample, name);
	if (sample.fd >= 0)
		in_file = record_file(sampler, &sample) && !task_polls(sample.system_call);
	box_writer_sample(sampler->box, &sample);
	return in_file || sample.state == 'D' ? SAMPLED_DISK : SAMPLED_OTHER;
}

/* Threads that were seen waiting for a disk come first in each sample: one must not be lost among many others. One that
 * waits for something else right now stays on the list: a writer that sleeps between two records is in its file again
 * before the walk over all threads comes back to it. */
static void sample_busy(struct self_sampler *sampler, uint64_t now)
{
	for (int i = 0; i < SELF_SAMPLER_BUSY; i++) {
		struct self_sampler_busy *busy = &sampler->busy[i];
		enum task_sampled sampled = busy->tid ? sample_thread(sampler, busy->tid, false, now) : SAMPLED_IDLE;

		if (sampled == SAMPLED_GONE)
			*busy = (struct self_sampler_busy){ 0 };
		else if (sampled == SAMPLED_DISK)
			busy->last_ns = now;
	}
}

static bool is_busy(const struct self_sampler *sampler, uint32_t tid)
{
	for (int i = 0; i < SELF_SAMPLER_BUSY; i++)
		if (sampler->busy[i].tid == tid)
			return true;
	return false;
}

/* Takes the place of the one that was not seen waiting for a disk for the longest time. */
static void note_busy(struct self_sampler *sampler, uint32_t tid, uint64_t now)
{
	struct self_sampler_busy *oldest = &sampler->busy[0];

	for (int i = 1; i < SELF_SAMPLER_BUSY; i++)
		if (sampler->busy[i].last_ns < oldest->last_ns)
			oldest = &sampler->busy[i];
	*oldest = (struct self_sampler_busy){ tid, now };
}

static bool is_enqueuer(const struct self_sampler *sampler, uint32_t tid)
{
	for (int i = 0; i < SELF_SAMPLER_ENQUEUERS; i++)
		if (sampler->enqueuers[i].tid == tid)
			return true;
	return false;
}

static bool sample_silent_enqueuers(struct self_sampler *sampler, uint64_t now)
{
	bool silent = false;

	for (int i = 0; i < SELF_SAMPLER_ENQUEUERS; i++) {
		const struct self_sampler_enqueuer *enqueuer = &sampler->enqueuers[i];

		if (!enqueuer->tid || now < enqueuer->last_ns + SILENT_NS)
			continue;
		silent = true;
		sample_thread(sampler, enqueuer->tid, true, now);
	}
	return silent;
}

static uint64_t own_cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

static void sample_other(struct self_sampler *sampler, uint32_t tid, uint64_t now)
{
	if (!tid || tid == sampler->own_tid || is_enqueuer(sampler, tid) || is_busy(sampler, tid))
		return;
	if (sample_thread(sampler, tid, false, now) == SAMPLED_DISK)
		note_busy(sampler, tid, now);
}

/* As many of the others as the slice allows; the next sample goes on where this one stopped. */
static void sample_others(struct self_sampler *sampler, uint64_t now, uint64_t until_ns)
{
	while (own_cpu_ns() < until_ns) {
		struct task_entry entries[TASK_LIST_ROOM];
		size_t count = task_list(sampler->walked, entries);

		if (!count) {
			sampler->walked = 0;
			break;
		}
		for (size_t i = 0; i < count && own_cpu_ns() < until_ns; i++) {
			sampler->walked = entries[i].after;
			sample_other(sampler, entries[i].tid, now);
		}
	}
}

void self_sampler_poll(struct self_sampler *sampler, uint64_t now)
{
	if (now < sampler->next_ns)
		return;
	if (!sampler->own_tid)
		sampler->own_tid = (uint32_t)syscall(SYS_gettid);
	uint64_t begin = own_cpu_ns();
	if (sample_silent_enqueuers(sampler, now)) {
		sample_busy(sampler, now);
		/* A slice of its own: what the threads above cost must not stop the walk for good. */
		sample_others(sampler, now, own_cpu_ns() + SLICE_NS);
	}
	uint64_t pause = (own_cpu_ns() - begin) * COST_DIVISOR;
	sampler->next_ns = now + (pause > PERIOD_NS ? pause : PERIOD_NS);
}
