/* SPDX-License-Identifier: MIT */
/*
 * The numbers that describe one operation (one collective or p2p call on one rank) wherever it is stored or shown.
 * Values never change, because they are in black boxes on disk. New values are appended.
 */
#ifndef RANKWATCH_OPERATION_H
#define RANKWATCH_OPERATION_H

#include <stdint.h>

/* Function of an operation. There are at most 16: the communicator table keeps one last slot per function. */
enum rw_function {
	RW_FUNCTION_UNKNOWN = 0,
	RW_FUNCTION_ALL_GATHER = 1,
	RW_FUNCTION_ALL_REDUCE = 2,
	RW_FUNCTION_ALL_TO_ALL = 3,
	RW_FUNCTION_BROADCAST = 4,
	RW_FUNCTION_GATHER = 5,
	RW_FUNCTION_REDUCE = 6,
	RW_FUNCTION_REDUCE_SCATTER = 7,
	RW_FUNCTION_SCATTER = 8,
	RW_FUNCTION_SEND = 9,
	RW_FUNCTION_RECV = 10,
	RW_FUNCTION_SEND_RECV = 11,
	RW_FUNCTION_COUNT = 16, /* room for more; not a function */
};

/* Data type: the ncclDataType_t of NCCL 2.28 plus 1, so that 0 means "not known". */
enum rw_dtype {
	RW_DTYPE_UNKNOWN = 0,
	RW_DTYPE_INT8 = 1,
	RW_DTYPE_UINT8 = 2, /* the profiler ABI names it "Unknown" */
	RW_DTYPE_INT32 = 3,
	RW_DTYPE_UINT32 = 4,
	RW_DTYPE_INT64 = 5,
	RW_DTYPE_UINT64 = 6,
	RW_DTYPE_FLOAT16 = 7,
	RW_DTYPE_FLOAT32 = 8,
	RW_DTYPE_FLOAT64 = 9,
	RW_DTYPE_BFLOAT16 = 10,
	RW_DTYPE_FLOAT8_E4M3 = 11,
	RW_DTYPE_FLOAT8_E5M2 = 12,
	RW_DTYPE_COUNT = 16,
};

enum rw_algorithm {
	RW_ALGORITHM_UNKNOWN = 0,
	RW_ALGORITHM_TREE = 1,
	RW_ALGORITHM_RING = 2,
	RW_ALGORITHM_COLLNET_DIRECT = 3,
	RW_ALGORITHM_COLLNET_CHAIN = 4,
	RW_ALGORITHM_NVLS = 5,
	RW_ALGORITHM_NVLS_TREE = 6,
	RW_ALGORITHM_PAT = 7,
};

enum rw_protocol {
	RW_PROTOCOL_UNKNOWN = 0,
	RW_PROTOCOL_LL = 1,
	RW_PROTOCOL_LL128 = 2,
	RW_PROTOCOL_SIMPLE = 3,
};

/* operation.known: which fields of the slot are valid. */
enum rw_known {
	RW_KNOWN_IDENT = 1u << 0,   /* comm, function, dtype, count, sequence */
	RW_KNOWN_API = 1u << 1,	    /* stream, api_tid, group, api_ns */
	RW_KNOWN_LAUNCH = 1u << 2,  /* launch_begin_ns, launch_end_ns, launch_stream, launch_tid, plan, progress */
	RW_KNOWN_TASK = 1u << 3,    /* nccl_sequence, algorithm, protocol, channels, addresses, peer */
	RW_KNOWN_RETURN = 1u << 4,  /* return_ns */
	RW_KNOWN_STARTED = 1u << 5, /* started_seen_ns, and gpu_source, which STAMP makes valid, too */
	RW_KNOWN_DONE = 1u << 6,    /* done_seen_ns */
	RW_KNOWN_STAMP = 1u << 7,   /* gpu_start_raw, gpu_end_raw */
	RW_KNOWN_SCAN_IN = 1u << 8,
	RW_KNOWN_SCAN_OUT = 1u << 9,
	/* addresses and peer, from the interposer: valid before the task, and without a task */
	RW_KNOWN_CALL = 1u << 10,
	RW_KNOWN_BEGAN = 1u << 11,  /* NCCL has reported that its kernel began (RANKWATCH_KERNELCH=1); no field */
	RW_KNOWN_STEP = 1u << 12,   /* no operation but a step mark, see below; no other bit is set */
};

/*
 * A step mark: a slot with RW_KNOWN_STEP. The program says that its training step number `count` begins, at api_ns: the
 * operations with later tickets are of that step, up to the next mark. `group` is who says so. A mark by a tag with the
 * number 0 takes all marks by tags back: the tags of this process are no steps. A reader that does not know marks finds
 * a slot of which nothing is known, and passes it over.
 */
enum rw_step_source {
	RW_STEP_CALL = 0, /* rankwatch_step() of rankwatch/rankwatch.h */
	RW_STEP_TAG = 1,  /* the userTag of NCCL's profiler interface 7, which changed */
};

static inline int rw_is_step_mark(uint32_t known)
{
	return (known & RW_KNOWN_STEP) && !(known & RW_KNOWN_IDENT);
}

/* operation.owner: which writers have not finished; the other bits are the low bits of the ticket. 0 = free to
 * claim. */
enum rw_owner {
	/* cleared by the later of the task and the API group's return, or by untracked or finalize */
	RW_OWNER_HOST = 1u << 0,
	RW_OWNER_GPU = 1u << 1,	 /* cleared by the drain thread when gpu_done has reached it */
	/* set when the scan of the buffer is decided, cleared by the drain thread with the result */
	RW_OWNER_SCAN_IN = 1u << 2,
	RW_OWNER_SCAN_OUT = 1u << 3,
	RW_OWNER_TIMES = 1u << 4, /* the kernel's times, or that it began, are being written */
	RW_OWNER_PENDING = 31u,
	RW_OWNER_TICKET_SHIFT = 5,
};

/* operation.flags. Bits 8-15 hold one enum rw_untracked, bits 16-23 the enum rw_unscannable of UNSCANNABLE, bits 27-29
 * one enum rw_operator. */
enum rw_flag {
	RW_FLAG_IN_PLACE = 1u << 0,
	RW_FLAG_CAPTURED = 1u << 1,
	RW_FLAG_UNTRACKED = 1u << 2,
	RW_FLAG_SAMPLED_OUT = 1u << 3,
	RW_FLAG_UNSCANNABLE = 1u << 4,
	RW_FLAG_HOST_CALLBACK = 1u << 5,
	RW_FLAG_PEER_UNKNOWN = 1u << 6,
	RW_FLAG_ABORTED = 1u << 7,
	RW_FLAG_UNTRACKED_SHIFT = 8,
	RW_FLAG_UNTRACKED_MASK = 0xffu << 8,
	RW_FLAG_UNSCANNABLE_SHIFT = 16,
	RW_FLAG_UNSCANNABLE_MASK = 0xffu << 16,
	/* NCCL reported no event of it; sequence counts only such calls, which the interposer sees */
	RW_FLAG_UNANNOUNCED = 1u << 24,
	RW_FLAG_ENTERED = 1u << 25,     /* its group was ending, and it had no task: NCCL works on it until RETURN */
	/* after RETURN NCCL works on it, as it answers or its thread shows, until TASK or UNTRACKED */
	RW_FLAG_IN_PROGRESS = 1u << 26,
	RW_FLAG_OPERATOR_SHIFT = 27,
	RW_FLAG_OPERATOR_MASK = 7u << 27,
	/* Sampling chose it not to have GPU progress. If it has GPU progress all the same, other ranks may have none,
	 * and its times are not compared with theirs. If it has none, LAUNCH is the last that is known of it. */
	RW_FLAG_PROGRESS_SAMPLED_OUT = 1u << 30,
};

/* The operator of a reduction: its ncclRedOp_t plus 1. Only the interposer sees it: no profiler interface reports it.
 * In boxes of earlier versions it is always 0. */
enum rw_operator {
	RW_OPERATOR_UNKNOWN = 0, /* or no reduction */
	RW_OPERATOR_SUM = 1,
	RW_OPERATOR_PRODUCT = 2,
	RW_OPERATOR_MAX = 3,
	RW_OPERATOR_MIN = 4,
	RW_OPERATOR_AVERAGE = 5,
	RW_OPERATOR_SCALED_SUM = 6, /* an operator that the program made: ncclRedOpCreatePreMulSum() */
	RW_OPERATOR_COUNT = 8,
};

static inline uint32_t rw_operator_flags(uint8_t reduction)
{
	return (uint32_t)reduction << RW_FLAG_OPERATOR_SHIFT;
}

static inline uint8_t rw_operator(uint32_t flags)
{
	return (uint8_t)((flags & RW_FLAG_OPERATOR_MASK) >> RW_FLAG_OPERATOR_SHIFT);
}

/* Why an operation is untracked. Such an operation is never in flight and never late, but counted
 * (header.untracked[reason]). */
enum rw_untracked {
	RW_UNTRACKED_NONE = 0,
	RW_UNTRACKED_NO_TASK = 1,   /* the API group ended without Coll/P2p: symmetric kernel, error, simulated group */
	RW_UNTRACKED_BROADCAST = 2, /* Broadcast on NCCL >= 2.29.2 has no Coll event */
	RW_UNTRACKED_EXPIRED = 3,   /* pending for too long while more than 1/4 of the ring was pending */
	RW_UNTRACKED_FINALIZE = 4,  /* the communicator ended first */
	/* counted only: a captured call gets no slot; its replays that are scanned get one each */
	RW_UNTRACKED_CAPTURED = 5,
	/* counted only: ncclPutSignal, ncclSignal, ncclWaitSignal, of which no profiler interface tells */
	RW_UNTRACKED_ONE_SIDED = 6,
	RW_UNTRACKED_COUNT = 8,
};

/*
 * Why a buffer of an operation that was to be scanned was not scanned (header.scan_unscannable[reason]). An operation
 * has the first reason of its two buffers; SCAN_IN and SCAN_OUT say which of them was scanned all the same.
 *
 * An operation without such a reason, without SAMPLED_OUT and without a result has no such buffer on this rank, or
 * scanning is off (header.scan_state).
 */
enum rw_unscannable {
	RW_UNSCANNABLE_NONE = 0,
	/* the input, by an in-place operation: only the interposer sees the input before */
	RW_UNSCANNABLE_OVERWRITTEN = 1,
	/* launched where no CUDA call is allowed, or on a thread that the plugin does not see */
	RW_UNSCANNABLE_CALLBACK = 2,
	RW_UNSCANNABLE_CAPTURE = 3,	/* the stream is being captured, and no node could be added */
	RW_UNSCANNABLE_CONTEXT = 4,	/* another CUDA context than the communicator's */
	RW_UNSCANNABLE_MEMORY = 5,	/* not device memory */
	RW_UNSCANNABLE_SHAPE = 6,	/* type or number of elements not known */
	RW_UNSCANNABLE_BEHIND = 7,	/* too many scans are still in flight */
	RW_UNSCANNABLE_ERROR = 8,	/* the launch of the scan failed: scanning is off from then on */
	RW_UNSCANNABLE_COUNT = 12,
};

/*
 * operation.sequence with CAPTURED: the slot is one replay of a call that runs inside a CUDA graph. It holds what the
 * scans of that replay found and nothing else. Of its times only api_ns is known: when its result was seen.
 *
 * The sequence holds two numbers, which count from 0 and are equal on all ranks: the number of the call among the
 * captured calls of the same communicator and function (p2p: and direction and peer), and the number of the replay of
 * that call.
 */
#define RW_CAPTURED_SEQUENCE   (UINT64_C(1) << 63) /* no other sequence reaches this bit */
#define RW_CAPTURED_CALL_SHIFT 40
#define RW_CAPTURED_CALL_MASK  UINT64_C(0x7fffff)

static inline uint64_t rw_captured_sequence(uint64_t call, uint64_t replay)
{
	uint64_t replays = (UINT64_C(1) << RW_CAPTURED_CALL_SHIFT) - 1;

	return RW_CAPTURED_SEQUENCE | (call & RW_CAPTURED_CALL_MASK) << RW_CAPTURED_CALL_SHIFT | (replay & replays);
}

static inline uint64_t rw_captured_call(uint64_t sequence)
{
	return sequence >> RW_CAPTURED_CALL_SHIFT & RW_CAPTURED_CALL_MASK;
}

static inline uint64_t rw_captured_replay(uint64_t sequence)
{
	return sequence & ((UINT64_C(1) << RW_CAPTURED_CALL_SHIFT) - 1);
}

/* operation.gpu_source: how started and done were seen. 2 and 4 are reserved: no version writes them. */
enum rw_gpu_source {
	RW_GPU_SOURCE_NONE = 0, /* no GPU progress: the host rule applies */
	RW_GPU_SOURCE_WATERMARK = 1,
	RW_GPU_SOURCE_KERNEL_CH = 3, /* only the raw times are known (RW_KNOWN_STAMP) */
};

#endif
