/* SPDX-License-Identifier: MIT */
/* ncclConfig_t, as programs of every release since 2.14 fill it in. */
#ifndef SIM_NCCL_COMM_CONFIG_H
#define SIM_NCCL_COMM_CONFIG_H

#include <nccl.h>

/*
 * Copies what the program gave, which may be the shorter struct of an older release; NULL = nothing. Fields that it
 * left undefined or did not know get NCCL's defaults. Pointers stay the program's. ncclInvalidArgument: not initialized
 * with NCCL_CONFIG_INITIALIZER, or a value out of its range.
 */
ncclResult_t config_read(ncclConfig_t *config, const ncclConfig_t *given);

#endif
