/* SPDX-License-Identifier: MIT */
#include "plugin/network/waits.h"

#include <stdatomic.h>
#include <string.h>

#include "plugin/guest/try_lock.h"

enum { WAITS_STEPS = 16 /* of a channel in flight; NCCL has 8 at most */ };

/* Private part of an entry of the box, by its index. All but `lock` and `operations` belongs to whoever has the lock.
 * Two threads of NCCL never meet here; if they do, the second one's event is left out. */
struct waits_channel {
	try_lock lock;
	_Atomic uint32_t operations; /* so far; the number of the latest */
	uint32_t operation;          /* whose steps are in flight; handles of others are stale */
	uint32_t oldest, next;       /* steps; equal: none in flight */
	uint32_t step_bytes;         /* of an operation's step, at most */
	uint64_t since_ns;
	uint8_t waits_for[WAITS_STEPS]; /* by step */
};

static struct waits {
	struct box_writer *box;
	struct waits_channel channels[RW_BOX_WAITS];
} waits;

/* Numbers: channel, operation, step. */
enum { STEP_BITS = 20, OPERATION_BITS = 26, PROBES = 32 };

#define STEP_MASK      ((1u << STEP_BITS) - 1)
#define OPERATION_MASK ((1u << OPERATION_BITS) - 1)

static_assert(RW_BOX_WAITS <= 1 << (56 - STEP_BITS - OPERATION_BITS), "a handle has 56 bits");

/* NCCL's states of a ProxyStep, and of a ProxyOp before 2.27. */
enum {
	STATE_SEND_REM_FIFO_WAIT = 1,
	STATE_SEND_GPU_WAIT = 8,
	STATE_SEND_WAIT,
	STATE_RECV_WAIT,
	STATE_RECV_FLUSH_WAIT,
	STATE_RECV_GPU_WAIT,
	STATE_SEND_PEER_WAIT = 20,
	STATES,
};

enum waits_for { OVER, NOTHING, GPU, PEER, NETWORK, FLUSH };

struct number {
	uint32_t channel, operation, step;
};

static uint64_t number_make(struct number number)
{
	return ((uint64_t)number.channel << OPERATION_BITS | number.operation) << STEP_BITS | number.step;
}

static struct number number_open(uint64_t number)
{
	return (struct number){
		.channel = (uint32_t)(number >> (STEP_BITS + OPERATION_BITS)) % RW_BOX_WAITS,
		.operation = (uint32_t)(number >> STEP_BITS) & OPERATION_MASK,
		.step = (uint32_t)number & STEP_MASK,
	};
}

/* Only the owner of the channel's lock writes. */
static void add(_Atomic uint64_t *sum, uint64_t more)
{
	atomic_store_explicit(sum, atomic_load_explicit(sum, memory_order_relaxed) + more, memory_order_relaxed);
}

static void add_short(_Atomic uint32_t *sum, uint64_t more)
{
	atomic_store_explicit(sum, atomic_load_explicit(sum, memory_order_relaxed) + (uint32_t)more,
			      memory_order_relaxed);
}

static uint8_t *waits_for(struct waits_channel *channel, uint32_t step)
{
	return &channel->waits_for[step % WAITS_STEPS];
}

static void charge(struct rw_wait *entry, enum waits_for what, uint64_t ns)
{
	switch (what) {
	case GPU:
		add(&entry->gpu_ns, ns);
		break;
	case PEER:
		add(&entry->peer_ns, ns);
		break;
	case NETWORK:
		add(&entry->network_ns, ns);
		break;
	case FLUSH:
		add_short(&entry->flush_us, ns / 1000);
		break;
	case OVER:
	case NOTHING:
		break;
	}
}

/* What the oldest step has waited for until now; before each change. */
static void settle(struct waits_channel *channel, struct rw_wait *entry, uint64_t now_ns)
{
	if (channel->oldest != channel->next && now_ns > channel->since_ns)
		charge(entry, *waits_for(channel, channel->oldest), now_ns - channel->since_ns);
	channel->since_ns = now_ns;
	if (!atomic_load_explicit(&entry->first_ns, memory_order_relaxed))
		atomic_store_explicit(&entry->first_ns, now_ns, memory_order_relaxed);
	atomic_store_explicit(&entry->last_ns, now_ns, memory_order_relaxed);
}

static void pass_over(struct waits_channel *channel)
{
	while (channel->oldest != channel->next && *waits_for(channel, channel->oldest) == OVER)
		channel->oldest++;
}

static bool is_in_flight(struct waits_channel *channel, struct number number)
{
	return channel->operation == number.operation && number.step >= channel->oldest &&
	       number.step < channel->next && *waits_for(channel, number.step) != OVER;
}

/* Touches all of the memory: nothing faults later. */
void waits_open(struct box_writer *box)
{
	memset(&waits, 0, sizeof(waits));
	waits.box = box;
}

static uint32_t new_operation(struct waits_channel *channel)
{
	return (atomic_fetch_add_explicit(&channel->operations, 1, memory_order_relaxed) + 1) & OPERATION_MASK;
}

/* Handles of operations so far become stale; the key last: until then nobody takes the entry. */
static void give_back(struct waits_channel *channel, struct rw_wait *entry)
{
	if (!try_lock_take(&channel->lock))
		return;
	channel->operation = new_operation(channel);
	channel->oldest = channel->next = 0;
	atomic_store_explicit(&entry->first_ns, 0, memory_order_relaxed);
	/* Pairs with the last acquire fence of box_reader_waits(): who sees a sum that was cleared sees this 0. */
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&entry->last_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&entry->bytes, 0, memory_order_relaxed);
	atomic_store_explicit(&entry->gpu_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&entry->peer_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&entry->network_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&entry->steps, 0, memory_order_relaxed);
	atomic_store_explicit(&entry->flush_us, 0, memory_order_relaxed);
	atomic_store_explicit(&entry->key, 0, memory_order_release);
	try_lock_leave(&channel->lock);
}

void waits_renew(void)
{
	struct rw_wait *entries = waits.box->waits;
	uint32_t used = 0;

	for (uint32_t i = 0; i < RW_BOX_WAITS; i++)
		used += atomic_load_explicit(&entries[i].key, memory_order_relaxed) != 0;
	for (uint32_t i = 0; used > RW_BOX_WAITS / 2 && i < RW_BOX_WAITS; i++)
		give_back(&waits.channels[i], &entries[i]);
}

/* The entry with this key, or a free one that gets it; -1: none. */
static int find_entry(uint64_t key)
{
	uint32_t at = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 32);

	for (int i = 0; i < PROBES; i++, at++) {
		_Atomic uint64_t *own = &waits.box->waits[at % RW_BOX_WAITS].key;
		uint64_t seen = 0;

		/* Acquire: pairs with the release in give_back(). */
		if (atomic_compare_exchange_strong_explicit(own, &seen, key, memory_order_acq_rel,
							    memory_order_acquire) ||
		    seen == key)
			return (int)(at % RW_BOX_WAITS);
	}
	atomic_fetch_add_explicit(&waits.box->header->waits_refused, 1, memory_order_relaxed);
	return -1;
}

uint64_t waits_start(uint32_t comm, const struct waits_operation *operation)
{
	uint64_t key = RW_WAIT_USED | (operation->sends ? RW_WAIT_SENDS : 0) | (uint64_t)operation->channel << 48 |
		       (uint64_t)comm << 32 | (uint32_t)operation->peer;
	int entry = operation->peer >= 0 ? find_entry(key) : -1;

	if (entry < 0)
		return 0;
	uint32_t number = new_operation(&waits.channels[entry]);
	/* Not exact when operations of one channel differ; it only bounds what is believed of a step. */
	__atomic_store_n(&waits.channels[entry].step_bytes, operation->step_bytes, __ATOMIC_RELAXED);
	return number ? number_make((struct number){ (uint32_t)entry, number, 0 }) : 0;
}

/* An operation's steps come when those before it in its channel are through; what has not stopped by then never
 * will. */
static bool begin_operation(struct waits_channel *channel, struct number number)
{
	uint32_t ahead = (number.operation - channel->operation) & OPERATION_MASK;

	if (ahead > OPERATION_MASK / 2)
		return false;
	if (ahead) {
		channel->operation = number.operation;
		channel->oldest = channel->next = number.step;
	}
	return true;
}

static bool start_step(struct waits_channel *channel, struct rw_wait *entry, struct number number, uint64_t now_ns)
{
	settle(channel, entry, now_ns);
	if (!begin_operation(channel, number) || number.step < channel->oldest)
		return false;
	if (is_in_flight(channel, number))
		return true;
	if (number.step < channel->next || number.step - channel->next >= WAITS_STEPS)
		return false;
	for (; channel->next <= number.step; channel->next++)
		*waits_for(channel, channel->next) = channel->next < number.step ? OVER : NOTHING;
	if (channel->next - channel->oldest > WAITS_STEPS)
		channel->oldest = channel->next - WAITS_STEPS;
	pass_over(channel);
	return true;
}

uint64_t waits_start_step(uint64_t operation, int step, uint64_t now_ns)
{
	struct number number = number_open(operation);
	struct waits_channel *channel = &waits.channels[number.channel];

	if (step < 0 || (uint32_t)step > STEP_MASK || !try_lock_take(&channel->lock))
		return 0;
	number.step = (uint32_t)step;
	bool started = start_step(channel, &waits.box->waits[number.channel], number, now_ns);
	try_lock_leave(&channel->lock);
	return started ? number_make(number) : 0;
}

static enum waits_for state_waits_for(int state, bool sends)
{
	static const uint8_t sending[STATES] = {
		[STATE_SEND_GPU_WAIT] = GPU, [STATE_SEND_WAIT] = NETWORK, [STATE_SEND_PEER_WAIT] = PEER,
	};
	static const uint8_t receiving[STATES] = {
		[STATE_RECV_WAIT] = NETWORK, [STATE_RECV_FLUSH_WAIT] = FLUSH, [STATE_RECV_GPU_WAIT] = GPU,
	};

	if (state < 0 || state >= STATES)
		return OVER;
	return sends ? sending[state] : receiving[state];
}

static void step_state(struct waits_channel *channel, struct rw_wait *entry, struct number number, int state,
		       uint64_t bytes)
{
	bool sends = atomic_load_explicit(&entry->key, memory_order_relaxed) & RW_WAIT_SENDS;
	enum waits_for what = state_waits_for(state, sends);
	uint8_t *before = waits_for(channel, number.step);
	bool moves = state == STATE_SEND_WAIT || state == STATE_RECV_FLUSH_WAIT;

	if (what == OVER)
		return;
	/* Where an adapter of NCCL's is in between the size can be garbage. */
	if (moves && *before != what && bytes <= __atomic_load_n(&channel->step_bytes, __ATOMIC_RELAXED))
		add(&entry->bytes, bytes);
	*before = (uint8_t)what;
}

void waits_step_state(uint64_t step, int state, uint64_t bytes, uint64_t now_ns)
{
	struct number number = number_open(step);
	struct waits_channel *channel = &waits.channels[number.channel];
	struct rw_wait *entry = &waits.box->waits[number.channel];

	if (!try_lock_take(&channel->lock))
		return;
	if (is_in_flight(channel, number)) {
		settle(channel, entry, now_ns);
		step_state(channel, entry, number, state, bytes);
	}
	try_lock_leave(&channel->lock);
}

/* The oldest step that is not on its way. */
static void wait_for_peer(struct waits_channel *channel)
{
	for (uint32_t step = channel->oldest; step != channel->next; step++)
		if (*waits_for(channel, step) == GPU) {
			*waits_for(channel, step) = PEER;
			return;
		}
}

void waits_state(uint64_t operation, int state, uint64_t now_ns)
{
	struct number number = number_open(operation);
	struct waits_channel *channel = &waits.channels[number.channel];

	if (state != STATE_SEND_REM_FIFO_WAIT || !try_lock_take(&channel->lock))
		return;
	if (channel->operation == number.operation) {
		settle(channel, &waits.box->waits[number.channel], now_ns);
		wait_for_peer(channel);
	}
	try_lock_leave(&channel->lock);
}

void waits_stop_step(uint64_t step, uint64_t now_ns)
{
	struct number number = number_open(step);
	struct waits_channel *channel = &waits.channels[number.channel];
	struct rw_wait *entry = &waits.box->waits[number.channel];

	if (!try_lock_take(&channel->lock))
		return;
	if (is_in_flight(channel, number)) {
		settle(channel, entry, now_ns);
		*waits_for(channel, number.step) = OVER;
		pass_over(channel);
		add_short(&entry->steps, 1);
	}
	try_lock_leave(&channel->lock);
}

void waits_stop(uint64_t operation, uint64_t now_ns)
{
	struct number number = number_open(operation);
	struct waits_channel *channel = &waits.channels[number.channel];

	if (!try_lock_take(&channel->lock))
		return;
	if (channel->operation == number.operation) {
		settle(channel, &waits.box->waits[number.channel], now_ns);
		channel->oldest = channel->next;
	}
	try_lock_leave(&channel->lock);
}
