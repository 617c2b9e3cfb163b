/* SPDX-License-Identifier: MIT */
/*
 * The NVIDIA Management Library by dlopen: our own declarations of what is used of it, layouts and values as in
 * NVIDIA's nvml.h (tests/unit/sim/nvml_header_check.c). Any call may block for as long as the driver likes, and a sick
 * GPU makes it do so: nvml_source.c calls it on a thread of its own.
 */
#ifndef COLLECTOR_SOURCES_MACHINE_NVML_LIBRARY_H
#define COLLECTOR_SOURCES_MACHINE_NVML_LIBRARY_H

#include <stddef.h>

enum nvml_result {
	NVML_OK = 0,
	NVML_NOT_SUPPORTED = 3,
	NVML_TIMED_OUT = 10,
	NVML_LOST = 15,
	NVML_NEEDS_RESET = 16,
};

enum { NVML_SM = 1, NVML_GPU_SENSOR = 0, NVML_CORRECTED = 0, NVML_UNCORRECTED = 1, NVML_SINCE_LOAD = 0, NVML_EVER = 1 };
enum { NVML_UUID_BYTES = 96, NVML_EVENT_XID = 8 };
enum nvml_field { NVML_NVLINK_FLIT = 38, NVML_NVLINK_DATA = 45, NVML_NVLINK_REPLAY = 52, NVML_NVLINK_RECOVERY = 59 };
enum nvml_value_type { NVML_VALUE_UINT = 1, NVML_VALUE_ULONG = 2, NVML_VALUE_ULONGLONG = 3 };

typedef struct nvml_device_handle *nvml_device;
typedef struct nvml_event_set_handle *nvml_event_set;

struct nvml_pci {
	char legacy[16];
	unsigned int domain, bus, device, device_id, subsystem_id;
	char address[32];
};

struct nvml_memory {
	unsigned long long total, free, used;
};

struct nvml_field_value {
	unsigned int field, scope;
	long long timestamp, latency_us;
	int type; /* enum nvml_value_type */
	int result;
	union {
		double real;
		unsigned int uint;
		unsigned long ulong;
		unsigned long long ulonglong;
	} value;
};

struct nvml_event {
	nvml_device device;
	unsigned long long type, data; /* data: the Xid */
	unsigned int gpu_instance, compute_instance;
};

/* Functions that not every driver has are NULL there. */
struct nvml_library {
	void *handle;
	int (*init)(void);
	int (*shutdown)(void);
	const char *(*error_string)(int result);
	int (*device_count)(unsigned int *count);
	int (*device_by_index)(unsigned int index, nvml_device *device);
	int (*uuid)(nvml_device device, char *text, unsigned int room);
	int (*pci)(nvml_device device, struct nvml_pci *pci);
	int (*clock)(nvml_device device, int which, unsigned int *mhz);
	int (*clock_max)(nvml_device device, int which, unsigned int *mhz);
	int (*temperature)(nvml_device device, int sensor, unsigned int *celsius);
	int (*power)(nvml_device device, unsigned int *milliwatts);
	int (*power_limit)(nvml_device device, unsigned int *milliwatts);
	int (*clock_reasons)(nvml_device device, unsigned long long *bits);
	int (*ecc)(nvml_device device, int type, int counter, unsigned long long *count);
	int (*remapped_rows)(nvml_device device, unsigned int *corrected, unsigned int *uncorrected,
			     unsigned int *pending, unsigned int *failure);
	int (*memory)(nvml_device device, struct nvml_memory *memory);
	int (*fields)(nvml_device device, int count, struct nvml_field_value *values);
	int (*event_set)(nvml_event_set *set);
	int (*event_register)(nvml_device device, unsigned long long types, nvml_event_set set);
	int (*event_wait)(nvml_event_set set, struct nvml_event *event, unsigned int timeout_ms);
	int (*event_free)(nvml_event_set set);
};

/* file: "libnvidia-ml.so.1". 0, -ENOENT (cannot be loaded) or -ENOSYS (a function that is needed is missing); `why`
 * reports which. Calls nothing in it. */
int nvml_library_open(struct nvml_library *library, const char *file, char *why, size_t room);
void nvml_library_close(struct nvml_library *library);

#endif
