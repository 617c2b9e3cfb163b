/* SPDX-License-Identifier: MIT */
/* What is asked of one device. */
#include <stdio.h>

#include "sim/cuda/devices/visible.h"
#include "sim/nvml/library.h"
#include "sim/nvml/script.h"

static const unsigned long long mebibyte = 1ull << 20;

EXPORTED nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
	unsigned int number;
	nvmlReturn_t result = library_enter_device(__func__, device, &number);
	CUuuid bytes;
	int used = 0;

	if (result != NVML_SUCCESS)
		return result;
	if (!uuid || length < 41)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	visible_uuid((int)number, &bytes);
	used = sprintf(uuid, "GPU-");
	for (int i = 0; i < 16; i++)
		used += sprintf(uuid + used, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
				(unsigned char)bytes.bytes[i]);
	return NVML_SUCCESS;
}

EXPORTED nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	unsigned int number;
	nvmlReturn_t result = library_enter_device(__func__, device, &number);

	if (result != NVML_SUCCESS || !pci)
		return result == NVML_SUCCESS ? NVML_ERROR_INVALID_ARGUMENT : result;
	*pci = (nvmlPciInfo_t){ .bus = VISIBLE_FIRST_PCI_BUS + number };
	snprintf(pci->busIdLegacy, sizeof(pci->busIdLegacy), "0000:%02X:00.0", pci->bus & 0xff);
	snprintf(pci->busId, sizeof(pci->busId), "00000000:%02X:00.0", pci->bus & 0xff);
	return NVML_SUCCESS;
}

static nvmlReturn_t give(const char *call, nvmlDevice_t device, enum script_value value, unsigned int factor,
			 unsigned int *place)
{
	unsigned int number;
	nvmlReturn_t result = library_enter_device(call, device, &number);

	if (result == NVML_SUCCESS && !place)
		result = NVML_ERROR_INVALID_ARGUMENT;
	if (result == NVML_SUCCESS)
		*place = (unsigned int)script_value(number, value) * factor;
	return result;
}

static nvmlReturn_t give_wide(const char *call, nvmlDevice_t device, enum script_value value, unsigned long long *place)
{
	unsigned int number;
	nvmlReturn_t result = library_enter_device(call, device, &number);

	if (result == NVML_SUCCESS && !place)
		result = NVML_ERROR_INVALID_ARGUMENT;
	if (result == NVML_SUCCESS)
		*place = script_value(number, value);
	return result;
}

EXPORTED nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned int *mhz)
{
	return type == NVML_CLOCK_SM ? give(__func__, device, SCRIPT_SM_CLOCK, 1, mhz) : NVML_ERROR_NOT_SUPPORTED;
}

EXPORTED nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned int *mhz)
{
	return type == NVML_CLOCK_SM ? give(__func__, device, SCRIPT_SM_CLOCK_MAX, 1, mhz) : NVML_ERROR_NOT_SUPPORTED;
}

EXPORTED nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor,
					       unsigned int *celsius)
{
	return sensor == NVML_TEMPERATURE_GPU ? give(__func__, device, SCRIPT_TEMPERATURE, 1, celsius)
					      : NVML_ERROR_INVALID_ARGUMENT;
}

EXPORTED nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *milliwatts)
{
	return give(__func__, device, SCRIPT_POWER, 1000, milliwatts);
}

EXPORTED nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned int *milliwatts)
{
	return give(__func__, device, SCRIPT_POWER_LIMIT, 1000, milliwatts);
}

EXPORTED nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, unsigned long long *bits)
{
	return give_wide(__func__, device, SCRIPT_CLOCKS_EVENT_REASONS, bits);
}

EXPORTED nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device, unsigned long long *bits)
{
	return give_wide(__func__, device, SCRIPT_CLOCKS_EVENT_REASONS, bits);
}

EXPORTED nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t type,
						  nvmlEccCounterType_t counter, unsigned long long *count)
{
	static const enum script_value which[2][2] = {
		{ SCRIPT_ECC_CORRECTED, SCRIPT_ECC_CORRECTED_EVER },
		{ SCRIPT_ECC_UNCORRECTED, SCRIPT_ECC_UNCORRECTED_EVER },
	};

	if ((unsigned int)type > 1 || (unsigned int)counter > 1)
		return NVML_ERROR_INVALID_ARGUMENT;
	return give_wide(__func__, device, which[type][counter], count);
}

EXPORTED nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned int *corrected, unsigned int *uncorrected,
						unsigned int *pending, unsigned int *failure)
{
	nvmlReturn_t result = give(__func__, device, SCRIPT_REMAPPED_CORRECTED, 1, corrected);

	if (result == NVML_SUCCESS)
		result = give(__func__, device, SCRIPT_REMAPPED_UNCORRECTED, 1, uncorrected);
	if (result == NVML_SUCCESS)
		result = give(__func__, device, SCRIPT_REMAPPED_PENDING, 1, pending);
	if (result == NVML_SUCCESS)
		result = give(__func__, device, SCRIPT_REMAPPED_FAILURE, 1, failure);
	return result;
}

EXPORTED nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
	unsigned int number;
	nvmlReturn_t result = library_enter_device(__func__, device, &number);

	if (result != NVML_SUCCESS || !memory)
		return result == NVML_SUCCESS ? NVML_ERROR_INVALID_ARGUMENT : result;
	memory->total = script_value(number, SCRIPT_MEMORY_TOTAL) * mebibyte;
	memory->used = script_value(number, SCRIPT_MEMORY_USED) * mebibyte;
	memory->free = memory->used < memory->total ? memory->total - memory->used : 0;
	return NVML_SUCCESS;
}

/* All errors of all links are replays here. */
EXPORTED nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *fields)
{
	unsigned int number;
	nvmlReturn_t result = library_enter_device(__func__, device, &number);

	if (result != NVML_SUCCESS || count <= 0 || !fields)
		return result == NVML_SUCCESS ? NVML_ERROR_INVALID_ARGUMENT : result;
	for (int i = 0; i < count; i++) {
		bool total = fields[i].fieldId == NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL ||
			     fields[i].fieldId == NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL ||
			     fields[i].fieldId == NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL;

		fields[i].valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
		fields[i].nvmlReturn = NVML_SUCCESS;
		fields[i].value.ullVal = 0;
		if (fields[i].fieldId == NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL)
			fields[i].value.ullVal = script_value(number, SCRIPT_NVLINK_ERRORS);
		else if (!total)
			fields[i].nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
	}
	return NVML_SUCCESS;
}
