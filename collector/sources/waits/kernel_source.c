/* SPDX-License-Identifier: MIT */
#include "collector/sources/waits/kernel_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "collector/sources/waits/kernel_wait.h"

enum {
	THRESHOLD_NS = 10000000, /* the shortest wait worth a record; findings begin at 20 ms */
	FRAMES = sizeof(((struct analysis_wait *)0)->frames) / sizeof(((struct analysis_wait *)0)->frames[0]),
};

struct watched {
	pid_t pid;
	analysis_process_id process;
};

struct kernel_source {
	struct view *view;
	char proc_root[128];
	struct mounts *mounts;
	struct file_names *names; /* NULL: nothing is kept */
	struct kernel_source_events events;
	struct watched *watched;
	uint32_t count, room;
};

static struct watched *find(const struct kernel_source *source, pid_t pid)
{
	for (uint32_t i = 0; i < source->count; i++) {
		if (source->watched[i].pid == pid)
			return &source->watched[i];
	}
	return NULL;
}

static void on_record(void *argument, const struct rw_kernel_wait *record)
{
	struct kernel_source *source = argument;
	const struct watched *watched = find(source, (pid_t)record->tgid);
	struct analysis_wait wait;

	if (!watched)
		return; /* was on its way when the process was let go */
	if (record->kind == RW_KERNEL_EXIT) {
		source->events.ended(source->events.argument, watched->process, record->exit_code, record->end_ns);
		return;
	}
	if (source->events.choose_rights)
		source->events.choose_rights(source->events.argument, watched->process);
	kernel_wait_fill(record, source->proc_root, source->mounts, source->names, &wait);
	wait.process = watched->process;
	wait.frame_count = (uint32_t)view_stack(source->view, record->stack_id, wait.frames, FRAMES);
	source->events.wait(source->events.argument, &wait);
}

int kernel_source_open(struct kernel_source **source, const char *helper, const char *proc_root, struct mounts *mounts,
		       const struct kernel_source_events *events, char *why)
{
	*source = NULL;
	struct kernel_source *opened = calloc(1, sizeof(*opened));
	if (!opened) {
		snprintf(why, 256, "out of memory");
		return -ENOMEM;
	}
	snprintf(opened->proc_root, sizeof(opened->proc_root), "%s", proc_root);
	opened->mounts = mounts;
	opened->names = file_names_new();
	opened->events = *events;
	int err = view_open(&opened->view, helper, THRESHOLD_NS, on_record, opened, why);
	if (err)
		kernel_source_close(opened);
	else
		*source = opened;
	return err;
}

void kernel_source_close(struct kernel_source *source)
{
	if (!source)
		return;
	view_close(source->view);
	file_names_free(source->names);
	free(source->watched);
	free(source);
}

static int make_room(struct kernel_source *source)
{
	if (source->count < source->room)
		return 0;

	uint32_t room = source->room * 2 + 8;
	struct watched *larger = realloc(source->watched, room * sizeof(*larger));
	if (!larger)
		return -ENOMEM;
	source->watched = larger;
	source->room = room;
	return 0;
}

bool kernel_source_is_helpers(const struct kernel_source *source)
{
	return view_is_helpers(source->view);
}

int kernel_source_watch(struct kernel_source *source, analysis_process_id process, pid_t pid, int pidfd, char *why)
{
	int err = make_room(source);
	*why = '\0';
	if (!err)
		err = view_watch(source->view, pid, pidfd, why);
	if (!err)
		source->watched[source->count++] = (struct watched){ pid, process };
	return err;
}

void kernel_source_unwatch(struct kernel_source *source, pid_t pid)
{
	struct watched *watched = find(source, pid);

	if (!watched)
		return;
	view_unwatch(source->view, pid);
	file_names_forget(source->names, (uint32_t)pid);
	*watched = source->watched[--source->count];
}

int kernel_source_poll(struct kernel_source *source)
{
	int got = view_poll(source->view);

	if (got == -ENOTCONN)
		source->count = 0;
	return got;
}

int kernel_source_sample(struct kernel_source *source, pid_t pid)
{
	return find(source, pid) ? view_sample(source->view, pid) : -ENOENT;
}

void kernel_source_loss(struct kernel_source *source, struct probes_loss *loss)
{
	view_loss(source->view, loss);
}

uint64_t kernel_source_own_ns(struct kernel_source *source)
{
	return view_own_ns(source->view);
}

uint64_t kernel_source_cost_ns(const struct kernel_source *source)
{
	return view_cost_ns(source->view);
}
