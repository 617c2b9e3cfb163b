/* SPDX-License-Identifier: MIT */
/* Stands in for the kernel's side (ebpf/probes.h): refuses, records and loses what the test wants. */
#ifndef TESTS_UNIT_COLLECTOR_FAKE_PROBES_H
#define TESTS_UNIT_COLLECTOR_FAKE_PROBES_H

#include "ebpf/probes.h"

extern struct fake_probes {
	int open_err;               /* of probes_open() */
	int refusal, refused_count; /* of probes_watch(), so many times */
	int records;                /* that each poll brings */
	struct probes_loss lost;
} fake_probes;

#endif
