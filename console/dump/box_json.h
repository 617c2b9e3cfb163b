/* SPDX-License-Identifier: MIT */
/*
 * The records of a black box as JSON objects, for `rankwatch dump`: the field names of include/rankwatch/blackbox.h,
 * times in CLOCK_MONOTONIC ns. A field that was not known when it was copied is left out. New references; NULL on lack
 * of memory.
 */
#ifndef CONSOLE_DUMP_BOX_JSON_H
#define CONSOLE_DUMP_BOX_JSON_H

#include <jansson.h>

#include <rankwatch/blackbox.h>

/* communicator: of the operation, may be NULL: then its index stands alone. */
json_t *box_json_operation(const struct rw_operation *operation, const struct rw_communicator *communicator);
json_t *box_json_communicator(const struct rw_communicator *communicator, const struct rw_gpu_progress *progress);
json_t *box_json_sample(const struct rw_host_sample *sample);
/* In box_header_json.c. */
json_t *box_json_header(const struct rw_box_header *header);

/* Text of at most `size` bytes that a job wrote and that need not be terminated or UTF-8. */
json_t *box_json_text(const char *text, size_t size);

/* By enum rw_untracked; NULL where there is no reason of that number. */
extern const char *const box_json_untracked_names[RW_UNTRACKED_COUNT];
/* By enum rw_unscannable; NULL likewise. */
extern const char *const box_json_unscannable_names[RW_UNSCANNABLE_COUNT];

#endif
