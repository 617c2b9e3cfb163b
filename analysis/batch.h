/* SPDX-License-Identifier: MIT */
/* Checks whether received bytes are a batch of the right form. */
#ifndef ANALYSIS_BATCH_H
#define ANALYSIS_BATCH_H

#include <stdbool.h>
#include <stddef.h>

#include <rankwatch/message.h>

/* Copies the header. Returns NULL if the bytes are a batch, else the reason why not, a static string. */
const char *batch_refuse(const void *bytes, size_t length, struct rw_batch *header);
/* Copies message i of such a batch. False: its fields contradict the layout, or its type is not known. */
bool batch_message(const void *bytes, uint32_t i, struct rw_message *message);

#endif
