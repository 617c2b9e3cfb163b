/* SPDX-License-Identifier: MIT */
#include "console/replay/host_clocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* More than 70 years from the epoch a clock is damage. */
#define OFFSET_MOST (INT64_C(1) << 61)

int64_t host_clocks_sane(int64_t offset_ns)
{
	return offset_ns > -OFFSET_MOST && offset_ns < OFFSET_MOST ? offset_ns : 0;
}

static const struct host_clock *find(const struct host_clocks *clocks, const struct rw_box_header *header)
{
	for (size_t i = 0; i < clocks->count; i++)
		if (!strncmp(clocks->hosts[i].boot_id, header->boot_id, sizeof(header->boot_id)))
			return &clocks->hosts[i];
	return NULL;
}

int host_clocks_gather(struct host_clocks *clocks, const struct replay *replay)
{
	clocks->hosts = calloc(replay->count + 1, sizeof(*clocks->hosts));
	if (!clocks->hosts)
		return -ENOMEM;
	for (size_t i = 0; i < replay->count; i++) {
		const struct rw_box_header *header = replay_header(&replay->processes[i]);

		if (find(clocks, header))
			continue;
		struct host_clock *host = &clocks->hosts[clocks->count++];

		memcpy(host->boot_id, header->boot_id, sizeof(host->boot_id));
		host->realtime_offset_ns =
		    host_clocks_sane(replay_machine_of(replay, &replay->processes[i])->realtime_offset_ns);
	}
	return 0;
}

int64_t host_clocks_offset(const struct host_clocks *clocks, const struct rw_box_header *header)
{
	const struct host_clock *host = find(clocks, header);

	return host ? host->realtime_offset_ns - clocks->hosts[0].realtime_offset_ns : 0;
}

void host_clocks_free(struct host_clocks *clocks)
{
	free(clocks->hosts);
	*clocks = (struct host_clocks){ 0 };
}
