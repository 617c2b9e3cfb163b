/* SPDX-License-Identifier: MIT */
/* The directory that a black box lies in, from the box's path as it was named. */
#ifndef CONSOLE_BOXES_BOX_FOLDER_H
#define CONSOLE_BOXES_BOX_FOLDER_H

#include <limits.h>
#include <stdbool.h>

/* Its name, in path[PATH_MAX], which is returned; NULL when it is too long. */
char *box_folder_name(const char *box, char path[PATH_MAX]);
/* Opens it. Returns the descriptor or -errno. */
int box_folder_open(const char *box);
/* Do both paths lead there by the same name? */
bool box_folder_is_same(const char *box, const char *other);

#endif
