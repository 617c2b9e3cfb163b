/* SPDX-License-Identifier: MIT */
/* What every call of the library begins with. */
#ifndef SIM_NVML_LIBRARY_H
#define SIM_NVML_LIBRARY_H

#include <nvml.h>

#define EXPORTED __attribute__((visibility("default")))

/* Initialised, and nothing in the script against this call? */
nvmlReturn_t library_enter(const char *call);
/* The same for a call about a device, whose number on the host goes to *number. */
nvmlReturn_t library_enter_device(const char *call, nvmlDevice_t device, unsigned int *number);
nvmlDevice_t library_device(unsigned int number);

#endif
