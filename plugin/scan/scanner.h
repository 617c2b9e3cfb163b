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
	_Atomic bool given_up; /* and the header has the reason */
};

/* A buffer that a thread wants to have scanned. */
struct scan_request {
	struct scan_device *device;
	enum scan_place place;
	uint64_t stream; /* into which the scan is launched */
	const struct scan_buffer *buffer;
	struct rw_operation *slot; /* kept pending by the caller; NULL: the call is being captured, and `ticket` is its index */
	uint64_t ticket;
	uint32_t owner; /* RW_OWNER_SCAN_IN, RW_OWNER_SCAN_OUT or both */
	/* Whether the stream is captured is known and cannot change before the launch. Else the driver is queried. */
	bool capture_is_known;
};

/* Once per process, before the box gets its name. `state` is written into the box's header, for people to read while
 * scanning is on. `why_not`: NULL, or the reason why it stays off, which is written instead. `images`: for
 * scan_device_open(). */
void scanner_open(struct scanner *scanner, const struct driver *driver, struct box_writer *box,
		  const struct scan_image *images, const char *state, const char *why_not);
static inline bool scanner_is_on(const struct scanner *scanner)
{
	return atomic_load_explicit(&scanner->on, memory_order_relaxed);
}
/* Turns scanning off for good, because this call of the driver failed. Any thread; the first reason is kept. */
void scanner_give_up(struct scanner *scanner, const char *call, int error);
static inline void scanner_count(_Atomic uint64_t *counter, uint64_t amount)
{
	atomic_fetch_add_explicit(counter, amount, memory_order_relaxed);
}
/* At a communicator's init, with its device current and never by two threads at a time. Returns what scanning needs in
 * that context, which is created at the context's first communicator; NULL: nothing is scanned there, and the header's
 * scan_state has the reason. */
struct scan_device *scanner_device(struct scanner *scanner);

/* RW_UNSCANNABLE_NONE: the operation's slot stays pending until the result is there. Else the reason why there will be
 * none. */
enum rw_unscannable scanner_add(struct scanner *scanner, const struct scan_request *request);
/* The operation's buffer is not scanned, for this reason: flagged and counted. slot: NULL, only counted. */
void scanner_refuse(struct scanner *scanner, struct rw_operation *slot, enum rw_unscannable reason);

/* The batches that this thread is filling. Initial-exec, and static TLS is scarce: plugin/operations/thread.h. */
extern __thread struct scan_batch *scanner_batches __attribute__((tls_model("initial-exec"), visibility("hidden")));
/* For most calls and plans there are none. */
static inline bool scanner_has_batches(void)
{
	return scanner_batches;
}
/* Returns how long it took, ns. */
uint64_t scanner_before_call(struct scanner *scanner);
/* failed: NCCL refused the call and has launched nothing. */
void scanner_behind_call(struct scanner *scanner, bool failed);
void scanner_behind_plan(struct scanner *scanner);

/* Takes one result. */
typedef void scanner_take(void *argument, const struct scan_entry *entry, const struct scan_segment *segment,
			  const struct scan_result *result);
/* On the plugin's thread: hands out the results that have arrived, in no particular order. Makes no CUDA call. Returns
 * how many batches are still in flight. */
unsigned int scanner_collect(struct scanner *scanner, scanner_take *take, void *argument);

/* Takes one result of a graph's replay. */
typedef void scanner_take_replay(void *argument, struct scan_captured *call, const struct scan_node_segment *segment,
				 const struct scan_replay *replay);
/* On the plugin's thread: hands out the results of replays in the order in which the GPU wrote them. Returns whether there
 * were any. Makes no CUDA call. */
bool scanner_collect_replays(struct scanner *scanner, scanner_take_replay *take, void *argument);
/* From now on one replay in `every`, a power of two, is scanned; 0: none but each graph's first. */
void scanner_sample_replays(struct scanner *scanner, uint32_t every);

#endif
