/* SPDX-License-Identifier: MIT */
/* The ports of this machine's network: what was read of each in the last minutes. */
#ifndef ANALYSIS_HOST_PORTS_H
#define ANALYSIS_HOST_PORTS_H

#include <stdbool.h>
#include <stdint.h>

#include <rankwatch/ports.h>

#include "analysis/analysis.h"

enum {
	PORTS_MAX = 64,      /* further ones are not kept */
	PORT_READINGS = 128, /* of a port: more than four minutes at one in two seconds */
	PORTS_SHOWN = 4 * RW_PORT_SHOWINGS, /* showings that are remembered: those of several hosts' boxes */
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

/* What a port showed around a moment that was asked for. */
struct port_shown {
	struct rw_port_showing showing;
	uint32_t host; /* of job.hosts, for what comes from a box; PORT_OWN_HOST: of the readings here */
};
#define PORT_OWN_HOST UINT32_MAX

/* Readings go after minutes; and of a job of which only boxes are left there are none. */
struct ports_memory {
	struct port_shown shown[PORTS_SHOWN];
	uint32_t count;
};

struct ports {
	struct port **items;
	uint32_t count;
	/* NULL before anything was told of ports; who only asks may remember what he was told */
	struct ports_memory *memory;
};

/* 0, -EINVAL or -ENOMEM, as analysis_add_port_state(). */
int ports_add_state(struct ports *ports, const struct analysis_port_state *state);
/* In place of what was shown of the same port around the same moment; else, when all places are taken, of the one asked
 * for longest ago. */
void ports_remember(struct ports_memory *memory, const struct rw_port_showing *showing, uint32_t host);
/* Makes the memory. 0 or -ENOMEM. */
int ports_need_memory(struct ports *ports);
/* Reading 0 is the latest; NULL when it is not kept. */
const struct port_reading *port_reading_at(const struct port *port, uint64_t age);
void ports_free(struct ports *ports);

#endif
