/* SPDX-License-Identifier: MIT */
/* A /proc made of ordinary files, with texts as real kernels gave them. */
#ifndef TESTS_RECORDED_TREE_H
#define TESTS_RECORDED_TREE_H

#include <stddef.h>

struct recorded_tree {
	char root[64];
};

void tree_open(struct recorded_tree *tree);
void tree_close(struct recorded_tree *tree);
void tree_write(const struct recorded_tree *tree, const char *path, const char *text); /* makes folders as needed */
void tree_write_bytes(const struct recorded_tree *tree, const char *path, const void *bytes, size_t size);
void tree_link(const struct recorded_tree *tree, const char *path, const char *target);
void tree_remove(const struct recorded_tree *tree, const char *path); /* a file or a whole folder */

#endif
