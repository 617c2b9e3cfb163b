/* SPDX-License-Identifier: MIT */
#ifndef SIM_NCCL_BOOTSTRAP_HOST_H
#define SIM_NCCL_BOOTSTRAP_HOST_H

#include <stdint.h>

/*
 * The host that this process claims to be on, as NCCL has it: a hash of NCCL_HOSTID alone when that is set, else of the
 * host's name and boot id. Read once per process.
 */
uint64_t host_hash(void);

#endif
