/* SPDX-License-Identifier: MIT */
/* Against the stand-in's NVML, whose GPUs are made sick through SIM_NVML. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collector/sources/machine/nvml_source.h"

enum { DEADLINE_S = 20, GPUS = 8, WHY = 160 };

struct heard {
	unsigned int states, events;
	struct analysis_gpu_state state[GPUS]; /* by bus number */
	struct analysis_gpu_event event;
};

static char script[64];

static void on_state(void *argument, const struct analysis_gpu_state *state)
{
	struct heard *heard = argument;
	unsigned int domain, bus;

	cr_assert_eq(sscanf(state->pci, "%x:%x", &domain, &bus), 2);
	heard->states++;
	heard->state[(bus - 0x10) % GPUS] = *state;
}

static void on_event(void *argument, const struct analysis_gpu_event *event)
{
	struct heard *heard = argument;

	heard->events++;
	heard->event = *event;
}

static void say(const char *text)
{
	int fd = open(script, O_WRONLY | O_APPEND | O_CREAT, 0600);

	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static void setup(void)
{
	strcpy(script, "/tmp/rankwatch-test-XXXXXX");
	close(mkstemp(script));
	setenv("SIM_NVML", script, 1);
	setenv("SIM_QUIET", "1", 1);
}

static void teardown(void)
{
	unlink(script);
}

TestSuite(nvml_source, .init = setup, .fini = teardown);

static struct nvml_source *open_source(void)
{
	struct nvml_source *source;
	char why[WHY];

	cr_assert_eq(nvml_source_open(&source, "libnvidia-ml.so.1", why), 0, "%s", why);
	return source;
}

static bool hear_until(struct nvml_source *source, struct heard *heard, bool (*done)(const struct heard *heard))
{
	const struct nvml_source_events events = { on_state, on_event, heard };
	const struct timespec pause = { .tv_nsec = 5000000 };
	time_t end = time(NULL) + DEADLINE_S;

	while (time(NULL) < end) {
		nvml_source_poll(source, &events);
		if (done(heard))
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

static bool all_read(const struct heard *heard)
{
	return heard->states >= GPUS;
}

Test(nvml_source, reads_every_gpu_with_its_address_and_values)
{
	struct heard heard = { 0 };

	say("all temperature=50\n3 ecc-uncorrected=2 remapped-pending=1 memory-used=4096 nvlink-errors=7 "
	    "clocks-event-reasons=hw-thermal-slowdown+hw-slowdown sm-clock=990\n");
	struct nvml_source *source = open_source();

	cr_assert(hear_until(source, &heard, all_read));
	const struct analysis_gpu_state *state = &heard.state[3];
	cr_expect_str_eq(state->pci, "00000000:13:00.0");
	cr_expect_eq(strncmp(state->uuid, "GPU-", 4), 0);
	cr_expect_eq(state->index, 3);
	cr_expect_eq(state->celsius, 50);
	cr_expect_eq(state->sm_mhz, 990);
	cr_expect_eq(state->sm_mhz_max, 1980);
	cr_expect_eq(state->watts, 300);
	cr_expect_eq(state->watts_cap, 700);
	cr_expect_eq(state->clock_reasons, ANALYSIS_CLOCK_HW_THERMAL | ANALYSIS_CLOCK_HW_SLOWDOWN);
	cr_expect_eq(state->ecc_uncorrected, 2);
	cr_expect_eq(state->ecc_corrected, 0);
	cr_expect_eq(state->remap_pending, 1);
	cr_expect_eq(state->remap_failure, 0);
	cr_expect_eq(state->nvlink_errors, 7);
	cr_expect_eq(state->memory_used, 4096LL << 20);
	cr_expect_eq(heard.state[2].clock_reasons, 0);
	nvml_source_close(source);
}

static bool event_came(const struct heard *heard)
{
	return heard->events > 0;
}

Test(nvml_source, hands_over_an_xid_as_it_comes_and_none_from_before)
{
	struct heard heard = { 0 };

	say("5 xid=63\n");
	struct nvml_source *source = open_source();

	cr_assert(hear_until(source, &heard, all_read));
	cr_expect_eq(heard.events, 0);
	say("5 xid=48\n");
	cr_assert(hear_until(source, &heard, event_came));
	cr_expect_eq(heard.event.xid, 48);
	cr_expect_eq(heard.event.source, ANALYSIS_GPU_NVML);
	cr_expect_str_eq(heard.event.pci, "00000000:15:00.0");
	nvml_source_close(source);
}

static bool fourth_is_lost(const struct heard *heard)
{
	return heard->state[4].lost;
}

static bool fourth_needs_reset(const struct heard *heard)
{
	return heard->state[4].needs_reset;
}

Test(nvml_source, a_refusal_of_one_value_leaves_the_others_and_a_lost_gpu_is_said)
{
	struct heard heard = { 0 };

	say("call nvmlDeviceGetTotalEccErrors fail=3\n");
	struct nvml_source *source = open_source();

	cr_assert(hear_until(source, &heard, all_read));
	cr_expect_eq(heard.state[4].ecc_uncorrected, -1);
	cr_expect_eq(heard.state[4].sm_mhz, 1980);
	cr_expect_not(heard.state[4].lost);
	say("call nvmlDeviceGetClockInfo fail=15\n");
	cr_expect(hear_until(source, &heard, fourth_is_lost));
	cr_expect_eq(heard.state[4].sm_mhz, -1);
	say("call nvmlDeviceGetClockInfo fail=16\n");
	cr_expect(hear_until(source, &heard, fourth_needs_reset));
	nvml_source_close(source);
}

static bool never(const struct heard *heard)
{
	(void)heard;
	return true;
}

Test(nvml_source, a_call_that_hangs_holds_up_nobody_and_shows)
{
	struct heard heard = { 0 };
	uint64_t first = 0;
	struct nvml_source *source = open_source();
	time_t end = time(NULL) + DEADLINE_S;

	cr_assert(hear_until(source, &heard, all_read));
	say("call nvmlDeviceGetTemperature block\n");
	/* The same call as before: it is the one that does not come back. */
	for (unsigned int same = 0; same < 50 && time(NULL) < end;) {
		const struct timespec pause = { .tv_nsec = 10000000 };
		uint64_t since = nvml_source_in_call_since(source);

		same = since && since == first ? same + 1 : 0;
		first = since;
		hear_until(source, &heard, never);
		nanosleep(&pause, NULL);
	}
	cr_expect_neq(first, 0);
	cr_expect_eq(first, nvml_source_in_call_since(source));
	nvml_source_close(source); /* leaves the thread in its call, and returns */
}

static bool gave_up(struct nvml_source *source)
{
	const struct timespec pause = { .tv_nsec = 5000000 };
	time_t end = time(NULL) + DEADLINE_S;

	while (!*nvml_source_why(source) && time(NULL) < end)
		nanosleep(&pause, NULL);
	return *nvml_source_why(source);
}

Test(nvml_source, without_a_driver_it_gives_up_and_says_why)
{
	say("call nvmlInit_v2 fail=9\n");
	struct nvml_source *source = open_source();

	cr_expect(gave_up(source));
	cr_expect(strstr(nvml_source_why(source), "NVML: "), "%s", nvml_source_why(source));
	cr_expect_eq(nvml_source_in_call_since(source), 0);
	nvml_source_close(source);
}

Test(nvml_source, without_a_library_it_does_not_begin)
{
	struct nvml_source *source;
	char why[WHY];

	cr_expect_eq(nvml_source_open(&source, "libnvidia-ml-none.so.1", why), -ENOENT);
	cr_expect(strstr(why, "libnvidia-ml-none.so.1"), "%s", why);
	cr_expect_eq(nvml_source_open(&source, "libc.so.6", why), -ENOSYS);
	cr_expect(strstr(why, "nvmlInit_v2"), "%s", why);
	cr_expect_null(source);
}
