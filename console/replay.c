/* SPDX-License-Identifier: MIT */
#include "console/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "finding/finding_json.h"

static void keep_finding(void *argument, const struct rw_finding *finding)
{
	struct replay *replay = argument;

	json_object_set_new(replay->findings, finding->id, finding_to_json(finding, replay->realtime_offset_ns));
}

static int add_entry(struct replay *replay, struct box_entry *entry)
{
	struct replay_process *process = &replay->processes[replay->count];
	analysis_process_id id = (analysis_process_id)replay->count + 1;

	*process = (struct replay_process){
		.path = entry->path,
		.rank = box_rank(&entry->reader),
		.life = box_reader_life(&entry->reader, NULL),
	};
	process->feed = feed_new(replay->analysis, id, &entry->reader);
	entry->reader.fd = -1;
	if (!process->feed)
		return -ENOMEM;
	replay->count++;
	return 0;
}

static bool is_in(const struct replay_process *process, enum box_life life, uint64_t birth)
{
	const struct rw_birth *in = &replay_header(process)->birth;

	return process->life == life && in->since_ns && in->id == birth;
}

/* Has one ended in the birth of a communicator in which others live? */
static bool has_lost_somebody(const struct replay *replay)
{
	for (size_t i = 0; i < replay->count; i++) {
		uint64_t birth = replay_header(&replay->processes[i])->birth.id;

		for (size_t k = 0; is_in(&replay->processes[i], BOX_ORPHANED, birth) && k < replay->count; k++)
			if (is_in(&replay->processes[k], BOX_ALIVE, birth))
				return true;
	}
	return false;
}

static bool all_live_on(const struct replay *replay)
{
	for (size_t i = 0; i < replay->count; i++)
		if (replay->processes[i].life != BOX_ORPHANED &&
		    box_reader_life(feed_reader(replay->processes[i].feed), NULL) != BOX_ALIVE)
			return false;
	return true;
}

/* A rank has ended, the others wait for it and live: if they still do after a moment, this is not the end of the whole job. */
static void look_at_births(const struct replay *replay)
{
	const struct timespec moment = { .tv_sec = 1 };

	if (!has_lost_somebody(replay))
		return;
	nanosleep(&moment, NULL);
	if (all_live_on(replay))
		analysis_tell_births(replay->analysis, clock_monotonic_ns());
}

static int play(struct replay *replay)
{
	struct feed **feeds = calloc(replay->count, sizeof(struct feed *));

	if (!feeds)
		return -ENOMEM;
	for (size_t i = 0; i < replay->count; i++)
		feeds[i] = replay->processes[i].feed;
	feed_replay(feeds, replay->count, replay->analysis);
	for (size_t i = 0; i < replay->count; i++) {
		if (feed_last_ns(feeds[i]) > replay->last_ns)
			replay->last_ns = feed_last_ns(feeds[i]);
	}
	free(feeds);
	look_at_births(replay);
	return 0;
}

int replay_open(struct replay *replay, struct box_entry *entries, size_t count, const char *kernel_log,
		const struct replay_watch *watch)
{
	int error = 0;

	*replay = (struct replay){ .realtime_offset_ns = box_realtime_offset(&entries[0].reader.header) };
	replay->findings = json_object();
	replay->processes = calloc(count, sizeof(*replay->processes));
	replay->analysis = analysis_new(true, keep_finding, replay);
	if (!replay->findings || !replay->processes || !replay->analysis)
		return -ENOMEM;
	if (watch)
		analysis_watch_time(replay->analysis, watch->time, watch->argument);
	kernel_xids_add(&replay->xids, replay->analysis, kernel_log, entries, count);
	for (size_t i = 0; i < count && !error; i++)
		error = add_entry(replay, &entries[i]);
	return error ? error : play(replay);
}

void replay_close(struct replay *replay)
{
	for (size_t i = 0; i < replay->count; i++)
		feed_free(replay->processes[i].feed);
	if (replay->analysis)
		analysis_free(replay->analysis);
	free(replay->processes);
	json_decref(replay->findings);
	*replay = (struct replay){ 0 };
}

const struct replay_process *replay_find(const struct replay *replay, int32_t rank)
{
	for (size_t i = 0; i < replay->count; i++) {
		if (replay->processes[i].rank == rank)
			return &replay->processes[i];
	}
	return NULL;
}

const struct rw_box_header *replay_header(const struct replay_process *process)
{
	return &feed_reader(process->feed)->header;
}
