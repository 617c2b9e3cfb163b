/* SPDX-License-Identifier: MIT */
/*
 * The scan kernel beside kernels of the shape of PyTorch's own NaN check (nan_check.cu), over the same memory. What
 * they were compiled by is what compiled this program; parts/scan_torch.py asks the PyTorch that is there.
 *   gpu_scan_rivals
 */
#include <stdio.h>

#include "rankwatch/operation.h"
#include "timing.h"

#ifdef HAVE_NAN_CHECK
#include "nan_check_fatbin.h" /* made by the build, where there is nvcc */
static const void *const rivals_image = nan_check_fatbin;
#else
static const void *const rivals_image = NULL;
#endif

enum { CALLS = 5, RIVAL_BLOCKS = 24 };

struct cpu_launch;
void gpu_nan_trap_bf16__cpu(void **parameters, const struct cpu_launch *launch);
void gpu_nan_trap_fp32__cpu(void **parameters, const struct cpu_launch *launch);
void gpu_nan_assert_bf16__cpu(void **parameters, const struct cpu_launch *launch);
void gpu_nan_assert_fp32__cpu(void **parameters, const struct cpu_launch *launch);

/* Only to rehearse: machine code is nothing to the stand-in, and these do nothing. */
#define ENTRY(name) ".visible .entry " name "(.param .u64 at, .param .u64 packs)\n{\n\tret;\n}\n"
static const char stand_in_ptx[] = ".version 7.4\n.target sm_80\n.address_size 64\n" ENTRY("gpu_nan_trap_bf16")
    ENTRY("gpu_nan_trap_fp32") ENTRY("gpu_nan_assert_bf16") ENTRY("gpu_nan_assert_fp32");
#undef ENTRY

void gpu_nan_trap_bf16__cpu(void **parameters, const struct cpu_launch *launch)
{
	(void)parameters, (void)launch;
}

void gpu_nan_trap_fp32__cpu(void **parameters, const struct cpu_launch *launch)
{
	(void)parameters, (void)launch;
}

void gpu_nan_assert_bf16__cpu(void **parameters, const struct cpu_launch *launch)
{
	(void)parameters, (void)launch;
}

void gpu_nan_assert_fp32__cpu(void **parameters, const struct cpu_launch *launch)
{
	(void)parameters, (void)launch;
}

struct rivals {
	struct scan_gpu gpu;
	CUmodule module;
	CUdeviceptr memory;
	uint64_t bytes;
	CUfunction rival;    /* of this turn */
	unsigned int blocks; /* of the scan of this turn */
};

static void launch_rival(void *argument)
{
	struct rivals *rivals = argument;
	uint64_t packs = rivals->bytes / 16;
	void *parameters[] = { &rivals->memory, &packs };

	DEVICE_CHECK(cuLaunchKernel(rivals->rival, RIVAL_BLOCKS, 1, 1, SCAN_THREADS, 1, 1, 0, rivals->gpu.stream,
				    parameters, NULL));
}

static void launch_scan(void *argument)
{
	struct rivals *rivals = argument;

	scan_gpu_launch(&rivals->gpu, rivals->blocks);
}

static double speed_of(const struct rivals *rivals, timing_work *work)
{
	return (double)rivals->bytes / 1e3 / (timing_us(&rivals->gpu, CALLS, work, (void *)rivals) + 1e-9);
}

static void race(struct rivals *rivals, const char *name, uint8_t dtype, unsigned int width, const char *trap,
		 const char *assertion)
{
	const unsigned int full = 2 * (unsigned int)rivals->gpu.device.processors;
	const unsigned int grids[] = { SCAN_BLOCKS, full };
	const struct {
		const char *what, *kernel;
	} kinds[] = { { "trap", trap }, { "assertion", assertion } };
	double rival = 0;

	for (int i = 0; i < 2; i++) {
		DEVICE_CHECK(cuModuleGetFunction(&rivals->rival, rivals->module, kinds[i].kernel));
		const double speed = speed_of(rivals, launch_rival);
		rival = speed > rival ? speed : rival;
		timing_number(speed, "GB/s", "%s: a kernel like PyTorch's NaN check, %s, %d blocks", name,
			      kinds[i].what, RIVAL_BLOCKS);
	}
	rivals->gpu.launch.segment_count = 1;
	rivals->gpu.launch.segments[0] = (struct scan_segment){
		.address = rivals->memory, .elements = rivals->bytes / width, .sequence = 1, .dtype = dtype
	};
	for (int i = 0; i < 2; i++) {
		rivals->blocks = grids[i];
		const double speed = speed_of(rivals, launch_scan);
		timing_number(speed, "GB/s", "%s: scan, %u blocks", name, grids[i]);
		timing_number(speed / rival, "times", "%s: scan, %u blocks, as fast as the faster of them", name,
			      grids[i]);
	}
}

int main(void)
{
	static struct rivals rivals;

	scan_gpu_open(&rivals.gpu);
	if (!rivals.gpu.stand_in && !rivals_image) {
		fprintf(stderr, "built without nvcc: there is nothing to compare with\n");
		return 77;
	}
	rivals.bytes = rivals.gpu.stand_in ? 1 << 20 : 1 << 30;
	rivals.memory = device_memory(rivals.bytes);
	DEVICE_CHECK(cuModuleLoadData(&rivals.module, rivals.gpu.stand_in ? (const void *)stand_in_ptx : rivals_image));
	race(&rivals, "bf16", RW_DTYPE_BFLOAT16, 2, "gpu_nan_trap_bf16", "gpu_nan_assert_bf16");
	race(&rivals, "fp32", RW_DTYPE_FLOAT32, 4, "gpu_nan_trap_fp32", "gpu_nan_assert_fp32");
	return 0;
}
