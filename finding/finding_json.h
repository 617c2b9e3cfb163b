/* SPDX-License-Identifier: MIT */
/* A finding as the JSON object of docs/findings.md (schema 1). */
#ifndef FINDING_FINDING_JSON_H
#define FINDING_FINDING_JSON_H

#include <jansson.h>

#include <rankwatch/finding.h>

/* New reference, NULL on lack of memory. realtime_offset_ns: CLOCK_REALTIME - CLOCK_MONOTONIC of the recording host. */
json_t *finding_to_json(const struct rw_finding *finding, int64_t realtime_offset_ns);
/* One line without the newline, malloc'ed; NULL on lack of memory. Strings from the job that are not UTF-8 are escaped.
 */
char *finding_to_line(const struct rw_finding *finding, int64_t realtime_offset_ns);

const char *finding_kind_name(enum rw_kind kind);
const char *finding_cause_name(enum rw_cause_class class_);
const char *finding_function_name(uint8_t function);
const char *finding_dtype_name(uint8_t dtype);
const char *finding_algorithm_name(uint8_t algorithm);
const char *finding_protocol_name(uint8_t protocol);

#endif
