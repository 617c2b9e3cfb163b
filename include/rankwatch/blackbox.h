/* SPDX-License-Identifier: MIT */
/*
 * The black box: one file per process, written in place by the plugin and by the GPU, read by everyone else.
 * Field by field: docs/black-box.md. All integers little endian. Times are CLOCK_MONOTONIC nanoseconds
 * unless the name says otherwise; 0 means "not yet". Nothing here executes.
 */
#ifndef RANKWATCH_BLACKBOX_H
#define RANKWATCH_BLACKBOX_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include <rankwatch/operation.h>

#ifdef __cplusplus
#define RW_ATOMIC(type) type /* C++ readers copy first and never share these */
#else
#include <stdatomic.h>
#define RW_ATOMIC(type) _Atomic type
#endif

#define RW_BOX_MAGIC "RWBOX\r\n\x1a" /* 8 bytes; a text-mode copy breaks it */
#define RW_BOX_LAYOUT 1u
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

/* header.optional_features */
#define RW_BOX_NETWORK (UINT64_C(1) << 0) /* has a table of network waits, and takes leases of it */

/* One scan result, 40 bytes. */
struct rw_scan {
	uint32_t nan;
	uint32_t inf;
	uint64_t first_bad; /* element index, ~0 none */
	float absmax;	    /* largest finite magnitude */
	uint32_t saturated;
	uint64_t digest;    /* and lane_sum: the formula is in plugin/scan/scan_kernel.h */
	uint64_t lane_sum;
};

/* What a digest gains per byte of its buffer: who puts the digests of parts together takes it out and in again. */
#define RW_DIGEST_LENGTH_FACTOR UINT64_C(0x510e527fade682d1)

/* One operation, 256 bytes. Writers: A the thread in the API call, L the launching thread, D the plugin's drain
 * thread. From `comm` on every field is written once, by one writer, and valid when its `known` bit is set. */
struct rw_operation {
	RW_ATOMIC(uint64_t) ticket; /* 0 being claimed, else claim number + 1; A, last store of the claim */
	RW_ATOMIC(uint32_t) known;  /* enum rw_known, fetch_or release */
	RW_ATOMIC(uint32_t) owner;  /* enum rw_owner + low ticket bits */
	RW_ATOMIC(uint32_t) flags;  /* enum rw_flag, fetch_or */
	uint16_t comm;		    /* index into the communicator table */
	uint8_t function;	    /* enum rw_function */
	uint8_t dtype;		    /* enum rw_dtype, from the API event */
	uint64_t count;		    /* elements as in the API call */
	uint64_t sequence;	    /* per (comm, function); p2p: per (comm, direction, peer) */
	uint64_t nccl_sequence;
	uint64_t stream; /* the user's stream, a label */
	uint32_t api_tid;
	uint32_t group; /* names the outermost group in this process; says nothing about order. 0 = none */
	uint64_t api_ns;
	uint64_t launch_begin_ns; /* launch_end_ns where the GPU writes no progress */
	uint64_t launch_end_ns;
	uint64_t return_ns; /* the API group's return */
	uint64_t launch_stream;
	uint32_t launch_tid;
	uint32_t plan; /* operations of one plan share GPU times */
	int32_t root_or_peer;
	uint8_t algorithm;
	uint8_t protocol;
	uint8_t channels;
	uint8_t gpu_source; /* enum rw_gpu_source */
	uint64_t progress;  /* number the GPU writes to gpu_started / gpu_done; 0 = none */
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
 * One communicator, 256 bytes. born_ns is stored last (release): 0 = entry not used (yet). When all entries are taken,
 * that of the communicator that ended first is given to a new one, with a later born_ns: operations from before it
 * (api_ns < born_ns) belong to an earlier owner, which the box does not describe any more.
 */
struct rw_communicator {
	uint64_t id; /* NCCL's commHash / commId, equal on all ranks */
	char name[64];
	uint32_t device; /* index into header.devices */
	int32_t rank;
	int32_t nranks; /* 0: not known, as nnodes: profiler ABI before v4 does not say */
	int32_t nnodes;
	RW_ATOMIC(uint64_t) born_ns;
	RW_ATOMIC(uint64_t) ended_ns;
	RW_ATOMIC(uint64_t) api_count; /* operations announced by the API, slots or not */
	RW_ATOMIC(uint64_t) launched;  /* highest progress number; goes on across owners of the entry */
	RW_ATOMIC(uint64_t) captured;  /* calls under graph capture: counted, no slot */
	uint64_t reserved[16];         /* 0 */
};

/* Written by the GPU in stream order: a plan with progress number n is running when gpu_started >= n > gpu_done. */
struct rw_gpu_progress {
	RW_ATOMIC(uint64_t) gpu_started;
	RW_ATOMIC(uint64_t) gpu_done;
	uint64_t reserved[6];
};

enum rw_sample_kind {
	RW_SAMPLE_STATE = 1,  /* where a thread is now */
	RW_SAMPLE_THREAD = 2, /* text: the thread's name; once per thread */
	RW_SAMPLE_FILE = 3,   /* text: piece number `state` of the path behind (tid, fd); detail: device (makedev) */
};

/* What the process saw of its own threads in /proc/self/task, 64 bytes. Slot = number % RW_BOX_SAMPLES. */
struct rw_host_sample {
	RW_ATOMIC(uint64_t) ticket; /* number + 1, last store; 0 while being written */
	uint64_t monotonic_ns;
	uint32_t tid;
	uint8_t kind;		 /* enum rw_sample_kind */
	char state;		 /* R S D T t Z …; FILE: piece number 0… */
	int16_t system_call;	 /* number; -1 none (blocked outside a system call), -2 running or not known */
	int32_t fd;		 /* first argument where it is a descriptor, the first of poll(2)'s, else -1 */
	uint32_t detail;	 /* STATE: CPU time in ms so far; FILE: device */
	uint64_t run_delay_ns;	 /* STATE: time on the run queue so far (schedstat) */
	char text[24];		 /* STATE: kernel wait channel; else by kind; not terminated when full */
};

/*
 * Lease of network detail, the first RW_BOX_LEASES of the control page: NCCL's proxy events of one communicator are
 * recorded until then. Written by the collector; the plugin lets it run for RW_LEASE_MAX_NS from when it first saw
 * these very values, at most, and ends it by itself.
 */
struct rw_lease {
	RW_ATOMIC(uint64_t) expires_ns; /* 0 = none */
	uint64_t communicator;		/* rw_communicator.id */
	uint32_t proxy_bits;		/* RW_LEASE_PROXY_OP | RW_LEASE_PROXY_STEP; without both it is none */
	uint32_t reserved;
};

#define RW_LEASE_MAX_NS UINT64_C(10000000000)
enum { RW_LEASE_PROXY_OP = 8, RW_LEASE_PROXY_STEP = 16 /* as in NCCL's activation mask */ };

/*
 * What one channel to or from one peer on another host has waited for while it was leased, 64 bytes: sums that only
 * grow, each word for itself, until key becomes 0. Only the oldest step in flight counts at any time. A send waits for
 * its own GPU, then for the peer to take the step, then for the network to deliver it; a receive for the network (or for
 * who sends: that is the same from here), then for its own GPU.
 */
struct rw_wait {
	RW_ATOMIC(uint64_t) key; /* RW_WAIT_…; 0 = not used */
	RW_ATOMIC(uint64_t) first_ns, last_ns;
	RW_ATOMIC(uint64_t) bytes; /* sent, or arrived */
	RW_ATOMIC(uint64_t) gpu_ns;
	RW_ATOMIC(uint64_t) peer_ns; /* sends only; before profiler ABI v4 the network's where the peer's is not told */
	RW_ATOMIC(uint64_t) network_ns;
	RW_ATOMIC(uint32_t) steps; /* finished */
	RW_ATOMIC(uint32_t) flush_us; /* receives: the flush behind GPUDirect */
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

/* The init of a communicator that this process is in, where it may wait for the other ranks. The
 * header is complete when since_ns is not 0. Only the interposer sees that call begin. */
struct rw_init {
	RW_ATOMIC(uint64_t) since_ns; /* written last, cleared first; 0 = in no such call */
	uint64_t id;		      /* of the unique id, equal on all ranks; not NCCL's own number */
	int32_t nranks;
	int32_t rank;
};

enum rw_box_end {
	RW_BOX_RUNNING = 0,
	RW_BOX_EXITED = 1, /* the process left through exit(): atexit hook ran */
	RW_BOX_COPIED = 2, /* in saved boxes only: the process still ran when the copy was made */
};

struct rw_box_header {
	char magic[8];
	uint32_t layout;
	uint32_t header_size;
	uint64_t required_features; /* a bit the reader does not know: refuse the file */
	uint64_t optional_features; /* a bit the reader does not know: carry on */
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
	char rank_from[32]; /* variable that gave world_rank, "" = none */
	char process_name[16];
	int32_t world_rank; /* launcher's; -1 unknown: readers use the rank in the largest communicator */
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
	char gpu_progress_state[64]; /* "watermark" or why not; text for people */
	RW_ATOMIC(uint32_t) end;     /* enum rw_box_end */
	uint32_t history_limited;    /* 1 = ring is smaller than RW_BOX_RING_MAX for lack of space */

	struct rw_device devices[RW_BOX_DEVICES];
	RW_ATOMIC(uint32_t) anchors_written; /* anchor i is at i % RW_BOX_ANCHORS */
	uint32_t interposed; /* 1 = the interposer is at work, too */
	struct rw_anchor anchors[RW_BOX_ANCHORS];
	char environment[RW_BOX_ENVIRONMENT]; /* NAME=VALUE\0…, allow-listed */
	/* RW_BOX_NETWORK: */
	uint64_t waits_offset;
	uint32_t wait_slots;
	RW_ATOMIC(uint32_t) waits_refused; /* channels beyond the table */
	RW_ATOMIC(uint64_t) leased_until_ns; /* latest end of a lease so far, clamped */

	/* Scanning of values, docs/scanning.md. */
	char scan_state[64];		  /* what is scanned, or why nothing; text for people */
	RW_ATOMIC(uint32_t) scan_every;	  /* one operation in so many is scanned: a power of two; 0 = none */
	uint32_t budget_ppm;		  /* RANKWATCH_BUDGET, of wall time */
	RW_ATOMIC(uint32_t) cost_ppm;	  /* what everything that we add took lately */
	RW_ATOMIC(uint32_t) progress_every; /* one operation in so many has GPU progress: a power of two */
	RW_ATOMIC(uint64_t) scan_launches;
	RW_ATOMIC(uint64_t) scan_buffers; /* with a result */
	RW_ATOMIC(uint64_t) scan_bytes;
	RW_ATOMIC(uint64_t) scan_host_ns; /* on the job's threads */
	RW_ATOMIC(uint64_t) scan_gpu_ns;
	RW_ATOMIC(uint64_t) scan_sampled_out; /* operations */
	RW_ATOMIC(uint64_t) scan_unscannable[RW_UNSCANNABLE_COUNT]; /* buffers; where none is there, operations */
	RW_ATOMIC(uint64_t) progress_sampled_out; /* operations */

	/* Counters. head is alone on its cache line: every claim of every thread moves it. */
	RW_ATOMIC(uint64_t) head; /* claims so far */
	uint64_t reserved2[7];
	RW_ATOMIC(uint64_t) dropped; /* claims that found no free slot */
	RW_ATOMIC(uint64_t) untracked[RW_UNTRACKED_COUNT];
	RW_ATOMIC(uint64_t) own_ns; /* time spent in callbacks, sampled and scaled */
	RW_ATOMIC(uint64_t) callbacks;
	RW_ATOMIC(uint64_t) comms_used;
	RW_ATOMIC(uint64_t) comms_refused; /* communicators beyond the table */
	RW_ATOMIC(uint64_t) samples_head;  /* host samples so far */
	RW_ATOMIC(uint64_t) drain_ns;	   /* when the drain thread last polled: a heartbeat */
	uint64_t reserved3;
	struct rw_init init;
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
static_assert(offsetof(struct rw_box_header, init) == 6592, "docs/black-box.md");
static_assert(sizeof(struct rw_box_header) <= RW_BOX_HEADER_SIZE, "docs/black-box.md");

#endif
