/* SPDX-License-Identifier: MIT */
/* What findings call each communicator ("~fsdp"), of those that had not ended. One thread. */
#ifndef CONSOLE_HTML_GROUP_NAMES_H
#define CONSOLE_HTML_GROUP_NAMES_H

#include <stdint.h>

#include <jansson.h>

struct replay;

/* New reference; NULL on lack of memory. */
json_t *group_names_json(const struct replay *replay);
/* Escaped; NULL when it has none. */
const char *group_names_find(const json_t *names, uint64_t communicator);

#endif
