/* SPDX-License-Identifier: MIT */
/* The part of the environment that explains a run, for the box's header. */
#ifndef PLUGIN_RECORDING_ENVIRONMENT_H
#define PLUGIN_RECORDING_ENVIRONMENT_H

#include <stddef.h>

/* Writes the allow-listed NAME=VALUE strings, each NUL-terminated, most important first, as many as fit whole; an empty
 * string ends them. Names that may be those of secrets and values that hold a URL with a password are left out, long
 * values are cut. */
void environment_keep(char *const *environment, char *room, size_t size);

#endif
