/* SPDX-License-Identifier: MIT */
/* The devices of the host, and CUDA_VISIBLE_DEVICES: which of them the process has, in which order. */
#ifndef SIM_CUDA_DEVICES_VISIBLE_H
#define SIM_CUDA_DEVICES_VISIBLE_H

#include <cuda.h>

#define VISIBLE_FIRST_PCI_BUS 0x10 /* device N is 0000:(0x10 + N):00.0 on every host */

/* SIM_CUDA_DEVICES; a wrong one is said. */
int visible_host_devices(void);
/* The UUID of the host's device `physical`, the same on every run: from the claimed host (NCCL_HOSTID) or its name. */
void visible_uuid(int physical, CUuuid *uuid);
/*
 * Writes the host's numbers of the visible devices into devices, which has room for `count`, the host's; returns how
 * many. Unset: all. The list holds numbers or beginnings of UUIDs ("GPU-…"); as CUDA does, it ends at the first that
 * names no device, at -1, and a device that is named twice leaves none visible.
 */
int visible_devices(int count, int *devices);

#endif
