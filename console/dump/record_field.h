/* SPDX-License-Identifier: MIT */
/* One field of a record of a black box: where it is, and how it reads as JSON. */
#ifndef CONSOLE_DUMP_RECORD_FIELD_H
#define CONSOLE_DUMP_RECORD_FIELD_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

enum field_shape {
	U8,
	U16,
	U32,
	I32,
	U64,
	HEX, /* u64: an address, a label or a hash */
	ALGORITHM,
	PROTOCOL,
	GPU_SOURCE, /* u8: a name */
};

struct record_field {
	const char *name;
	size_t offset;
	enum field_shape shape;
	uint32_t known; /* bits of enum rw_known, each of which makes it valid; 0 always valid */
};

/* New reference; NULL on lack of memory. */
json_t *record_field_json(const struct record_field *field, const void *record);
json_t *record_field_hex(uint64_t value);

#endif
