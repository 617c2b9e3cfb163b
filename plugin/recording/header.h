/* SPDX-License-Identifier: MIT */
/* The header of the black box: what identifies this process, its job and its NCCL. Not on the path of a collective; the
 * caller holds the lock under which the recording is made. */
#ifndef PLUGIN_RECORDING_HEADER_H
#define PLUGIN_RECORDING_HEADER_H

#include <stdint.h>

#include <rankwatch/blackbox.h>

#include "identity/identity.h"

/* Host, job, rank and watchdog. Called again when a larger communicator shows more. */
void header_fill_identity(struct rw_box_header *header, const struct identity *identity);
/* All that needs neither NCCL nor a device. */
void header_fill(struct rw_box_header *header, const struct identity *identity);
/* caller: an address in the libnccl that called us; abi: of its profiler interface, 0 none. */
void header_fill_nccl(struct rw_box_header *header, const void *caller, uint32_t abi);

#endif
