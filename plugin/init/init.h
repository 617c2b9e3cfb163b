/* SPDX-License-Identifier: MIT */
/* Init and finalize of a communicator, whether NCCL's profiler interface reports it or the interposer does. Any
 * thread, concurrently; the communicator's device is current. Not on the path of a collective: takes locks, queries
 * the driver. */
#ifndef PLUGIN_INIT_INIT_H
#define PLUGIN_INIT_INIT_H

#include "plugin/recording/communicator.h"
#include "plugin/recording/communicator_init.h"

/* What NCCL should call us for, once the communicator is recorded. */
enum init_wish { INIT_NOTHING, INIT_OPERATIONS, INIT_OPERATIONS_AND_KERNELS, INIT_WISH_COUNT };

/* From the profiler interface. *context, which NCCL is to keep, is always written. */
enum init_wish init_context(const struct communicator_init *communicator, void **context);
/* The communicator of that context ends. Anything may come. */
void init_finalize(void *context);

/* From the interposer: the communicator is entered into the box; NULL: it is not recorded. Ended by
 * communicator_end(). */
struct communicator *init_communicator(const struct communicator_init *communicator);

#endif
