/* SPDX-License-Identifier: MIT */
#include "plugin/scanning/scanning.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "plugin/cost/sampling.h"
#include "plugin/guest/clock.h"
#include "plugin/scan/scan_image.h"
#include "plugin/scanning/results.h"
#include "plugin/scanning/state.h"

struct scanning scanning;

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value && strcmp(value, "0") != 0;
}

static const char *no_scan_because(const struct recording *recording, uint32_t abi)
{
	const char *launch_mode = getenv("NCCL_LAUNCH_MODE");

	if (recording->config.scan == CONFIG_SCAN_OFF)
		return "off: RANKWATCH_SCAN=off";
	if (!recording->progress.has_driver)
		return "none: no CUDA driver";
	if (abi < 5 && !recording_is_interposed())
		return "none: profiler ABI before v5 names no stream";
	/* There, launches sit between barriers of threads, and a CUDA call can wait for ever. */
	if (launch_mode && strcasecmp(launch_mode, "GROUP") == 0)
		return "none: NCCL_LAUNCH_MODE=GROUP";
	if (is_set("CUDA_LAUNCH_BLOCKING"))
		return "none: CUDA_LAUNCH_BLOCKING makes every launch wait";
	if (scanning.only_before && !recording_is_interposed())
		return "none: no interposer, and auto scans before operations only";
	return NULL;
}

void scanning_open(struct recording *recording, uint32_t abi)
{
	static const char *const states[] = {
		[CONFIG_SCAN_AUTO] = "auto, inputs", [CONFIG_SCAN_ALL] = "all", [CONFIG_SCAN_INPUT] = "input",
		[CONFIG_SCAN_OUTPUT] = "output", [CONFIG_SCAN_OFF] = "off",
	};
	struct config *config = &recording->config;
	struct rw_box_header *header = recording->box.header;
	const char *state = states[config->scan];

	/* What waits behind an operation can hold up other streams, which share queues of the GPU with its stream: that
	 * is for those who ask for it (docs/scanning.md, "Behind an operation"). */
	scanning.only_before = config->scan == CONFIG_SCAN_AUTO;
	if (scanning.only_before)
		config->scan = CONFIG_SCAN_INPUT;
	header->budget_ppm = config->budget_ppm;
	scan_share_open(&scanning.share, recording->box.ring_mask + 1, clock_ns());
	/* Who has said what may be spent means all of it. */
	uint64_t first_ns = config->budget_given ? 0 : RW_SCAN_FIRST_MS * UINT64_C(1000000);
	struct budget_cost cost = scanning_cost(recording);
	budget_open(&scanning.budget, config->budget_ppm, first_ns, clock_ns(), &cost);
	atomic_store_explicit(&recording->scan_first, first_ns ? RW_SCAN_FIRST : 0, memory_order_relaxed);
	atomic_store_explicit(&header->progress_every, 1, memory_order_relaxed);
	atomic_store_explicit(&recording->small_every, scanning.budget.small_every, memory_order_relaxed);
	scanner_open(&scanning.scanner, &recording->progress.driver, &recording->box,
		     config->scan_ptx ? scan_images() : scan_images_without_ptx(), state,
		     no_scan_because(recording, abi));
	/* A node cannot be taken out of the user's graph again, so there are none unless the user has asked for
	 * them. */
	scanning.scanner.nodes = recording_is_interposed() && config->graphs;
}

void scanning_close(const char *why)
{
	scanner_close(&scanning.scanner, why);
}

struct scan_device *scanning_device(void)
{
	return scanner_device(&scanning.scanner);
}

void scanning_give_up(const char *call, int error)
{
	if (scanner_is_on(&scanning.scanner))
		scanner_give_up(&scanning.scanner, call, error);
}

static bool may_scan(const struct communicator *communicator)
{
	return communicator->scan && scanner_is_on(&scanning.scanner);
}

/* Sender and receiver of a p2p operation, alike on both. */
static uint64_t pair_of(const struct communicator *communicator, const struct rw_operation *slot)
{
	uint64_t own = (uint32_t)communicator->rank, peer = (uint32_t)slot->root_or_peer;

	return slot->function == RW_FUNCTION_SEND ? own << 32 | peer : peer << 32 | own;
}

/* Sends and receives, once their peer and number are known. */
static __attribute__((noinline)) bool is_sampled_pair(const struct recording *recording,
						      const struct communicator *communicator,
						      const struct rw_operation *slot)
{
	uint32_t every = atomic_load_explicit(&recording->box.header->scan_every, memory_order_relaxed);
	uint64_t bytes = sampling_bytes(slot->function, slot->dtype, slot->count, communicator->nranks);

	if (every && slot->sequence < atomic_load_explicit(&recording->scan_first, memory_order_relaxed))
		every = 1;
	if (bytes < SAMPLING_SMALL_BYTES && every && every < SAMPLING_SMALL_EVERY &&
	    recording->config.scan != CONFIG_SCAN_ALL)
		every = SAMPLING_SMALL_EVERY;
	return sampling_takes(&(struct sampling_name){ .communicator = communicator->entry->id,
						       .sequence = slot->sequence,
						       .ranks = pair_of(communicator, slot),
						       .function = RW_FUNCTION_SEND },
			      every);
}

static void sample_out(struct recording *recording, struct rw_operation *slot)
{
	uint32_t before = atomic_fetch_or_explicit(&slot->flags, RW_FLAG_SAMPLED_OUT, memory_order_relaxed);

	if (!(before & RW_FLAG_SAMPLED_OUT)) /* at the call and at the plan, where those are on two threads */
		atomic_fetch_add_explicit(&recording->box.header->scan_sampled_out, 1, memory_order_relaxed);
}

/* Collectives are sampled at their call, by operation_sample(), which flags and counts those that are left out. */
static bool is_sampled(struct recording *recording, const struct communicator *communicator, struct rw_operation *slot)
{
	if (slot->function != RW_FUNCTION_SEND && slot->function != RW_FUNCTION_RECV)
		return !(atomic_load_explicit(&slot->flags, memory_order_relaxed) & RW_FLAG_SAMPLED_OUT);
	if (is_sampled_pair(recording, communicator, slot))
		return true;
	sample_out(recording, slot);
	return false;
}

static inline __attribute__((always_inline)) struct scan_call
call_of(const struct recording *recording, const struct communicator *communicator, const struct rw_operation *slot)
{
	return (struct scan_call){
		.function = slot->function,
		.dtype = slot->dtype,
		.uint8_as = recording->config.uint8_as[slot->function % RW_FUNCTION_COUNT],
		.root = slot->root_or_peer,
		.rank = communicator->rank,
		.nranks = communicator->nranks,
		.count = slot->count,
		.send = slot->send_address,
		.recv = slot->recv_address,
	};
}

/* False: not known, or the operation's turn has not come, and it is flagged. */
static bool buffers_of(struct recording *recording, const struct communicator *communicator, struct rw_operation *slot,
		       struct scan_buffers *buffers)
{
	const struct scan_call call = call_of(recording, communicator, slot);

	if (!is_sampled(recording, communicator, slot))
		return false;
	if (scan_buffers(&call, buffers))
		return true;
	scanner_refuse(&scanning.scanner, slot, RW_UNSCANNABLE_SHAPE);
	return false;
}

static bool wants(const struct recording *recording, const struct scan_buffer *buffer, uint32_t unwanted)
{
	return buffer->elements && recording->config.scan != unwanted;
}

/* Of a call that the interposer sees: its stream is not captured, but in a group it is launched only at the end. */
static struct scan_request request_at_call(const struct communicator *communicator, struct rw_operation *slot,
					   uint64_t ticket, enum scan_place place, bool in_group)
{
	return (struct scan_request){
		.device = communicator->scan,
		.stream = slot->stream,
		.slot = slot,
		.ticket = ticket,
		.place = place,
		.capture_is_known = !in_group,
	};
}

static void want(struct scan_request *request, const struct scan_buffer *buffer, uint32_t owner)
{
	request->parts[request->count++] = (struct scan_part){ *buffer, owner };
}

void scanning_call(struct recording *recording, struct communicator *communicator, uint64_t ticket, bool in_group)
{
	struct rw_operation *slot = box_slot(&recording->box, ticket);
	struct scan_buffers buffers;

	if (!slot || !may_scan(communicator) || !buffers_of(recording, communicator, slot, &buffers))
		return;
	struct scan_request before = request_at_call(communicator, slot, ticket, SCAN_BEFORE_CALL, in_group);
	struct scan_request behind = request_at_call(communicator, slot, ticket, SCAN_BEHIND_CALL, in_group);

	if (wants(recording, &buffers.in, CONFIG_SCAN_OUTPUT))
		want(&before, &buffers.in, RW_OWNER_SCAN_IN);
	if (wants(recording, &buffers.out, CONFIG_SCAN_INPUT))
		want(&behind, &buffers.out, RW_OWNER_SCAN_OUT);
	scanner_add(&scanning.scanner, &before);
	if (communicator->blocks)
		scanner_add(&scanning.scanner, &behind);
	else if (behind.count && communicator->abi < 5)
		scanner_refuse(&scanning.scanner, slot, RW_UNSCANNABLE_CALLBACK);
}

/* Both scans are behind the call in the stream: it has returned, and may have been launched already. */
void scanning_unannounced_call(struct recording *recording, struct communicator *communicator, uint64_t ticket,
			       bool in_group)
{
	struct rw_operation *slot = box_slot(&recording->box, ticket);
	struct scan_buffers buffers;

	if (!slot || scanning.only_before || !may_scan(communicator) ||
	    !buffers_of(recording, communicator, slot, &buffers))
		return;
	if (!communicator->blocks) {
		scanner_refuse(&scanning.scanner, slot, RW_UNSCANNABLE_CALLBACK);
		return;
	}
	struct scan_request request = request_at_call(communicator, slot, ticket, SCAN_BEHIND_CALL, in_group);

	if (wants(recording, &buffers.in, CONFIG_SCAN_OUTPUT) && !buffers.survives)
		scanner_refuse(&scanning.scanner, slot, RW_UNSCANNABLE_OVERWRITTEN);
	else if (wants(recording, &buffers.in, CONFIG_SCAN_OUTPUT))
		want(&request, &buffers.in, RW_OWNER_SCAN_IN);
	if (wants(recording, &buffers.out, CONFIG_SCAN_INPUT))
		want(&request, &buffers.out, RW_OWNER_SCAN_OUT);
	scanner_add(&scanning.scanner, &request);
}

void scanning_before_call(void)
{
	scanner_before_call(&scanning.scanner);
}

void scanning_keep_inputs(uint32_t group)
{
	scanner_keep_inputs(&scanning.scanner, group);
}

void scanning_behind_call(bool failed)
{
	scanner_behind_call(&scanning.scanner, failed);
}

void scanning_not_launched(bool plans_are_reported)
{
	scanner_forget_calls(&scanning.scanner, plans_are_reported ? RW_UNSCANNABLE_NONE : RW_UNSCANNABLE_CALLBACK);
}

void scanning_unreported(struct recording *recording, struct rw_operation *slot)
{
	struct communicator *communicator = &recording->communicators[slot->comm];
	/* With what the calling thread had written before it said that it is known. */
	uint32_t known = atomic_load_explicit(&slot->known, memory_order_acquire);
	struct scan_buffers buffers;

	if (!may_scan(communicator) || !(known & RW_KNOWN_CALL) || known & RW_KNOWN_SCAN_OUT ||
	    atomic_load_explicit(&slot->owner, memory_order_relaxed) & RW_OWNER_SCAN_OUT ||
	    atomic_load_explicit(&slot->flags, memory_order_relaxed) & RW_FLAG_UNSCANNABLE)
		return;
	if (buffers_of(recording, communicator, slot, &buffers) && wants(recording, &buffers.out, CONFIG_SCAN_INPUT))
		scanner_refuse(&scanning.scanner, slot, RW_UNSCANNABLE_CALLBACK);
}

static void want_queried(struct scan_request *request, const struct scan_buffer *buffer, uint32_t owner,
			 uint32_t memory, enum scan_memory side)
{
	if (memory == SCAN_MEMORY_NOT_QUERIED || memory & side)
		want(request, buffer, owner);
	else
		scanner_refuse(&scanning.scanner, request->slot, RW_UNSCANNABLE_MEMORY);
}

static void want_at_plan(const struct recording *recording, const struct scan_buffers *buffers,
			 struct scan_request *request, bool seen_at_call, uint32_t memory)
{
	bool in = wants(recording, &buffers->in, CONFIG_SCAN_OUTPUT) && !seen_at_call;
	bool out = wants(recording, &buffers->out, CONFIG_SCAN_INPUT);

	if (in && out && buffers->same) {
		want(request, &buffers->out, RW_OWNER_SCAN_IN | RW_OWNER_SCAN_OUT);
		return;
	}
	if (in && !buffers->survives)
		scanner_refuse(&scanning.scanner, request->slot, RW_UNSCANNABLE_OVERWRITTEN);
	else if (in)
		want_queried(request, &buffers->in, RW_OWNER_SCAN_IN, memory, SCAN_MEMORY_IN);
	if (out)
		want_queried(request, &buffers->out, RW_OWNER_SCAN_OUT, memory, SCAN_MEMORY_OUT);
}

/* stream: NULL, launched on another thread. Not inlined, so that most operations pay nothing for the others. */
static __attribute__((noinline)) void add_at_plan(struct recording *recording, const struct communicator *communicator,
						  struct rw_operation *slot, uint64_t ticket, const uint64_t *stream,
						  uint32_t memory)
{
	bool seen_at_call = atomic_load_explicit(&slot->known, memory_order_relaxed) & RW_KNOWN_CALL;
	struct scan_buffers buffers;

	if (!buffers_of(recording, communicator, slot, &buffers))
		return;
	if (!stream) {
		scanner_refuse(&scanning.scanner, slot, RW_UNSCANNABLE_CALLBACK);
		return;
	}
	struct scan_request request = {
		.device = communicator->scan,
		.stream = *stream,
		.slot = slot,
		.ticket = ticket,
		.place = SCAN_BEHIND_PLAN,
		.capture_is_known = true,
		.is_device_memory = memory != SCAN_MEMORY_NOT_QUERIED,
	};

	want_at_plan(recording, &buffers, &request, seen_at_call, memory);
	scanner_add(&scanning.scanner, &request);
}

/* An operation as most are; false: it is not such a one, and *memory is what was queried nevertheless. */
static inline __attribute__((always_inline)) bool add_pair(const struct recording *recording,
							   const struct communicator *communicator,
							   struct rw_operation *slot, uint64_t ticket,
							   const uint64_t *stream, uint32_t *memory)
{
	const struct scan_call call = call_of(recording, communicator, slot);
	struct scanner *scanner = &scanning.scanner;
	struct scan_buffers buffers;

	if (recording->config.scan > CONFIG_SCAN_ALL || !scan_buffers_plain(&call, &buffers))
		return false;
	if (buffers.same)
		return false;
	if (buffers.survives)
		return scanner_add_pair(scanner, communicator->scan, slot, ticket, stream, &buffers, true, memory);
	if (!scanner_add_pair(scanner, communicator->scan, slot, ticket, stream, &buffers, false, memory))
		return false;
	scanner_refuse(scanner, slot, RW_UNSCANNABLE_OVERWRITTEN);
	return true;
}

void scanning_task(struct recording *recording, struct communicator *communicator, struct rw_operation *slot,
		   uint64_t ticket, const uint64_t *stream)
{
	bool seen_at_call = atomic_load_explicit(&slot->known, memory_order_relaxed) & RW_KNOWN_CALL;
	uint32_t memory = SCAN_MEMORY_NOT_QUERIED;

	if (!scanner_is_on(&scanning.scanner) || communicator->abi < 5 || scanning.only_before)
		return;
	/* Collectives that are left out are flagged and counted since their call. */
	if (atomic_load_explicit(&slot->flags, memory_order_relaxed) & RW_FLAG_SAMPLED_OUT)
		return;
	if (stream && !seen_at_call && add_pair(recording, communicator, slot, ticket, stream, &memory))
		return;
	add_at_plan(recording, communicator, slot, ticket, stream, memory);
}

void scanning_behind_plan(void)
{
	scanner_behind_plan(&scanning.scanner);
}
