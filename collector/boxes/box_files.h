/* SPDX-License-Identifier: MIT */
/* The files that end in .rwbox, by inode: what was made of one is decided once. Files whose name has vanished are
 * forgotten, so that a collector that lives for weeks does not fill up. */
#ifndef COLLECTOR_BOXES_BOX_FILES_H
#define COLLECTOR_BOXES_BOX_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "collector/boxes/live_box.h"

enum { BOX_FILES_MOST = 8192 };

struct box_files {
	struct live_box **box; /* stable addresses: a feed may keep its reader's */
	size_t count, room;
	bool full_said; /* by the caller; forgotten when there is room again */
};

/* The file's entry, made when it is new. NULL: too many, or no memory. */
struct live_box *box_files_note(struct box_files *files, const struct stat *status, uint64_t now_ns);
/* Forgets those that were not noted at now_ns, but for live ones: a name may be removed while the box is in use. */
void box_files_forget(struct box_files *files, uint64_t now_ns);
void box_files_free(struct box_files *files);

#endif
