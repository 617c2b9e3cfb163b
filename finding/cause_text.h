/* SPDX-License-Identifier: MIT */
/* The cause of a finding, as its second line says it. What comes from a job is not escaped here. */
#ifndef FINDING_CAUSE_TEXT_H
#define FINDING_CAUSE_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

/* Nothing that one thread does: the whole process has ended or stands still, or nobody knows. */
bool cause_text_is_whole_process(const json_t *cause);

/* Without a line end. The path is shortened so that the line has at most 100 columns, where that can be had. */
void cause_text_write(FILE *out, const json_t *finding);

#endif
