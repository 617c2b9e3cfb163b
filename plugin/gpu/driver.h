/* SPDX-License-Identifier: MIT */
/*
 * The few calls of the CUDA driver that we make. libcuda.so.1 is opened, never linked: a process that has a
 * communicator has it loaded, and everyone else can do without. Minimal declarations of our own;
 * plugin/gpu/check_header.c compares them with cuda.h where that is installed. All results are CUresult, 0 is success.
 */
#ifndef PLUGIN_GPU_DRIVER_H
#define PLUGIN_GPU_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void *driver_context;
typedef void *driver_stream;
typedef void *driver_module;
typedef void *driver_function;

enum {
	DRIVER_HOST_REGISTER_PORTABLE = 1,
	DRIVER_HOST_REGISTER_DEVICE_MAP = 2,
	DRIVER_HOST_ALREADY_REGISTERED = 712,
	DRIVER_CAPTURE_IMPLICIT = 906, /* the legacy stream, while another stream of the context is captured */
	DRIVER_MULTIPROCESSORS = 16,
	DRIVER_CAN_USE_64_BIT_STREAM_MEM_OPS_V1 = 93,
	DRIVER_CAN_USE_64_BIT_STREAM_MEM_OPS = 122,
	DRIVER_NOT_CAPTURING = 0,
	DRIVER_CAPTURING = 1,       /* 2: until its end only, it has been broken */
	DRIVER_CAPTURE_FIRST = 900, /* CUDA errors that a capture can have */
	DRIVER_CAPTURE_LAST = 908,
	DRIVER_STREAM_NON_BLOCKING = 1,
	DRIVER_CAPTURE_MODE_RELAXED = 2,
	DRIVER_NO_BINARY_FOR_GPU = 209,
	DRIVER_POINTER_MEMORY_TYPE = 2,
	DRIVER_POINTER_IS_MANAGED = 8,
	DRIVER_MEMORY_DEVICE = 2,
};

/* What scanning needs beyond GPU progress; all NULL where one of them is missing. */
struct driver_scan {
	int (*module_load)(driver_module *module, const void *image);
	int (*module_function)(driver_function *function, driver_module module, const char *name);
	int (*function_load)(driver_function function); /* CUDA 12.4; NULL before */
	int (*memory_allocate)(uint64_t *device_pointer, size_t size);
	int (*memory_set)(uint64_t device_pointer, unsigned char value, size_t size, driver_stream stream);
	int (*memory_copy)(uint64_t device_pointer, const void *from, size_t size, driver_stream stream);
	int (*stream_create)(driver_stream *stream, unsigned int flags);
	int (*stream_destroy)(driver_stream stream);
	int (*stream_synchronize)(driver_stream stream);
	int (*launch)(driver_function function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
		      unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
		      driver_stream stream, void **arguments, void **extra);
	int (*pointer_attributes)(unsigned int count, const int *attributes, void **values, uint64_t device_pointer);
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
	int (*capture_mode)(int *mode); /* of the calling thread: sets it and gives back what it was */
	int (*stream_write)(driver_stream stream, uint64_t device_pointer, uint64_t value, unsigned int flags);
	int (*stream_write_v1)(driver_stream stream, uint64_t device_pointer, uint64_t value, unsigned int flags);
	struct driver_scan scan;
};

/* Errors that a capture of the program's can bring upon a call of ours. They are no errors of the driver. */
static inline bool driver_is_of_capture(int error)
{
	return error >= DRIVER_CAPTURE_FIRST && error <= DRIVER_CAPTURE_LAST;
}

/* Between the two the thread's calls break no capture that another thread has in progress, which registering,
 * allocating and loading else can. False: the mode is as it was. */
static inline bool driver_relax_capture(const struct driver *driver, int *mode)
{
	*mode = DRIVER_CAPTURE_MODE_RELAXED;
	return driver->capture_mode(mode) == 0;
}

static inline void driver_restore_capture(const struct driver *driver, int *mode)
{
	driver->capture_mode(mode);
}

/* Opens the driver. 0, -ENOENT: no libcuda.so.1; -ENOSYS: too old, a call is missing. Calls that a device feature may
 * replace (stream_write, stream_write_v1), and those of `scan`, can be NULL afterwards. Not on a collective's path. */
int driver_open(struct driver *driver);

#endif
