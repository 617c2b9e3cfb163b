/* SPDX-License-Identifier: MIT */
/* What a client may ask of the collector, one JSON object a line. `rankwatch run` joins and leaves; `rankwatch
 * findings` only listens. */
#ifndef COLLECTOR_REQUEST_H
#define COLLECTOR_REQUEST_H

#include <stddef.h>

enum request {
	REQUEST_UNKNOWN, /* of a newer client: ignored */
	REQUEST_JOIN,    /* {"join":"run"}: a launcher whose job this collector watches */
	REQUEST_LEAVE,   /* {"leave":"run"}: its job has ended; answered with the summary */
};

enum { REQUEST_LINE = 4096 };

enum request request_parse(const char *line, size_t length);

#endif
