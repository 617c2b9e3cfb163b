/* SPDX-License-Identifier: MIT */
#include "analysis/host/gpu_course.h"

#include <math.h>

#include "analysis/numbers/trend.h"

static void merge(struct gpu_course *course)
{
	for (uint32_t i = 0; i < course->count / 2; i++) {
		const struct gpu_course_bin *one = &course->bins[2 * i], *other = one + 1;

		course->bins[i] = (struct gpu_course_bin){ one->from_ns, other->until_ns, one->first,
							   one->most > other->most ? one->most : other->most };
	}
	course->count /= 2;
	course->bin_ns *= 2;
}

void gpu_course_note(struct gpu_course *course, uint64_t at_ns, int64_t used, int64_t total)
{
	if (used < 0 || total <= 0)
		return;
	if (!course->bin_ns)
		course->bin_ns = GPU_COURSE_BIN_NS;
	course->total = total;
	struct gpu_course_bin *last = course->count ? &course->bins[course->count - 1] : NULL;

	if (last && at_ns < last->from_ns + course->bin_ns) {
		last->until_ns = at_ns;
		last->most = used > last->most ? used : last->most;
		return;
	}
	if (course->count == GPU_COURSE_BINS)
		merge(course);
	course->bins[course->count++] = (struct gpu_course_bin){ at_ns, at_ns, used, used };
}

static double flat_bytes(const struct gpu_course *course)
{
	return fmax(GPU_COURSE_FLAT_MIN, GPU_COURSE_FLAT * (double)course->total);
}

/* The first of these from which on it stays within what is flat; their number: it does not. */
static uint32_t flat_since(const struct gpu_course_bin *bins, uint32_t count, double flat)
{
	int64_t least = INT64_MAX, most = INT64_MIN;
	uint32_t since = count;

	while (since > 0) {
		int64_t used = bins[since - 1].most;

		least = used < least ? used : least;
		most = used > most ? used : most;
		if ((double)(most - least) > flat)
			break;
		since--;
	}
	return since;
}

struct readings {
	double s[GPU_COURSE_BINS], bytes[GPU_COURSE_BINS];
};

static void read(const struct gpu_course_bin *bins, uint32_t count, struct readings *readings)
{
	for (uint32_t i = 0; i < count; i++) {
		readings->s[i] = (double)(bins[i].from_ns - bins[0].from_ns) / 1e9;
		readings->bytes[i] = (double)bins[i].most;
	}
}

/* In each quarter it must have become more, and in the last one not much less so than in all: what slows down is not
 * told to go on. */
static bool goes_on(const struct gpu_course_bin *bins, const struct readings *readings, uint32_t count,
		    double bytes_per_s)
{
	uint32_t quarter = count / 4, last = count - quarter;

	for (int i = 1; i < 4; i++)
		if (bins[(uint32_t)i * quarter].most <= bins[(uint32_t)(i - 1) * quarter].most)
			return false;
	return trend_slope(readings->s + last, readings->bytes + last, quarter) >= bytes_per_s / 2;
}

struct gpu_course_verdict gpu_course_judge(const struct gpu_course *course, uint64_t since_ns)
{
	struct gpu_course_verdict verdict = { .course = ANALYSIS_MEMORY_UNKNOWN };
	const struct gpu_course_bin *bins = course->bins;
	uint32_t count = course->count;

	for (; count && bins->until_ns < since_ns; count--)
		bins++;
	if (count < GPU_COURSE_LEAST)
		return verdict;
	const struct gpu_course_bin *last = &bins[count - 1];
	uint32_t flat = flat_since(bins, count, flat_bytes(course));

	verdict.used = last->most;
	verdict.end_ns = last->until_ns;
	if (flat * 2 <= count) {
		verdict.course = ANALYSIS_MEMORY_FLAT;
		verdict.grown = bins[flat].most - bins[0].first;
		verdict.from_ns = bins[flat].from_ns;
		return verdict;
	}
	/* What is judged begins behind the first quarter: there caches fill. */
	bins += count / 4;
	count -= count / 4;
	struct readings readings;
	read(bins, count, &readings);
	double bytes_per_s = trend_slope(readings.s, readings.bytes, count);

	if (trend_score(readings.bytes, count) < GPU_COURSE_TREND ||
	    (double)(last->most - bins[0].most) < 2 * flat_bytes(course) || bytes_per_s <= 0 ||
	    !goes_on(bins, &readings, count, bytes_per_s))
		return verdict;
	verdict.course = ANALYSIS_MEMORY_GROWS;
	verdict.bytes_per_s = bytes_per_s;
	verdict.from_ns = bins[0].from_ns;
	return verdict;
}
