/* SPDX-License-Identifier: MIT */
#include "blackbox/ending.h"

#include <sys/wait.h>

int box_ending_read(const struct box_reader *reader, struct rw_ending *ending)
{
	int err = box_reader_bytes(reader, ending, sizeof(*ending), reader->header.control_offset + RW_ENDING_OFFSET);

	return err ? err : ending->version == RW_ENDING_VERSION && ending->version_again == RW_ENDING_VERSION;
}

int box_ending_status(const struct box_reader *reader)
{
	struct rw_ending ending;

	if (box_ending_read(reader, &ending) <= 0 || ending.status < 0 || ending.status > 0xffff ||
	    (!WIFEXITED(ending.status) && !WIFSIGNALED(ending.status)))
		return -1;
	return ending.status;
}
