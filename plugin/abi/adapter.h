/* SPDX-License-Identifier: MIT */
/* What the adapters of all versions do alike, once an event is decoded. */
#ifndef PLUGIN_ABI_ADAPTER_H
#define PLUGIN_ABI_ADAPTER_H

#include "plugin/chain/chain.h"
#include "plugin/init/init.h"
#include "plugin/nccl/profiler.h"
#include "plugin/operations/recorder.h"

/* What to ask NCCL for. Index: enum init_wish. */
typedef const int adapter_masks[INIT_WISH_COUNT];

/* NCCL keeps one mask for all communicators of the process, and everybody writes into it: ours only adds, last of all,
 * and only when something is recorded; it takes kernel events back where they would harm the job
 * (plugin/init/kernel_events.h). PROFILER_SUCCESS whatever happens: an error would make NCCL 2.30 drop the library
 * under the feet of other communicators. log: NULL where NCCL gives none. */
int adapter_init(const struct communicator_init *communicator, profiler_log *log, adapter_masks masks,
		 void **context, int *mask);

/* Decodes the event and hands it to the recorder; our handle, or NULL. `parent`: ours. */
typedef void *adapter_start(void *context, void *parent, const void *descriptor);
/* Before version 5: a type of one byte, and nothing but a parent to hang from. */
void *adapter_start_old(void *context, void *descriptor, adapter_start *start);
/* With a plugin behind ours: both. event: type, descriptor, parent, group and captured are filled. */
void *adapter_start_both(void *context, struct chain_event *event, adapter_start *start);

/* Events of NCCL's progress threads, the same in all versions; NULL for any other. With PXN they come for a
 * communicator of another process, whose context and parent mean nothing here: only a ProxyOp shows that, its steps are
 * recognised by its handle. */
void *adapter_start_proxy(void *context, void *parent, const void *descriptor);

/* The type in a task that has no call above it: AllGather and Broadcast pose as bytes, and then it is not known. */
uint8_t adapter_task_dtype(uint8_t function, uint8_t dtype);
int adapter_stop(void *handle);
int adapter_record_state(void *handle, int state, void *arguments);
int adapter_finalize(void *context);

#endif
