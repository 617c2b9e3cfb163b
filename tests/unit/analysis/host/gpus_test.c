/* SPDX-License-Identifier: MIT */
/* What is kept of GPUs, network ports, OOM kills and stalls until somebody asks. */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "analysis/model.h"
#include "analysis/host/ports.h"
#include "analysis/host/stalls.h"

#define SECOND UINT64_C(1000000000)

static struct analysis_gpu_state state_of(const char *uuid, const char *pci, uint64_t second)
{
	struct analysis_gpu_state state = { .at_ns = second * SECOND, .clock_reasons = -1, .sm_mhz = 1980, .memory_used = -1,
					    .memory_total = -1, .nvlink_errors = -1 };

	snprintf(state.uuid, sizeof(state.uuid), "%s", uuid);
	snprintf(state.pci, sizeof(state.pci), "%s", pci);
	return state;
}

static int add_state(struct gpus *gpus, const char *uuid, const char *pci, uint64_t second)
{
	struct analysis_gpu_state state = state_of(uuid, pci, second);

	return gpus_add_state(gpus, &state);
}

static const char one[] = "GPU-00000000-0000-0000-0000-000000000001";
static const char two[] = "GPU-00000000-0000-0000-0000-000000000002";

Test(gpus, are_told_apart_by_number_and_place_however_these_are_written)
{
	struct gpus gpus = { 0 };

	cr_expect_eq(add_state(&gpus, "", "0000:3b:00.0", 1), 0);
	cr_expect_eq(add_state(&gpus, "", "00000000:3B:00", 2), 0);
	cr_expect_eq(gpus.count, 1, "the same place");
	cr_expect_eq(add_state(&gpus, one, "0000:3b:00.0", 3), 0);
	cr_expect_eq(gpus.count, 1, "now it has a number");
	cr_expect_eq(add_state(&gpus, one, "", 4), 0);
	cr_expect_eq(gpus.count, 1);
	cr_expect_eq(add_state(&gpus, two, "", 5), 0);
	cr_expect_eq(add_state(&gpus, "", "0001:3b:00.0", 6), 0);
	cr_expect_eq(add_state(&gpus, "", "0000:3c:00.0", 7), 0);
	cr_expect_eq(add_state(&gpus, "", "0000:3b:01.0", 8), 0);
	cr_expect_eq(add_state(&gpus, "", "0000:ff:1f.0", 9), 0);
	cr_expect_eq(gpus.count, 6);
	cr_expect_eq(gpus.items[0]->first.at_ns, SECOND);
	cr_expect_eq(gpus.items[0]->now.at_ns, 4 * SECOND);
	cr_expect_eq(gpus.items[0]->reading_count, 4);
	gpus_free(&gpus);
}

Test(gpus, without_any_address_are_refused)
{
	static const char *const wrong[] = { "", "0000:3b", "3b:00", "0000:100:00", "0000:00:20", "x" };
	static const char *const numbers[] = { "", "GPU-", "GPU-1234", "MIG-00000000-0000-0000-0000-000000000001",
					       "GPU-00000000-0000-0000-0000-000000000000", "GPU-00000000-0000-0000-0000-00000000000", "GPU-zz" };
	struct gpus gpus = { 0 };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		cr_expect_eq(add_state(&gpus, "", wrong[i], 1), -EINVAL, "%s", wrong[i]);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		cr_expect_eq(add_state(&gpus, numbers[i], "", 1), -EINVAL, "%s", numbers[i]);
	cr_expect_eq(gpus.count, 0);
	cr_expect_eq(add_state(&gpus, "GPU-00000000000000000000000000000001", "", 1), 0, "without dashes");
	cr_expect_eq(add_state(&gpus, one, "", 1), 0);
	cr_expect_eq(gpus.count, 1);
	gpus_free(&gpus);
}

Test(gpus, beyond_their_most_are_not_kept)
{
	struct gpus gpus = { 0 };
	char pci[24];

	for (unsigned i = 0; i <= GPUS_MAX; i++) {
		snprintf(pci, sizeof(pci), "%x:%02x:00.0", i / 256, i % 256);
		cr_expect_eq(add_state(&gpus, "", pci, 1), i < GPUS_MAX ? 0 : -ENOMEM, "%u", i);
	}
	cr_expect_eq(add_state(&gpus, "", "0:00:00.0", 2), 0, "of those that are known more is told");
	gpus_free(&gpus);
}

Test(gpus, the_latest_readings_are_kept)
{
	struct gpus gpus = { 0 };

	for (uint64_t second = 1; second <= GPU_READINGS; second++)
		cr_assert_eq(add_state(&gpus, one, "", second), 0);
	cr_expect_eq(gpu_reading_at(gpus.items[0], GPU_READINGS - 1)->at_ns, SECOND);
	cr_expect_null(gpu_reading_at(gpus.items[0], GPU_READINGS));
	cr_assert_eq(add_state(&gpus, one, "", 1000), 0);
	cr_expect_eq(gpu_reading_at(gpus.items[0], 0)->at_ns, 1000 * SECOND);
	cr_expect_eq(gpu_reading_at(gpus.items[0], 1)->at_ns, GPU_READINGS * SECOND);
	cr_expect_eq(gpu_reading_at(gpus.items[0], GPU_READINGS - 1)->at_ns, 2 * SECOND);
	cr_expect_null(gpu_reading_at(gpus.items[0], GPU_READINGS));
	gpus_free(&gpus);
}

static void add_xid(struct gpus *gpus, enum analysis_gpu_source source, uint64_t at_ns, uint32_t number, int32_t pid,
		    const char *text)
{
	struct analysis_gpu_event event = { .source = source, .at_ns = at_ns, .xid = number, .pid = pid };

	snprintf(event.uuid, sizeof(event.uuid), "%s", one);
	snprintf(event.text, sizeof(event.text), "%s", text);
	cr_assert_eq(gpus_add_event(gpus, &event), 0);
}

Test(gpus, the_same_xid_within_five_seconds_is_one_whoever_tells_it)
{
	struct gpus gpus = { 0 };

	add_xid(&gpus, ANALYSIS_GPU_NVML, 20 * SECOND, 79, -1, "");
	add_xid(&gpus, ANALYSIS_GPU_KERNEL_LOG, 25 * SECOND, 79, 4711, "fell off the bus");
	add_xid(&gpus, ANALYSIS_GPU_KERNEL_LOG, 15 * SECOND, 79, -1, "other words");
	const struct gpu_xid *xid = gpu_xid_at(gpus.items[0], 0);
	cr_assert_eq(gpus.items[0]->xid_count, 1);
	cr_expect_eq(xid->first_ns, 15 * SECOND);
	cr_expect_eq(xid->last_ns, 25 * SECOND);
	cr_expect_eq(xid->pid, 4711);
	cr_expect_str_eq(xid->text, "fell off the bus");
	cr_expect_eq(xid->sources, 1u << ANALYSIS_GPU_NVML | 1u << ANALYSIS_GPU_KERNEL_LOG);
	add_xid(&gpus, ANALYSIS_GPU_NVML, 30 * SECOND + 1, 79, -1, "");
	cr_expect_eq(gpus.items[0]->xid_count, 2, "a nanosecond too late");
	add_xid(&gpus, ANALYSIS_GPU_NVML, 10 * SECOND - 1, 79, -1, "");
	cr_expect_eq(gpus.items[0]->xid_count, 3, "… and too early");
	add_xid(&gpus, ANALYSIS_GPU_NVML, 20 * SECOND, 48, -1, "");
	cr_expect_eq(gpus.items[0]->xid_count, 4, "another number");
	cr_expect_eq(gpu_xid_at(gpus.items[0], 0)->number, 48);
	cr_expect_eq(gpu_xid_at(gpus.items[0], 0)->pid, -1);
	cr_expect_null(gpu_xid_at(gpus.items[0], 4));
	cr_expect_not(gpus.items[0]->is_read, "an Xid is no reading");
	gpus_free(&gpus);
}

Test(gpus, the_latest_xids_are_kept)
{
	struct gpus gpus = { 0 };

	for (uint32_t number = 1; number <= GPU_XIDS + 1; number++)
		add_xid(&gpus, ANALYSIS_GPU_NVML, SECOND, number, -1, "");
	cr_expect_eq(gpu_xid_at(gpus.items[0], 0)->number, GPU_XIDS + 1);
	cr_expect_eq(gpu_xid_at(gpus.items[0], GPU_XIDS - 1)->number, 2);
	cr_expect_null(gpu_xid_at(gpus.items[0], GPU_XIDS));
	gpus_free(&gpus);
}

static int add_port(struct ports *ports, const char *name, int32_t number, uint64_t second, int64_t downed)
{
	struct analysis_port_state state = {
		.number = number, .at_ns = second * SECOND, .active = second != 3, .mbit_s = 400000
	};

	snprintf(state.name, sizeof(state.name), "%s", name);
	for (int i = 0; i < ANALYSIS_PORT_COUNTERS; i++)
		state.counts[i] = -1;
	state.counts[ANALYSIS_PORT_DOWNED] = downed;
	return ports_add_state(ports, &state);
}

Test(ports, count_since_the_first_reading_whoever_resets_them)
{
	static const struct {
		int64_t read;
		uint64_t count;
	} readings[] = { { 100, 0 }, { 103, 3 }, { -1, 3 }, { 104, 4 }, { 2, 4 }, { 5, 7 }, { 5, 7 } };
	struct ports ports = { 0 };

	for (uint64_t i = 0; i < sizeof(readings) / sizeof(*readings); i++) {
		cr_assert_eq(add_port(&ports, "mlx5_0", 1, 1 + i, readings[i].read), 0);
		const struct port_reading *reading = port_reading_at(ports.items[0], 0);
		cr_expect_eq(reading->counts[ANALYSIS_PORT_DOWNED], readings[i].count, "reading %lu", (unsigned long)i);
		cr_expect_eq(reading->counts[ANALYSIS_PORT_SEND_WAITS], 0, "never read");
		cr_expect_eq(reading->at_ns, (1 + i) * SECOND);
		cr_expect_eq(reading->active, i != 2);
		cr_expect(ports.items[0]->was_active);
	}
	cr_expect_eq(ports.items[0]->first_ns, SECOND);
	cr_expect_eq(add_port(&ports, "mlx5_0", 1, 6, 9), -EINVAL, "time goes on");
	cr_expect_eq(add_port(&ports, "mlx5_0", 1, 7, 9), 0);
	cr_expect_eq(add_port(&ports, "", 1, 8, 9), -EINVAL);
	cr_expect_eq(add_port(&ports, "mlx5_0", 2, 1, 9), 0);
	cr_expect_eq(add_port(&ports, "mlx5_1", 1, 1, 9), 0);
	cr_expect_eq(ports.count, 3);
	ports_free(&ports);
}

Test(ports, the_latest_readings_of_the_first_ports_are_kept)
{
	struct ports ports = { 0 };

	for (uint64_t second = 1; second <= PORT_READINGS + 1; second++)
		cr_assert_eq(add_port(&ports, "mlx5_0", 1, second, 0), 0);
	cr_expect_eq(port_reading_at(ports.items[0], 0)->at_ns, (PORT_READINGS + 1) * SECOND);
	cr_expect_eq(port_reading_at(ports.items[0], PORT_READINGS - 1)->at_ns, 2 * SECOND);
	cr_expect_null(port_reading_at(ports.items[0], PORT_READINGS));
	for (int32_t number = 2; number <= PORTS_MAX + 1; number++)
		cr_expect_eq(add_port(&ports, "mlx5_0", number, 1, 0), number <= PORTS_MAX ? 0 : -ENOMEM, "%d", number);
	cr_expect_null(port_reading_at(ports.items[1], 1));
	ports_free(&ports);
}

static struct process killed(void)
{
	return (struct process){ .kernel_pid = 4711,
				 .life = ANALYSIS_KILLED,
				 .exit_status = SIGKILL,
				 .created_ns = 10 * SECOND,
				 .last_ns = 100 * SECOND };
}

static bool is_oom(struct process process, int32_t pid, uint64_t at_ns)
{
	struct oom_kills kills = { 0 };

	oom_kills_note(&kills, pid, at_ns);
	return oom_kills_has(&kills, &process);
}

Test(oom_kills, belong_to_who_was_killed_by_then_and_lived)
{
	struct process process = killed();

	cr_expect(is_oom(process, 4711, 10 * SECOND));
	cr_expect_not(is_oom(process, 4711, 10 * SECOND - 1), "an earlier process of that number");
	cr_expect(is_oom(process, 4711, 105 * SECOND));
	cr_expect_not(is_oom(process, 4711, 105 * SECOND + 1), "a later one");
	cr_expect_not(is_oom(process, 4712, 50 * SECOND));
	process.exit_status = SIGSEGV;
	cr_expect_not(is_oom(process, 4711, 50 * SECOND), "by another signal");
	process.exit_status = 9 << 8;
	process.life = ANALYSIS_EXITED;
	cr_expect_not(is_oom(process, 4711, 50 * SECOND), "it ended with status 9");
	process.exit_status = -1;
	cr_expect_not(is_oom(process, 4711, 50 * SECOND));
	process.life = ANALYSIS_KILLED;
	cr_expect(is_oom(process, 4711, 50 * SECOND), "how is not known");
	process.life = ANALYSIS_STOPPED;
	cr_expect_not(is_oom(process, 4711, 50 * SECOND));
	process = killed();
	process.kernel_pid = 0;
	cr_expect_not(is_oom(process, 0, 50 * SECOND), "a number that is not known");
}

Test(oom_kills, the_latest_are_kept)
{
	struct oom_kills kills = { 0 };
	struct process process = killed();

	oom_kills_note(&kills, 4711, 50 * SECOND);
	for (int i = 1; i < OOM_KILLS; i++)
		oom_kills_note(&kills, 1, 50 * SECOND);
	cr_expect(oom_kills_has(&kills, &process));
	oom_kills_note(&kills, 1, 50 * SECOND);
	cr_expect_not(oom_kills_has(&kills, &process));
	oom_kills_note(&kills, 4711, 50 * SECOND);
	cr_expect(oom_kills_has(&kills, &process));
}

Test(stalls, no_time_is_charged_twice)
{
	struct stalls stalls = { 0 };

	cr_expect_eq(stalls_left(&stalls, 100, 30), 30);
	cr_expect_eq(stalls_left(&stalls, 20, 30), 20, "no more than there was");
	stalls_add(&stalls, 100, 30);
	cr_expect_eq(stalls_left(&stalls, 100, 30), 0);
	cr_expect_eq(stalls_left(&stalls, 110, 30), 10, "since the one before");
	cr_expect_eq(stalls_left(&stalls, 200, 30), 30);
	cr_expect_eq(stalls_left(&stalls, 130, 30), 30);
	cr_expect_eq(stalls_left(&stalls, 90, 50), 30, "up to one that ended later");
	cr_expect_eq(stalls_left(&stalls, 70, 50), 50);
	cr_expect_eq(stalls_left(&stalls, 71, 50), 49);
	stalls_add(&stalls, 5, 10);
	cr_expect_eq(stalls_left(&stalls, 6, 10), 1, "it began with time itself");
}

Test(stalls, what_was_before_one_that_is_forgotten_is_charged)
{
	struct stalls stalls = { 0 };

	for (uint64_t i = 1; i <= STALLS_KEPT; i++)
		stalls_add(&stalls, 1000 * i, 10);
	cr_expect_eq(stalls_left(&stalls, 900, 100), 100);
	stalls_add(&stalls, 1000 * (STALLS_KEPT + 1), 10);
	cr_expect_eq(stalls_left(&stalls, 900, 100), 0);
	cr_expect_eq(stalls_left(&stalls, 1050, 100), 50);
	cr_expect_eq(stalls_left(&stalls, 1500, 100), 100);
}
