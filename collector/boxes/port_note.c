/* SPDX-License-Identifier: MIT */
#include "collector/boxes/port_note.h"

#include "collector/boxes/own_box.h"

void port_note_write(struct rw_ports *record, const struct box_reader *reader, uint32_t *number)
{
	if (!record->count && !*number)
		return;
	record->number = record->number_again = ++*number;
	own_box_write(reader, RW_PORTS_OFFSET, record, sizeof(*record));
}
