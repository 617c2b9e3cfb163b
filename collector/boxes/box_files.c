/* SPDX-License-Identifier: MIT */
#include "collector/boxes/box_files.h"

#include <stdlib.h>

static struct live_box *find(const struct box_files *files, const struct stat *status)
{
	for (size_t i = 0; i < files->count; i++)
		if (files->box[i]->device == status->st_dev && files->box[i]->inode == status->st_ino)
			return files->box[i];
	return NULL;
}

static bool make_room(struct box_files *files)
{
	size_t room = files->room ? files->room * 2 : 16;
	struct live_box **box;

	if (files->count < files->room)
		return true;
	box = files->count < BOX_FILES_MOST ? realloc(files->box, room * sizeof(*box)) : NULL;
	if (!box)
		return false;
	files->box = box;
	files->room = room;
	return true;
}

static struct live_box *add(struct box_files *files, const struct stat *status, uint64_t now_ns)
{
	struct live_box *box = make_room(files) ? calloc(1, sizeof(*box)) : NULL;

	if (!box)
		return NULL;
	*box = (struct live_box){ .device = status->st_dev,
				  .inode = status->st_ino,
				  .owner = status->st_uid,
				  .seen_ns = now_ns,
				  .writer = WRITER_PROCESS_NONE,
				  .exit_status = -1 };
	files->box[files->count++] = box;
	return box;
}

struct live_box *box_files_note(struct box_files *files, const struct stat *status, uint64_t now_ns)
{
	struct live_box *box = find(files, status);

	if (!box)
		box = add(files, status, now_ns);
	if (box)
		box->last_seen_ns = now_ns;
	return box;
}

void box_files_forget(struct box_files *files, uint64_t now_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < files->count; i++) {
		struct live_box *box = files->box[i];

		if (box->last_seen_ns == now_ns || box->state == BOX_LIVE)
			files->box[kept++] = box;
		else
			free(box);
	}
	if (kept < files->count)
		files->full_said = false;
	files->count = kept;
}

void box_files_free(struct box_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		free(files->box[i]);
	free(files->box);
	*files = (struct box_files){ 0 };
}
