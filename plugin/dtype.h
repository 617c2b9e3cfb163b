/* SPDX-License-Identifier: MIT */
#ifndef PLUGIN_DTYPE_H
#define PLUGIN_DTYPE_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of an element of this enum rw_dtype; 0 = type not known. Any value may come. */
uint32_t dtype_size(uint8_t dtype);
/* The enum rw_dtype of a floating type's name, as in "bfloat16" or "float8_e4m3"; RW_DTYPE_UNKNOWN: none. `length`: of
 * the name. */
uint8_t dtype_named(const char *name, size_t length);

#endif
