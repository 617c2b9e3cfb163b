/* SPDX-License-Identifier: MIT */
/* Names, values and layouts of NVML that the stand-in and the collector rely on. Compiled with the stand-in's nvml.h
 * and, where it is installed, with NVIDIA's. */
#include <nvml.h>
#include <stddef.h>
#include <stdio.h>

#include "collector/sources/machine/nvml_library.h"

#define SAME(left, right) _Static_assert((long long)(left) == (long long)(right), #left " is " #right)
#define SAME_FIELD(ours, ours_field, theirs, theirs_field)                                                             \
	SAME(offsetof(ours, ours_field), offsetof(theirs, theirs_field));                                              \
	SAME(sizeof(((ours *)0)->ours_field), sizeof(((theirs *)0)->theirs_field))

SAME(NVML_SUCCESS, NVML_OK);
SAME(NVML_ERROR_UNINITIALIZED, 1);
SAME(NVML_ERROR_INVALID_ARGUMENT, 2);
SAME(NVML_ERROR_NOT_SUPPORTED, NVML_NOT_SUPPORTED);
SAME(NVML_ERROR_INSUFFICIENT_SIZE, 7);
SAME(NVML_ERROR_TIMEOUT, NVML_TIMED_OUT);
SAME(NVML_ERROR_GPU_IS_LOST, NVML_LOST);
SAME(NVML_ERROR_RESET_REQUIRED, NVML_NEEDS_RESET);
SAME(NVML_ERROR_UNKNOWN, 999);
SAME(NVML_CLOCK_SM, NVML_SM);
SAME(NVML_TEMPERATURE_GPU, NVML_GPU_SENSOR);
SAME(NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_CORRECTED);
SAME(NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_UNCORRECTED);
SAME(NVML_VOLATILE_ECC, NVML_SINCE_LOAD);
SAME(NVML_AGGREGATE_ECC, NVML_EVER);
SAME(NVML_VALUE_TYPE_UNSIGNED_INT, NVML_VALUE_UINT);
SAME(NVML_VALUE_TYPE_UNSIGNED_LONG_LONG, NVML_VALUE_ULONGLONG);
SAME(NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL, NVML_NVLINK_FLIT);
SAME(NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL, NVML_NVLINK_DATA);
SAME(NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL, NVML_NVLINK_REPLAY);
SAME(NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL, NVML_NVLINK_RECOVERY);
SAME(nvmlEventTypeXidCriticalError, NVML_EVENT_XID);

SAME(sizeof(struct nvml_pci), sizeof(nvmlPciInfo_t));
SAME_FIELD(struct nvml_pci, bus, nvmlPciInfo_t, bus);
SAME_FIELD(struct nvml_pci, address, nvmlPciInfo_t, busId);
SAME(sizeof(struct nvml_memory), sizeof(nvmlMemory_t));
SAME_FIELD(struct nvml_memory, total, nvmlMemory_t, total);
SAME_FIELD(struct nvml_memory, used, nvmlMemory_t, used);
SAME(sizeof(struct nvml_field_value), sizeof(nvmlFieldValue_t));
SAME_FIELD(struct nvml_field_value, field, nvmlFieldValue_t, fieldId);
SAME_FIELD(struct nvml_field_value, scope, nvmlFieldValue_t, scopeId);
SAME_FIELD(struct nvml_field_value, type, nvmlFieldValue_t, valueType);
SAME_FIELD(struct nvml_field_value, result, nvmlFieldValue_t, nvmlReturn);
SAME_FIELD(struct nvml_field_value, value, nvmlFieldValue_t, value);
SAME(sizeof(struct nvml_event), sizeof(nvmlEventData_t));
SAME_FIELD(struct nvml_event, device, nvmlEventData_t, device);
SAME_FIELD(struct nvml_event, type, nvmlEventData_t, eventType);
SAME_FIELD(struct nvml_event, data, nvmlEventData_t, eventData);
SAME_FIELD(struct nvml_event, gpu_instance, nvmlEventData_t, gpuInstanceId);

int main(void)
{
	unsigned int count = 0;
	nvmlReturn_t before = nvmlDeviceGetCount_v2(&count), started = nvmlInit_v2();

	printf("before nvmlInit: %d, after: %d\n", (int)before, (int)started);
	return before == NVML_ERROR_UNINITIALIZED && started == NVML_SUCCESS &&
		       nvmlDeviceGetCount_v2(&count) == NVML_SUCCESS && count == 8
		   ? 0
		   : 1;
}
