/* SPDX-License-Identifier: MIT */
#include "collector/watch.h"

#include <stdio.h>

#include "collector/boxes/lease.h"

enum {
	BOXES_EVERY = 2 /* ticks */,
	CALM_EVERY = 4,
	LEASES_MS = 500,
	NOTES_MS = 2000,
	LIVELY_MS = 2000,
	STILL_MS = 1000,
	PAUSE_MS = 2000, /* between two ticks: more is no busy machine */
};

static void on_appeared(void *argument, analysis_process_id process, const struct writer_process *writer)
{
	struct watch *watch = argument;

	if (!writer)
		return;
	absentees_let_go(&watch->absentees, writer->pid);
	host_watch(watch->host, process, writer);
	python_source_watch(watch->python, process, writer);
}

static bool on_absentee(void *argument, analysis_process_id process, const struct writer_process *writer)
{
	struct watch *watch = argument;

	if (host_watches(watch->host, writer->pid))
		return false;
	host_watch(watch->host, process, writer);
	python_source_watch(watch->python, process, writer);
	return true;
}

static void on_absentee_gone(void *argument, analysis_process_id process)
{
	struct watch *watch = argument;

	host_unwatch(watch->host, process);
	python_source_unwatch(watch->python, process);
}

static void on_box_ended(void *argument, analysis_process_id process)
{
	struct watch *watch = argument;

	host_unwatch(watch->host, process);
	python_source_unwatch(watch->python, process);
}

static void on_left(void *argument)
{
	struct watch *watch = argument;

	watch->left = true;
	if (watch->wake)
		watch->wake(watch->argument);
}

static void on_mount(void *argument, pid_t pid, uint64_t device, char file_system[16], char device_name[32])
{
	struct watch *watch = argument;

	host_name_mount(watch->host, pid, device, file_system, device_name);
}

static void on_process_ended(void *argument, analysis_process_id process, int exit_status, uint64_t at_ns)
{
	struct watch *watch = argument;

	live_boxes_set_exit(watch->boxes, process, exit_status, at_ns);
}

static void on_port(void *argument, const struct analysis_port_state *state)
{
	struct watch *watch = argument;

	analysis_add_port_state(watch->analysis, state);
}

int watch_open(struct watch *watch, const struct watch_request *request)
{
	const struct live_boxes_request boxes = {
		.loop = request->loop,
		.analysis = request->analysis,
		.job = request->any_job ? NULL : request->job,
		.owner = request->owner,
		.places = request->places,
		.place_count = request->place_count,
		.now_ns = request->now_ns,
		.appeared = on_appeared,
		.ended = on_box_ended,
		.left = on_left,
		.mount = on_mount,
		.watcher = watch,
		.save = request->save,
		.argument = request->argument,
	};

	*watch = (struct watch){ .analysis = request->analysis, .wake = request->wake, .argument = request->argument };
	snprintf(watch->proc, sizeof(watch->proc), "%s/proc", request->root);
	watch->owner = request->owner;
	watch->absentees = (struct absentees){
		.analysis = request->analysis,
		.loop = *request->root ? NULL : request->loop, /* a recorded machine answers at once */
		.owner = ABSENTEES_NOBODY,
		.proc = watch->proc,
		.job = request->job,
		.node = request->node,
		.watch = on_absentee,
		.unwatch = on_absentee_gone,
		.argument = watch,
	};
	/* The memory of a recorded machine's processes is not recorded. */
	if (!*request->root && request->loop)
		watch->python =
		    python_source_open(request->loop, request->analysis, request->ancestor ? request->ancestor : -1);
	int err = host_open(&watch->host, request->analysis, request->root, on_process_ended, watch);

	if (!err)
		err = gpu_health_open(&watch->gpu_health, request->analysis, request->kernel_log);
	if (!err && port_source_open(&watch->ports, request->root))
		watch->ports = NULL;
	return err ? err : live_boxes_open(&watch->boxes, &boxes);
}

void watch_close(struct watch *watch)
{
	watch->stuck = !absentees_close(&watch->absentees);
	watch->stuck |= !python_source_close(watch->python);
	watch->python = NULL;
	live_boxes_close(watch->boxes);
	host_close(watch->host);
	gpu_health_close(watch->gpu_health);
	port_source_close(watch->ports);
}

void watch_poll_boxes(struct watch *watch, uint64_t now_ns)
{
	live_boxes_poll(watch->boxes, now_ns);
	/* Whoever owns the boxes: root may collect another user's. */
	watch->absentees.owner = watch->owner == (uid_t)-1 ? live_boxes_owner(watch->boxes) : watch->owner;
	absentees_poll(&watch->absentees, now_ns);
	analysis_tick(watch->analysis, now_ns);
}

void watch_catch_up(struct watch *watch, uint64_t now_ns)
{
	live_boxes_catch_up(watch->boxes, now_ns);
	watch_poll_boxes(watch, now_ns);
}

static void stay_lively(struct watch *watch, uint64_t now_ns)
{
	watch->lively_ns = now_ns + LIVELY_MS * UINT64_C(1000000);
}

/* Has any rank made a call in the last second? A job that stands still may be one that hangs. */
static bool is_moving(struct watch *watch, uint64_t now_ns)
{
	uint64_t passed = live_boxes_passed(watch->boxes);

	if (passed != watch->passed)
		watch->moved_ns = now_ns;
	watch->passed = passed;
	return watch->moved_ns && now_ns < watch->moved_ns + STILL_MS * UINT64_C(1000000);
}

static bool is_due(uint64_t *due_ns, uint64_t now_ns, uint64_t period_ms)
{
	if (now_ns < *due_ns)
		return false;
	*due_ns = now_ns + period_ms * UINT64_C(1000000);
	return true;
}

/* A scheduler may have stopped collector and job together, and lets their processes go on one after the other. */
static void notice_a_pause(struct watch *watch, uint64_t now_ns)
{
	if (watch->ticked_ns && now_ns > watch->ticked_ns + PAUSE_MS * UINT64_C(1000000))
		analysis_resume(watch->analysis, now_ns);
	watch->ticked_ns = now_ns;
}

bool watch_tick(struct watch *watch, uint64_t now_ns)
{
	uint64_t tick = watch->ticks++;
	bool boxes = tick % BOXES_EVERY == 0 || watch->left;

	if (watch->left)
		stay_lively(watch, now_ns);
	watch->left = false;
	notice_a_pause(watch, now_ns);
	host_poll(watch->host, now_ns);
	gpu_health_poll(watch->gpu_health, now_ns);
	if (watch->ports)
		port_source_poll(watch->ports, now_ns, on_port, watch);
	python_source_poll(watch->python, now_ns);
	if (boxes)
		watch_poll_boxes(watch, now_ns);
	if (is_due(&watch->lease_ns, now_ns, LEASES_MS))
		leases_renew(watch->analysis, watch->boxes, now_ns);
	if (is_due(&watch->note_ns, now_ns, NOTES_MS)) {
		live_boxes_note_gpus(watch->boxes);
		live_boxes_note_ports(watch->boxes, now_ns);
	}
	return boxes;
}

unsigned watch_next_ms(struct watch *watch, bool followed, uint64_t now_ns)
{
	bool calm = host_is_calm(watch->host), moving = is_moving(watch, now_ns);

	if (!calm)
		stay_lively(watch, now_ns);
	if (watch->ticks % BOXES_EVERY == 0 || !calm)
		return WATCH_TICK_MS;

	bool patient = moving && !followed && now_ns >= watch->lively_ns && live_boxes_report_ends(watch->boxes);
	unsigned pause = patient ? CALM_EVERY : BOXES_EVERY;

	watch->ticks += pause - 1;
	return pause * WATCH_TICK_MS;
}
