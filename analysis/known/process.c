/* SPDX-License-Identifier: MIT */
#include "analysis/known/process.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ABI_WITH_CALLS = 5 };

static void copy_text(char *to, size_t room, const char *from, size_t size)
{
	size_t length = strnlen(from, size < room ? size : room - 1);
	memcpy(to, from, length);
	to[length] = '\0';
}

static void copy_environment(struct process *process, const char *environment)
{
	static const char wanted[] = "RANKWATCH_MESH=";
	const char *end = environment + RW_BOX_ENVIRONMENT;

	for (const char *at = environment; at < end && *at; at += strnlen(at, end - at) + 1)
		if (!strncmp(at, wanted, strnlen(wanted, end - at)))
			copy_text(process->mesh, sizeof(process->mesh), at + sizeof(wanted) - 1,
				  end - at - (sizeof(wanted) - 1));
}

static void set_devices(struct process *process, const struct rw_device *devices)
{
	memcpy(process->devices, devices, sizeof(process->devices));
	for (int i = 0; i < RW_BOX_DEVICES; i++)
		process->devices[i].pci[sizeof(process->devices[i].pci) - 1] = '\0';
}

void process_read_nccl(struct process *process, const struct rw_box_header *box)
{
	set_devices(process, box->devices);
	versions_read_builds(&process->versions, box);
	process->interposed = box->interposed;
	process->counts_calls = box->interposed && box->profiler_abi < FIRST_ABI_WITH_CALLS;
	process->counts_tasks = !box->interposed && box->profiler_abi && box->profiler_abi < FIRST_ABI_WITH_CALLS;
}

void process_read_mask(struct process *process, const struct rw_box_header *box, uint64_t until_ns)
{
	/* Boxes of earlier versions do not say since when. */
	uint64_t since_ns = box->mask_ns ? box->mask_ns : box->created_ns;

	process->mask_ns = box->mask_missing && since_ns <= until_ns ? since_ns : 0;
}

void process_read_gaps(struct process *process, const struct rw_box_header *box)
{
	process->dropped = box->dropped;
	process->untracked = 0;
	process->one_sided = box->untracked[RW_UNTRACKED_ONE_SIDED];
	for (int reason = RW_UNTRACKED_NO_TASK; reason < RW_UNTRACKED_COUNT; reason++)
		process->untracked += reason == RW_UNTRACKED_CAPTURED ? 0 : box->untracked[reason];
}

void process_read_header(struct process *process, const struct rw_box_header *box)
{
	process->world_rank = box->world_rank;
	process->world_size = box->world_size;
	process->generation = box->generation;
	process->local_rank = box->local_rank;
	process->created_ns = box->created_ns;
	process->watchdog_ms = box->watchdog_ms;
	process->watchdog_init_ms = box->watchdog_init_ms;
	copy_text(process->host_name, sizeof(process->host_name), box->host, sizeof(box->host));
	copy_text(process->job, sizeof(process->job), box->job, sizeof(box->job));
	copy_text(process->rank_from, sizeof(process->rank_from), box->rank_from, sizeof(box->rank_from));
	copy_text(process->watchdog_from, sizeof(process->watchdog_from), box->watchdog_from,
		  sizeof(box->watchdog_from));
	process_read_nccl(process, box);
	process_read_gaps(process, box);
	copy_environment(process, box->environment);
}

void process_free(struct process *process)
{
	if (!process)
		return;
	versions_free(&process->versions);
	steps_free(&process->steps);
	evidence_free(&process->evidence);
	free(process->python);
	free(process->others);
	free(process->children);
	free(process->trace);
	free(process->replays);
	free(process->timed);
	free(process->memberships);
	free(process);
}
