/* SPDX-License-Identifier: MIT */
/* What is said of a call, of its task and of the task's part in the network: by the ABI adapters of what NCCL reports,
 * and by the interposer of the call that it sees. */
#ifndef PLUGIN_OPERATIONS_REPORTED_H
#define PLUGIN_OPERATIONS_REPORTED_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/recording/communicator_init.h"

struct reported_call {
	uint8_t function;  /* enum rw_function */
	uint8_t dtype;     /* enum rw_dtype */
	uint8_t reduction; /* enum rw_operator, from the interposer */
	bool captured;
	int32_t root; /* -1 none */
	uint64_t count;
	uint64_t stream;
};

struct reported_task {
	uint64_t nccl_sequence;
	uint64_t send, recv; /* addresses, 0 = none */
	int32_t peer;        /* p2p: communicator rank; else -1 */
	uint8_t algorithm, protocol, channels;
};

/* What a task sends to or receives from one peer through one channel; of this process only. */
struct reported_proxy_op {
	int peer, step_bytes;
	uint8_t channel;
	bool sends;
};

/* A task without a call (before ABI v5). */
struct reported_bare_task {
	struct communicator_identity identity; /* before ABI v4: whose task it is, which init did not report */
	struct reported_call call;
	struct reported_task task;
};

#endif
