/* SPDX-License-Identifier: MIT */
/* The address of a NATS server as people give it: nats://[USER:PASSWORD@]HOST[:PORT] or tls://…, several separated by
 * commas. */
#ifndef PROTOCOL_SERVER_URL_H
#define PROTOCOL_SERVER_URL_H

#include <stddef.h>

enum { SERVER_URL_SHOWN = 160, SERVER_URL_LENGTH = 1024, SERVER_URL_WHY = 96 };

/* 0, or -EINVAL with what is wrong, in words without the address itself: it may hold a password. */
int server_url_check(const char *url, char why[SERVER_URL_WHY]);
/* The address without user and password, for people; cut where it is long. Not escaped. */
void server_url_show(const char *url, char shown[SERVER_URL_SHOWN]);

#endif
