/* SPDX-License-Identifier: MIT */
/* The few bytes that a collector writes into black boxes, which are its own user's: docs/black-box.md, "Control
 * page". */
#ifndef COLLECTOR_BOXES_OWN_BOX_H
#define COLLECTOR_BOXES_OWN_BOX_H

#include <stddef.h>
#include <stdint.h>

#include "blackbox/reader.h"

/* At this offset of the control page. 0, -EPERM: the box is another user's, -EINVAL: beyond that page, or -errno. */
int own_box_write(const struct box_reader *reader, size_t offset, const void *data, size_t size);

#endif
