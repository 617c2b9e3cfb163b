/* SPDX-License-Identifier: MIT */
/* What doctor says of scanning, over a CUDA driver of its own. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "console/doctor/check.h"

static const char *get(void *argument, const char *name)
{
	(void)argument;
	return getenv(name);
}

static struct check_result run(const char *version, const char *major)
{
	struct check_context context = { .root = "", .get = get };
	struct check_result result = { 0 };

	setenv("FAKE_CUDA_VERSION", version, 1);
	setenv("FAKE_CUDA_MAJOR", major, 1);
	scan_check.run(&context, &result);
	return result;
}

static void expect_compiled(const char *version, const char *major, const char *directory)
{
	struct check_result result = run(version, major);

	cr_expect_eq(result.verdict, VERDICT_OK, "%s", result.text);
	cr_expect(strstr(result.text, "compiles the kernel in each process, some 0.2 s"), "%s of %s: %s", major,
		  version, result.text);
	cr_expect(strstr(result.text, directory), "%s", result.text);
}

static void init(void)
{
	unsetenv("CUDA_CACHE_PATH");
	unsetenv("CUDA_CACHE_DISABLE");
	setenv("HOME", "/home/u", 1);
}

TestSuite(doctor_scan, .init = init);

Test(doctor_scan, machine_code_goes_without_saying)
{
	static const char *const majors[] = { "8", "9", "10", "12" };

	for (size_t i = 0; i < sizeof(majors) / sizeof(majors[0]); i++) {
		struct check_result result = run("13000", majors[i]);

		cr_expect_eq(result.verdict, VERDICT_OK, "%s", result.text);
		cr_expect_not(strstr(result.text, "compile"), "%s", result.text);
	}
}

Test(doctor_scan, says_that_an_older_driver_compiles_and_where_it_keeps_that)
{
	expect_compiled("12080", "9", "keeps it in /home/u/.nv/ComputeCache");
	setenv("CUDA_CACHE_PATH", "/local/cache", 1);
	expect_compiled("12080", "9", "keeps it in /local/cache");
	cr_expect(strstr(run("12080", "9").advice, "CUDA_CACHE_PATH"));
	setenv("CUDA_CACHE_DISABLE", "1", 1);
	expect_compiled("12080", "9", "keeps it nowhere: CUDA_CACHE_DISABLE=1");
}

Test(doctor_scan, says_the_same_of_a_generation_without_machine_code)
{
	expect_compiled("13000", "11", "keeps it in");
}

Test(doctor_scan, says_that_nothing_is_scanned_where_compiling_is_left_out)
{
	setenv("RANKWATCH_SCAN_PTX", "0", 1);
	struct check_result result = run("12080", "9");
	cr_expect_eq(result.verdict, VERDICT_WARNING);
	cr_expect(strstr(result.text, "no values are scanned: RANKWATCH_SCAN_PTX=0"), "%s", result.text);
	cr_expect_eq(run("13000", "9").verdict, VERDICT_OK);
}

Test(doctor_scan, says_that_a_gpu_older_than_the_kernel_is_not_scanned)
{
	struct check_result result = run("13000", "7");

	cr_expect_eq(result.verdict, VERDICT_WARNING);
	cr_expect(strstr(result.text, "no values are scanned: the kernel needs a GPU of compute capability 8.0"), "%s",
		  result.text);
}

Test(doctor_scan, says_nothing_of_a_driver_that_does_not_work)
{
	setenv("FAKE_CUDA_ERROR", "100", 1);
	struct check_result result = run("12080", "7");
	cr_expect_eq(result.verdict, VERDICT_OK, "%s", result.text);
	cr_expect_not(strstr(result.text, "compile"));
}
