/* SPDX-License-Identifier: MIT */
/*
 * Where the threads of this process are, sampled through /proc/self/task while a thread that enqueues operations is
 * silent: the cause of a lateness, without privilege and without a collector. Used only by the plugin's thread.
 * Reads only what cannot wait for a device or a server: procfs, readlink of a descriptor, cached attributes.
 */
#ifndef PLUGIN_DRAIN_SELF_SAMPLER_H
#define PLUGIN_DRAIN_SELF_SAMPLER_H

#include <stdint.h>

#include "blackbox/writer.h"

enum { SELF_SAMPLER_ENQUEUERS = 16, SELF_SAMPLER_BUSY = 4, SELF_SAMPLER_RECORDED = 256 };

struct self_sampler {
	struct box_writer *box;
	struct self_sampler_enqueuer {
		uint32_t tid;
		uint64_t last_ns; /* of its calls */
	} enqueuers[SELF_SAMPLER_ENQUEUERS];
	/* Others that were seen waiting for a disk: each sample includes them, also while they wait for something
	 * else. */
	struct self_sampler_busy {
		uint32_t tid; /* 0 = free */
		uint64_t last_ns; /* when it was seen waiting for a disk */
	} busy[SELF_SAMPLER_BUSY];
	/* Names and paths recorded lately, by hash: the number of the sample that recorded them. */
	struct self_sampler_recorded {
		uint64_t key, number;
	} recorded[SELF_SAMPLER_RECORDED];
	int64_t walked; /* where the walk over the other threads stands, in task_list() */
	uint32_t own_tid;
	uint64_t next_ns;
};

void self_sampler_open(struct self_sampler *sampler, struct box_writer *box);
/* A thread enqueued an operation at that time. */
void self_sampler_note(struct self_sampler *sampler, uint32_t tid, uint64_t api_ns);
/* Samples if it is time to. Costs nothing else than a comparison otherwise. */
void self_sampler_poll(struct self_sampler *sampler, uint64_t now);

#endif
