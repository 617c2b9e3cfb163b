/* SPDX-License-Identifier: MIT */
/*
 * The few calls of the CUDA driver that we make. libcuda.so.1 is opened, never linked: a process that has a
 * communicator has it loaded, and everyone else can do without. Minimal declarations of our own;
 * plugin/abi/check_headers.c compares them with cuda.h where that is installed. All results are CUresult, 0 is success.
 */
#ifndef PLUGIN_GPU_DRIVER_H
#define PLUGIN_GPU_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef void *driver_context;
typedef void *driver_stream;

enum {
	DRIVER_HOST_REGISTER_PORTABLE = 1,
	DRIVER_HOST_REGISTER_DEVICE_MAP = 2,
	DRIVER_HOST_ALREADY_REGISTERED = 712,
	DRIVER_CAPTURE_IMPLICIT = 906, /* the legacy stream, while another stream of the context is captured */
	DRIVER_CAN_USE_64_BIT_STREAM_MEM_OPS_V1 = 93,
	DRIVER_CAN_USE_64_BIT_STREAM_MEM_OPS = 122,
	DRIVER_NOT_CAPTURING = 0,
};

struct driver {
	int (*version)(int *version);
	int (*context_current)(driver_context *context);
	int (*context_device)(int *device);
	int (*context_push)(driver_context context);
	int (*context_pop)(driver_context *context);
	int (*primary_retain)(driver_context *context, int device);
	int (*primary_release)(int device);
	int (*device_attribute)(int *value, int attribute, int device);
	int (*device_uuid)(void *uuid16, int device);
	int (*device_pci)(char *text, int size, int device);
	int (*host_register)(void *address, size_t size, unsigned int flags);
	int (*host_device_pointer)(uint64_t *device_pointer, void *address, unsigned int flags);
	int (*stream_capturing)(driver_stream stream, int *status);
	int (*stream_write)(driver_stream stream, uint64_t device_pointer, uint64_t value, unsigned int flags);
	int (*stream_write_v1)(driver_stream stream, uint64_t device_pointer, uint64_t value, unsigned int flags);
};

/* Opens the driver. 0, -ENOENT: no libcuda.so.1; -ENOSYS: too old, a call is missing. Calls that a device feature may
 * replace (stream_write, stream_write_v1) can be NULL afterwards. Not on a collective's path. */
int driver_open(struct driver *driver);

#endif
