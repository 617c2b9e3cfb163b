/* SPDX-License-Identifier: MIT */
/* cuInit: where the variables of the stand-in driver are wrong, nothing works. */
#include "sim/cuda/devices/device.h"
#include "sim/cuda/driver/calls.h"
#include "sim/cuda/driver/fault.h"
#include "sim/cuda/streams/host_share.h"

CUresult sim_cuInit(unsigned int flags)
{
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult result = device_init();
	return fault_rules_are_right() && host_share_is_right() ? result : CUDA_ERROR_UNKNOWN;
}
