/* SPDX-License-Identifier: MIT */
/* One GPU as training sees it: a context, the stream of computation and a kernel that takes as long as it is asked
 * to. */
#ifndef SIM_WORKLOAD_TRAINING_GPU_H
#define SIM_WORKLOAD_TRAINING_GPU_H

#include <limits.h>
#include <stddef.h>

#include <cuda.h>

struct gpu {
	CUdevice device;
	CUcontext context;
	CUmodule module;
	CUfunction compute_kernel;
	CUstream compute;
};

/* Prints what failed and ends the process: like PyTorch, the workload does not survive an error of its GPU. */
void gpu_check(CUresult result, const char *what);
#define GPU_CHECK(call) gpu_check((call), #call)

/* Opens device `local_rank`, modulo how many there are, and makes its context current in this thread. host_waits: one
 * of CU_CTX_SCHED_…. */
void gpu_open(struct gpu *gpu, int local_rank, unsigned int host_waits);
void gpu_close(struct gpu *gpu);

/* Keeps the compute stream busy for so many microseconds. */
void gpu_compute(struct gpu *gpu, unsigned int us);
/* With a kernel that does not end: 31 years. */
void gpu_compute_for_ever(struct gpu *gpu);
#define GPU_FOR_EVER INT_MAX

/* Kernels as large as the GPU, on a stream of their own: products of matrices beside the computation. */
struct gpu_products {
	CUmodule module;
	CUfunction kernel;
	CUstream stream;
	unsigned int blocks; /* so many fill it */
};

/* In the calling thread's context. */
void gpu_products_open(struct gpu_products *products);
void gpu_products_compute(const struct gpu_products *products, unsigned int us);

CUdeviceptr gpu_allocate(size_t size);
void *gpu_allocate_pinned(size_t size);
CUstream gpu_stream(void);
/* What is on `after` from now on waits for what is on `before` so far. */
void gpu_order(CUstream before, CUevent event, CUstream after);
/* One for order and for waiting; a host whose context blocks blocks on it, too. */
CUevent gpu_event(void);

#endif
