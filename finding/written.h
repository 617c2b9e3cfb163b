/* SPDX-License-Identifier: MIT */
/* What a file of findings holds so far: so that a reader of the file alone finds each one's beginning in it. */
#ifndef FINDING_WRITTEN_H
#define FINDING_WRITTEN_H

#include <jansson.h>

struct written {
	json_t *open; /* ids; NULL none yet */
};

/* The message as a line for the file. A finding begins there when it is more than a notice, as open, whatever it was
 * before; from then on the file has all that becomes of it, whatever its severity, to its end. malloc'ed; NULL:
 * nothing is to be written (no finding, a notice or an end of what the file does not know, a second beginning), or
 * no memory. */
char *written_line(struct written *written, const json_t *finding);
void written_free(struct written *written);

#endif
