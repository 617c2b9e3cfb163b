/* SPDX-License-Identifier: MIT */
#include "helper/watches.h"

#include <errno.h>
#include <stdlib.h>

struct watch *watches_find(struct watches *watches, pid_t pid)
{
	for (size_t i = 0; i < watches->count; i++)
		if (watches->entries[i].process.pid == pid)
			return &watches->entries[i];
	return NULL;
}

bool watch_has(const struct watch *watch, const struct client *client)
{
	for (unsigned i = 0; i < watch->client_count; i++)
		if (watch->clients[i] == client)
			return true;
	return false;
}

static void drop(struct watches *watches, struct watch *watch)
{
	probes_unwatch(watches->probes, watch->process.pid);
	writer_process_close(&watch->process);
	*watch = watches->entries[--watches->count];
}

static int begin(struct watches *watches, struct writer_process *process, struct client *client, uint32_t owner)
{
	if (watches->count == watches->room) {
		size_t room = watches->room ? watches->room * 2 : 64;
		struct watch *entries = realloc(watches->entries, room * sizeof(*entries));

		if (!entries)
			return -ENOMEM;
		watches->entries = entries;
		watches->room = room;
	}
	/* What is in the ring now is of those who were watched until now, not of this one. */
	probes_poll(watches->probes);
	int err = probes_watch_for(watches->probes, process->pid, owner);

	if (err)
		return err;
	watches->entries[watches->count++] =
	    (struct watch){ .process = *process, .clients = { client }, .client_count = 1 };
	*process = (struct writer_process)WRITER_PROCESS_NONE;
	return 0;
}

int watches_add(struct watches *watches, struct writer_process *process, struct client *client, uint32_t owner)
{
	struct watch *watch = watches_find(watches, process->pid);
	int err = 0;

	if (!watch)
		err = begin(watches, process, client, owner);
	else if (watch_has(watch, client))
		err = -EEXIST;
	else if (watch->client_count == WATCH_CLIENTS)
		err = -EUSERS;
	else
		watch->clients[watch->client_count++] = client;
	writer_process_close(process);
	return err;
}

bool watches_remove(struct watches *watches, pid_t pid, struct client *client)
{
	struct watch *watch = watches_find(watches, pid);

	if (!watch || !watch_has(watch, client))
		return false;
	for (unsigned i = 0; i < watch->client_count; i++)
		if (watch->clients[i] == client)
			watch->clients[i] = watch->clients[--watch->client_count];
	if (!watch->client_count)
		drop(watches, watch);
	return true;
}

void watches_sweep(struct watches *watches, void (*left)(struct client *client))
{
	for (size_t i = watches->count; i-- > 0;) {
		struct watch *watch = &watches->entries[i];

		if (probes_watches(watches->probes, watch->process.pid))
			continue;
		/* Its last records, that of its end among them, were sent before the kernel let go. */
		probes_poll(watches->probes);
		for (unsigned k = 0; k < watch->client_count; k++)
			left(watch->clients[k]);
		drop(watches, watch);
	}
}

void watches_close(struct watches *watches)
{
	while (watches->count)
		drop(watches, &watches->entries[0]);
	free(watches->entries);
	*watches = (struct watches){ 0 };
}
