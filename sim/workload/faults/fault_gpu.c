/* SPDX-License-Identifier: MIT */
/* Faults of the device: its host is in time. What the driver and NVML say of them goes where the stand-ins read it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/workload/faults/fault.h"
#include "sim/workload/job/clock.h"
#include "sim/workload/training/gpu.h"

enum { EXTRA_MS = 250, PRODUCTS_MS = 400, XID = 119 };
/* Of 16 GiB: with its caches full; what a leak begins at, and what each step adds. */
enum { FULL_MIB = 7424, WARM_MIB = 2048, LEAK_MIB = 160 };

#define EVENLY 0.2 /* of what it computes */

static int compute_longer(const struct fault *fault, int step)
{
	return fault_holds(fault, step) ? fault_takes_ms(fault, EXTRA_MS) * 1000 : 0;
}

static int never_end(const struct fault *fault, int step)
{
	return fault_begins(fault, step) ? GPU_FOR_EVER : 0;
}

/* The driver is ready between two steps, and not when faults are opened. The stream ends with the process. */
static void fill_gpu(struct fault *fault, int step)
{
	static struct gpu_products products;

	if (!fault_holds(fault, step))
		return;
	if (!products.blocks)
		gpu_products_open(&products);
	gpu_products_compute(&products, fault_takes_ms(fault, PRODUCTS_MS) * 1000);
}

static int check_file(const char *variable, char *reason, size_t size)
{
	const char *path = getenv(variable);

	if (path && access(path, W_OK) == 0)
		return 0;
	snprintf(reason, size, "%s names no file that can be written; \"rankwatch demo\" makes one", variable);
	return -ENOENT;
}

static int check_nvml(char *reason, size_t size)
{
	return check_file("SIM_NVML", reason, size);
}

static int check_kernel_log(char *reason, size_t size)
{
	return check_file("SIM_KERNEL_LOG", reason, size);
}

/* "0000:13:00", as the driver calls it in its log. */
static void own_address(char pci[16])
{
	CUdevice device;

	GPU_CHECK(cuCtxGetDevice(&device));
	GPU_CHECK(cuDeviceGetPCIBusId(pci, 16, device));
	pci[strcspn(pci, ".")] = '\0';
}

/* One write, so that a reader sees the line whole. */
static void append(const char *variable, const char *line)
{
	int fd = open(getenv(variable), O_WRONLY | O_APPEND | O_CLOEXEC);

	if (fd < 0 || write(fd, line, strlen(line)) != (ssize_t)strlen(line)) {
		fprintf(stderr, "workload: %s: %s\n", getenv(variable), strerror(errno));
		exit(1);
	}
	close(fd);
}

/* Of the rank's GPU, as NVML reports it from now on. */
static void use_memory(int mib)
{
	char pci[16], line[64];

	own_address(pci);
	snprintf(line, sizeof(line), "%s memory-used=%d\n", pci, mib);
	append("SIM_NVML", line);
}

static void throttle(struct fault *fault, int step)
{
	char pci[16], line[160];

	if (!fault_begins(fault, step))
		return;
	own_address(pci);
	snprintf(line, sizeof(line),
		 "%s clocks-event-reasons=hw-slowdown+hw-thermal-slowdown sm-clock=990 temperature=91\n", pci);
	append("SIM_NVML", line);
}

/* Caches fill in the first step, and stay. */
static void warm_up(struct fault *fault, int step)
{
	if (fault_begins(fault, step))
		use_memory(FULL_MIB);
}

static void leak(struct fault *fault, int step)
{
	if (fault_holds(fault, step))
		use_memory(WARM_MIB + LEAK_MIB * (step - fault->options->fault_step + 1));
}

static void report_xid(struct fault *fault, int step)
{
	char pci[16], line[256];

	if (!fault_begins(fault, step))
		return;
	own_address(pci);
	snprintf(line, sizeof(line),
		 "3,0,%llu,-;NVRM: Xid (PCI:%s): %d, pid=%d, name=python-main, Timeout after 6s of waiting for RPC "
		 "response from GPU GSP! Expected function 76 (GSP_RM_CONTROL).\n",
		 (unsigned long long)(clock_now_ns(CLOCK_MONOTONIC) / 1000), pci, XID, (int)getpid());
	append("SIM_KERNEL_LOG", line);
}

const struct fault_kind fault_gpu_kinds[] = {
	{ .name = "gpu",
	  .harms = true,
	  .extra_us = compute_longer,
	  .doc = "its GPU computes 250 ms longer in each step" },
	{ .name = "gpu-even",
	  .harms = true,
	  .slower = EVENLY,
	  .doc = "its GPU computes a fifth longer, a little before each operation" },
	{ .name = "gpu-tp",
	  .harms = true,
	  .slower = EVENLY,
	  .in_tensor_parallel = true,
	  .doc = "the same in its tensor parallel layers only (--outside-tp)" },
	{ .name = "gpu-stuck",
	  .harms = true,
	  .extra_us = never_end,
	  .doc = "its GPU runs a kernel that does not end" },
	{ .name = "busy-gpu",
	  .harms = true,
	  .between_steps = fill_gpu,
	  .doc = "products fill its GPU for 400 ms of each step: NCCL's kernels wait for room" },
	{ .name = "throttle",
	  .harms = true,
	  .extra_us = compute_longer,
	  .check = check_nvml,
	  .between_steps = throttle,
	  .doc = "the same, and NVML says that the hardware holds its clocks back" },
	{ .name = "gpu-memory",
	  .check = check_nvml,
	  .between_steps = warm_up,
	  .doc = "NVML says that its GPU's memory in use grows in one step, and stays" },
	{ .name = "gpu-memory-leak",
	  .check = check_nvml,
	  .between_steps = leak,
	  .doc = "NVML says that its GPU's memory in use grows with each step" },
	{ .name = "xid",
	  .harms = true,
	  .extra_us = compute_longer,
	  .check = check_kernel_log,
	  .between_steps = report_xid,
	  .doc = "the same, after an Xid of its GPU in the kernel log" },
	{ 0 },
};
