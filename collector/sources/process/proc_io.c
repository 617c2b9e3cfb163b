/* SPDX-License-Identifier: MIT */
#include "collector/sources/process/proc_io.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/small_file.h"

bool proc_io_bytes(int process, uint64_t *bytes)
{
	char text[512];
	uint64_t read, written;

	if (small_file_read(process, "io", text, sizeof(text)) <= 0 ||
	    sscanf(text, "rchar: %" SCNu64 " wchar: %" SCNu64, &read, &written) != 2)
		return false;
	*bytes = read + written;
	return true;
}
