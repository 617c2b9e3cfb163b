/* SPDX-License-Identifier: MIT */
#include "plugin/scan/scanner.h"

#include <assert.h>
#include <stdio.h>

#include "plugin/guest/message.h"

/* The kernel's contract includes no layout of the box, and the analysis nothing of the kernel. */
static_assert(SCAN_LENGTH_FACTOR == RW_DIGEST_LENGTH_FACTOR, "one digest");

enum { STATE_SIZE = sizeof(((struct rw_box_header *)0)->scan_state) };

/* Any thread may meet the error; the first one records it, without a system call. */
void scanner_give_up(struct scanner *scanner, const char *call, int error)
{
	int none = 0;

	atomic_store_explicit(&scanner->on, false, memory_order_relaxed);
	if (!atomic_compare_exchange_strong(&scanner->error, &none, error))
		return;
	atomic_store_explicit(&scanner->box->header->scan_every, 0, memory_order_relaxed);
	snprintf(scanner->box->header->scan_state, STATE_SIZE, "off: %s failed with CUDA error %d", call, error);
	/* Release: who sees it may read the words. */
	atomic_store_explicit(&scanner->given_up, true, memory_order_release);
}

void scanner_open(struct scanner *scanner, const struct driver *driver, struct box_writer *box,
		  const struct scan_image *images, const char *state, const char *why_not)
{
	*scanner = (struct scanner){ .driver = driver, .box = box, .images = images };
	if (!why_not && !driver->scan.launch)
		why_not = "none: CUDA driver too old";
	snprintf(box->header->scan_state, STATE_SIZE, "%s", why_not ? why_not : state);
	atomic_store_explicit(&box->header->scan_every, !why_not, memory_order_relaxed);
	atomic_store_explicit(&scanner->on, !why_not, memory_order_relaxed);
}

void scanner_close(struct scanner *scanner, const char *why)
{
	if (!scanner_is_on(scanner))
		return;
	atomic_store_explicit(&scanner->on, false, memory_order_relaxed);
	atomic_store_explicit(&scanner->box->header->scan_every, 0, memory_order_relaxed);
	snprintf(scanner->box->header->scan_state, STATE_SIZE, "%s", why);
}

static void note_entered(void *argument, const char *call)
{
	struct scanner *scanner = argument;

	snprintf(scanner->box->header->scan_state, STATE_SIZE, "%s has not returned", call);
}

/* Such a GPU is reported on standard error as well, because nobody may read the box. */
static void report_wrong(char *state, const char *wrong)
{
	snprintf(state, STATE_SIZE, "off: wrong answer: %s", wrong);
	message("the scan kernel answers wrongly on this GPU: %s; nothing is scanned there; please report it", wrong);
}

static void report_failed(struct scanner *scanner, uint32_t number, const char *call, int error)
{
	const struct scan_device *device = &scanner->devices[number];
	char *state = scanner->box->header->scan_state;

	if (error)
		snprintf(state, STATE_SIZE, "off: %s failed with CUDA error %d", call, error);
	else if (device->wrong[0])
		report_wrong(state, device->wrong);
	else
		snprintf(state, STATE_SIZE, "off: %s has no effect", call);
	if (number == 0)
		atomic_store_explicit(&scanner->box->header->scan_every, 0, memory_order_relaxed);
}

static struct scan_device *make_device(struct scanner *scanner)
{
	uint32_t number = atomic_load_explicit(&scanner->device_count, memory_order_relaxed);
	char state[STATE_SIZE];
	int error = 0;

	if (number == RW_BOX_DEVICES)
		return NULL;
	struct scan_device *device = &scanner->devices[number];
	snprintf(state, sizeof(state), "%s", scanner->box->header->scan_state);
	const char *failed =
	    scan_device_open(device, scanner->driver, scanner->images, scanner->nodes, note_entered, scanner, &error);
	if (failed)
		report_failed(scanner, number, failed, error);
	else
		snprintf(scanner->box->header->scan_state, STATE_SIZE, "%s", state);
	if (number == 0)
		atomic_store_explicit(&scanner->launch_ns, device->launch_ns, memory_order_relaxed);
	/* Release: pairs with the acquire of the drain thread. */
	atomic_store_explicit(&scanner->device_count, number + 1, memory_order_release);
	return failed ? NULL : device;
}

/* NULL: none yet in this context, or the context is not the one that it was. */
static struct scan_device *find_device(struct scanner *scanner, driver_context context)
{
	uint32_t count = atomic_load_explicit(&scanner->device_count, memory_order_relaxed);

	for (uint32_t i = 0; i < count; i++) {
		struct scan_device *device = &scanner->devices[i];

		if (device->context != context || atomic_load_explicit(&device->lost, memory_order_relaxed))
			continue;
		if (!atomic_load_explicit(&device->usable, memory_order_relaxed) ||
		    scan_device_is_whole(device, scanner->driver))
			return device;
		/* Release: the drain gives up what was in flight. */
		atomic_store_explicit(&device->lost, true, memory_order_release);
	}
	return NULL;
}

struct scan_device *scanner_device(struct scanner *scanner)
{
	driver_context context;

	if (!scanner_is_on(scanner) || scanner->driver->context_current(&context) != 0)
		return NULL;
	struct scan_device *device = find_device(scanner, context);
	if (!device)
		return make_device(scanner);
	return atomic_load_explicit(&device->usable, memory_order_relaxed) ? device : NULL;
}

void scanner_refuse(struct scanner *scanner, struct rw_operation *slot, enum rw_unscannable reason)
{
	uint32_t flags = RW_FLAG_UNSCANNABLE | (uint32_t)reason << RW_FLAG_UNSCANNABLE_SHIFT;

	scanner_count(&scanner->box->header->scan_unscannable[reason], 1);
	if (!slot)
		return;
	/* One reason has room; the first stays. Relaxed: both sides of an operation are on one thread. */
	if (!(atomic_load_explicit(&slot->flags, memory_order_relaxed) & RW_FLAG_UNSCANNABLE))
		atomic_fetch_or_explicit(&slot->flags, flags, memory_order_relaxed);
}

/* What a collection goes through. */
struct collection {
	struct scanner *scanner;
	scanner_take *take;
	void *argument;
};

static bool is_of_first(const struct scanner *scanner, const struct scan_batch *batch)
{
	for (uint32_t i = 0; i < batch->launch.segment_count; i++) {
		const struct rw_operation *slot = box_slot(scanner->box, batch->entries[i].ticket);

		if (slot && slot->sequence < RW_SCAN_FIRST)
			return true;
	}
	return false;
}

static void charge(struct scanner_costs *costs, uint64_t gpu_ns)
{
	costs->launches++;
	costs->gpu_ns += gpu_ns;
}

/* The time of the job's threads is known as one sum: launches have equal parts of it. */
static void charge_host(struct scanner *scanner, const struct scanner_costs *all, const struct scanner_costs *first)
{
	uint64_t launches = scanner->all.launches - all->launches;

	if (!launches)
		return;
	uint64_t host_ns = atomic_load_explicit(&scanner->box->header->scan_host_ns, memory_order_relaxed);
	double share = (double)(scanner->first.launches - first->launches) / (double)launches;
	scanner->first.host_ns += (uint64_t)((double)(host_ns - all->host_ns) * share);
	scanner->all.host_ns = host_ns;
}

static void take_results(const struct collection *collection, struct scan_batch *batch,
			 const struct scan_result *results)
{
	struct scanner *scanner = collection->scanner;
	struct rw_box_header *header = scanner->box->header;
	uint64_t gpu_ns =
	    results->gpu_end_ns >= results->gpu_start_ns ? results->gpu_end_ns - results->gpu_start_ns : 0;

	charge(&scanner->all, gpu_ns);
	if (is_of_first(scanner, batch))
		charge(&scanner->first, gpu_ns);

	for (uint32_t i = 0; i < batch->launch.segment_count; i++)
		collection->take(collection->argument, batch->place, &batch->entries[i], &batch->launch.segments[i],
				 &results[i]);
	scanner_count(&header->scan_buffers, batch->launch.segment_count);
	scanner_count(&header->scan_gpu_ns, gpu_ns);
}

/* Its results never come: its operations wait no longer. */
static void abandon(struct scanner *scanner, struct scan_batch *batch)
{
	for (uint32_t i = 0; i < batch->launch.segment_count; i++) {
		struct rw_operation *slot = box_slot(scanner->box, batch->entries[i].ticket);

		if (!slot)
			continue;
		scanner_refuse(scanner, slot, RW_UNSCANNABLE_CONTEXT);
		box_release(slot, batch->entries[i].ticket, batch->entries[i].owner);
	}
	scan_batch_give(batch);
}

static unsigned int collect(const struct collection *collection, struct scan_device *device, uint32_t word)
{
	/* Acquire: pairs with the release in find_device(). */
	bool lost = atomic_load_explicit(&device->lost, memory_order_acquire);
	unsigned int left = 0;

	for (uint64_t bits = scan_batches_launched(device, word); bits; bits &= bits - 1) {
		struct scan_batch *batch = scan_batch_at(device, word, bits);
		const struct scan_result *results = scan_batch_results(batch);

		if (!results && lost) {
			abandon(collection->scanner, batch);
			continue;
		}
		if (!results) {
			left++;
			continue;
		}
		take_results(collection, batch, results);
		scan_batch_give(batch);
	}
	return left;
}

static bool is_usable(const struct scan_device *device)
{
	return atomic_load_explicit(&device->usable, memory_order_relaxed);
}

unsigned int scanner_collect(struct scanner *scanner, scanner_take *take, void *argument)
{
	struct collection collection = { scanner, take, argument };
	const struct scanner_costs all = scanner->all, first = scanner->first;
	unsigned int left = 0;

	/* Acquire: pairs with the release in make_device(). */
	for (uint32_t i = atomic_load_explicit(&scanner->device_count, memory_order_acquire); i-- > 0;)
		for (uint32_t word = 0; word < SCAN_BATCH_WORDS && is_usable(&scanner->devices[i]); word++)
			left += collect(&collection, &scanner->devices[i], word);
	charge_host(scanner, &all, &first);
	return left;
}

static void take_replay(struct scanner *scanner, struct scan_nodes *nodes, const struct scan_node_segment *segment,
			const struct scan_replay *replay, scanner_take_replay *take, void *argument)
{
	struct rw_box_header *header = scanner->box->header;
	const struct scan_result *result = &replay->result;

	take(argument, &nodes->calls[segment->call], segment, replay);
	scanner_count(&header->scan_buffers, 1);
	if (replay->segment || result->gpu_end_ns < result->gpu_start_ns)
		return;
	scanner_count(&header->scan_bytes, segment->bytes);
	scanner_count(&header->scan_gpu_ns, result->gpu_end_ns - result->gpu_start_ns);
}

bool scanner_collect_replays(struct scanner *scanner, scanner_take_replay *take, void *argument)
{
	bool any = false;
	struct scan_node_segment segment;
	struct scan_replay replay;
	uint64_t lost = 0;

	/* Acquire: pairs with the release in make_device(). */
	for (uint32_t i = atomic_load_explicit(&scanner->device_count, memory_order_acquire); i-- > 0;) {
		struct scan_nodes *nodes = &scanner->devices[i].nodes;
		int n = 0;

		/* What comes while we are here is for the next poll. */
		for (; n < SCAN_REPLAYS && nodes->ring && scan_nodes_read(nodes, &replay, &segment, &lost); n++)
			take_replay(scanner, nodes, &segment, &replay, take, argument);
		any |= n > 0;
	}
	if (lost)
		scanner_count(&scanner->box->header->scan_unscannable[RW_UNSCANNABLE_BEHIND], lost);
	return any;
}

void scanner_sample_replays(struct scanner *scanner, uint32_t every)
{
	/* Acquire: as above. */
	for (uint32_t i = atomic_load_explicit(&scanner->device_count, memory_order_acquire); i-- > 0;)
		scan_nodes_sample(&scanner->devices[i].nodes, every ? every - 1 : UINT64_MAX);
}
