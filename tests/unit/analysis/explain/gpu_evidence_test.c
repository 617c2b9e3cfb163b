/* SPDX-License-Identifier: MIT */
/* What the GPU has to do with a finding about its rank. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "analysis/explain/gpu_evidence.h"
#include "tests/unit/analysis/jobs/history.h"

enum {
	RANKS = 8,
	SICK = 3,
	OF_HOST = 4 /* ranks, where there are two hosts: SICK is the last of the first one */,
	FIRST_LATE = 15,
	POLL_MS = 500
};

static const struct history_job slow_gpu = {
	.ranks = RANKS,
	.steps = 40,
	.layers = 4,
	.compute_ms = 40,
	.jitter_ms = 2,
	.runs_ahead = true,
	.tail_ms = 3000,
	.faults = { { .kind = FAULT_DEVICE, .rank = SICK, .first_step = FIRST_LATE, .ms = 150 } },
};

/* What is special about GPUs in [from_ms, to_ms]. */
struct health {
	double from_ms, to_ms;
	uint32_t reasons;
	int mhz;
	bool all; /* of every rank, else of SICK alone … */
	bool of_host; /* … or of all of its host, … */
	double others_to_ms; /* … but of others than SICK only up to then */
	int memory;          /* percent of SICK's memory that is in use */
};

struct run {
	struct history *history;
	struct analysis *analysis;
	const struct history_finding *findings;
	size_t count;
	char nvml[160], kernel_log[160]; /* what was shown last by each */
};

static void emit(void *argument, const struct rw_finding *finding)
{
	struct run *run = argument;

	for (size_t i = 0; i < finding->evidence_count; i++) {
		const struct rw_evidence *piece = &finding->evidence[i];

		if (!strcmp(piece->source, "nvml"))
			snprintf(run->nvml, sizeof(run->nvml), "%s", piece->what);
		if (!strcmp(piece->source, "kernel-log"))
			snprintf(run->kernel_log, sizeof(run->kernel_log), "%s", piece->what);
	}
	history_emit(run->history, finding);
}

static void read_gpus(struct run *run, const struct health *health, double at_ms)
{
	for (int rank = 0; rank < RANKS; rank++) {
		bool others = health->all || (health->of_host && rank < OF_HOST);
		bool special = at_ms >= health->from_ms && at_ms <= health->to_ms &&
			       (rank == SICK || (others && at_ms <= health->others_to_ms));
		struct analysis_gpu_state state = {
			.at_ns = (uint64_t)(at_ms * 1e6),
			.sm_mhz = special ? health->mhz : 1980,
			.sm_mhz_max = 1980,
			.clock_reasons = special ? health->reasons : 0,
			.remap_pending = -1,
			.remap_failure = -1,
			.memory_used = special && health->memory ? health->memory * (INT64_C(1) << 30) : -1,
			.memory_total = INT64_C(100) << 30,
			.nvlink_errors = -1,
		};

		snprintf(state.pci, sizeof(state.pci), "00000000:%02X:00.0", 0x10 + rank);
		cr_assert_eq(analysis_add_gpu_state(run->analysis, &state), 0);
	}
}

static void report(struct run *run, uint32_t xid, double at_ms)
{
	struct analysis_gpu_event event = { .source = ANALYSIS_GPU_KERNEL_LOG,
					    .at_ns = (uint64_t)(at_ms * 1e6),
					    .xid = xid,
					    .pid = 4711,
					    .text = "the driver's words" };

	snprintf(event.pci, sizeof(event.pci), "0000:%02x:00", 0x10 + SICK);
	cr_assert_eq(analysis_add_gpu_event(run->analysis, &event), 0);
}

static void begin(struct run *run, const struct history_job *job)
{
	*run = (struct run){ .history = history_new(job) };
	run->analysis = analysis_new(false, emit, run);
	cr_assert(run->analysis);
}

static void play(struct run *run, const struct health *health)
{
	double end_ms = history_end_ms(run->history);

	for (double at = HISTORY_BASE_MS; at < end_ms; at += POLL_MS) {
		history_play(run->history, run->analysis, at);
		if (health)
			read_gpus(run, health, at);
	}
	history_play(run->history, run->analysis, 0);
	run->findings = history_findings(run->history, &run->count);
}

static void end(struct run *run)
{
	analysis_free(run->analysis);
	history_free(run->history);
}

/* The last that was said of this kind while it was open. */
static const struct history_finding *last(const struct run *run, enum rw_kind kind)
{
	const struct history_finding *found = NULL;

	for (size_t i = 0; i < run->count; i++)
		if (run->findings[i].kind == kind && run->findings[i].state != RW_FINDING_CLOSED)
			found = &run->findings[i];
	return found;
}

static double late_ms(const struct run *run)
{
	return history_step_ms(run->history, FIRST_LATE);
}

Test(gpu_evidence, clocks_held_back_while_others_waited_are_the_cause)
{
	struct run run;

	begin(&run, &slow_gpu);
	const struct health hot = { late_ms(&run), 1e9, ANALYSIS_CLOCK_HW_THERMAL | ANALYSIS_CLOCK_HW_SLOWDOWN, 990,
				    false };

	play(&run, &hot);
	const struct history_finding *finding = last(&run, RW_KIND_STRAGGLER);
	cr_assert(finding);
	cr_expect_eq(finding->rank, SICK);
	cr_expect_eq(finding->class_, RW_CAUSE_THROTTLE);
	cr_expect_geq(finding->share, 0.5);
	cr_expect_str_eq(finding->cause_text, "hardware thermal slowdown, 990 of 1980 MHz");
	cr_expect(strstr(finding->advice, "cooling"), "%s", finding->advice);
	cr_expect_str_eq(run.nvml, "hardware thermal slowdown, 990 of 1980 MHz");
	end(&run);
}

Test(gpu_evidence, clocks_set_lower_than_the_others_are_the_cause_without_any_alarm)
{
	struct run run;

	begin(&run, &slow_gpu);
	const struct health low = { 0, 1e9, ANALYSIS_CLOCK_APPLICATION, 1200, false };

	play(&run, &low);
	const struct history_finding *finding = last(&run, RW_KIND_STRAGGLER);
	cr_assert(finding);
	cr_expect_eq(finding->class_, RW_CAUSE_THROTTLE);
	cr_expect(strstr(finding->cause_text, "clocks set by hand"), "%s", finding->cause_text);
	cr_expect_null(last(&run, RW_KIND_GPU));
	end(&run);
}

/* Whatever else is set: heat before power, what somebody set before what is usual under full load. */
Test(gpu_evidence, advice_is_about_the_most_serious_reason)
{
	static const struct {
		uint32_t any_of;
		const char *word;
	} in_order[] = {
		{ ANALYSIS_CLOCK_HW_THERMAL | ANALYSIS_CLOCK_SW_THERMAL, "cooling" },
		{ ANALYSIS_CLOCK_HW_POWER_BRAKE | ANALYSIS_CLOCK_HW_SLOWDOWN, "power supply" },
		{ ANALYSIS_CLOCK_APPLICATION, "-rgc" },
		{ ANALYSIS_CLOCK_POWER_CAP, "power limit" },
		{ UINT32_MAX, "compare this GPU's clocks" },
	};

	for (uint32_t reasons = 0; reasons < 0x200; reasons++) {
		const char *advice = gpu_evidence_throttle_advice(reasons);
		size_t i = 0;
		while (i < 4 && !(reasons & in_order[i].any_of))
			i++;
		cr_expect(strstr(advice, in_order[i].word), "%x: %s", reasons, advice);
	}
}

static void expect_unknown(struct run *run)
{
	const struct history_finding *finding = last(run, RW_KIND_STRAGGLER);

	cr_assert(finding);
	cr_expect_eq(finding->class_, RW_CAUSE_UNKNOWN, "%s", finding->cause_text);
	cr_expect_gt(finding->missing_count, 0);
	end(run);
}

Test(gpu_evidence, a_node_that_is_hot_as_a_whole_does_not_explain_one_late_rank)
{
	struct run run;

	begin(&run, &slow_gpu);
	const struct health hot = { 0, 1e9, ANALYSIS_CLOCK_HW_THERMAL, 990, true, false, 1e9 };

	play(&run, &hot);
	expect_unknown(&run);
}

/* Readings of two seconds, of which the other GPUs were slow in one, or in half a second less. */
Test(gpu_evidence, gpus_that_are_slow_for_half_of_the_time_are_slow_as_well)
{
	static const struct {
		double slow_ms;
		enum rw_cause_class class_;
	} cases[] = { { 1000, RW_CAUSE_UNKNOWN }, { 500, RW_CAUSE_THROTTLE } };
	const double from_ms = HISTORY_BASE_MS + 4 * POLL_MS;
	const struct cause_window window = { (uint64_t)(from_ms * 1e6), (uint64_t)((from_ms + 2000) * 1e6) };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct cause cause = { 0 };
		struct run run;
		begin(&run, &slow_gpu);
		const struct health hot = { .to_ms = 1e9, .reasons = ANALYSIS_CLOCK_HW_THERMAL, .mhz = 990, .all = true,
					    .others_to_ms = from_ms + cases[i].slow_ms };

		play(&run, &hot);
		gpu_evidence_explain(run.analysis, SICK, &window, 1, window.from_ns, &cause);
		cr_expect_eq(cause.class_, cases[i].class_, "case %zu: %d", i, cause.class_);
		end(&run);
	}
}

Test(gpu_evidence, clocks_that_were_low_before_explain_nothing)
{
	struct run run;

	begin(&run, &slow_gpu);
	const struct health before = { 0, late_ms(&run) - 1000, ANALYSIS_CLOCK_HW_THERMAL, 990, false };

	play(&run, &before);
	expect_unknown(&run);
}

Test(gpu_evidence, a_power_cap_at_the_others_clock_is_usual)
{
	struct run run;

	begin(&run, &slow_gpu);
	const struct health capped = { 0, 1e9, ANALYSIS_CLOCK_POWER_CAP, 1930, false };

	play(&run, &capped);
	expect_unknown(&run);
}

/* The mates of SICK on one of two hosts are late as well, up to this step (0: the last). */
static struct history_job late_host(int last_step)
{
	struct history_job job = slow_gpu;

	job.hosts = 2;
	for (int mate = 0; mate < OF_HOST - 1; mate++)
		job.faults[mate + 1] = (struct history_fault){
			.kind = FAULT_DEVICE, .rank = mate, .first_step = FIRST_LATE, .last_step = last_step, .ms = 120
		};
	return job;
}

static void play_throttled(struct run *run, const struct history_job *job, bool of_host)
{
	begin(run, job);
	const struct health hot = { .from_ms = late_ms(run),
				    .to_ms = 1e9,
				    .reasons = ANALYSIS_CLOCK_HW_THERMAL,
				    .mhz = 990,
				    .of_host = of_host,
				    .others_to_ms = 1e9 };

	play(run, &hot);
}

Test(gpu_evidence, one_gpu_that_is_held_back_does_not_explain_why_its_whole_host_is_late)
{
	const struct history_job job = late_host(0);
	struct run run;

	play_throttled(&run, &job, false);
	const struct history_finding *finding = last(&run, RW_KIND_STRAGGLER);
	cr_assert(finding && finding->scope == RW_SCOPE_HOST && finding->rank_count == OF_HOST);
	cr_expect_eq(finding->class_, RW_CAUSE_UNKNOWN, "%s", finding->cause_text);
	cr_expect(
	    strstr(finding->missing,
		   "why the host's other 3 ranks are late: what the GPU of rank 3 shows (hardware thermal slowdown, "
		   "990 of 1980 MHz) explains this rank only"),
	    "%s", finding->missing);
	end(&run);
}

Test(gpu_evidence, gpus_of_most_ranks_that_are_held_back_explain_why_their_host_is_late)
{
	const struct history_job job = late_host(0);
	struct run run;

	play_throttled(&run, &job, true);
	const struct history_finding *finding = last(&run, RW_KIND_STRAGGLER);
	cr_assert(finding && finding->scope == RW_SCOPE_HOST && finding->rank_count == OF_HOST);
	cr_expect_eq(finding->class_, RW_CAUSE_THROTTLE, "%s", finding->cause_text);
	end(&run);
}

/* Noise that hits the whole host, just as the rank's own GPU has shown why that one is late. */
Test(gpu_evidence, a_rank_whose_gpu_alone_is_held_back_is_named_and_not_its_host_that_is_late_meanwhile)
{
	const struct history_job job = late_host(FIRST_LATE + 3);
	struct run run;

	play_throttled(&run, &job, false);
	cr_assert(last(&run, RW_KIND_STRAGGLER));
	for (size_t i = 0; i < run.count; i++) {
		const struct history_finding *finding = &run.findings[i];
		if (finding->kind != RW_KIND_STRAGGLER)
			continue;
		cr_expect(finding->scope == RW_SCOPE_RANK && finding->rank == SICK &&
			      finding->class_ == RW_CAUSE_THROTTLE,
			  "%s", finding->text);
	}
	end(&run);
}

Test(gpu_evidence, an_xid_of_the_gpu_right_before_is_the_cause)
{
	struct run run;

	begin(&run, &slow_gpu);
	history_play(run.history, run.analysis, late_ms(&run));
	report(&run, 119, late_ms(&run));
	play(&run, NULL);
	const struct history_finding *finding = last(&run, RW_KIND_STRAGGLER);
	cr_assert(finding);
	cr_expect_eq(finding->class_, RW_CAUSE_GPU);
	cr_expect(strstr(finding->cause_text, "Xid 119"), "%s", finding->cause_text);
	cr_expect(strstr(run.kernel_log, "the driver's words"), "%s", run.kernel_log);
	cr_assert(last(&run, RW_KIND_GPU));
	cr_expect_eq(last(&run, RW_KIND_GPU)->rank, SICK);
	end(&run);
}

Test(gpu_evidence, an_xid_of_the_program_is_evidence_and_no_cause)
{
	struct run run;

	begin(&run, &slow_gpu);
	history_play(run.history, run.analysis, late_ms(&run));
	report(&run, 13, late_ms(&run));
	play(&run, NULL);
	cr_expect(strstr(run.kernel_log, "Xid 13"), "%s", run.kernel_log);
	expect_unknown(&run);
}

Test(gpu_evidence, an_xid_long_after_the_lateness_began_is_no_cause)
{
	struct run run;

	begin(&run, &slow_gpu);
	history_play(run.history, run.analysis, late_ms(&run) + 6000);
	report(&run, 119, late_ms(&run) + 6000);
	play(&run, NULL);
	expect_unknown(&run);
}

Test(gpu_evidence, a_process_that_dies_after_an_xid_of_its_gpu_died_of_the_gpu)
{
	struct history_job job = slow_gpu;
	struct run run;

	job.faults[0] = (struct history_fault){ .kind = FAULT_KILLED, .rank = SICK, .first_step = FIRST_LATE };
	begin(&run, &job);
	history_play(run.history, run.analysis, history_struck_ms(run.history) - 1000);
	report(&run, 79, history_struck_ms(run.history) - 1000);
	play(&run, NULL);
	const struct history_finding *finding = last(&run, RW_KIND_GONE);
	cr_assert(finding);
	cr_expect_eq(finding->rank, SICK);
	cr_expect_eq(finding->class_, RW_CAUSE_GPU);
	cr_expect(strstr(finding->text, "killed"), "%s", finding->text);
	cr_expect(strstr(finding->cause_text, "Xid 79"), "%s", finding->cause_text);
	end(&run);
}

Test(gpu_evidence, the_xid_that_follows_a_death_is_not_its_cause)
{
	struct history_job job = slow_gpu;
	struct run run;

	job.faults[0] = (struct history_fault){ .kind = FAULT_KILLED, .rank = SICK, .first_step = FIRST_LATE };
	begin(&run, &job);
	history_play(run.history, run.analysis, history_struck_ms(run.history));
	report(&run, 45, history_struck_ms(run.history));
	play(&run, NULL);
	cr_assert(last(&run, RW_KIND_GONE));
	cr_expect_eq(last(&run, RW_KIND_GONE)->class_, RW_CAUSE_GONE);
	end(&run);
}

Test(gpu_evidence, full_memory_of_a_rank_that_failed_is_told_in_the_advice_and_is_no_cause)
{
	static const struct {
		int memory;
		enum history_fault_kind kind;
		bool is_told;
	} cases[] = { { 99, FAULT_EXITED, true },
		      { 90, FAULT_EXITED, false },
		      { 99, FAULT_KILLED, false },
		      { 0, FAULT_EXITED, false } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct health health = { .from_ms = 0, .to_ms = 1e9, .mhz = 1980, .memory = cases[i].memory };
		struct history_job job = slow_gpu;
		struct run run;

		job.faults[0] = (struct history_fault){ .kind = cases[i].kind, .rank = SICK, .first_step = FIRST_LATE };
		begin(&run, &job);
		play(&run, &health);
		const struct history_finding *finding = last(&run, RW_KIND_GONE);
		cr_assert(finding, "%zu", i);
		cr_expect_eq(finding->rank, SICK, "%zu", i);
		cr_expect_eq(finding->class_, RW_CAUSE_GONE, "%zu", i);
		cr_expect_eq(strstr(finding->advice, "99 % of its GPU's memory was in use") != NULL, cases[i].is_told,
			     "%zu: %s", i, finding->advice);
		cr_expect_eq(!strcmp(run.nvml, "99 % of the GPU's memory was in use before it ended"), cases[i].is_told,
			     "%zu: %s", i, run.nvml);
		cr_expect_lt(strlen(finding->advice), sizeof(finding->advice) - 1, "whole");
		end(&run);
	}
}
