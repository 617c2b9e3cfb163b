/* SPDX-License-Identifier: MIT */
#include "console/run/post_mortem.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "base/descriptor_limit.h"
#include "base/in_time.h"
#include "blackbox/process.h"
#include "console/boxes/box_runs.h"
#include "console/boxes/boxes.h"
#include "console/replay/replay.h"
#include "console/run/job.h"
#include "finding/value.h"
#include "finding/weight.h"

enum { POLL_MS = 100 };

/* What the process leaves: an array as JSON text. */
struct reported {
	int err;
	char findings[IN_TIME_RESULT - sizeof(int)];
};

static bool is_of_this_run(const struct boxes *boxes, uint64_t began_ns, size_t *first, size_t *count)
{
	char boot_id[sizeof(boxes->entries->reader.header.boot_id)];

	process_boot_id(boot_id);
	*count = box_runs_entries(boxes, 0, first);
	for (size_t i = *first; i < *first + *count; i++) {
		const struct rw_box_header *header = &boxes->entries[i].reader.header;

		if (header->created_ns >= began_ns && !strcmp(header->boot_id, boot_id))
			return true;
	}
	return false;
}

static json_t *choose(const json_t *all)
{
	json_t *chosen = json_array(), *finding;
	const char *key;

	json_object_foreach((json_t *)all, key, finding)
	{
		if (!value_is(finding, "severity", "notice"))
			weight_insert(chosen, json_incref(finding));
	}
	return chosen;
}

/* Those that say least are left out until the others fit; `reported` is zeroed, and stays a text. */
static int write_down(json_t *findings, struct reported *reported)
{
	size_t found = json_array_size(findings), room = sizeof(reported->findings) - 1, length;

	while ((length = json_dumpb(findings, reported->findings, room, JSON_COMPACT)) > room)
		json_array_remove(findings, json_array_size(findings) - 1);
	reported->findings[length] = '\0';
	return length == 0 ? -ENOMEM : found && !json_array_size(findings) ? -E2BIG : 0;
}

static int judge(const struct post_mortem_request *request, struct boxes *boxes, struct reported *reported)
{
	struct replay replay;
	size_t first, count;

	box_runs_keep_job(boxes, request->job);
	if (!boxes->count || !is_of_this_run(boxes, request->began_ns, &first, &count))
		return 0;
	int err = replay_open(&replay, &boxes->entries[first], count, request->kernel_log, NULL, NULL);

	if (!err) {
		json_t *findings = choose(replay.findings);

		err = write_down(findings, reported);
		json_decref(findings);
	}
	replay_close(&replay);
	return err;
}

static void read_boxes(const void *argument, void *result)
{
	struct reported *reported = result;
	struct boxes boxes;

	descriptor_limit_raise();
	reported->err = boxes_open_in_memory(&boxes);
	if (!reported->err)
		reported->err = judge(argument, &boxes, reported);
	boxes_close(&boxes);
}

static int await(const struct post_mortem_request *request, struct in_time_work *work, struct reported *reported)
{
	uint64_t end_ns = clock_monotonic_ns() + request->timeout_ms * UINT64_C(1000000);
	int err;

	while ((err = in_time_result(work, reported, POLL_MS)) == -EAGAIN) {
		err = job_asked_to_end(request->signal_fd) ? -EINTR : clock_monotonic_ns() >= end_ns ? -ETIMEDOUT : 0;
		if (!err)
			continue;
		in_time_give_up(work);
		return err;
	}
	return err ? err : reported->err;
}

int post_mortem(const struct post_mortem_request *request, json_t **findings)
{
	static struct reported reported;
	struct in_time_work work;
	int err = in_time_begin(&work, read_boxes, request, sizeof(reported));

	*findings = NULL;
	if (!err)
		err = await(request, &work, &reported);
	if (err)
		return err;
	*findings = *reported.findings ? json_loads(reported.findings, 0, NULL) : json_array();
	return *findings ? 0 : -ENOMEM;
}
