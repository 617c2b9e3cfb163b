/* SPDX-License-Identifier: MIT */
#include "network_watch.h"

#include <sys/mman.h>
#include <unistd.h>

#include "sim/nccl/profiler/profiler_abi.h"

#define EXPORT __attribute__((visibility("default")))

struct transfer {
	uint64_t type;
	bool sends, in_progress;
	int steps, open, started;
};

struct channel {
	uint64_t type;
	bool stopped;
};

struct step {
	uint64_t type;
	struct transfer *transfer;
	int state; /* 0: none yet */
};

static struct watched *all, *mine;
static int wanted_mask;

void network_watch(const char *hosts, int mask)
{
	setenv("NCCL_PROFILER_PLUGIN", "STATIC_PLUGIN", 1);
	setenv("TEST_HOSTS", hosts, 1);
	wanted_mask = mask;
	all = mmap(NULL, RANKS_MAX * sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (all == MAP_FAILED)
		abort();
}

struct watched *watched(int rank)
{
	return &all[rank];
}

static ncclResult_t init(void **context, uint64_t comm_hash, int *mask, const char *comm_name, int nodes, int nranks,
			 int rank, profiler_log *log)
{
	(void)comm_hash, (void)comm_name, (void)nranks, (void)rank, (void)log;
	mine = watched(rank);
	atomic_store(&mine->nodes, nodes);
	*context = mine;
	*mask = wanted_mask;
	return ncclSuccess;
}

static void *transfer_start(const struct event_v7 *event)
{
	struct transfer *transfer = calloc(1, sizeof(*transfer));

	CHECK(transfer);
	*transfer = (struct transfer){ EVENT_PROXY_OP, event->proxy_op.is_send, false, event->proxy_op.steps, 0, 0 };
	atomic_fetch_add(&mine->transfers_started, 1);
	atomic_fetch_add(&mine->foreign, event->proxy_op.pid != getpid());
	return transfer;
}

static void *step_start(const struct event_v7 *event)
{
	struct transfer *transfer = event->parent;
	struct step *step = calloc(1, sizeof(*step));

	CHECK(step && transfer->in_progress && event->proxy_step.step < transfer->steps);
	*step = (struct step){ EVENT_PROXY_STEP, transfer, 0 };
	if (event->proxy_step.step < transfer->started) {
		atomic_fetch_add(&mine->restarts, 1);
		return step;
	}
	CHECK(event->proxy_step.step == transfer->started);
	transfer->started++;
	if (++transfer->open > atomic_load(&mine->most_open))
		atomic_store(&mine->most_open, transfer->open);
	atomic_fetch_add(&mine->steps_started, 1);
	return step;
}

static void *channel_start(void)
{
	struct channel *channel = calloc(1, sizeof(*channel));

	CHECK(channel);
	channel->type = EVENT_KERNEL_CH;
	atomic_fetch_add(&mine->channels_started, 1);
	return channel;
}

static ncclResult_t start_event(void *context, void **handle, void *given)
{
	const struct event_v7 *event = given;
	uint64_t *other = calloc(1, sizeof(*other));

	(void)context;
	*other = event->type;
	*handle = other;
	if (event->type == EVENT_PROXY_OP)
		*handle = transfer_start(event);
	if (event->type == EVENT_PROXY_STEP)
		*handle = step_start(event);
	if (event->type == EVENT_KERNEL_CH)
		*handle = channel_start();
	if (event->type == EVENT_P2P)
		atomic_fetch_add(&mine->channels_announced, event->p2p.channels);
	return ncclSuccess;
}

static void transfer_stop(const struct transfer *transfer)
{
	CHECK(transfer->open == 0 && transfer->started == transfer->steps);
	atomic_fetch_add(&mine->transfers_ended, 1);
}

static void step_stop(struct step *step)
{
	CHECK(step->state == (step->transfer->sends ? STATE_SEND_WAIT : STATE_RECV_GPU_WAIT));
	step->transfer->open--;
	atomic_fetch_sub(&mine->steps_in[step->state], 1);
	atomic_fetch_add(&mine->steps_ended, 1);
}

static void channel_stop(struct channel *channel)
{
	atomic_fetch_add(channel->stopped ? &mine->channels_stopped_again : &mine->channels_stopped, 1);
	channel->stopped = true;
}

static ncclResult_t stop_event(void *handle)
{
	uint64_t type = *(uint64_t *)handle;

	if (type == EVENT_PROXY_OP)
		transfer_stop(handle);
	if (type == EVENT_PROXY_STEP)
		step_stop(handle);
	if (type == EVENT_KERNEL_CH)
		channel_stop(handle);
	return ncclSuccess;
}

/* What a step's state may follow on; SendPeerWait also on itself. */
static const int before[32] = {
	[STATE_SEND_PEER_WAIT] = STATE_SEND_GPU_WAIT,
	[STATE_SEND_WAIT] = STATE_SEND_PEER_WAIT,
	[STATE_RECV_FLUSH_WAIT] = STATE_RECV_WAIT,
	[STATE_RECV_GPU_WAIT] = STATE_RECV_FLUSH_WAIT,
};

static void step_state(struct step *step, int state, size_t bytes)
{
	bool again = state == STATE_SEND_PEER_WAIT && step->state == state;

	CHECK(again || step->state == before[state]);
	atomic_fetch_add(&mine->peer_waits, state == STATE_SEND_PEER_WAIT);
	if (state == STATE_SEND_WAIT)
		atomic_fetch_add(&mine->bytes_sent, (long long)bytes);
	if (state == STATE_RECV_FLUSH_WAIT)
		atomic_fetch_add(&mine->bytes_received, (long long)bytes);
	if (step->state)
		atomic_fetch_sub(&mine->steps_in[step->state], 1);
	step->state = state;
	atomic_fetch_add(&mine->steps_in[state], 1);
}

static ncclResult_t record_state(void *handle, enum profiler_state state, struct profiler_state_args *args)
{
	uint64_t type = *(uint64_t *)handle;

	if (type == EVENT_PROXY_OP) {
		CHECK(state == STATE_IN_PROGRESS);
		((struct transfer *)handle)->in_progress = true;
	}
	if (type == EVENT_PROXY_STEP)
		step_state(handle, (int)state, args->bytes);
	if (type == EVENT_PROXY_CTRL)
		atomic_fetch_add(&mine->control_states[state], 1);
	return ncclSuccess;
}

static ncclResult_t finalize(void *context)
{
	(void)context;
	return ncclSuccess;
}

EXPORT extern struct profiler_table ncclProfiler_v5;
struct profiler_table ncclProfiler_v5 = { "watch", { .v5 = init }, start_event, stop_event, record_state, finalize };

static void show(void)
{
	for (int rank = 0; rank < RANKS_MAX; rank++) {
		const struct watched *seen = watched(rank);
		if (!seen->transfers_started)
			continue;
		fprintf(stderr, "rank %d: %d of %d transfers ended, %d of %d steps; steps now in state", rank,
			seen->transfers_ended, seen->transfers_started, seen->steps_ended, seen->steps_started);
		for (int state = 0; state < 32; state++) {
			if (seen->steps_in[state])
				fprintf(stderr, " %d: %d", state, seen->steps_in[state]);
		}
		fprintf(stderr, "\n");
	}
}

bool watched_reaches(const atomic_int *value, int wanted)
{
	uint64_t until = now_ns() + 30000000000u;

	while (atomic_load(value) != wanted) {
		if (now_ns() > until) {
			show();
			return false;
		}
		usleep(1000);
	}
	return true;
}
