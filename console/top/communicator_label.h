/* SPDX-License-Identifier: MIT */
/* What a communicator is called where several stand below each other: its name, and its ranks where another one has
 * that name, as the groups of a mesh have. */
#ifndef CONSOLE_TOP_COMMUNICATOR_LABEL_H
#define CONSOLE_TOP_COMMUNICATOR_LABEL_H

#include "console/top/model.h"

/* "~fsdp (0,2)"; without a name the id; without members, as those of one that has ended, the name alone. Returns text.
 * size: at least 64. */
char *communicator_label(const struct model *model, const char *id, const char *name, char *text, size_t size);

#endif
