/* SPDX-License-Identifier: MIT */
/* What the plugin reports to people: one line each, prefixed "rankwatch: ", in one write. Never on a collective's
 * path. */
#ifndef PLUGIN_GUEST_MESSAGE_H
#define PLUGIN_GUEST_MESSAGE_H

/* From now on to this file (appended) instead of standard error. -errno leaves it as it was. */
int message_to(const char *path);
void message(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
