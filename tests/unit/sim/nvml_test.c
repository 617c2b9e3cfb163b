/* SPDX-License-Identifier: MIT */
/* The stand-in's NVML: devices as the stand-in's driver has them, values and failures as SIM_NVML says. */
#include <criterion/criterion.h>
#include <cuda.h>
#include <fcntl.h>
#include <nvml.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char script[64];

static void setup(void)
{
	strcpy(script, "/tmp/rankwatch-test-XXXXXX");
	close(mkstemp(script));
	setenv("SIM_NVML", script, 1);
	cr_assert_eq(nvmlInit_v2(), NVML_SUCCESS);
}

static void teardown(void)
{
	unlink(script);
}

TestSuite(nvml, .init = setup, .fini = teardown, .timeout = 60);

static void say(const char *text)
{
	int fd = open(script, O_WRONLY | O_APPEND);

	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static nvmlDevice_t device(unsigned int index)
{
	nvmlDevice_t found;

	cr_assert_eq(nvmlDeviceGetHandleByIndex_v2(index, &found), NVML_SUCCESS);
	return found;
}

Test(nvml, devices_are_those_of_the_driver)
{
	unsigned int count = 0;
	char uuid[96], pci[32], expected[96] = "GPU-";
	nvmlPciInfo_t info;
	CUuuid bytes;

	cr_assert_eq(cuInit(0), CUDA_SUCCESS);
	cr_assert_eq(nvmlDeviceGetCount_v2(&count), NVML_SUCCESS);
	cr_expect_eq(count, 8);
	cr_assert_eq(cuDeviceGetUuid(&bytes, 5), CUDA_SUCCESS);
	for (int i = 0; i < 16; i++)
		sprintf(expected + strlen(expected), "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			(unsigned char)bytes.bytes[i]);
	cr_assert_eq(nvmlDeviceGetUUID(device(5), uuid, sizeof(uuid)), NVML_SUCCESS);
	cr_expect_str_eq(uuid, expected);
	cr_assert_eq(cuDeviceGetPCIBusId(pci, sizeof(pci), 5), CUDA_SUCCESS);
	cr_assert_eq(nvmlDeviceGetPciInfo_v3(device(5), &info), NVML_SUCCESS);
	cr_expect_str_eq(info.busIdLegacy, pci);
	cr_expect_str_eq(info.busId + 4, pci, "the domain has eight digits");
}

Test(nvml, values_change_while_a_program_looks)
{
	unsigned int celsius, mhz;
	unsigned long long reasons;

	cr_assert_eq(nvmlDeviceGetTemperature(device(2), NVML_TEMPERATURE_GPU, &celsius), NVML_SUCCESS);
	cr_expect_eq(celsius, 45);
	say("# hot\nall temperature=60\n0000:12:00 temperature=93 clocks-event-reasons=hw-slowdown+hw-power-brake "
	    "sm-clock=345\n");
	nvmlDeviceGetTemperature(device(2), NVML_TEMPERATURE_GPU, &celsius);
	cr_expect_eq(celsius, 93);
	nvmlDeviceGetTemperature(device(1), NVML_TEMPERATURE_GPU, &celsius);
	cr_expect_eq(celsius, 60);
	cr_assert_eq(nvmlDeviceGetCurrentClocksEventReasons(device(2), &reasons), NVML_SUCCESS);
	cr_expect_eq(reasons, 0x88);
	cr_assert_eq(nvmlDeviceGetClockInfo(device(2), NVML_CLOCK_SM, &mhz), NVML_SUCCESS);
	cr_expect_eq(mhz, 345);
}

Test(nvml, half_a_line_does_not_count_yet)
{
	unsigned int celsius;

	say("all temperature=9");
	nvmlDeviceGetTemperature(device(0), NVML_TEMPERATURE_GPU, &celsius);
	cr_expect_eq(celsius, 45);
	say("0\n");
	nvmlDeviceGetTemperature(device(0), NVML_TEMPERATURE_GPU, &celsius);
	cr_expect_eq(celsius, 90);
}

Test(nvml, counters_have_two_lives_and_four_kinds)
{
	unsigned long long count;
	unsigned int corrected, uncorrected, pending, failure;

	say("1 ecc-uncorrected=1 ecc-uncorrected-ever=4 ecc-corrected=9 remapped-uncorrected=3 remapped-failure=1\n");
	cr_assert_eq(
	    nvmlDeviceGetTotalEccErrors(device(1), NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC, &count),
	    NVML_SUCCESS);
	cr_expect_eq(count, 1);
	nvmlDeviceGetTotalEccErrors(device(1), NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_AGGREGATE_ECC, &count);
	cr_expect_eq(count, 4);
	nvmlDeviceGetTotalEccErrors(device(1), NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_VOLATILE_ECC, &count);
	cr_expect_eq(count, 9);
	cr_assert_eq(nvmlDeviceGetRemappedRows(device(1), &corrected, &uncorrected, &pending, &failure), NVML_SUCCESS);
	cr_expect(corrected == 0 && uncorrected == 3 && pending == 0 && failure == 1);
}

Test(nvml, a_call_can_be_told_to_fail)
{
	unsigned int celsius;
	nvmlMemory_t memory;

	say("call nvmlDeviceGetTemperature fail=15\n");
	cr_expect_eq(nvmlDeviceGetTemperature(device(0), NVML_TEMPERATURE_GPU, &celsius), NVML_ERROR_GPU_IS_LOST);
	cr_expect_eq(nvmlDeviceGetMemoryInfo(device(0), &memory), NVML_SUCCESS);
}

static void *ask(void *argument)
{
	unsigned int celsius;

	*(nvmlReturn_t *)argument = nvmlDeviceGetTemperature(device(0), NVML_TEMPERATURE_GPU, &celsius);
	return NULL;
}

Test(nvml, a_blocked_call_goes_on_when_the_script_lets_it)
{
	nvmlReturn_t result = NVML_ERROR_UNKNOWN;
	pthread_t thread;

	say("call nvmlDeviceGetTemperature block\n");
	cr_assert_eq(pthread_create(&thread, NULL, ask, &result), 0);
	cr_assert_eq(truncate(script, 0), 0);
	say("# free\n");
	pthread_join(thread, NULL);
	cr_expect_eq(result, NVML_SUCCESS);
}

Test(nvml, an_xid_comes_once_to_a_set_that_was_there_before_it)
{
	nvmlEventSet_t set;
	nvmlEventData_t data;

	say("3 xid=13\n");
	cr_assert_eq(nvmlEventSetCreate(&set), NVML_SUCCESS);
	cr_assert_eq(nvmlDeviceRegisterEvents(device(3), nvmlEventTypeXidCriticalError, set), NVML_SUCCESS);
	cr_expect_eq(nvmlEventSetWait_v2(set, &data, 1), NVML_ERROR_TIMEOUT);
	say("3 xid=79\n4 xid=48\n");
	cr_assert_eq(nvmlEventSetWait_v2(set, &data, 1000), NVML_SUCCESS);
	cr_expect_eq(data.eventData, 79);
	cr_expect_eq(data.device, device(3));
	cr_expect_eq(nvmlEventSetWait_v2(set, &data, 1), NVML_ERROR_TIMEOUT, "device 4 is not in the set");
	nvmlEventSetFree(set);
}

Test(nvml, what_is_not_understood_fails_every_call)
{
	unsigned int count;

	say("0 warmth=9\n");
	cr_expect_eq(nvmlDeviceGetCount_v2(&count), NVML_ERROR_UNKNOWN);
}
