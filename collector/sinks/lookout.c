/* SPDX-License-Identifier: MIT */
#include "collector/sinks/lookout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/message.h"

static void print(const struct sight *sight)
{
	char line[SIGHT_LINE];
	json_t *said = sight_json(sight);

	sight_describe(said, SIGHT_LINE - 1 - strlen("rankwatch collect: "), line);
	json_decref(said);
	fprintf(stderr, "rankwatch collect: %s\n", line);
}

/* One launcher of the job says it; those who only listen hear it as well. */
static void report(struct lookout *lookout, const struct sight *sight, bool is_news)
{
	char *line = is_news || !lookout->launcher_informed ? message_watching(sight) : NULL;

	if (line && lookout->socket && is_news)
		socket_send_listeners(lookout->socket, line);
	if (line && lookout->socket)
		lookout->launcher_informed = socket_send_launcher(lookout->socket, line);
	if (is_news && !lookout->quiet)
		print(sight);
	free(line);
}

void lookout_tick(struct lookout *lookout, uint64_t now_ns)
{
	struct sight sight;

	host_see(lookout->host, &sight);

	bool is_news = sight_news_take(&lookout->news, &sight, now_ns);
	bool is_due = !lookout->launcher_informed && lookout->news.reported_processes && sight.processes &&
		      lookout->socket && socket_runs(lookout->socket);

	if (is_news || is_due)
		report(lookout, &sight, is_news);
}

void lookout_report_late(struct lookout *lookout)
{
	if (!lookout->news.reported_processes && lookout->news.most.processes)
		report(lookout, &lookout->news.most, true);
	lookout->news.reported_processes = lookout->news.most.processes;
}

void lookout_sum(const struct lookout *lookout, struct sight *sight)
{
	*sight = lookout->news.most;
	if (!sight->processes)
		host_see(lookout->host, sight);
}
