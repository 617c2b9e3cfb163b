/* SPDX-License-Identifier: MIT */
#include "collector/boxes/live_boxes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/explain/port_evidence.h"
#include "base/foreign_text.h"
#include "base/shortage.h"
#include "blackbox/saved.h"
#include <rankwatch/ending.h>
#include "collector/boxes/box_files.h"
#include "collector/boxes/gpu_note.h"
#include "collector/boxes/lease.h"
#include "collector/boxes/live_world.h"
#include "collector/boxes/own_box.h"
#include "collector/boxes/port_note.h"
#include "collector/boxes/watched_directory.h"

enum {
	SETTLE_MS = 2000, /* a plugin has filled the header by then */
	EXIT_STATUS_MS = 300,
	RESCAN_MS = 1000,
};

struct live_boxes {
	struct live_boxes_request request;
	char job[BOX_JOB_COMPONENT]; /* "" = any */
	struct watched_directory *places[LIVE_BOXES_PLACES];
	int place_count;
	struct box_files files;
	struct live_world world;
	uint64_t opened_ns, scanned_ns;
	unsigned given_up;
	uint64_t passed;
	bool changed, short_of_something, shortage_said, other_version_said;
	const char *directory;
	analysis_process_id next_id;
};

static uint64_t ms_to_ns(uint64_t ms)
{
	return ms * 1000000;
}

/* Names in a directory are anybody's choice. */
static void say(const char *directory, const char *sentence)
{
	foreign_line(stderr, "rankwatch: %s: %s", directory, sentence);
}

/* Said once for all boxes, until a scan lacks nothing. */
static void note_shortage(struct live_boxes *boxes, const char *directory, int err)
{
	boxes->short_of_something = true;
	if (boxes->shortage_said)
		return;
	boxes->shortage_said = true;
	foreign_line(stderr, "rankwatch: %s: not every black box can be read now, and is tried again each second: %s",
		     directory, strerror(-err));
}

static bool is_ours(const struct live_boxes *boxes, const struct rw_box_header *header)
{
	char job[sizeof(header->job) + 1] = "", component[BOX_JOB_COMPONENT];

	if (!*boxes->job)
		return true;
	memcpy(job, header->job, sizeof(header->job));
	box_job_component(job, component);
	return strcmp(component, boxes->job) == 0;
}

/* Boxes outlive their processes: those of an earlier run under the same job name are not ranks that are gone. One that
 * was found without its process belongs to this run if it is younger than we are, or shares a communicator with a
 * process that lives. */
static bool is_of_this_run(struct live_boxes *boxes, const struct box_reader *reader, enum box_life life)
{
	return life == BOX_ALIVE || (life == BOX_ORPHANED && reader->header.created_ns >= boxes->opened_ns) ||
	       live_world_shares(&boxes->world, reader);
}

static void name_mount(void *argument, uint64_t device, char file_system[16], char device_name[32])
{
	const struct live_box *box = argument;

	box->request->mount(box->request->watcher, box->writer.pid, device, file_system, device_name);
}

/* 0, or -errno of shortage_is(). Of a process that is not held the records are read all the same: they are its owner's
 * word, and nobody else's secret. */
static int hold_process(struct live_box *box, const struct box_reader *reader, pid_t pid, const char *directory)
{
	char why[WRITER_PROCESS_WHY];
	int err = live_box_hold_process(box, reader, pid, why);

	if (err == -EPERM)
		foreign_line(stderr, "rankwatch: %s: a black box points at a process that is not watched: %s",
			     directory, why);
	return shortage_is(err) ? err : 0;
}

static void on_process_end(void *argument)
{
	struct live_box *box = argument;

	box->request->left(box->request->watcher);
}

static enum box_state put_off(struct live_boxes *boxes, struct live_box *box, struct box_reader *reader,
			      const char *directory, int err)
{
	note_shortage(boxes, directory, err);
	writer_process_close(&box->writer);
	box_reader_close(reader);
	return BOX_UNREADABLE;
}

static enum box_state admit(struct live_boxes *boxes, struct live_box *box, struct box_reader *reader,
			    const char *directory)
{
	pid_t pid = 0;
	int err = 0;
	enum box_life life = box_reader_life(reader, &pid);

	if (!is_ours(boxes, &reader->header)) {
		box_reader_close(reader);
		return BOX_OTHER_JOB;
	}
	if (!is_of_this_run(boxes, reader, life)) {
		box_reader_close(reader);
		return BOX_OTHER_WORLD;
	}
	if (life == BOX_ALIVE)
		err = hold_process(box, reader, pid, directory);
	if (err)
		return put_off(boxes, box, reader, directory, err);
	box->id = boxes->next_id++;
	box->feed = feed_new(boxes->request.analysis, box->id, reader);
	if (!box->feed)
		return put_off(boxes, box, reader, directory, -ENOMEM);
	box->request = &boxes->request;
	box->end = process_end_open(boxes->request.loop, box->writer.pidfd, on_process_end, box);
	if (life == BOX_ALIVE)
		feed_set_writer(box->feed, box->writer.pid);
	if (box->writer.pid > 0)
		feed_set_mount(box->feed, name_mount, box);
	if (!boxes->directory)
		boxes->directory = directory;
	boxes->changed = true; /* boxes that were left aside may share its communicators */
	boxes->request.appeared(boxes->request.watcher, box->id, box->writer.pid > 0 ? &box->writer : NULL);
	return BOX_LIVE;
}

static void try_open(struct live_boxes *boxes, struct live_box *box, const char *directory, int dirfd, const char *name,
		     uint64_t now_ns)
{
	struct box_reader reader;
	char why[256] = "";
	int err = box_reader_open_live(&reader, dirfd, name, boxes->request.owner, why);

	if (!err) {
		box->state = admit(boxes, box, &reader, directory);
		return;
	}
	if (shortage_is(err))
		note_shortage(boxes, directory, err);
	if (shortage_is(err) || err == -ENOENT || now_ns - box->seen_ns < ms_to_ns(SETTLE_MS))
		return;
	/* What one plugin writes in another way is so in the boxes of all ranks. */
	if (err != -EPROTO || !boxes->other_version_said)
		say(directory, *why ? why : strerror(-err));
	boxes->other_version_said |= err == -EPROTO;
	box->state = BOX_REFUSED;
}

static void look_at(void *argument, const char *directory, int dirfd, const char *name)
{
	struct live_boxes *boxes = argument;
	uint64_t now_ns = boxes->scanned_ns;
	struct stat status;

	if (!box_is_name(name) || fstatat(dirfd, name, &status, AT_SYMLINK_NOFOLLOW))
		return;

	struct live_box *box = box_files_note(&boxes->files, &status, now_ns);

	if (!box && !boxes->files.full_said) {
		boxes->files.full_said = true;
		say(directory, "too many black boxes: those found from now on are left out");
	}
	if (box && (box->state == BOX_UNREADABLE || (box->state == BOX_OTHER_WORLD && boxes->world.changed)))
		try_open(boxes, box, directory, dirfd, name, now_ns);
}

static bool scan_place(struct live_boxes *boxes, struct watched_directory *place)
{
	int err = watched_directory_scan(place, look_at, boxes);

	if (shortage_is(err))
		note_shortage(boxes, watched_directory_path(place), err);
	return !err;
}

static void scan(struct live_boxes *boxes, uint64_t now_ns)
{
	bool whole = true;

	boxes->scanned_ns = now_ns;
	boxes->changed = boxes->short_of_something = false;
	live_world_update(&boxes->world, boxes->files.box, boxes->files.count);
	for (int i = 0; i < boxes->place_count; i++)
		whole &= scan_place(boxes, boxes->places[i]);
	if (whole)
		box_files_forget(&boxes->files, now_ns);
	boxes->shortage_said &= boxes->short_of_something;
}

static void rescan(struct live_boxes *boxes, uint64_t now_ns)
{
	if (boxes->changed || !boxes->scanned_ns || now_ns - boxes->scanned_ns >= ms_to_ns(RESCAN_MS))
		scan(boxes, now_ns);
}

static void let_go(struct live_box *box)
{
	process_end_close(box->end);
	box->end = NULL;
	writer_process_close(&box->writer);
}

static void save(struct live_boxes *boxes, const struct live_box *box)
{
	if (boxes->request.save)
		boxes->request.save(boxes->request.argument, feed_reader(box->feed));
}

static void end(struct live_boxes *boxes, struct live_box *box)
{
	save(boxes, box);
	boxes->request.ended(boxes->request.watcher, box->id);
	feed_free(box->feed);
	box->feed = NULL;
	let_go(box);
	box->state = BOX_ENDED;
}

/* Whoever reads the box when this collector is gone has no other way to know. */
static void note_ending(const struct box_reader *reader, int status)
{
	const struct rw_ending ending = { RW_ENDING_VERSION, status, { 0 }, 0, RW_ENDING_VERSION };

	own_box_write(reader, RW_ENDING_OFFSET, &ending, sizeof(ending));
}

/* The feed has reported to the analysis that the process ended, as far as the box knows; its status says how. A record
 * that the process itself left is worth more: exit() ran to its end. */
static void conclude(struct live_boxes *boxes, struct live_box *box)
{
	const struct rw_box_header *header = &feed_reader(box->feed)->header;
	int status = live_box_exit_status(box);
	bool exited = header->end == RW_BOX_EXITED || WIFEXITED(status);

	if (status >= 0)
		note_ending(feed_reader(box->feed), status);
	if (status >= 0)
		analysis_set_life(boxes->request.analysis, box->id, exited ? ANALYSIS_EXITED : ANALYSIS_KILLED, status,
				  box->orphan_ns);
	analysis_set_left(boxes->request.analysis, box->id, box->left_ns ? box->left_ns : box->orphan_ns);
	end(boxes, box);
}

static void poll_box(struct live_boxes *boxes, struct live_box *box, uint64_t now_ns)
{
	int passed = feed_poll(box->feed, now_ns);
	bool alive = !box->orphan_ns && feed_life(box->feed) != BOX_ORPHANED;

	if (passed < 0) {
		fprintf(stderr, "rankwatch: the black box of process %u is given up: %s\n",
			feed_reader(box->feed)->header.pid, strerror(-passed));
		boxes->given_up += feed_reader(box->feed)->header.comms_used > 0;
		end(boxes, box);
		return;
	}
	boxes->passed += (unsigned)passed;
	if (alive)
		return;
	if (!box->orphan_ns)
		box->orphan_ns = now_ns;
	if (live_box_exit_status(box) >= 0 || now_ns - box->orphan_ns >= ms_to_ns(EXIT_STATUS_MS))
		conclude(boxes, box);
}

void live_boxes_catch_up(struct live_boxes *boxes, uint64_t now_ns)
{
	struct feed **feeds;
	size_t count = 0;

	do
		scan(boxes, now_ns);
	while (boxes->changed);
	feeds = calloc(boxes->files.count + 1, sizeof(*feeds));
	if (!feeds)
		return;
	for (size_t i = 0; i < boxes->files.count; i++)
		if (boxes->files.box[i]->state == BOX_LIVE)
			feeds[count++] = boxes->files.box[i]->feed;
	feed_replay(feeds, count, boxes->request.analysis, NULL, NULL);
	free(feeds);
}

void live_boxes_poll(struct live_boxes *boxes, uint64_t now_ns)
{
	rescan(boxes, now_ns);
	for (size_t i = 0; i < boxes->files.count; i++)
		if (boxes->files.box[i]->state == BOX_LIVE)
			poll_box(boxes, boxes->files.box[i], now_ns);
}

uint64_t live_boxes_passed(const struct live_boxes *boxes)
{
	return boxes->passed;
}

bool live_boxes_report_ends(const struct live_boxes *boxes)
{
	for (size_t i = 0; i < boxes->files.count; i++)
		if (boxes->files.box[i]->state == BOX_LIVE && !boxes->files.box[i]->end)
			return false;
	return true;
}

void live_boxes_set_exit(struct live_boxes *boxes, analysis_process_id process, int exit_status, uint64_t at_ns)
{
	for (size_t i = 0; i < boxes->files.count; i++) {
		struct live_box *box = boxes->files.box[i];

		if (box->state != BOX_LIVE || box->id != process)
			continue;
		box->exit_status = exit_status;
		box->left_ns = at_ns;
	}
}

void live_boxes_lease(struct live_boxes *boxes, analysis_process_id process, uint32_t slot, uint64_t communicator,
		      uint64_t expires_ns)
{
	for (size_t i = 0; i < boxes->files.count; i++) {
		const struct live_box *box = boxes->files.box[i];

		if (box->state == BOX_LIVE && box->id == process && !box->orphan_ns)
			lease_write(feed_reader(box->feed), slot, communicator, expires_ns);
	}
}

void live_boxes_note_ports(struct live_boxes *boxes, uint64_t now_ns)
{
	struct rw_ports record;

	port_record_take(boxes->request.analysis, now_ns, &record);
	for (size_t i = 0; i < boxes->files.count; i++) {
		struct live_box *box = boxes->files.box[i];

		if (box->state == BOX_LIVE && !box->orphan_ns)
			port_note_write(&record, feed_reader(box->feed), &box->port_notes);
	}
}

void live_boxes_note_gpus(struct live_boxes *boxes)
{
	for (size_t i = 0; i < boxes->files.count; i++) {
		struct live_box *box = boxes->files.box[i];

		if (box->state == BOX_LIVE && !box->orphan_ns)
			gpu_note_write(boxes->request.analysis, box->id, feed_reader(box->feed), &box->gpu_notes);
	}
}

void live_boxes_save(struct live_boxes *boxes)
{
	for (size_t i = 0; i < boxes->files.count; i++)
		if (boxes->files.box[i]->state == BOX_LIVE)
			save(boxes, boxes->files.box[i]);
}

unsigned live_boxes_count(const struct live_boxes *boxes)
{
	unsigned live = 0;

	for (size_t i = 0; i < boxes->files.count; i++)
		live += boxes->files.box[i]->state == BOX_LIVE;
	return live;
}

unsigned live_boxes_given_up(const struct live_boxes *boxes)
{
	return boxes->given_up;
}

uid_t live_boxes_owner(const struct live_boxes *boxes)
{
	for (size_t i = 0; i < boxes->files.count; i++)
		if (boxes->files.box[i]->state == BOX_LIVE)
			return boxes->files.box[i]->owner;
	return (uid_t)-1;
}

const char *live_boxes_directory(const struct live_boxes *boxes)
{
	return boxes->directory;
}

bool live_boxes_answer(const struct live_boxes *boxes)
{
	bool answer = true;

	for (int i = 0; i < boxes->place_count; i++)
		answer &= watched_directory_answers(boxes->places[i]);
	return answer;
}

static int add_place(struct live_boxes *boxes, const char *path)
{
	int err =
	    watched_directory_open(&boxes->places[boxes->place_count], boxes->request.loop, path, &boxes->changed);

	boxes->place_count += !err;
	return err;
}

int live_boxes_open(struct live_boxes **boxes, const struct live_boxes_request *request)
{
	struct live_boxes *made = calloc(1, sizeof(*made));
	int err = made ? 0 : -ENOMEM;

	*boxes = made;
	if (err)
		return err;
	made->request = *request;
	made->request.places = NULL;
	made->opened_ns = request->now_ns;
	made->next_id = 1;
	if (request->job)
		box_job_component(request->job, made->job);
	for (int i = 0; !err && i < request->place_count && i < LIVE_BOXES_PLACES; i++)
		err = add_place(made, request->places[i]);
	if (err) {
		live_boxes_close(made);
		*boxes = NULL;
	}
	return err;
}

void live_boxes_close(struct live_boxes *boxes)
{
	if (!boxes)
		return;
	for (size_t i = 0; i < boxes->files.count; i++) {
		feed_free(boxes->files.box[i]->feed);
		let_go(boxes->files.box[i]);
	}
	for (int i = 0; i < boxes->place_count; i++)
		watched_directory_close(boxes->places[i]);
	live_world_free(&boxes->world);
	box_files_free(&boxes->files);
	free(boxes);
}
