/* SPDX-License-Identifier: MIT */
/* The scanning of this process. Private to plugin/scanning/. */
#ifndef PLUGIN_SCANNING_STATE_H
#define PLUGIN_SCANNING_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/cost/budget.h"
#include "plugin/cost/scan_share.h"
#include "plugin/scan/scanner.h"
#include "plugin/scanning/on_nan.h"

/* All threads use the scanner and only_before, the other members belong to the plugin's thread. */
struct scanning {
	struct scanner scanner;
	struct budget budget;
	struct scan_share share;
	bool only_before; /* nothing is scanned behind an operation; does not change while there are operations */
	/* What was done about results. */
	uint64_t reported_ns; /* last line about a NaN, 0: none yet */
	struct on_nan on_nan;
	bool end_reported;    /* that scanning has been turned off */
};

extern __attribute__((visibility("hidden"))) struct scanning scanning;

#endif
