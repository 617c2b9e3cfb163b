/* SPDX-License-Identifier: MIT */
#include "blackbox/ports.h"

static bool is_whole(const struct rw_ports *ports)
{
	return ports->version == RW_PORTS_VERSION && ports->number == ports->number_again &&
	       ports->count <= RW_PORT_SHOWINGS;
}

int box_ports_read(const struct box_reader *reader, struct rw_ports *ports)
{
	int err = box_reader_bytes(reader, ports, sizeof(*ports), reader->header.control_offset + RW_PORTS_OFFSET);

	if (err)
		return err;
	for (size_t i = 0; i < RW_PORT_SHOWINGS; i++) {
		struct rw_port_showing *showing = &ports->showings[i];

		showing->since_ns = box_clock_time(&reader->clock, showing->since_ns);
		showing->from_ns = box_clock_time(&reader->clock, showing->from_ns);
		showing->to_ns = box_clock_time(&reader->clock, showing->to_ns);
	}
	return is_whole(ports);
}
