/* SPDX-License-Identifier: MIT */
/*
 * The black box: one file per process. The plugin and the GPU write it in place; every other program only reads it.
 * docs/black-box.md says how it is read. All integers are little endian. Times are CLOCK_MONOTONIC nanoseconds
 * unless the field's name says otherwise; 0 means "not yet". This header only defines the layout; it has no code.
 *
 * What relies on an order, for processors that keep the order of neither stores nor loads (Arm). The writer | the
 * reader:
 *
 * - slot of an operation, of a host sample: ticket 0, release fence, bytes, ticket (release) | ticket, acquire fence,
 *   copy, acquire fence, the same ticket
 * - a field of a slot: field, `known` (release) | `known`, acquire fence, field
 * - the same slot's next owner: `owner` 0 (release) | who claims it next: `owner` (acquire)
 * - entry of a communicator: created_ns 0, release fence, fields, created_ns (release) | as a slot, by created_ns
 * - comms_used, anchors_written: what they count, then the counter (release) | header, acquire fence, header again: the
 *   counters of the first copy, all else of the second
 * - init: since_ns 0, release fence, fields, since_ns (release) | two copies that are the same, or what was read before
 * - signal_since_ns: the time, then signal_waits (release) | signal_waits, acquire fence, the time
 * - network waits: first_ns 0, release fence, sums 0, key 0 (release) | key and first_ns, acquire fence, copy, acquire
 *   fence, the same key and first_ns
 * - GPU page, scan results: the GPU stores gpu_started before gpu_done in a stream, and a result before its sequence
 *   (st.release.sys) | gpu_done (acquire) before gpu_started; the sequence (acquire)
 * - end of a communicator: ended, full fence, the clock, ended_ns | the plugin's thread: the clock, ended
 */
#ifndef RANKWATCH_BLACKBOX_H
#define RANKWATCH_BLACKBOX_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include <rankwatch/operation.h>

#ifdef __cplusplus
#define RW_ATOMIC(type) type /* C++ readers copy the structs first and never share them */
#else
#include <stdatomic.h>
#define RW_ATOMIC(type) _Atomic type
#endif

#define RW_BOX_MAGIC "RWBOX\r\n\x1a" /* 8 bytes; a text-mode copy breaks it */
#define RW_BOX_LAYOUT 1u
#define RW_PLUGIN_THREAD "rankwatch" /* the name of the thread with which the plugin writes the box */
#define RW_BOX_SUFFIX ".rwbox"

enum {
	RW_BOX_HEADER_SIZE = 8192,
	RW_BOX_CONTROL_SIZE = 4096,
	RW_BOX_COMMS = 1024,
	RW_BOX_SAMPLES = 4096,
	RW_BOX_RING_MAX = 131072,
	RW_BOX_RING_MIN = 1024,
	RW_BOX_DEVICES = 16,
	RW_BOX_ANCHORS = 64,
	RW_BOX_ENVIRONMENT = 3072,
	RW_BOX_LEASES = 16,
	RW_BOX_WAITS = 512,
};

/* Where RANKWATCH_BUDGET is not given: so many operations of each function of a communicator (of each pair of sender
 * and receiver) are scanned as if the budget turned nothing down, until that has taken so long beyond it. */
enum { RW_SCAN_FIRST = 1024, RW_SCAN_FIRST_MS = 2000 };

/* header.optional_features */
#define RW_BOX_NETWORK (UINT64_C(1) << 0) /* the box has a table of network waits, and its plugin honours leases */

/* One scan result, 40 bytes. */
struct rw_scan {
	uint32_t nan;
	uint32_t inf;
	uint64_t first_bad; /* index of the first bad element; ~0: none */
	float absmax;	    /* largest finite magnitude */
	uint32_t saturated;
	uint64_t digest;    /* and lane_sum: the formula is in plugin/scan/scan_kernel.h */
	uint64_t lane_sum;
};

/* What a digest gains per byte of its buffer. Code that combines the digests of parts takes it out and puts it in
 * again. */
#define RW_DIGEST_LENGTH_FACTOR UINT64_C(0x510e527fade682d1)

/* One operation, 256 bytes. Its writers are A, the thread in the API call; L, the launching thread; and D, the plugin's
 * drain thread. Each field from `comm` on is written once, by one writer, and is valid when its `known` bit is set. */
struct rw_operation {
	/* 0: being claimed; else claim number + 1. Written by A, as the last store of the claim */
	RW_ATOMIC(uint64_t) ticket;
	RW_ATOMIC(uint32_t) known;  /* enum rw_known, fetch_or release */
	RW_ATOMIC(uint32_t) owner;  /* enum rw_owner, and the low bits of the ticket */
	RW_ATOMIC(uint32_t) flags;  /* enum rw_flag, fetch_or */
	uint16_t comm;		    /* index into the communicator table */
	uint8_t function;	    /* enum rw_function */
	uint8_t dtype;		    /* enum rw_dtype, from the API event */
	uint64_t count;		    /* elements as in the API call */
	uint64_t sequence;	    /* counted per (comm, function); p2p: per (comm, direction, peer) */
	uint64_t nccl_sequence;
	uint64_t stream; /* the user's stream; serves as a label only */
	uint32_t api_tid;
	uint32_t group; /* identifies the outermost group within this process; its value implies no order. 0 = none */
	uint64_t api_ns;
	uint64_t launch_begin_ns; /* equal to launch_end_ns where the GPU writes no progress */
	uint64_t launch_end_ns;
	uint64_t return_ns; /* when the API group returned */
	uint64_t launch_stream;
	uint32_t launch_tid;
	uint32_t plan; /* operations of one plan share their GPU times */
	int32_t root_or_peer;
	uint8_t algorithm;
	uint8_t protocol;
	uint8_t channels;
	uint8_t gpu_source; /* enum rw_gpu_source */
	uint64_t progress;  /* number that the GPU writes to gpu_started and gpu_done; 0 = none */
	uint64_t started_seen_ns;
	uint64_t done_seen_ns;
	uint64_t gpu_start_raw; /* %globaltimer */
	uint64_t gpu_end_raw;
	uint64_t send_address;
	uint64_t recv_address;
	struct rw_scan scan_in;
	struct rw_scan scan_out;
};

/*
 * One communicator, 256 bytes. created_ns is stored last (release): 0 = entry not used (yet).
 *
 * When all entries are taken, a new communicator gets the entry of the communicator that ended first, with a later
 * created_ns. Operations from before that time (api_ns < created_ns) belong to the earlier owner of the entry, which
 * the box no longer describes.
 */
struct rw_communicator {
	uint64_t id; /* NCCL's commHash / commId, equal on all ranks */
	char name[64];
	uint32_t device; /* index into header.devices */
	int32_t rank;
	int32_t nranks; /* 0: not known, like nnodes: the profiler ABI before v4 does not report them */
	int32_t nnodes;
	RW_ATOMIC(uint64_t) created_ns;
	RW_ATOMIC(uint64_t) ended_ns;
	RW_ATOMIC(uint64_t) api_count; /* operations that the API announced, with or without a slot */
	RW_ATOMIC(uint64_t) launched;  /* highest progress number; continues across owners of the entry */
	RW_ATOMIC(uint64_t) captured;  /* calls under graph capture: only counted, they get no slot */
	uint64_t reserved[12];         /* 0; boxes of earlier versions have something else here */
	/* 1 + number of its splits (a suspend or resume counts as one) to which all of its ranks have come, as far as
	 * this process knows; 0: not counted, as in earlier boxes */
	RW_ATOMIC(uint64_t) splits;
	/* calls of ncclPutSignal, ncclSignal and ncclWaitSignal, which only the interposer sees */
	RW_ATOMIC(uint64_t) one_sided;
	uint64_t reserved2;
	/* of `captured`: calls of which every replay has a slot with times; 0 in earlier boxes */
	RW_ATOMIC(uint64_t) replays_timed;
};

/* Written by the GPU in stream order. A plan with progress number n is running when gpu_started >= n > gpu_done. */
struct rw_gpu_progress {
	RW_ATOMIC(uint64_t) gpu_started;
	RW_ATOMIC(uint64_t) gpu_done;
	uint64_t reserved[1];
	/* Waits in ncclWaitSignal, which only the interposer sees: the GPU has passed `signalled` of `signal_waits`. */
	RW_ATOMIC(uint64_t) signalled;
	/* by the calling thread, like signal_since_ns; continues across owners of the entry */
	RW_ATOMIC(uint64_t) signal_waits;
	RW_ATOMIC(uint64_t) signal_since_ns; /* since when some wait has been in a stream; 0: not known */
	uint64_t reserved2[2];
};

enum rw_sample_kind {
	RW_SAMPLE_STATE = 1,  /* where a thread is now */
	RW_SAMPLE_THREAD = 2, /* text: the thread's name; once per thread */
	RW_SAMPLE_FILE = 3,   /* text: piece number `state` of the path of (tid, fd); detail: device (makedev) */
};

/* One sample that the process took of its own threads in /proc/self/task, 64 bytes. Slot = number % RW_BOX_SAMPLES. */
struct rw_host_sample {
	RW_ATOMIC(uint64_t) ticket; /* number + 1, stored last; 0 while the slot is being written */
	uint64_t monotonic_ns;
	uint32_t tid;
	uint8_t kind;		 /* enum rw_sample_kind */
	char state;		 /* R S D T t Z …; FILE: piece number, from 0 */
	int16_t system_call;	 /* its number; -1 none (blocked outside a system call); -2 running, or not known */
	/* first argument where that is a descriptor; for poll(2) its first descriptor; else -1 */
	int32_t fd;
	uint32_t detail;	 /* STATE: CPU time in ms so far; FILE: device */
	uint64_t run_delay_ns;	 /* STATE: time on the run queue so far (schedstat) */
	char text[24];		 /* STATE: kernel wait channel; else as its kind says; not terminated when full */
};

/*
 * A lease of network detail: until expires_ns the plugin records NCCL's proxy events of one communicator. The control
 * page begins with RW_BOX_LEASES of them. The collector writes them. The plugin honours a lease for at most
 * RW_LEASE_MAX_NS from when it first saw these very values, and then ends it by itself.
 */
struct rw_lease {
	RW_ATOMIC(uint64_t) expires_ns; /* 0 = none */
	uint64_t communicator;		/* rw_communicator.id */
	uint32_t proxy_bits;		/* RW_LEASE_PROXY_OP | RW_LEASE_PROXY_STEP; without both bits it is no lease */
	uint32_t reserved;
};

#define RW_LEASE_MAX_NS UINT64_C(10000000000)
enum { RW_LEASE_PROXY_OP = 8, RW_LEASE_PROXY_STEP = 16 /* as in NCCL's activation mask */ };

/*
 * What one channel to or from one peer on another host has waited for while a lease covered it, 64 bytes. The sums only
 * grow until key becomes 0; each word is updated on its own. At any time only the oldest step in flight is counted.
 * - A send waits for its own GPU, then for the peer to take the step, then for the network to deliver it.
 * - A receive waits for the network, or for the sender, which cannot be told apart from here; then for its own GPU.
 */
struct rw_wait {
	RW_ATOMIC(uint64_t) key; /* see RW_WAIT_… below; 0 = not used */
	RW_ATOMIC(uint64_t) first_ns, last_ns;
	RW_ATOMIC(uint64_t) bytes; /* sent, or arrived */
	RW_ATOMIC(uint64_t) gpu_ns;
	/* sends only; before profiler ABI v4 it is in network_ns where NCCL does not report it */
	RW_ATOMIC(uint64_t) peer_ns;
	RW_ATOMIC(uint64_t) network_ns;
	RW_ATOMIC(uint32_t) steps; /* finished */
	RW_ATOMIC(uint32_t) flush_us; /* receives: the flush after GPUDirect */
};

/* rw_wait.key */
#define RW_WAIT_USED	   (UINT64_C(1) << 63)
#define RW_WAIT_SENDS	   (UINT64_C(1) << 56)
#define RW_WAIT_CHANNEL(key) ((uint8_t)((key) >> 48))
#define RW_WAIT_COMM(key)    ((uint16_t)((key) >> 32)) /* index into the communicator table */
#define RW_WAIT_PEER(key)    ((uint32_t)(key))	       /* rank in the communicator */

struct rw_device {
	uint8_t uuid[16];
	char pci[16]; /* "0000:3b:00.0", terminated */
	int32_t ordinal;
	uint32_t used; /* 1 when filled */
	uint64_t reserved[3];
};

struct rw_anchor {
	uint64_t monotonic_ns;
	uint64_t realtime_ns;
	uint64_t gpu_ns; /* 0 = not taken */
};

/* The process did not run: it was stopped by a signal or frozen, or had no processor. until 0: none. */
struct rw_pause {
	RW_ATOMIC(uint64_t) from_ns;
	RW_ATOMIC(uint64_t) until_ns;
};

enum { RW_BOX_PAUSES = 2 };

enum rw_init_call {
	/* makes a communicator of ids, or of another one (split, shrink), as in earlier boxes */
	RW_INIT_CALL_MAKE = 0,
	/* ncclCommGrow on a rank of the communicator that grows; nranks is the number afterwards */
	RW_INIT_CALL_GROW = 1,
	/* ncclCommGrow on a new rank, which knows nothing of the others by which they could be told */
	RW_INIT_CALL_JOIN = 2,
	RW_INIT_CALL_DESTROY = 3, /* ncclCommDestroy: what awaits whom is NCCL's affair */
	RW_INIT_CALL_SUSPEND = 4, /* ncclCommSuspend … */
	/* … and ncclCommResume: all ranks meet there, and it counts as a split of the communicator */
	RW_INIT_CALL_RESUME = 5,
};

/* The call that makes a communicator, suspends or ends it, in which this process may wait for other ranks. The struct
 * is complete when since_ns is not 0. Only the interposer sees that call begin. A split (ncclCommSplit) waits for all
 * ranks of the communicator that it splits. */
struct rw_init {
	/* of a split, suspend or resume: that rw_communicator.id; 0: of none, as in earlier boxes */
	uint64_t parent;
	RW_ATOMIC(uint64_t) since_ns; /* written last, cleared first; 0 = the process is in no such call */
	uint64_t id;		      /* equal on all ranks that are awaited; not NCCL's own number */
	int32_t nranks;		      /* how many ranks are awaited, this one included … */
	int32_t rank;		      /* … and its place among them: of a split, those of the parent */
	uint32_t call;		      /* enum rw_init_call */
	uint32_t reserved;
};

/* rw_box_header.machine, as in ELF: whose numbers system calls have in the host samples. */
enum rw_machine {
	RW_MACHINE_X86_64 = 62,
	RW_MACHINE_AARCH64 = 183,
	RW_MACHINE_OTHER = 65535,
#if defined(__x86_64__)
	RW_MACHINE_OWN = RW_MACHINE_X86_64,
#elif defined(__aarch64__)
	RW_MACHINE_OWN = RW_MACHINE_AARCH64,
#else
	RW_MACHINE_OWN = RW_MACHINE_OTHER,
#endif
};

/* Readers add this to the number of a call of x86-64 for which their own machine has none. */
enum { RW_SYSTEM_CALL_ELSEWHERE = 0x10000 };

enum rw_box_end {
	RW_BOX_RUNNING = 0,
	RW_BOX_EXITED = 1, /* the process left through exit(): its atexit hook ran */
	RW_BOX_COPIED = 2, /* in saved boxes only: the process was still running when the copy was made */
};

struct rw_box_header {
	char magic[8];
	uint32_t layout;
	uint32_t header_size;
	uint64_t required_features; /* a reader refuses the file where it does not know one of these bits */
	uint64_t optional_features; /* a reader ignores those of these bits that it does not know */
	uint64_t total_size;
	uint64_t control_offset;
	uint64_t comms_offset;
	uint64_t gpu_offset;
	uint64_t samples_offset;
	uint64_t ring_offset;
	uint32_t comm_slots;
	uint32_t sample_slots;
	uint32_t ring_slots; /* a power of two */
	uint32_t operation_size;

	char boot_id[40]; /* text of /proc/sys/kernel/random/boot_id */
	uint32_t pid;	  /* in the writer's pid namespace */
	uint32_t uid;
	uint64_t pid_namespace;	  /* inode of /proc/self/ns/pid */
	uint64_t start_time_ticks; /* field 22 of /proc/self/stat */
	uint64_t created_ns;
	uint64_t created_realtime_ns;

	char host[64];
	char job[64];
	char rank_from[32]; /* the environment variable that gave world_rank; "" = none */
	char process_name[16];
	int32_t world_rank; /* the launcher's; -1 unknown: readers use the rank in the largest communicator */
	int32_t world_size; /* -1 unknown */
	int32_t local_rank; /* -1 unknown */
	int32_t generation;
	uint64_t watchdog_ms;	   /* 0 unknown: no countdown */
	uint64_t watchdog_init_ms; /* until the first step; 0 = same as watchdog_ms */
	char watchdog_from[32];	   /* RANKWATCH_TIMEOUT, cmdline, "torchtitan, assumed", … */

	uint32_t rankwatch_version; /* major << 16 | minor << 8 | patch */
	uint32_t nccl_version;	    /* as ncclGetVersion, 0 unknown */
	uint32_t profiler_abi;	    /* 1 … 7; 0 = none, only the interposer */
	uint32_t cuda_driver_version;
	char gpu_progress_state[64]; /* "watermark", or why there is no GPU progress; text for people */
	RW_ATOMIC(uint32_t) end;     /* enum rw_box_end */
	uint32_t history_limited;    /* 1 = the ring is smaller than RW_BOX_RING_MAX for lack of space */

	struct rw_device devices[RW_BOX_DEVICES];
	RW_ATOMIC(uint32_t) anchors_written; /* anchor i is at i % RW_BOX_ANCHORS */
	uint32_t interposed; /* 1 = the interposer is active, too */
	struct rw_anchor anchors[RW_BOX_ANCHORS];
	char environment[RW_BOX_ENVIRONMENT]; /* NAME=VALUE\0…, only variables of an allow list */
	/* RW_BOX_NETWORK: */
	uint64_t waits_offset;
	uint32_t wait_slots;
	RW_ATOMIC(uint32_t) waits_refused; /* channels beyond the table */
	RW_ATOMIC(uint64_t) leased_until_ns; /* latest end of a lease so far, after the limit to RW_LEASE_MAX_NS */

	/* Scanning of values, docs/scanning.md. */
	char scan_state[64];		  /* what is scanned, or why nothing; text for people */
	RW_ATOMIC(uint32_t) scan_every;	  /* one operation in this many is scanned: a power of two; 0 = none */
	uint32_t budget_ppm;		  /* RANKWATCH_BUDGET, as parts per million of wall time */
	RW_ATOMIC(uint32_t) cost_ppm;	  /* recent share of wall time that everything rankwatch adds has taken */
	RW_ATOMIC(uint32_t) progress_every; /* one operation in this many has GPU progress: a power of two */
	RW_ATOMIC(uint64_t) scan_launches;
	RW_ATOMIC(uint64_t) scan_buffers; /* with a result */
	RW_ATOMIC(uint64_t) scan_bytes;
	RW_ATOMIC(uint64_t) scan_host_ns; /* time that launches took on the job's threads, sampled and scaled */
	RW_ATOMIC(uint64_t) scan_gpu_ns;
	RW_ATOMIC(uint64_t) scan_sampled_out; /* operations */
	/* counts buffers, or operations that have no buffer */
	RW_ATOMIC(uint64_t) scan_unscannable[RW_UNSCANNABLE_COUNT];
	RW_ATOMIC(uint64_t) progress_sampled_out; /* operations */

	/* Counters. head has a cache line of its own, because each claim of each thread changes it; its neighbour
	 * hardly ever changes. */
	RW_ATOMIC(uint64_t) head; /* claims so far */
	/* Of the events that the plugin asked NCCL for, those that NCCL's event mask was seen to lack; NCCL's bits. 0
	 * in earlier boxes. */
	RW_ATOMIC(uint64_t) mask_missing;
	/* when it was first seen to lack one, within a second; written before mask_missing */
	RW_ATOMIC(uint64_t) mask_ns;
	/* The latest, in no order; until_ns is 0 while one is being written. All 0 in earlier boxes. */
	struct rw_pause pauses[RW_BOX_PAUSES];
	uint64_t reserved2;
	RW_ATOMIC(uint64_t) dropped; /* claims that found no free slot */
	RW_ATOMIC(uint64_t) untracked[RW_UNTRACKED_COUNT];
	RW_ATOMIC(uint64_t) own_ns; /* time spent in callbacks, sampled and scaled */
	RW_ATOMIC(uint64_t) callbacks;
	RW_ATOMIC(uint64_t) comms_used;
	RW_ATOMIC(uint64_t) comms_refused; /* communicators beyond the table */
	RW_ATOMIC(uint64_t) samples_head;  /* host samples so far */
	RW_ATOMIC(uint64_t) drain_ns;	   /* when the drain thread last polled: the process's heartbeat */
	struct rw_init init;
	uint32_t machine; /* enum rw_machine; 0 in earlier boxes: x86-64 */
	uint32_t reserved3;
};

static_assert(sizeof(struct rw_scan) == 40, "in the slot");
static_assert(sizeof(struct rw_operation) == 256, "docs/black-box.md");
static_assert(sizeof(struct rw_communicator) == 256, "docs/black-box.md");
static_assert(sizeof(struct rw_gpu_progress) == 64, "docs/black-box.md");
static_assert(sizeof(struct rw_host_sample) == 64, "docs/black-box.md");
static_assert(sizeof(struct rw_device) == 64, "docs/black-box.md");
static_assert(sizeof(struct rw_wait) == 64, "docs/black-box.md");
static_assert(sizeof(struct rw_lease) == 24, "docs/black-box.md");
static_assert(offsetof(struct rw_box_header, waits_offset) == 6144, "docs/black-box.md");
static_assert(offsetof(struct rw_box_header, head) == 6400, "docs/black-box.md");
static_assert(offsetof(struct rw_box_header, init.since_ns) == 6592, "docs/black-box.md");
static_assert(sizeof(struct rw_box_header) <= RW_BOX_HEADER_SIZE, "docs/black-box.md");

#endif
