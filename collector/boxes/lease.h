/* SPDX-License-Identifier: MIT */
/* Leases of network detail, which a collector writes into its own user's boxes: docs/black-box.md, "Control page". */
#ifndef COLLECTOR_BOXES_LEASE_H
#define COLLECTOR_BOXES_LEASE_H

#include <stdint.h>

#include "analysis/analysis.h"
#include "blackbox/reader.h"

struct live_boxes;

/* Writes lease `slot` of the box. 0, -EPERM: the box is another user's, -EINVAL: no such slot, or the box takes no
 * leases, or -errno. */
int lease_write(const struct box_reader *reader, uint32_t slot, uint64_t communicator, uint64_t expires_ns);

/* Gives every process of which the analysis wants network detail a lease for some seconds. Call twice a second. */
void leases_renew(const struct analysis *analysis, struct live_boxes *boxes, uint64_t now_ns);

#endif
