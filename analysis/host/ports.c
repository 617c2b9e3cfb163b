/* SPDX-License-Identifier: MIT */
#include "analysis/host/ports.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct port *find(const struct ports *ports, const struct analysis_port_state *state)
{
	for (uint32_t i = 0; i < ports->count; i++)
		if (ports->items[i]->number == state->number && !strcmp(ports->items[i]->name, state->name))
			return ports->items[i];
	return NULL;
}

static struct port *add(struct ports *ports, const struct analysis_port_state *state)
{
	if (ports->count == PORTS_MAX)
		return NULL;
	struct port **items = realloc(ports->items, (ports->count + 1) * sizeof(struct port *));
	struct port *port = items ? calloc(1, sizeof(*port)) : NULL;

	if (items)
		ports->items = items;
	if (!port)
		return NULL;
	snprintf(port->name, sizeof(port->name), "%s", state->name);
	snprintf(port->model, sizeof(port->model), "%s", state->model);
	port->number = state->number;
	port->first_ns = state->at_ns;
	for (int i = 0; i < ANALYSIS_PORT_COUNTERS; i++)
		port->raw[i] = -1;
	ports->items[ports->count++] = port;
	return port;
}

/* One that has fallen was reset, and what it counted just before that is lost. One that could not be read this time
 * goes on from where it was. */
static uint64_t rise(int64_t before, int64_t now)
{
	return before >= 0 && now > before ? (uint64_t)(now - before) : 0;
}

int ports_need_memory(struct ports *ports)
{
	if (!ports->memory)
		ports->memory = calloc(1, sizeof(*ports->memory));
	return ports->memory ? 0 : -ENOMEM;
}

static bool is_of(const struct port_shown *shown, const struct rw_port_showing *showing, uint32_t host)
{
	return shown->host == host && shown->showing.since_ns == showing->since_ns &&
	       shown->showing.number == showing->number && !strcmp(shown->showing.name, showing->name);
}

void ports_remember(struct ports_memory *memory, const struct rw_port_showing *showing, uint32_t host)
{
	uint32_t oldest = 0, at = 0;

	while (at < memory->count && !is_of(&memory->shown[at], showing, host)) {
		if (memory->shown[at].showing.since_ns < memory->shown[oldest].showing.since_ns)
			oldest = at;
		at++;
	}
	if (at == PORTS_SHOWN)
		at = oldest;
	else if (at == memory->count)
		memory->count++;
	memory->shown[at] = (struct port_shown){ *showing, host };
}

int ports_add_state(struct ports *ports, const struct analysis_port_state *state)
{
	struct port *port = *state->name ? find(ports, state) : NULL;

	if (!*state->name)
		return -EINVAL;
	if (!port)
		port = add(ports, state);
	if (!port || ports_need_memory(ports))
		return -ENOMEM;
	const struct port_reading *last = port_reading_at(port, 0);

	if (last && state->at_ns < last->at_ns)
		return -EINVAL;
	struct port_reading reading = { .at_ns = state->at_ns, .active = state->active, .mbit_s = state->mbit_s };

	for (int i = 0; i < ANALYSIS_PORT_COUNTERS; i++) {
		reading.counts[i] = (last ? last->counts[i] : 0) + rise(port->raw[i], state->counts[i]);
		if (state->counts[i] >= 0)
			port->raw[i] = state->counts[i];
	}
	port->was_active |= state->active;
	port->readings[port->reading_count++ % PORT_READINGS] = reading;
	return 0;
}

const struct port_reading *port_reading_at(const struct port *port, uint64_t age)
{
	if (age >= port->reading_count || age >= PORT_READINGS)
		return NULL;
	return &port->readings[(port->reading_count - 1 - age) % PORT_READINGS];
}

void ports_free(struct ports *ports)
{
	for (uint32_t i = 0; i < ports->count; i++)
		free(ports->items[i]);
	free(ports->items);
	free(ports->memory);
	*ports = (struct ports){ 0 };
}
