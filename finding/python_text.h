/* SPDX-License-Identifier: MIT */
/* Where the late thread was in Python, as one line of a finding. What comes from a job is not escaped here. */
#ifndef FINDING_PYTHON_TEXT_H
#define FINDING_PYTHON_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

/* Is anything known of it? */
bool python_text_is(const json_t *finding);
/* "in Trainer.save (train.py:212), there in Event.wait (threading.py:622), 5 of 6 samples; …", without a line end. */
void python_text_write(FILE *out, const json_t *finding);

#endif
