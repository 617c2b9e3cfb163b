/* SPDX-License-Identifier: MIT */
#include "analysis/report/gpu_record.h"

#include <errno.h>

#include "analysis/host/gpu_course.h"
#include "analysis/host/gpus.h"
#include "analysis/model.h"

static_assert((int)GPU_COURSE_BINS == (int)RW_GPU_MEMORY_BINS, "one is kept as the other");

static const uint64_t millisecond = 1000000, mebibyte = 1 << 20;
static const uint64_t latest_ns = UINT64_C(1) << 62; /* no clock shows more */

static uint32_t limited(uint64_t value)
{
	return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

/* Rounded down, so that the order of times stays. */
static struct rw_gpu_memory_bin pack(const struct gpu_course_bin *bin, uint64_t since_ns)
{
	return (struct rw_gpu_memory_bin){
		.from_ms = limited((bin->from_ns - since_ns) / millisecond),
		.until_ms = limited((bin->until_ns - since_ns) / millisecond),
		.first_mib = limited((uint64_t)bin->first / mebibyte),
		.most_mib = limited((uint64_t)bin->most / mebibyte),
	};
}

bool gpu_record_take(const struct analysis *analysis, analysis_process_id id, struct rw_gpu_memory *record)
{
	const struct process *process = job_process(&analysis->job, id);
	const struct gpu *gpu = NULL;
	uint32_t device = 0;

	for (; process && device < RW_BOX_DEVICES; device++) {
		gpu = gpus_of_device(&analysis->gpus, &process->devices[device]);
		if (gpu && gpu->course.count)
			break;
	}
	if (!process || device == RW_BOX_DEVICES)
		return false;
	const struct gpu_course *course = &gpu->course;

	*record = (struct rw_gpu_memory){ .version = RW_GPU_MEMORY_VERSION, .device = device, .count = course->count,
					  .since_ns = course->bins[0].from_ns, .bin_ns = course->bin_ns,
					  .total = (uint64_t)course->total };
	for (uint32_t i = 0; i < course->count; i++)
		record->bins[i] = pack(&course->bins[i], record->since_ns);
	return true;
}

static struct gpu_course_bin unpack(const struct rw_gpu_memory_bin *bin, uint64_t since_ns)
{
	return (struct gpu_course_bin){ since_ns + bin->from_ms * millisecond, since_ns + bin->until_ms * millisecond,
					(int64_t)(bin->first_mib * mebibyte), (int64_t)(bin->most_mib * mebibyte) };
}

/* It is somebody else's word. */
static bool is_sound(const struct rw_gpu_memory *record)
{
	if (record->version != RW_GPU_MEMORY_VERSION || record->device >= RW_BOX_DEVICES || !record->count ||
	    record->count > RW_GPU_MEMORY_BINS || record->since_ns > latest_ns || record->bin_ns < GPU_COURSE_BIN_NS ||
	    record->bin_ns > latest_ns || !record->total || record->total > latest_ns)
		return false;
	for (uint32_t i = 0; i < record->count; i++) {
		const struct rw_gpu_memory_bin *bin = &record->bins[i];

		if (bin->until_ms < bin->from_ms ||
		    (i && (bin->from_ms < bin[-1].until_ms || bin->from_ms <= bin[-1].from_ms)) ||
		    bin->most_mib < bin->first_mib)
			return false;
	}
	return true;
}

int gpu_record_put(struct analysis *analysis, analysis_process_id id, const struct rw_gpu_memory *record)
{
	const struct process *process = job_process(&analysis->job, id);
	struct gpu *gpu;

	if (!process || !is_sound(record) || !process->devices[record->device].used)
		return -EINVAL;
	gpu = gpus_add_device(&analysis->gpus, &process->devices[record->device]);
	if (!gpu)
		return -ENOMEM;
	if (gpu->course.count)
		return 0;
	gpu->course.count = record->count;
	gpu->course.bin_ns = record->bin_ns;
	gpu->course.total = (int64_t)record->total;
	for (uint32_t i = 0; i < record->count; i++)
		gpu->course.bins[i] = unpack(&record->bins[i], record->since_ns);
	return 0;
}
