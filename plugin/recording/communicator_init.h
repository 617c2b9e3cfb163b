/* SPDX-License-Identifier: MIT */
/* What is known of a communicator at its init, and what before profiler ABI v4 comes with its first task. */
#ifndef PLUGIN_RECORDING_COMMUNICATOR_INIT_H
#define PLUGIN_RECORDING_COMMUNICATOR_INIT_H

#include <stdint.h>

struct communicator_init {
	uint64_t id;
	const char *name; /* NULL: none. Copied. */
	int nnodes, nranks, rank;
	/* Before 4, id, name and rank come with the first task; nnodes and nranks never. 0: this NCCL has no profiler
	 * interface, or no plugin is loaded into it; only the interposer sees the communicator. */
	uint32_t abi;
	const void *caller; /* an address inside NCCL: it shows which libnccl created the communicator */
};

struct communicator_identity {
	uint64_t id;
	const char *name; /* NULL: none. Copied. */
	int rank;
};

#endif
