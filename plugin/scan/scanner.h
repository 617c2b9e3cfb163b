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
#include "plugin/scan/scan_batch.h"
#include "plugin/scan/scan_buffers.h"
#include "plugin/scan/scan_device.h"

/* What launches have cost whose results are there; the plugin's thread's. */
struct scanner_costs {
	uint64_t launches;
	uint64_t host_ns; /* of the job's threads */
	uint64_t gpu_ns;
};

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
	/* first: of it, with one of the first operations of a communicator (RW_SCAN_FIRST) */
	struct scanner_costs all, first;
};

/* A buffer to be scanned, and which results of its operation that gives. */
struct scan_part {
	struct scan_buffer buffer;
	uint32_t owner; /* RW_OWNER_SCAN_IN, RW_OWNER_SCAN_OUT or both */
};

/* What a thread wants to have scanned of one operation, and where. */
struct scan_request {
	struct scan_device *device;
	uint64_t stream; /* into which the scan is launched */
	/* kept pending by the caller; NULL: the call is being captured, and `ticket` is its index */
	struct rw_operation *slot;
	uint64_t ticket;
	enum scan_place place;
	/* Whether the stream is captured is known and cannot change before the launch. Else the driver is queried. */
	bool capture_is_known;
	bool is_device_memory; /* all parts are; else the driver is queried, and those that are not are refused */
	uint32_t count; /* of parts: the input, the output, or both in this order */
	struct scan_part parts[2];
};

/* Once per process, before the box gets its name. `state` is written into the box's header, for people to read while
 * scanning is on. `why_not`: NULL, or the reason why it stays off, which is written instead. `images`: for
 * scan_device_open(). */
void scanner_open(struct scanner *scanner, const struct driver *driver, struct box_writer *box,
		  const struct scan_image *images, const char *state, const char *why_not);
/* Turns it off for good, before any device is opened; `why`: for people. Does nothing where it is off. */
void scanner_close(struct scanner *scanner, const char *why);
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

/* Scanning is on. The operation's slot stays pending until the results are there; what cannot be scanned is refused,
 * and is no longer among the request's parts. */
void scanner_add(struct scanner *scanner, struct scan_request *request);
/* The operation's buffer is not scanned, for this reason: flagged and counted. slot: NULL, only counted. */
void scanner_refuse(struct scanner *scanner, struct rw_operation *slot, enum rw_unscannable reason);

/* The batches that this thread is filling. Initial-exec, and static TLS is scarce: plugin/operations/thread.h. */
extern __thread struct scan_batch *scanner_batches __attribute__((tls_model("initial-exec"), visibility("hidden")));
/* For most calls and plans there are none. */
static inline bool scanner_has_batches(void)
{
	return scanner_batches;
}

/* A query of the driver about memory, for one address after the other. */
struct scan_memory_query {
	unsigned int type, managed;
	void *values[2];
};

static inline void scanner_open_query(struct scan_memory_query *query)
{
	query->values[0] = &query->type;
	query->values[1] = &query->managed;
}

static inline bool scanner_is_device_memory(const struct scanner *scanner, struct scan_memory_query *query,
					    uint64_t address)
{
	static const int attributes[] = { DRIVER_POINTER_MEMORY_TYPE, DRIVER_POINTER_IS_MANAGED };

	query->type = query->managed = 0;
	return scanner->driver->scan.pointer_attributes(2, attributes, query->values, address) == 0 &&
	       query->type == DRIVER_MEMORY_DEVICE && !query->managed;
}

/* What the driver has said about the input and the output of an operation: it is device memory. */
enum scan_memory { SCAN_MEMORY_NOT_QUERIED, SCAN_MEMORY_QUERIED = 1, SCAN_MEMORY_IN = 2, SCAN_MEMORY_OUT = 4 };

/* box_hold() in one try, for a slot of which the caller holds the host's part. False: perhaps, another thread has
 * changed the owner just now. */
static inline bool scanner_hold(struct rw_operation *slot, uint64_t ticket, uint32_t owner)
{
	uint32_t before = atomic_load_explicit(&slot->owner, memory_order_relaxed);
	uint32_t telling = ~(uint32_t)RW_OWNER_PENDING | RW_OWNER_HOST | owner;

	/* Acquire: as box_hold(). */
	return (before & telling) == box_owner(ticket, RW_OWNER_HOST) &&
	       atomic_compare_exchange_strong_explicit(&slot->owner, &before, before | owner, memory_order_acquire,
						       memory_order_relaxed);
}

/* Of the first segments of a batch, the input and the output, or the output only. */
static inline __attribute__((always_inline)) uint32_t scanner_query_pair(const struct scanner *scanner,
									  const struct scan_batch *batch, bool with_in)
{
	const struct scan_segment *segment = batch->launch.segments;
	struct scan_memory_query query;

	scanner_open_query(&query);
	if (with_in && __builtin_expect(!scanner_is_device_memory(scanner, &query, segment[0].address), 0))
		return SCAN_MEMORY_QUERIED |
		       (scanner_is_device_memory(scanner, &query, segment[1].address) ? SCAN_MEMORY_OUT : 0u);
	return SCAN_MEMORY_QUERIED | (with_in ? SCAN_MEMORY_IN : 0u) |
	       (__builtin_expect(scanner_is_device_memory(scanner, &query, segment[with_in].address), 1)
		    ? SCAN_MEMORY_OUT
		    : 0u);
}

/*
 * scanner_add() for what most plans are, and inlined: the output of one operation, and its input where that survives,
 * in device memory and behind its plan, on a thread that has nothing else to scan. They are put into the batch before
 * the driver is queried, so that nothing has to be kept across its calls. False: nothing has been done but to query the
 * driver, if *memory says so; scanner_add() decides.
 */
static inline __attribute__((always_inline)) bool
scanner_add_pair(struct scanner *scanner, struct scan_device *device, struct rw_operation *slot, uint64_t ticket,
		 const uint64_t *stream, const struct scan_buffers *buffers, bool with_in, uint32_t *memory)
{
	uint32_t owner = RW_OWNER_SCAN_OUT | (with_in ? RW_OWNER_SCAN_IN : 0u);
	uint32_t wanted = SCAN_MEMORY_QUERIED | SCAN_MEMORY_OUT | (with_in ? SCAN_MEMORY_IN : 0u);
	struct scan_batch *batch = scanner_batches ? NULL : scan_batch_take(device);

	if (!batch)
		return false;
	batch->next = NULL;
	batch->place = SCAN_BEHIND_PLAN;
	batch->stream = *stream;
	batch->captured = false;
	batch->capture_is_known = true;
	if (with_in)
		scan_batch_add(batch, &buffers->in, ticket, RW_OWNER_SCAN_IN);
	scan_batch_add(batch, &buffers->out, ticket, RW_OWNER_SCAN_OUT);
	*memory = scanner_query_pair(scanner, batch, with_in);
	if (*memory != wanted || !scanner_hold(slot, ticket, owner)) {
		scan_batch_give(batch);
		return false;
	}
	scanner_batches = batch;
	return true;
}

void scanner_before_call(struct scanner *scanner);
/* failed: NCCL refused the call and has launched nothing. */
void scanner_behind_call(struct scanner *scanner, bool failed);
/* Where inputs that wait for their calls on this thread are not all of this group, they are given up, and counted. */
void scanner_keep_inputs(struct scanner *scanner, uint32_t group);
/* What this thread's calls still wait for is not scanned around them: outputs for this reason, or somebody else scans
 * them; inputs that no wrapper has been in time for, and nodes, for the reason that the launch was not seen. */
void scanner_forget_calls(struct scanner *scanner, enum rw_unscannable of_outputs);
/* The thread has batches. */
void scanner_behind_plan(struct scanner *scanner);

/* Takes one result. place: where it was scanned. */
typedef void scanner_take(void *argument, enum scan_place place, const struct scan_entry *entry,
			  const struct scan_segment *segment, const struct scan_result *result);
/* On the plugin's thread: hands out the results that have arrived, in no particular order. Makes no CUDA call. Returns
 * how many batches are still in flight. */
unsigned int scanner_collect(struct scanner *scanner, scanner_take *take, void *argument);

/* Takes one result of a graph's replay. */
typedef void scanner_take_replay(void *argument, struct scan_captured *call, const struct scan_node_segment *segment,
				 const struct scan_replay *replay);
/* On the plugin's thread: hands out the results of replays in the order in which the GPU wrote them. Returns whether
 * there were any. Makes no CUDA call. */
bool scanner_collect_replays(struct scanner *scanner, scanner_take_replay *take, void *argument);
/* From now on one replay in `every`, a power of two, is scanned; 0: none but each graph's first. */
void scanner_sample_replays(struct scanner *scanner, uint32_t every);

#endif
