/* SPDX-License-Identifier: MIT */
/* The ports of this machine's network: what was read of each in the last minutes. */
#ifndef ANALYSIS_PORTS_H
#define ANALYSIS_PORTS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/analysis.h"

enum {
	PORTS_MAX = 64,      /* further ones are not kept */
	PORT_READINGS = 128, /* of a port: more than four minutes at one in two seconds */
};

struct port_reading {
	uint64_t at_ns;
	bool active;
	int64_t mbit_s;
	uint64_t counts[ANALYSIS_PORT_COUNTERS]; /* since the first reading, whoever resets the counters meanwhile */
};

struct port {
	char name[32], model[32];
	int32_t number;
	bool was_active;                     /* ever */
	int64_t raw[ANALYSIS_PORT_COUNTERS]; /* as read last; -1 never */
	uint64_t first_ns;
	struct port_reading readings[PORT_READINGS];
	uint64_t reading_count; /* ever */
};

struct ports {
	struct port **items;
	uint32_t count;
};

/* 0, -EINVAL or -ENOMEM, as analysis_add_port_state(). */
int ports_add_state(struct ports *ports, const struct analysis_port_state *state);
/* Reading 0 is the latest; NULL when it is not kept. */
const struct port_reading *port_reading_at(const struct port *port, uint64_t age);
void ports_free(struct ports *ports);

#endif
