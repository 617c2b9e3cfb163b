/* SPDX-License-Identifier: MIT */
#include "console/dump/record_field.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rankwatch/operation.h>

#include "finding/finding_json.h"

json_t *record_field_hex(uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	return json_string(text);
}

/* A number without a name came from a newer plugin. */
static json_t *name_or_number(const char *name, uint8_t number)
{
	return name ? json_string(name) : json_integer(number);
}

static const char *gpu_source_name(uint8_t source)
{
	static const char *const names[] = {
		[RW_GPU_SOURCE_NONE] = "none",
		[RW_GPU_SOURCE_WATERMARK] = "watermark",
		[RW_GPU_SOURCE_KERNEL_CH] = "kernel_ch",
	};

	return source < sizeof(names) / sizeof(*names) ? names[source] : NULL;
}

json_t *record_field_json(const struct record_field *field, const void *record)
{
	const char *at = (const char *)record + field->offset;
	uint64_t wide;
	uint32_t word;
	uint16_t half;

	switch (field->shape) {
	case U8:
		return json_integer(*(const uint8_t *)at);
	case U16:
		memcpy(&half, at, sizeof(half));
		return json_integer(half);
	case U32:
		memcpy(&word, at, sizeof(word));
		return json_integer(word);
	case I32:
		memcpy(&word, at, sizeof(word));
		return json_integer((int32_t)word);
	case U64:
	case HEX:
		memcpy(&wide, at, sizeof(wide));
		return field->shape == HEX ? record_field_hex(wide) : json_integer((json_int_t)wide);
	case ALGORITHM:
		return name_or_number(finding_algorithm_name(*(const uint8_t *)at), *(const uint8_t *)at);
	case PROTOCOL:
		return name_or_number(finding_protocol_name(*(const uint8_t *)at), *(const uint8_t *)at);
	case GPU_SOURCE:
		return name_or_number(gpu_source_name(*(const uint8_t *)at), *(const uint8_t *)at);
	}
	return NULL;
}
