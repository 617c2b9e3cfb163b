/* SPDX-License-Identifier: MIT */
/*
 * The steps that the program itself counts: rankwatch_step() of rankwatch/rankwatch.h, and the userTag that profiler
 * interface 7 reports of each call. Each step that begins becomes a step mark in the ring (rankwatch/operation.h). Once
 * the program has called rankwatch_step(), tags count no more.
 *
 * A tag may be anything. It is taken for a step while it only grows, by little, and is the same for several operations;
 * with the first tag that is otherwise a mark takes the earlier ones back, and no tag of this process counts again.
 */
#ifndef PLUGIN_OPERATIONS_STEP_H
#define PLUGIN_OPERATIONS_STEP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "plugin/recording/recording.h"

/* The newest tag; 0 none. Hidden, as in recording.h. */
extern __attribute__((visibility("hidden"))) _Atomic uint64_t step_newest_tag;

/* What the program counted before there was a recording. Once, when it has begun. */
void step_begin(struct recording *recording);
/* The call that begins has this tag; 0: none. */
void step_take_tag(uint64_t tag);

/* On the path of every collective, before step_take_tag(): is there anything to be taken? Wait-free, no allocation, no
 * system call. */
static inline bool step_is_new_tag(uint64_t tag)
{
	return tag != atomic_load_explicit(&step_newest_tag, memory_order_relaxed);
}

#endif
