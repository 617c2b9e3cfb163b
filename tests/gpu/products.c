/* SPDX-License-Identifier: MIT */
/* The scan kernel for a program in another language, which brings the context and the streams: torch_products.py. */
#include <string.h>

#include "rankwatch/operation.h"
#include "scan_gpu.h"

/* bf16 elements, read by so many blocks on each launch. 0: it is there. */
int products_open(uint64_t address, uint64_t elements);
void products_scan(uint64_t stream, unsigned int blocks);
/* A stream whose priority is the least, or the greatest, that there is. */
uint64_t products_stream(int greatest);
/* NaN found by the last scan whose stream has been waited for. */
uint32_t products_nan(void);

static struct scan_gpu gpu;

int products_open(uint64_t address, uint64_t elements)
{
	scan_gpu_open(&gpu);
	gpu.launch.segment_count = 1;
	gpu.launch.segments[0] = (struct scan_segment){
		.address = address, .elements = elements, .sequence = 1, .dtype = RW_DTYPE_BFLOAT16
	};
	return 0;
}

void products_scan(uint64_t stream, unsigned int blocks)
{
	gpu.stream = (CUstream)(uintptr_t)stream;
	scan_gpu_launch(&gpu, blocks);
}

uint64_t products_stream(int greatest)
{
	int range[2];
	CUstream stream;

	DEVICE_CHECK(cuCtxGetStreamPriorityRange(&range[0], &range[1]));
	DEVICE_CHECK(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, range[greatest != 0]));
	return (uintptr_t)stream;
}

uint32_t products_nan(void)
{
	return gpu.launch.slots[0].nan;
}
