/* SPDX-License-Identifier: MIT */
/*
 * The memory that the ranks of one communicator share on one host. It has no name in any file system (a memfd, opened
 * through its maker's /proc entry): nothing is left behind however its processes end, and /dev/shm may be full or
 * absent. Pages that are never used take no memory. All waits sleep on futexes that work across processes. It has room
 * for all ranks: what a rank of another host says, or writes into its outbox, is copied to the same place here.
 */
#ifndef SIM_NCCL_BOOTSTRAP_SEGMENT_H
#define SIM_NCCL_BOOTSTRAP_SEGMENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <nccl.h>

#define SEGMENT_RANKS_MAX     256
#define SEGMENT_CHANNEL_SLOTS 2

/* Where all ranks meet: opens once all have arrived, then again for the next time. */
struct gate {
	_Atomic uint32_t arrived;
	_Atomic uint32_t opened; /* how often; futex */
};

/*
 * One rank's part. The owner writes what stands behind the bell before hosts_meet(), the others read it, on all hosts,
 * behind that.
 */
struct segment_rank {
	_Alignas(64) _Atomic uint32_t bell; /* futex: grows when a channel of this rank has moved */
	int32_t pid;
	char pci[16];
	int32_t pxn_pipe;   /* of pxn.c: a descriptor of the process */
	int32_t color, key; /* of a split */
	ncclUniqueId split_id;
};

/* How far an end of a channel is with its connection: connect.c. */
enum channel_end { CHANNEL_UNUSED, CHANNEL_OPEN, CHANNEL_CONNECTED };

/* One direction between two ranks: a queue of pieces. */
struct channel {
	_Alignas(64) _Atomic uint32_t written; /* by the sender */
	_Atomic uint32_t read;                 /* by the receiver */
	uint32_t bytes[SEGMENT_CHANNEL_SLOTS];
	_Atomic uint32_t sender, receiver; /* enum channel_end, by each end */
};

struct segment_shared {
	struct gate stream_gate; /* collectives, on stream threads */
	struct gate host_gate;   /* init and split, on API threads */
	struct gate ring_gate;   /* connections of collectives; so, too */
	atomic_bool broken;      /* another host cannot be reached: what it said last is not known */
	struct segment_rank ranks[SEGMENT_RANKS_MAX];
	/* of ncclSignal, so far: to the first, from the second */
	_Atomic uint32_t signals[SEGMENT_RANKS_MAX][SEGMENT_RANKS_MAX];
};

struct segment {
	struct segment_shared *shared;
	size_t size;
	int nranks;
	size_t mailbox_bytes; /* a multiple of 4096 */
	size_t channel_bytes;
};

/* A new file for nranks ranks, the caller's; -1 and errno when it cannot be made. */
int segment_new(int nranks);
/* Maps the file; the descriptor stays the caller's. ncclSystemError: no address space. */
ncclResult_t segment_map(struct segment *segment, int fd, int nranks);
void segment_unmap(struct segment *segment);

/* A rank's outbox; there are two, used in turn: what is written into one before a gate stays until the gate after. */
void *segment_mailbox(const struct segment *segment, int rank, unsigned int turn);
struct channel *segment_channel(const struct segment *segment, int from, int to);
void *segment_channel_slot(const struct segment *segment, int from, int to, uint32_t piece);

/* False: *stop became true while waiting (see segment_wake). */
bool gate_pass(struct gate *gate, int nranks, const atomic_bool *stop);
/* Sleeps while the bell is at seen; may return early. */
void bell_wait(_Atomic uint32_t *bell, uint32_t seen);
void bell_ring(_Atomic uint32_t *bell);
/* Wakes this rank's own waits so that they look at their stop flag; repeat until they have ended. */
void segment_wake(struct segment *segment, int rank);

#endif
