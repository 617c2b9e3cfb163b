/* SPDX-License-Identifier: MIT */
#include "console/top/dead.h"

#include <errno.h>

#include "console/boxes/box_runs.h"
#include "console/cli/progress.h"
#include "protocol/snapshot.h"

static struct snapshot_source source_of(const struct dead *dead)
{
	const struct replay *replay = &dead->replay;

	return (struct snapshot_source){
		.analysis = replay->machines[0].analysis,
		.job = replay->count ? replay_header(&replay->processes[0])->job : "",
		.now_ns = replay->last_ns,
		.realtime_offset_ns = replay->realtime_offset_ns,
	};
}

/* Takes the message. */
static int take(struct model *model, json_t *message)
{
	if (!message)
		return -ENOMEM;
	model_take(model, message, 0);
	json_decref(message);
	return 0;
}

int dead_open(struct dead *dead, struct model *model, struct boxes *boxes)
{
	const unsigned topics = REQUEST_RANKS | REQUEST_COMMUNICATORS | REQUEST_GPUS | REQUEST_CELLS;
	size_t first, count = box_runs_entries(boxes, 0, &first);
	struct progress progress = { 0 };
	int err = replay_open(&dead->replay, &boxes->entries[first], count, NULL, NULL, &progress);
	const char *id;
	json_t *finding;

	if (err)
		return err;
	dead->left_out = count - dead->replay.machines[0].count;
	struct snapshot_source source = source_of(dead);

	model->dead = true;
	err = take(model, snapshot_json(&source, topics, 0));
	json_object_foreach(dead->replay.findings, id, finding) model_take_finding(model, finding);
	return err;
}

void dead_show_rank(const struct dead *dead, struct model *model, int32_t rank)
{
	struct snapshot_source source = source_of(dead);
	json_t *row =
	    rank < 0 || (model->detail && model->detail_rank == rank) ? NULL : snapshot_rank_json(&source, rank);

	if (row)
		take(model, json_pack("{s:o}", "rank", row));
}

void dead_close(struct dead *dead)
{
	replay_close(&dead->replay);
}
