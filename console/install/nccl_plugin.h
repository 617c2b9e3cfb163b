/* SPDX-License-Identifier: MIT */
/* The profiler plugin that NCCL would load without rankwatch, and who names it: the environment, which wins, or one of
 * NCCL's configuration files (NCCL_CONF_FILE or ~/.nccl.conf, then /etc/nccl.conf; the first counts). */
#ifndef CONSOLE_INSTALL_NCCL_PLUGIN_H
#define CONSOLE_INSTALL_NCCL_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>

#include "console/install/install.h"

typedef const char *nccl_plugin_get(const void *argument, const char *name); /* NULL = not set */

struct nccl_plugin {
	char value[512];
	char from[INSTALL_PATH]; /* "environment" or the file */
};

/* root: "" but in tests. False: nobody names one. */
bool nccl_plugin_find(struct nccl_plugin *plugin, nccl_plugin_get *get, const void *argument, const char *root);
/* The same for this process, but only a plugin that is not rankwatch and not "none". */
bool nccl_plugin_find_other(struct nccl_plugin *plugin);

#endif
