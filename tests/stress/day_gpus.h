/* SPDX-License-Identifier: MIT */
/* The GPUs of a day's job in virtual time, in place of collector/sources/machine/nvml_source.c: each has a state twice
 * a second. One thread. */
#ifndef TESTS_STRESS_DAY_GPUS_H
#define TESTS_STRESS_DAY_GPUS_H

#include <stdint.h>

#include <rankwatch/blackbox.h>

enum { DAY_GPUS = 8, DAY_GPU_BUS = 0x10 /* PCI bus of the first */ };

void day_gpus_set_time(uint64_t now_ns);
/* GPU `number` as the black box of its rank names it. */
struct rw_device day_gpu_device(int number);
/* NVML reports an Xid of it, too. */
void day_gpus_report_xid(int number, unsigned xid);
uint64_t day_gpus_states(void); /* handed over so far */

#endif
