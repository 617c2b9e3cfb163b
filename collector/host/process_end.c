/* SPDX-License-Identifier: MIT */
#include "collector/host/process_end.h"

#include <stdlib.h>

struct process_end {
	uv_poll_t poll; /* first: freed through its handle */
	process_end_ended *ended;
	void *argument;
};

/* A pidfd stays readable from then on: it is asked no more. */
static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct process_end *end = poll->data;

	(void)events;
	uv_poll_stop(poll);
	if (!status)
		end->ended(end->argument);
}

struct process_end *process_end_open(uv_loop_t *loop, int pidfd, process_end_ended *ended, void *argument)
{
	struct process_end *end = pidfd >= 0 ? calloc(1, sizeof(*end)) : NULL;

	if (!end)
		return NULL;
	if (uv_poll_init(loop, &end->poll, pidfd)) {
		free(end);
		return NULL;
	}
	end->poll.data = end;
	end->ended = ended;
	end->argument = argument;
	if (!uv_poll_start(&end->poll, UV_READABLE, on_readable))
		return end;
	process_end_close(end);
	return NULL;
}

static void free_end(uv_handle_t *poll)
{
	free(poll->data);
}

void process_end_close(struct process_end *end)
{
	if (end)
		uv_close((uv_handle_t *)&end->poll, free_end);
}
