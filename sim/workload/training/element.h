/* SPDX-License-Identifier: MIT */
/* One element of the floating types that the workload sends: fp32, bf16, fp16 and fp8 (e4m3). */
#ifndef SIM_WORKLOAD_TRAINING_ELEMENT_H
#define SIM_WORKLOAD_TRAINING_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nccl.h>

/* Bytes; 0: none of these types. */
size_t element_size(ncclDataType_t type);
/* A normal number is cut to the type's precision, a smaller one becomes 0. e4m3 has no infinity: NaN. */
uint32_t element_bits(ncclDataType_t type, float value);
uint32_t element_largest_bits(ncclDataType_t type);

/* Of data on the host. */
void element_write(ncclDataType_t type, void *data, size_t index, float value);
/* Exactly this value, which the type can hold? */
bool element_is(ncclDataType_t type, const void *data, size_t index, float value);
bool element_all_finite(ncclDataType_t type, const void *data, size_t count);

#endif
