/* SPDX-License-Identifier: MIT */
/*
 * SIM_NVML: a file that says how the devices are and which calls fail. It is read again when it has changed, so a
 * test can make a GPU sick while a program looks at it. All devices are healthy unless it says something else.
 * Thread safe.
 *
 *   # DEVICE NAME=VALUE…    DEVICE: all, a number, or a PCI address
 *   all temperature=60
 *   0000:13:00 clocks-event-reasons=hw-slowdown+hw-thermal-slowdown sm-clock=990
 *   3 xid=79
 *   # call FUNCTION fail=NUMBER | block      returns that nvmlReturn_t; holds the call while the file says so
 *   call nvmlDeviceGetTemperature block
 *
 * Names, and what is usual, are in the table of script.c: clocks in MHz, degrees Celsius, watts, MiB; rows that are
 * remapped; ecc-… since the driver was loaded, ecc-…-ever aggregate; nvlink-errors of all links, as replays. xid is
 * an event for the event sets that are registered for it, each time that it is in the file. A line counts once it
 * is complete, and of lines that contradict each other the later one; with a line that is not understood every call
 * fails with NVML_ERROR_UNKNOWN.
 */
#ifndef SIM_NVML_SCRIPT_H
#define SIM_NVML_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

#include <nvml.h>

enum { SCRIPT_DEVICES = 64, SCRIPT_XIDS = 64 };

enum script_value {
	SCRIPT_SM_CLOCK,
	SCRIPT_SM_CLOCK_MAX,
	SCRIPT_TEMPERATURE,
	SCRIPT_POWER,
	SCRIPT_POWER_LIMIT,
	SCRIPT_CLOCKS_EVENT_REASONS,
	SCRIPT_ECC_CORRECTED,
	SCRIPT_ECC_UNCORRECTED,
	SCRIPT_ECC_CORRECTED_EVER,
	SCRIPT_ECC_UNCORRECTED_EVER,
	SCRIPT_REMAPPED_CORRECTED,
	SCRIPT_REMAPPED_UNCORRECTED,
	SCRIPT_REMAPPED_PENDING,
	SCRIPT_REMAPPED_FAILURE,
	SCRIPT_NVLINK_ERRORS,
	SCRIPT_MEMORY_USED,
	SCRIPT_MEMORY_TOTAL,
	SCRIPT_VALUE_COUNT,
};

/* Of a device of the host, in the unit of the grammar. */
unsigned long long script_value(unsigned int device, enum script_value value);
/* Is there a file that may add something at any time? */
bool script_exists(void);
/* How many Xids the file has for the device so far; `number` (from 0) of them goes to *xid when it is there. */
size_t script_xids(unsigned int device, size_t number, unsigned int *xid);
/* What the file wants of this call: blocks as long as it says so; NVML_SUCCESS: do your work. A file with an error in
 * it, which is said once, makes every call NVML_ERROR_UNKNOWN. */
nvmlReturn_t script_call(const char *name);

#endif
