/* SPDX-License-Identifier: MIT */
#include "analysis/view/gpu_memory.h"

#include "analysis/known/cells.h"
#include "analysis/host/gpu_course.h"
#include "analysis/host/gpus.h"
#include "analysis/model.h"

/* The step that the job was in; 0 not known. */
static uint64_t step_at(const struct cells *cells, uint64_t at_ns)
{
	uint64_t step = 0;

	for (size_t i = 0; i < cells->count && cells->columns[i].from_ns <= at_ns; i++)
		if (cells->columns[i].last_step)
			step = cells->columns[i].last_step;
	return step;
}

/* The first that is known: what was before it was before that. */
static uint64_t first_step(const struct cells *cells)
{
	for (size_t i = 0; i < cells->count; i++)
		if (cells->columns[i].step)
			return cells->columns[i].step;
	return 0;
}

static double full_in_s(const struct gpu_course_verdict *verdict, const struct gpu_course *course)
{
	return (double)(course->total - verdict->used) / verdict->bytes_per_s;
}

static bool says_more(const struct analysis_gpu_memory *told, const struct gpu_course_verdict *verdict,
		      const struct gpu_course *course)
{
	if (verdict->course == ANALYSIS_MEMORY_GROWS)
		return told->course != ANALYSIS_MEMORY_GROWS || full_in_s(verdict, course) < told->full_in_s;
	return verdict->course == ANALYSIS_MEMORY_FLAT && told->course != ANALYSIS_MEMORY_GROWS &&
	       verdict->grown >= GPU_COURSE_WORTH_MIN &&
	       (told->course == ANALYSIS_MEMORY_UNKNOWN || verdict->grown > told->grown);
}

static void tell(const struct analysis *analysis, int32_t rank, const struct gpu_course *course,
		 const struct gpu_course_verdict *verdict, struct analysis_gpu_memory *told)
{
	uint64_t from = step_at(&analysis->cells, verdict->from_ns), end = step_at(&analysis->cells, verdict->end_ns);
	if (!from && verdict->course == ANALYSIS_MEMORY_FLAT)
		from = first_step(&analysis->cells);
	double seconds = (double)(verdict->end_ns - verdict->from_ns) / 1e9;

	*told = (struct analysis_gpu_memory){ .course = verdict->course, .rank = rank, .used = verdict->used,
					      .total = course->total, .grown = verdict->grown };
	told->until_step = from;
	told->steps = end > from ? end - from : 0;
	told->seconds = seconds;
	if (verdict->course != ANALYSIS_MEMORY_GROWS)
		return;
	told->full_in_s = full_in_s(verdict, course);
	told->bytes_per_s = verdict->bytes_per_s;
	if (from && told->steps)
		told->full_at_step = end + (uint64_t)(told->full_in_s * (double)told->steps / seconds);
}

void gpu_memory_tell(const struct analysis *analysis, struct analysis_gpu_memory *told)
{
	uint64_t since_ns = analysis->cells.count ? analysis->cells.columns[0].from_ns : 0;

	*told = (struct analysis_gpu_memory){ .course = ANALYSIS_MEMORY_UNKNOWN };
	for (uint32_t i = 0; i < analysis->job.rank_count; i++) {
		const struct gpu *gpu = gpus_of_rank(&analysis->gpus, &analysis->job.ranks[i]);

		if (!gpu)
			continue;
		struct gpu_course_verdict verdict = gpu_course_judge(&gpu->course, since_ns);

		if (says_more(told, &verdict, &gpu->course))
			tell(analysis, analysis->job.ranks[i].world, &gpu->course, &verdict, told);
	}
}
