/* SPDX-License-Identifier: MIT */
/* A tape's files as they were at the tick that is played, in a directory in memory: what has a /proc, a /sys and black
 * boxes to read finds them there. */
#ifndef TESTS_TAPES_TREE_H
#define TESTS_TAPES_TREE_H

#include "tape.h"

struct tree_file;

struct tree {
	char root[64];
	bool with_proc, with_stack; /* kernel stacks in it: for root only */
	struct tree_file *files;
	size_t count, boxes;
};

/* 0 or -errno. */
int tree_open(struct tree *tree, bool with_proc, bool with_stack);
/* TAPE_NAME, TAPE_TEXT, TAPE_BOX and TAPE_GONE. time_ns: of the tick. 0, -EINVAL: damaged, or another -errno. */
int tree_apply(struct tree *tree, struct tape *tape, enum tape_record type, uint64_t time_ns);
/* The text as it is now, ended by a NUL; NULL: there is no such file. */
const char *tree_text(const struct tree *tree, const char *path);
/* The process that holds the lock of the box with this inode, 0: nobody does; -1: no box of the tape. */
pid_t tree_box_writer(const struct tree *tree, uint64_t inode);
/* The header of one of the boxes as it is now; it belongs to the tree. NULL: there is no box yet. */
const struct rw_box_header *tree_any_box(const struct tree *tree);
void tree_close(struct tree *tree);

#endif
