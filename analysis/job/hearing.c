/* SPDX-License-Identifier: MIT */
#include "analysis/job/hearing.h"

/* Who was silent before stays so. */
void hearing_lost(struct world *world, uint64_t since_ns, uint64_t now_ns)
{
	for (uint32_t i = 0; i < world->host_count; i++) {
		struct world_host *host = &world->hosts[i];
		if (host->excused_ns || !world_is_silent(host, since_ns))
			host->excused_ns = now_ns;
	}
	if (world->host_count)
		world->excused_ns = now_ns;
}

void hearing_note(struct world *world, uint64_t now_ns)
{
	if (world->heard_ns && now_ns >= world->heard_ns + WORLD_SILENT_NS)
		hearing_lost(world, world->heard_ns, now_ns);
	world->heard_ns = now_ns;
}

bool hearing_holds(const struct world *world, uint64_t now_ns)
{
	if (!world->heard_ns || now_ns < world->heard_ns + HEARING_HOLD_NS)
		return false;
	for (uint32_t i = 0; i < world->host_count; i++)
		if (!world->hosts[i].ended)
			return true;
	return false;
}

bool hearing_awaits(const struct world *world, uint64_t now_ns)
{
	if (!world->excused_ns || now_ns >= world->excused_ns + WORLD_SILENT_MAX_NS)
		return false;
	for (uint32_t i = 0; i < world->host_count; i++)
		if (world_is_awaited(&world->hosts[i], now_ns))
			return true;
	return false;
}
