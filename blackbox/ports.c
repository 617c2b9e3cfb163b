/* SPDX-License-Identifier: MIT */
#include "blackbox/ports.h"

static bool is_whole(const struct rw_ports *ports)
{
	return ports->version == RW_PORTS_VERSION && ports->number == ports->number_again && ports->count <= RW_PORT_SHOWINGS;
}

int box_ports_read(const struct box_reader *reader, struct rw_ports *ports)
{
	int err = box_reader_bytes(reader, ports, sizeof(*ports), reader->header.control_offset + RW_PORTS_OFFSET);

	return err ? err : is_whole(ports);
}
