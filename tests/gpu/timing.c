/* SPDX-License-Identifier: MIT */
#include "timing.h"

#include <stdarg.h>
#include <stdio.h>

enum { TRIES = 5 };

static double one_try_us(const struct scan_gpu *gpu, const CUevent at[2], int calls, timing_work *work, void *argument)
{
	float ms;

	DEVICE_CHECK(cuEventRecord(at[0], gpu->stream));
	for (int i = 0; i < calls; i++)
		work(argument);
	DEVICE_CHECK(cuEventRecord(at[1], gpu->stream));
	DEVICE_CHECK(cuEventSynchronize(at[1]));
	DEVICE_CHECK(cuEventElapsedTime(&ms, at[0], at[1]));
	return (double)ms * 1000 / calls;
}

double timing_us(const struct scan_gpu *gpu, int calls, timing_work *work, void *argument)
{
	const int tries = gpu->stand_in ? 1 : TRIES;
	double us[TRIES];
	CUevent at[2];

	DEVICE_CHECK(cuEventCreate(&at[0], CU_EVENT_DEFAULT));
	DEVICE_CHECK(cuEventCreate(&at[1], CU_EVENT_DEFAULT));
	if (!gpu->stand_in)
		one_try_us(gpu, at, calls, work, argument);
	for (int i = 0; i < tries; i++)
		us[i] = one_try_us(gpu, at, gpu->stand_in ? 1 : calls, work, argument);
	DEVICE_CHECK(cuEventDestroy(at[0]));
	DEVICE_CHECK(cuEventDestroy(at[1]));
	return device_median(us, (size_t)tries);
}

static void print_what(const char *format, va_list arguments)
{
	char what[256];

	vsnprintf(what, sizeof(what), format, arguments);
	printf("{\"what\":\"%s\",", what);
}

void timing_number(double value, const char *unit, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	print_what(format, arguments);
	va_end(arguments);
	printf("\"value\":%.4g,\"unit\":\"%s\"}\n", value, unit);
	fflush(stdout);
}

bool timing_claim(bool right, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	print_what(format, arguments);
	va_end(arguments);
	printf("\"ok\":%s}\n", right ? "true" : "false");
	fflush(stdout);
	return right;
}

void timing_remark(const char *text, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	print_what(format, arguments);
	va_end(arguments);
	printf("\"text\":\"%s\"}\n", text);
	fflush(stdout);
}

void timing_fact(const char *value, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	print_what(format, arguments);
	va_end(arguments);
	printf("\"fact\":\"%s\"}\n", value);
	fflush(stdout);
}
