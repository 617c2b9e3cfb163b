/* SPDX-License-Identifier: MIT */
/* System calls that a thread can be stuck in, by number on this machine. */
#ifndef ANALYSIS_HOST_SYSTEM_CALLS_H
#define ANALYSIS_HOST_SYSTEM_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include <rankwatch/finding.h>

struct system_call {
	int32_t number;
	const char *name;
	enum rw_cause_class class_; /* of a thread that sits in it, when nothing more precise is known */
	bool by_file;               /* what it means depends on what is behind its descriptor */
	bool by_waker;              /* somebody else ends the wait: worth following */
};

/* NULL when the table does not know it. */
const struct system_call *system_call_find(int32_t number);

#endif
