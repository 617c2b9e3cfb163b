/* SPDX-License-Identifier: MIT */
/* Open findings, one for each incident: what is alerted on once. */
#ifndef CONSOLE_METRICS_INCIDENTS_H
#define CONSOLE_METRICS_INCIDENTS_H

#include <jansson.h>

/* Of each incident the open finding with which it began, with the highest severity of its open findings. New array; one
 * that a collector of an older release sent is an incident by itself. */
json_t *incidents_open(const json_t *findings);

#endif
