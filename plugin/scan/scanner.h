/* SPDX-License-Identifier: MIT */
/*
 * Scans of buffers on the GPU: collects the segments that a thread wants scanned into batches, launches those in the
 * right order around a collective, and gives their results to the drain thread. Everything on a collective's path is
 * lock-free, without allocation and without a driver call that waits. The first CUDA error turns it off for good.
 *
 * Order on one thread:
 *     call:  scanner_add(…CALL)… scanner_before_call() [NCCL] scanner_behind_call()
 *     plan:  [NCCL launches] scanner_add(…PLAN)… scanner_behind_plan()
 * The second can lie within the first.
 */
#ifndef PLUGIN_SCAN_SCANNER_H
#define PLUGIN_SCAN_SCANNER_H

#include <rankwatch/blackbox.h>

#include "blackbox/writer.h"
#include "plugin/scan/scan_buffers.h"
#include "plugin/scan/scan_device.h"

struct scanner {
	const struct driver *driver;
	struct box_writer *box;
	const struct scan_image *images;
	struct scan_device devices[RW_BOX_DEVICES];
	_Atomic uint32_t device_count;
	bool nodes; /* for graphs, too: set before the first device */
	_Atomic uint32_t launch_ns; /* what a launch costs beyond the time of its scans, on the first device */
	_Atomic bool on;
	_Atomic int error; /* CUresult that turned it off */
	_Atomic bool given_up; /* and the header says so */
};

/* What a thread wants scanned. */
struct scan_request {
	struct scan_device *device;
	enum scan_place place;
	uint64_t stream; /* that orders it */
	const struct scan_buffer *buffer;
	struct rw_operation *slot; /* pending, by the caller; NULL: of a call that is being captured, `ticket` its index */
	uint64_t ticket;
	uint32_t owner; /* RW_OWNER_SCAN_IN, RW_OWNER_SCAN_OUT or both */
	/* Nothing can happen to the stream before the launch that makes it captured. Else the driver is asked. */
	bool capture_is_known;
};

/* Once per process, before the box is shown. `state` (in the box's header): what people shall read while it is on.
 * `why_not`: NULL, or it stays off and says this. `images`: for scan_device_open(). */
void scanner_open(struct scanner *scanner, const struct driver *driver, struct box_writer *box,
		  const struct scan_image *images, const char *state, const char *why_not);
static inline bool scanner_is_on(const struct scanner *scanner)
{
	return atomic_load_explicit(&scanner->on, memory_order_relaxed);
}
/* Off for good: this call of the driver failed. Any thread; the first one's reason is kept. */
void scanner_give_up(struct scanner *scanner, const char *call, int error);
static inline void scanner_count(_Atomic uint64_t *counter, uint64_t amount)
{
	atomic_fetch_add_explicit(counter, amount, memory_order_relaxed);
}
/* At a communicator's init, its device current; callers take turns. What scanning needs in that context, made at its
 * first communicator; NULL: no scanning there, which the header's scan_state says. */
struct scan_device *scanner_device(struct scanner *scanner);

/* The operation waits for the result from now on; or the reason why there will be none. */
enum rw_unscannable scanner_add(struct scanner *scanner, const struct scan_request *request);
/* The operation's buffer is not scanned, for this reason: flagged and counted. slot: NULL, only counted. */
void scanner_refuse(struct scanner *scanner, struct rw_operation *slot, enum rw_unscannable reason);

/* Batches that this thread is filling. Initial-exec, and as scarce as in recorder.c. */
extern __thread struct scan_batch *scanner_batches __attribute__((tls_model("initial-exec"), visibility("hidden")));
/* Nothing is to be done for most calls and plans. */
static inline bool scanner_has_batches(void)
{
	return scanner_batches;
}
/* Returns how long it took, ns. */
uint64_t scanner_before_call(struct scanner *scanner);
/* failed: NCCL has launched nothing. */
void scanner_behind_call(struct scanner *scanner, bool failed);
void scanner_behind_plan(struct scanner *scanner);

/* One result, its operation still waiting for it. */
typedef void scanner_take(void *argument, const struct scan_entry *entry, const struct scan_segment *segment,
			  const struct scan_result *result);
/* The drain thread: hands out what has come, in no order. No CUDA call. Returns how many batches are still out. */
unsigned int scanner_collect(struct scanner *scanner, scanner_take *take, void *argument);

/* One result of a graph's replay. */
typedef void scanner_take_replay(void *argument, struct scan_captured *call, const struct scan_node_segment *segment,
				 const struct scan_replay *replay);
/* The drain thread: hands out what replays have found, in the order in which they found it. Returns whether any did. No
 * CUDA call. */
bool scanner_collect_replays(struct scanner *scanner, scanner_take_replay *take, void *argument);
/* From now on one replay in `every`, a power of two, is scanned; 0: none but each graph's first. */
void scanner_sample_replays(struct scanner *scanner, uint32_t every);

#endif
