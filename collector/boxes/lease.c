/* SPDX-License-Identifier: MIT */
#include "collector/boxes/lease.h"

#include <errno.h>

#include "collector/boxes/live_boxes.h"
#include "collector/boxes/own_box.h"

enum { DETAILS = 1024 };

#define LASTS_NS UINT64_C(3000000000)

int lease_write(const struct box_reader *reader, uint32_t slot, uint64_t communicator, uint64_t expires_ns)
{
	const struct rw_lease lease = {
		.expires_ns = expires_ns,
		.communicator = communicator,
		.proxy_bits = RW_LEASE_PROXY_OP | RW_LEASE_PROXY_STEP,
	};

	if (slot >= RW_BOX_LEASES || !box_has_waits(&reader->header))
		return -EINVAL;
	return own_box_write(reader, slot * sizeof(lease), &lease, sizeof(lease));
}

void leases_renew(const struct analysis *analysis, struct live_boxes *boxes, uint64_t now_ns)
{
	struct analysis_detail details[DETAILS];
	size_t count = analysis_wanted_details(analysis, details, DETAILS);

	for (size_t i = 0; i < count && i < DETAILS; i++) {
		uint32_t slot = 0;

		for (size_t k = 0; k < i; k++)
			slot += details[k].process == details[i].process;
		live_boxes_lease(boxes, details[i].process, slot, details[i].comm, now_ns + LASTS_NS);
	}
}
