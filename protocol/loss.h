/* SPDX-License-Identifier: MIT */
/* Evidence about the host's threads that was lost since the collector began, by where. */
#ifndef PROTOCOL_LOSS_H
#define PROTOCOL_LOSS_H

#include <stdint.h>

#include <jansson.h>

enum loss_part {
	LOSS_RING,      /* records that found the ring of the BPF programs full */
	LOSS_STORAGE,   /* waits of threads for which the kernel had no storage */
	LOSS_RECURSION, /* runs of the BPF programs that the kernel left out, of any process on this machine */
	LOSS_LOOKS,     /* samples that could not be taken */
	LOSS_PARTS,
};

struct loss {
	uint64_t parts[LOSS_PARTS];
};

uint64_t loss_total(const struct loss *loss);
/* {"ring":N,"storage":N,"recursion":N,"looks":N}; NULL on lack of memory. */
json_t *loss_json(const struct loss *loss);

#endif
