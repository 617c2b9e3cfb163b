/* SPDX-License-Identifier: MIT */
/* What came over the net and could not be used: each reason is said once, all are counted. */
#ifndef COLLECTOR_NATS_COMPLAINTS_H
#define COLLECTOR_NATS_COMPLAINTS_H

#include <stdbool.h>
#include <stdint.h>

enum { COMPLAINTS_KINDS = 32, COMPLAINTS_WHY = 128 };

struct complaints {
	char said[COMPLAINTS_KINDS][COMPLAINTS_WHY];
	unsigned kinds;
	uint64_t count;
};

/* why: in our own words. Whether it is to be said now. */
bool complaints_add(struct complaints *complaints, const char *why);

#endif
