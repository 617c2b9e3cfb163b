/* SPDX-License-Identifier: MIT */
/* What a file of findings has been told so far: so that a reader of the file alone finds each one's beginning in it. */
#ifndef FINDING_WRITTEN_H
#define FINDING_WRITTEN_H

#include <jansson.h>

struct written {
	json_t *open; /* ids; NULL none yet */
};

/* The finding as a line for the file: one that opened before anybody wrote it down (as a notice) begins there as open.
 * malloc'ed; NULL: nothing is to be written (the end of what the file does not know), or no memory. */
char *written_line(struct written *written, const json_t *finding);
void written_free(struct written *written);

#endif
