/* SPDX-License-Identifier: MIT */
#include "console/cli/size.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit sizes[] = {
	{ "", 1 }, { "K", 1u << 10 }, { "M", 1u << 20 }, { "G", 1u << 30 }, { "T", UINT64_C(1) << 40 }
};
static const struct unit ages[] = { { "", 1 }, { "s", 1 }, { "m", 60 }, { "h", 3600 }, { "d", 86400 } };

static int parse(const char *text, const struct unit *units, size_t count, uint64_t *value)
{
	char *end;

	errno = 0;
	unsigned long long number = strtoull(text, &end, 10);
	if (errno || end == text || !isdigit((unsigned char)*text))
		return -EINVAL;
	for (size_t i = 0; i < count; i++) {
		if (strcasecmp(end, units[i].name) != 0)
			continue;
		return __builtin_mul_overflow(number, units[i].factor, value) ? -EINVAL : 0;
	}
	return -EINVAL;
}

int size_parse(const char *text, uint64_t *bytes)
{
	return parse(text, sizes, sizeof(sizes) / sizeof(*sizes), bytes);
}

int age_parse(const char *text, uint64_t *seconds)
{
	return parse(text, ages, sizeof(ages) / sizeof(*ages), seconds);
}

const char *size_text(char text[24], uint64_t bytes)
{
	static const char *const names[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
	double value = (double)bytes;
	size_t unit = 0;

	while (value >= 1024 && unit + 1 < sizeof(names) / sizeof(*names)) {
		value /= 1024;
		unit++;
	}
	snprintf(text, 24, unit ? "%.1f %s" : "%.0f %s", value, names[unit]);
	return text;
}
