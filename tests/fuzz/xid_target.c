/* SPDX-License-Identifier: MIT */
/* Lines of the kernel log, which anybody may write to, through the parser and into the analysis. */
#include "tests/fuzz/box_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/xid.h"
#include "collector/sources/xid_line.h"

static void check(const struct xid_line *line)
{
	struct xid xid = xid_find(line->xid, line->text);

	if (!xid.meaning || !xid.action || strlen(line->pci) < strlen("0:0:0"))
		abort();
	for (const char *at = line->text; *at; at++)
		if ((unsigned char)*at < 0x20 || (unsigned char)*at > 0x7e)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* An allocation of the exact size: a read behind the end is seen. */
	char *bytes = malloc(size ? size : 1);
	struct xid_line line;

	if (!bytes)
		return 0;
	memcpy(bytes, data, size);
	if (xid_line_parse(bytes, size, &line) == 0)
		check(&line);
	free(bytes);
	return 0;
}
