/* SPDX-License-Identifier: MIT */
/* What stands under a key of a message: of the right type, or as if it were absent. */
#ifndef CONSOLE_TOP_FIELD_H
#define CONSOLE_TOP_FIELD_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

/* Text, escaped and cut to `size`; "" where there is none. */
void field_copy(char *out, size_t size, const json_t *value);
const json_t *field_get(const json_t *object, const char *key);
/* Finite. */
double field_number(const json_t *object, const char *key, double otherwise);
int64_t field_integer(const json_t *object, const char *key, int64_t otherwise);
int32_t field_small(const json_t *object, const char *key, int32_t otherwise);

#endif
