/* SPDX-License-Identifier: MIT */
#ifndef SIM_CUDA_DRIVER_ERROR_H
#define SIM_CUDA_DRIVER_ERROR_H

#include <stdbool.h>

#include <cuda.h>

/* "CUDA_ERROR_NOT_SUPPORTED" or "801"; false: neither a known name nor a number from 1 to 999. */
bool error_from_text(const char *text, CUresult *error);

#endif
