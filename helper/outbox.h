/* SPDX-License-Identifier: MIT */
/* What waits to be sent to one client: bounded, so that a slow or stopped one costs only its own records. */
#ifndef HELPER_OUTBOX_H
#define HELPER_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rankwatch/helper.h>

enum {
	OUTBOX_BYTES = 256 << 10,
	OUTBOX_ANSWERS = 4 << 10, /* of them for answers alone */
};

struct outbox {
	uint8_t *bytes; /* NULL while there is nothing */
	size_t begin, end;
	uint64_t lost;		    /* records that found no room */
	struct rw_helper_loss reported; /* with the latest packet */
};

void outbox_free(struct outbox *outbox);
/* False: no room; it is counted. wait->stack_id: number of names, which end with '\0'; -1 none. */
bool outbox_add_record(struct outbox *outbox, const struct rw_kernel_wait *wait, char (*names)[RW_HELPER_FRAME]);
/* False: no room: this client asks and does not listen. */
bool outbox_add_answer(struct outbox *outbox, const struct rw_helper_answer *answer);
/* Records and answers in their order, with what was lost so far; also when that alone is news. Does not wait. 0: all is
 * sent; -EAGAIN: the client has no room now; else -errno: it has gone. */
int outbox_send(struct outbox *outbox, int fd, const struct rw_helper_loss *loss);

#endif
