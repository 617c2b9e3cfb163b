/* SPDX-License-Identifier: MIT */
/* What is not alike in the ranks' black boxes: versions, configuration, environment. One thread. */
#ifndef CONSOLE_HTML_DIFFERENCES_H
#define CONSOLE_HTML_DIFFERENCES_H

#include <jansson.h>

#include "console/replay/replay.h"

/* {"unlike":[{"what","values":[{"value","ranks","count"}]}],"alike":[["what","value"]]}: values by how many ranks have
 * them; null where a rank has none. New reference. */
json_t *differences_json(const struct replay *replay);

#endif
