/* SPDX-License-Identifier: MIT */
/* The socket that clients connect to: systemd's (sd_listen_fds(3)), or one made here by root. */
#ifndef HELPER_ENTRANCE_H
#define HELPER_ENTRANCE_H

#include <stdbool.h>

enum { ENTRANCE_WHY = 256 };

/* A listening SOCK_SEQPACKET socket, or -errno with a sentence in `why` (ENTRANCE_WHY bytes). given: it was
 * systemd's. */
int entrance_open(const char *path, bool *given, char *why);

#endif
