/* SPDX-License-Identifier: MIT */
/* Slow transfers beside what the network ports counted: what is said of the ports, and when nothing is. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "analysis/model.h"
#include "analysis/explain/port_evidence.h"
#include "analysis/host/ports.h"
#include "analysis/report/record.h"
#include "tests/unit/analysis/jobs/history.h"

enum { PROCESS = 101, RANKS = 8, SLOW_STEP = 300, STEPS = 360, READ_MS = 2000, SAID = 8, PORTS = 4 };

struct run {
	struct history *history;
	struct analysis *analysis;
	double slow_ms; /* when the transfers become slow */
	unsigned told;  /* findings that say something of ports */
	unsigned findings;
	char said[SAID][224]; /* by the last that was told */
	size_t count;
};

static void on_finding(void *argument, const struct rw_finding *finding)
{
	struct run *run = argument;

	run->findings++;
	run->count = 0;
	for (size_t i = 0; i < finding->evidence_count; i++) {
		if (strcmp(finding->evidence[i].source, "port"))
			continue;
		cr_expect_lt(finding->evidence[i].ms, 0, "it is no duration");
		snprintf(run->said[run->count++], sizeof(run->said[0]), "%s", finding->evidence[i].what);
	}
	run->told += run->count != 0;
	cr_expect_neq(finding->confidence, RW_CERTAIN, "ports make nothing certain");
	cr_expect(!finding->cause.present, "nor a cause");
	history_emit(run->history, finding);
}

static struct run *begin(int hosts, double transfer_ms)
{
	static struct run run;
	struct history_job job = { .ranks = RANKS,
				   .steps = STEPS,
				   .layers = 4,
				   .compute_ms = 40,
				   .jitter_ms = 2,
				   .hosts = hosts,
				   .tail_ms = 5000 };

	if (transfer_ms > 0)
		job.faults[0] = (struct history_fault){ .kind = FAULT_TRANSFER, .first_step = SLOW_STEP, .ms = transfer_ms };
	run = (struct run){ .history = history_new(&job) };
	run.analysis = analysis_new(false, on_finding, &run);
	cr_assert(run.analysis);
	run.slow_ms = history_step_ms(run.history, SLOW_STEP);
	cr_assert_gt(run.slow_ms, 70000, "there is a pace to be known before");
	return &run;
}

static void end(struct run *run)
{
	analysis_free(run->analysis);
	history_free(run->history);
}

/* Fills in what a healthy port shows. */
static struct analysis_port_state healthy(int port)
{
	struct analysis_port_state state = { .number = 1, .active = true, .mbit_s = 400000, .model = "MT_0000000838" };

	snprintf(state.name, sizeof(state.name), "mlx5_%d", port);
	return state;
}

/* What the ports show ms after the transfers have become slow (before: below 0). */
typedef void show(struct analysis_port_state *states, double ms);

static void play(struct run *run, show *show_ports)
{
	for (double ms = READ_MS; ms < history_end_ms(run->history); ms += READ_MS) {
		struct analysis_port_state states[PORTS];

		history_play(run->history, run->analysis, ms);
		for (int port = 0; port < PORTS; port++) {
			states[port] = healthy(port);
			states[port].at_ns = (uint64_t)(ms * 1e6);
		}
		show_ports(states, ms - run->slow_ms);
		for (int port = 0; port < PORTS; port++)
			cr_assert_eq(analysis_add_port_state(run->analysis, &states[port]), 0);
	}
	history_play(run->history, run->analysis, 0);
}

static void show_flap(struct analysis_port_state *states, double ms)
{
	states[2].counts[ANALYSIS_PORT_DOWNED] = 7 + (ms > -10000) + (ms > -8000);
	states[2].counts[ANALYSIS_PORT_SYMBOL_ERRORS] = ms > -10000 ? 1216 : 2;
}

Test(port_evidence, a_link_that_went_down_before_stands_beside_slow_transfers_with_its_counts_and_times)
{
	struct run *run = begin(2, 30);

	play(run, show_flap);
	cr_assert_gt(run->told, 0);
	cr_assert_eq(run->count, 1);
	int before, until;
	char symbol[64];

	cr_assert_eq(sscanf(run->said[0],
			    "mlx5_2 port 1: link went down twice, symbol errors +%9[0-9,] (between %d s before and %d "
			    "s before it began)",
			    symbol, &before, &until),
		     3, "%s", run->said[0]);
	cr_expect_str_eq(symbol, "1,214");
	cr_expect(before >= 9 && before <= 13 && until >= 4 && until <= 9, "%s", run->said[0]);
	end(run);
}

static void show_nothing(struct analysis_port_state *states, double ms)
{
	for (int port = 0; port < PORTS; port++) {
		/* Busy, as a healthy network is: congestion is told of all the time, now and then an error is counted. */
		states[port].counts[ANALYSIS_PORT_CNP_SENT] = (int64_t)(1e9 + ms * 20);
		states[port].counts[ANALYSIS_PORT_SEND_WAITS] = (int64_t)(1e12 + ms * 1e6);
		states[port].counts[ANALYSIS_PORT_SYMBOL_ERRORS] = (int64_t)(1e9 + ms * 0.002);
		states[port].counts[ANALYSIS_PORT_OUT_OF_SEQUENCE] = (int64_t)(1e9 + ms * 0.2);
		states[port].counts[ANALYSIS_PORT_DOWNED] = 3 + (ms > -60000);
	}
}

Test(port_evidence, what_ports_count_all_the_time_or_long_before_is_not_spoken_of)
{
	struct run *run = begin(2, 30);

	play(run, show_nothing);
	cr_expect_gt(run->findings, 0, "the transfers are slow");
	cr_expect_eq(run->told, 0, "%s", run->said[0]);
	end(run);
}

Test(port_evidence, a_healthy_job_is_silent_whatever_its_ports_count)
{
	struct run *run = begin(2, 0);

	play(run, show_flap);
	cr_expect_eq(run->findings, 0);
	end(run);
	run = begin(1, 30);
	play(run, show_flap);
	cr_expect_gt(run->findings, 0);
	cr_expect_eq(run->told, 0, "within one host there is no network");
	end(run);
}

static void show_congestion(struct analysis_port_state *states, double ms)
{
	show_nothing(states, ms);
	if (ms > 0)
		states[1].counts[ANALYSIS_PORT_CNP_SENT] += (int64_t)(ms * 500);
}

Test(port_evidence, congestion_beyond_the_ports_own_pace_is)
{
	struct run *run = begin(2, 30);

	play(run, show_congestion);
	cr_assert_eq(run->count, 1);
	cr_expect(strstr(run->said[0], "mlx5_1 port 1: congestion notifications sent +") == run->said[0], "%s", run->said[0]);
	end(run);
}

static void show_tcp(struct analysis_port_state *states, double ms)
{
	struct analysis_port_state *tcp = &states[1];

	strcpy(tcp->name, "TCP of this host");
	tcp->number = 0;
	*tcp->model = '\0';
	tcp->mbit_s = -1;
	tcp->counts[ANALYSIS_PORT_TCP_RESENT] = 40000 + (int64_t)((ms + 100000) / 100); /* ten a second, all the time */
	if (ms > 0)
		tcp->counts[ANALYSIS_PORT_TCP_RESENT] += (int64_t)(ms / 5);
}

Test(port_evidence, segments_that_tcp_sends_again_are_told_beyond_its_own_pace)
{
	struct run *run = begin(2, 30);

	play(run, show_tcp);
	cr_assert_eq(run->count, 1);
	cr_expect(strstr(run->said[0], "TCP of this host: segments sent again +") == run->said[0], "%s", run->said[0]);
	end(run);
}

/* PFC of a healthy network pauses now and then. */
static void show_pauses(struct analysis_port_state *states, double ms)
{
	struct analysis_port_state *interface = &states[1];

	strcpy(interface->name, "ens1f0np0");
	interface->number = 0;
	interface->counts[ANALYSIS_PORT_PAUSES_RECEIVED] = 40000 + (int64_t)((ms + 100000) / 100);
	interface->counts[ANALYSIS_PORT_PAUSES_SENT] = 40000 + (int64_t)((ms + 100000) / 100);
	interface->counts[ANALYSIS_PORT_PAUSED_US] = 0;
	if (ms > 0) {
		interface->counts[ANALYSIS_PORT_PAUSES_RECEIVED] += (int64_t)ms;
		interface->counts[ANALYSIS_PORT_PAUSED_US] += (int64_t)(ms * 500);
	}
}

Test(port_evidence, pause_frames_are_told_beyond_the_ports_own_pace)
{
	struct run *run = begin(2, 30);

	play(run, show_pauses);
	cr_assert_eq(run->count, 1);
	cr_expect(strstr(run->said[0], "ens1f0np0: pause frames received +") == run->said[0], "%s", run->said[0]);
	cr_expect(strstr(run->said[0], ", microseconds told to pause +"), "%s", run->said[0]);
	cr_expect_not(strstr(run->said[0], "sent"), "as many as ever: %s", run->said[0]);
	end(run);
}

static void show_down(struct analysis_port_state *states, double ms)
{
	states[0].active = states[3].active = ms < -5000;
	states[3].counts[ANALYSIS_PORT_RECEIVE_ERRORS] = ms < -5000 ? 0 : 20;
	states[1].counts[ANALYSIS_PORT_RECEIVE_ERRORS] = ms < -5000 ? 0 : 2000000;
	if (ms > -90000)
		return;
	states[2].active = false; /* long before: comes up */
}

Test(port_evidence, ports_that_are_down_come_first_and_one_that_came_up_is_no_matter)
{
	struct run *run = begin(2, 30);

	play(run, show_down);
	cr_assert_eq(run->count, 3);
	cr_expect(strstr(run->said[0], "mlx5_0 port 1: is down (between ") == run->said[0], "%s", run->said[0]);
	cr_expect(strstr(run->said[1], "mlx5_3 port 1: is down, receive errors +20 (") == run->said[1], "%s", run->said[1]);
	cr_expect(strstr(run->said[2], "mlx5_1 port 1: receive errors +2,000,000 (") == run->said[2], "%s", run->said[2]);
	end(run);
}

/* Two ports of one adapter and one of an adapter before it, read in any order. */
static const struct {
	const char *name;
	int32_t number;
} twins[] = { { "mlx5_2", 1 }, { "mlx5_7", 1 }, { "mlx5_7", 2 } };
static int twin_order[3];

static void show_twins(struct analysis_port_state *states, double ms)
{
	for (int port = 0; port < 3; port++) {
		states[port].active = ms < -5000;
		states[port].number = twins[twin_order[port]].number;
		snprintf(states[port].name, sizeof(states[port].name), "%s", twins[twin_order[port]].name);
	}
}

Test(port_evidence, ports_that_show_the_same_come_in_the_order_of_their_names_and_numbers)
{
	static const char *const ports[] = { "mlx5_2 port 1: ", "mlx5_7 port 1: ", "mlx5_7 port 2: " };

	for (int number = 0; number < 6; number++) {
		struct run *run = begin(2, 30);

		twin_order[0] = number / 2;
		twin_order[1] = (twin_order[0] + 1 + number % 2) % 3;
		twin_order[2] = 3 - twin_order[0] - twin_order[1];
		play(run, show_twins);
		cr_assert_eq(run->count, 3);
		for (int i = 0; i < 3; i++)
			cr_expect(strstr(run->said[i], ports[i]) == run->said[i], "order %d: %s", number, run->said[i]);
		end(run);
	}
}

/* `count` readings of a port, one in two seconds from first_ns on, the link down once before number `downed`. Is it
 * spoken of what is slow since then? */
static bool is_spoken_of(uint64_t first_ns, int count, int downed, uint64_t since_ns)
{
	struct run *run = begin(2, 0);
	uint32_t rank = 0;

	history_play(run->history, run->analysis, 1000);
	for (int i = 0; i < count; i++) {
		struct analysis_port_state state = healthy(1);

		state.at_ns = first_ns + (uint64_t)i * READ_MS * 1000000;
		state.counts[ANALYSIS_PORT_DOWNED] = 3 + (i >= downed);
		cr_assert_eq(analysis_add_port_state(run->analysis, &state), 0);
	}
	struct record *record = record_new(&run->analysis->job, RW_KIND_STRAGGLER, RW_SCOPE_RANK, &rank, 1);
	cr_assert(record);
	port_evidence_attach(run->analysis, record, since_ns);
	bool spoken_of = record->finding.evidence_count > 0;
	record_free(record);
	end(run);
	return spoken_of;
}

Test(port_evidence, only_what_was_read_all_the_time_around_the_moment_is_spoken_of)
{
	const uint64_t first_ns = 100000000000,
		       oldest_ns = first_ns + 72 * UINT64_C(2000000000); /* of 200 the last 128 are kept */

	cr_assert_eq(PORT_READINGS, 128);
	cr_expect(is_spoken_of(first_ns, 200, 80, oldest_ns + PORT_LEAD_NS));
	cr_expect_not(is_spoken_of(first_ns, 200, 80, oldest_ns + PORT_LEAD_NS - 1), "a reading has made room for another");
	cr_expect(is_spoken_of(first_ns, 128, 10, first_ns + PORT_LEAD_NS - 1), "there was none before");
	cr_expect(is_spoken_of(first_ns, 128, 2, first_ns));
	cr_expect_not(is_spoken_of(first_ns, 128, 2, first_ns - 1), "nobody read it then");
	cr_expect_not(is_spoken_of(first_ns, 129, 2, first_ns + 2000000000));
	cr_expect(is_spoken_of(first_ns, 129, 5, first_ns + PORT_LEAD_NS + 2000000000));
}

static void show_slower(struct analysis_port_state *states, double ms)
{
	(void)ms;
	states[1].mbit_s = 200000;
	states[3].mbit_s = 25000; /* for storage */
	snprintf(states[3].model, sizeof(states[3].model), "MT_0000000359");
}

Test(port_evidence, a_port_that_is_slower_than_the_others_of_its_model_is_compared_with_them)
{
	struct run *run = begin(2, 30);

	play(run, show_slower);
	cr_assert_eq(run->count, 1);
	cr_expect_str_eq(run->said[0], "mlx5_1 port 1: runs at 200 Gb/s, the 2 others of its model here at 400");
	end(run);
}

static void show_fall(struct analysis_port_state *states, double ms)
{
	states[1].number = 0;
	snprintf(states[1].name, sizeof(states[1].name), "eth1");
	states[1].model[0] = '\0';
	states[1].mbit_s = ms < -3000 ? 100000 : 2500;
}

Test(port_evidence, one_that_has_become_slower_says_from_what_to_what)
{
	struct run *run = begin(2, 30);

	play(run, show_fall);
	cr_assert_eq(run->count, 1);
	cr_expect(strstr(run->said[0], "eth1: fell from 100 to 2.5 Gb/s (between ") == run->said[0], "%s", run->said[0]);
	end(run);
}

static void show_reset(struct analysis_port_state *states, double ms)
{
	/* Somebody sets the counters to 0, twice; once they cannot be read. */
	states[0].counts[ANALYSIS_PORT_SYMBOL_ERRORS] = ms < -20000 ? 65535 : ms < -5000 ? 3 : 1;
	states[1].counts[ANALYSIS_PORT_SYMBOL_ERRORS] = ms > -9000 && ms < -5000 ? -1 : 65000;
}

Test(port_evidence, counters_that_were_reset_or_could_not_be_read_have_not_risen)
{
	struct run *run = begin(2, 30);

	play(run, show_reset);
	cr_expect_gt(run->findings, 0);
	cr_expect_eq(run->told, 0, "%s", run->said[0]);
	end(run);
}

/* The same job again, of which only boxes are left: what one of them has of ports. */
static struct run *play_from_box(const struct rw_ports *record)
{
	struct run *run = begin(2, 30);

	history_play(run->history, run->analysis, 1000);
	if (record)
		cr_assert_eq(port_record_put(run->analysis, PROCESS, record), 0);
	history_play(run->history, run->analysis, 0);
	return run;
}

Test(port_evidence, from_a_box_the_same_is_said)
{
	struct run *run = begin(2, 30);
	struct rw_ports record;
	char said[sizeof(run->said[0])];

	cr_expect_not(port_record_take(run->analysis, 1, &record), "nothing is known yet");
	play(run, show_flap);
	cr_assert_eq(run->count, 1);
	memcpy(said, run->said[0], sizeof(said));
	cr_assert(port_record_take(run->analysis, (uint64_t)(history_end_ms(run->history) * 1e6), &record));
	end(run);
	run = play_from_box(&record);
	cr_assert_eq(run->count, 1);
	cr_expect(strstr(run->said[0], said), "live: %s; from a box: %s", said, run->said[0]);
	end(run);
	run = play_from_box(NULL);
	cr_expect_eq(run->told, 0);
	end(run);
}

Test(port_evidence, of_a_job_that_ends_before_anything_was_found_a_box_has_the_last)
{
	struct run *run = begin(2, 30);
	struct rw_ports record;

	for (double ms = READ_MS; ms < run->slow_ms; ms += READ_MS) {
		struct analysis_port_state state = healthy(2);

		state.at_ns = (uint64_t)(ms * 1e6);
		state.counts[ANALYSIS_PORT_DOWNED] = 7 + (ms > run->slow_ms - 8000);
		cr_assert_eq(analysis_add_port_state(run->analysis, &state), 0);
	}
	cr_assert(port_record_take(run->analysis, (uint64_t)(run->slow_ms * 1e6), &record));
	cr_assert_eq(record.count, 1);
	cr_expect_not(
	    port_record_take(run->analysis, (uint64_t)((run->slow_ms + 60000) * 1e6), &(struct rw_ports){ 0 }),
	    "a minute later it is past");
	end(run);
	run = play_from_box(&record);
	cr_assert_eq(run->count, 1);
	cr_expect(strstr(run->said[0], "mlx5_2 port 1: link went down once (between "), "%s", run->said[0]);
	end(run);
}

Test(port_evidence, a_box_that_lies_is_refused_and_there_is_an_end_to_what_is_remembered)
{
	const struct rw_port_showing sound = { .name = "eth0", .since_ns = 1000, .rises = { 1 }, .weight = 1 };
	struct run *run = begin(2, 0);

	history_play(run->history, run->analysis, 1000);
	for (int i = 0; i < 7; i++) {
		struct rw_ports wrong = { .version = RW_PORTS_VERSION, .count = 1, .showings = { sound } };

		wrong.version += i == 0;
		wrong.count = i == 1 ? RW_PORT_SHOWINGS + 1 : 1;
		wrong.showings[0].counters[2] = i == 2 ? ANALYSIS_PORT_COUNTERS : 0;
		if (i == 3)
			memset(wrong.showings[0].name, 'x', sizeof(wrong.showings[0].name));
		wrong.showings[0].from_ns = i == 4 ? 1 : 0;
		wrong.showings[0].weight = i == 5 ? 0 : 1;
		cr_expect_lt(port_record_put(run->analysis, i == 6 ? 4711 : PROCESS, &wrong), 0, "case %d", i);
	}
	for (uint64_t i = 0; i < 3 * PORTS_SHOWN; i++) {
		struct rw_ports record = { .version = RW_PORTS_VERSION, .count = 1, .showings = { sound } };

		record.showings[0].since_ns += i;
		cr_expect_eq(port_record_put(run->analysis, PROCESS, &record), 0);
	}
	cr_expect_eq(run->analysis->ports.memory->count, PORTS_SHOWN);
	struct rw_ports taken;

	cr_assert(port_record_take(run->analysis, 1000, &taken));
	cr_expect_eq(taken.count, RW_PORT_SHOWINGS);
	for (uint32_t i = 0; i < taken.count; i++)
		cr_expect_geq(taken.showings[i].since_ns, 1000 + 3 * PORTS_SHOWN - RW_PORT_SHOWINGS, "the latest");
	/* The largest that any number may be. */
	struct rw_ports largest = { .version = RW_PORTS_VERSION, .count = 1, .showings = { sound } };

	largest.showings[0].since_ns = largest.showings[0].to_ns = UINT64_MAX / 2;
	largest.showings[0].number = INT32_MAX;
	cr_expect_eq(port_record_put(run->analysis, PROCESS, &largest), 0);
	largest.showings[0].since_ns++;
	cr_expect_lt(port_record_put(run->analysis, PROCESS, &largest), 0);
	largest.showings[0].since_ns--;
	largest.showings[0].to_ns++;
	cr_expect_lt(port_record_put(run->analysis, PROCESS, &largest), 0);
	end(run);
}

Test(port_evidence, a_box_keeps_the_latest_in_whatever_order_they_were_asked_for)
{
	enum { ASKED = 12, APART = 5 /* prime to it */ };
	const struct rw_port_showing sound = { .name = "eth0", .since_ns = 1000, .rises = { 1 }, .weight = 1 };
	struct run *run = begin(2, 0);
	struct rw_ports taken;

	history_play(run->history, run->analysis, 1000);
	for (uint64_t i = 0; i < ASKED; i++) {
		struct rw_ports record = { .version = RW_PORTS_VERSION, .count = 1, .showings = { sound } };

		record.showings[0].since_ns += i * APART % ASKED;
		cr_assert_eq(port_record_put(run->analysis, PROCESS, &record), 0);
	}
	cr_assert(port_record_take(run->analysis, 1000, &taken));
	cr_assert_eq(taken.count, RW_PORT_SHOWINGS);
	for (uint32_t i = 0; i < taken.count; i++)
		cr_expect_geq(taken.showings[i].since_ns, 1000 + ASKED - RW_PORT_SHOWINGS);
	end(run);
}

Test(port_evidence, states_that_make_no_sense_are_refused_and_there_is_an_end_to_ports)
{
	struct analysis *analysis = analysis_new(false, NULL, NULL);
	struct analysis_port_state state = { .at_ns = 5 };

	cr_expect_lt(analysis_add_port_state(analysis, &state), 0, "no name");
	for (int i = 0; i < PORTS_MAX; i++) {
		state.number = i + 1;
		snprintf(state.name, sizeof(state.name), "mlx5_0");
		cr_assert_eq(analysis_add_port_state(analysis, &state), 0);
	}
	state.at_ns = 4;
	cr_expect_lt(analysis_add_port_state(analysis, &state), 0, "time goes back");
	state.at_ns = 6;
	cr_expect_eq(analysis_add_port_state(analysis, &state), 0);
	state.number = 0;
	cr_expect_lt(analysis_add_port_state(analysis, &state), 0, "one too many");
	analysis_free(analysis);
}
