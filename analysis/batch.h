/* SPDX-License-Identifier: MIT */
/* Is what has come a batch that can be believed, as far as its form goes? */
#ifndef ANALYSIS_BATCH_H
#define ANALYSIS_BATCH_H

#include <stdbool.h>
#include <stddef.h>

#include <rankwatch/message.h>

/* Copies the header. NULL: it is one; else why not. */
const char *batch_refuse(const void *bytes, size_t length, struct rw_batch *header);
/* A copy of message i of such a batch. False: its fields contradict the layout, or its type is not known. */
bool batch_message(const void *bytes, uint32_t i, struct rw_message *message);

#endif
