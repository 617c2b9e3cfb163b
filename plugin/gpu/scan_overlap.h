/* SPDX-License-Identifier: MIT */
/*
 * May an input be scanned beside its collective instead of in line with it? Only where the scan is predicted to take at
 * most half as long as operations like this one do: then it ends first. Learnt by the drain thread from what it sees;
 * asked on the path of a collective.
 */
#ifndef PLUGIN_GPU_SCAN_OVERLAP_H
#define PLUGIN_GPU_SCAN_OVERLAP_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { SCAN_OVERLAP_CLASSES = 1024 };

/* Zeroed: nothing learnt, and nothing overlaps. */
struct scan_overlap {
	_Atomic uint32_t median_us[SCAN_OVERLAP_CLASSES]; /* of operations, by class; 0 not known */
	_Atomic uint32_t bytes_per_us;                    /* that a scan reads; 0 not known */
	bool never;                                       /* one hardware queue: what waits holds up all others */
};

/* `bytes`: count times the size of the type, as in the call. The drain thread. */
void scan_overlap_learn_operation(struct scan_overlap *overlap, uint16_t comm, uint8_t function, uint64_t bytes,
				  uint64_t took_ns);
void scan_overlap_learn_scan(struct scan_overlap *overlap, uint64_t bytes, uint64_t took_ns);

/* Wait-free, any thread. Could any operation overlap? */
bool scan_overlap_is_possible(const struct scan_overlap *overlap);
/* `scan_bytes`: to be scanned. */
bool scan_overlap_pays(const struct scan_overlap *overlap, uint16_t comm, uint8_t function, uint64_t bytes,
		       uint64_t scan_bytes);

#endif
