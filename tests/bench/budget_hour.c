/* SPDX-License-Identifier: MIT */
/*
 * What an hour of a healthy job spends at the default budget: budget_hour [SECONDS]. Virtual time, the plugin's own
 * budget and sampling: each operation is sampled as its call is, and what its scans and writes take is known a look
 * later. Prints the table of docs/benchmarks.md. Ends with 1 if a job's scans and writes took more than the budget
 * allows.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <rankwatch/blackbox.h>

#include "plugin/cost/budget.h"
#include "plugin/cost/sampling.h"

#define SECOND_NS UINT64_C(1000000000)
#define LOOK_NS   UINT64_C(3000000) /* the plugin's thread, at best */

enum {
	PPM = 2500,
	MEGABYTE_NS = 417,    /* of a scan: 2.4 TB/s, as measured on an H100 */
	LAUNCH_NS = 5000,     /* as measured at a communicator's init */
	WRITE_NS = 1300,      /* likewise; two for an operation */
	CALLBACKS_NS = 350,   /* of an operation */
	LOOKS_IN_FLIGHT = 2,  /* until the result is there */
	FUNCTIONS = 2,
};

/* The operations of one function in a step. */
struct part {
	uint8_t function;
	uint32_t count;
	double scanned_mb; /* input and output together */
	uint64_t bytes;    /* as sampling_bytes() has it */
};

struct job {
	const char *name;
	double step_s, busy_s; /* its operations come within busy_s of it, one like the other */
	uint32_t renewed;      /* seconds until its communicator is made anew; 0: never */
	double held_s;         /* the driver holds up every launch for 2 ms in so long a time of each minute */
	struct part parts[FUNCTIONS];
};

static const struct job jobs[] = {
	{ .name = "DDP, fp16 with a loss scaler: 60 AllReduces of 64 MB in 0.25 s",
	  .step_s = 0.25,
	  .busy_s = 0.15,
	  .parts = { { RW_FUNCTION_ALL_REDUCE, 60, 128, 64000000 } } },
	{ .name = "FSDP, 70 B parameters: 160 AllGathers and 80 ReduceScatters in 5 s",
	  .step_s = 5,
	  .busy_s = 4.5,
	  .parts = { { RW_FUNCTION_ALL_GATHER, 160, 1750, 1750000000 },
		     { RW_FUNCTION_REDUCE_SCATTER, 80, 3500, 3500000000 } } },
	{ .name = "FSDP, 405 B: 252 AllGathers and 126 ReduceScatters in 30 s",
	  .step_s = 30,
	  .busy_s = 29,
	  .parts = { { RW_FUNCTION_ALL_GATHER, 252, 6400, 6400000000 },
		     { RW_FUNCTION_REDUCE_SCATTER, 126, 12800, 12800000000 } } },
	{ .name = "405 B, tensor parallel: 576 AllGathers and 576 ReduceScatters in 10 s",
	  .step_s = 10,
	  .busy_s = 8,
	  .parts = { { RW_FUNCTION_ALL_GATHER, 576, 300, 268000000 },
		     { RW_FUNCTION_REDUCE_SCATTER, 576, 300, 268000000 } } },
	{ .name = "AllReduces of 8 bytes, one each 20 us",
	  .step_s = 0.02,
	  .busy_s = 0.02,
	  .parts = { { RW_FUNCTION_ALL_REDUCE, 1000, 0.000016, 8 } } },
	{ .name = "FSDP, 8 accumulated passes: 200 AllReduces of 8 KB in 0.2 s",
	  .step_s = 0.2,
	  .busy_s = 0.19,
	  .parts = { { RW_FUNCTION_ALL_REDUCE, 200, 0.016, 8192 } } },
	{ .name = "inference: 160 AllReduces of 128 KB in 20 ms",
	  .step_s = 0.02,
	  .busy_s = 0.02,
	  .parts = { { RW_FUNCTION_ALL_REDUCE, 160, 0.256, 128000 } } },
	{ .name = "the DDP job, a new communicator each minute",
	  .step_s = 0.25,
	  .busy_s = 0.15,
	  .renewed = 60,
	  .parts = { { RW_FUNCTION_ALL_REDUCE, 60, 128, 64000000 } } },
	{ .name = "the DDP job, each launch held up for 2 ms in one second of a minute",
	  .step_s = 0.25,
	  .busy_s = 0.15,
	  .held_s = 1,
	  .parts = { { RW_FUNCTION_ALL_REDUCE, 60, 128, 64000000 } } },
	{ .name = "a step each 60 s, all its 400 AllReduces of 1 GB within 1 s",
	  .step_s = 60,
	  .busy_s = 1,
	  .parts = { { RW_FUNCTION_ALL_REDUCE, 400, 2000, 1000000000 } } },
};

struct hour {
	const struct job *job;
	struct budget budget;
	struct budget_cost known, arriving[LOOKS_IN_FLIGHT];
	struct budget_cost all;      /* if each operation were scanned and followed */
	struct sampling_row row;
	uint64_t communicator, first;
	uint64_t sequence[FUNCTIONS]; /* of the next */
	uint64_t operations, scanned, first_operations, first_scanned;
	uint64_t spent_first_minute_ns, callbacks_ns;
	uint64_t looked_ns;
};

static void add(struct budget_cost *sum, const struct budget_cost *more)
{
	sum->total += more->total;
	sum->scans += more->scans;
	sum->progress += more->progress;
	sum->first += more->first;
	sum->left_out += more->left_out;
}

static void look(struct hour *hour, uint64_t now_ns)
{
	add(&hour->known, &hour->arriving[0]);
	for (int i = 1; i < LOOKS_IN_FLIGHT; i++)
		hour->arriving[i - 1] = hour->arriving[i];
	hour->arriving[LOOKS_IN_FLIGHT - 1] = (struct budget_cost){ 0 };
	budget_judge(&hour->budget, now_ns, &hour->known);
	if (!budget_has_first(&hour->budget))
		hour->first = 0;
	hour->looked_ns = now_ns;
}

static uint64_t scan_ns(const struct job *job, const struct part *part, uint64_t now_ns)
{
	uint64_t held_ns = (double)(now_ns % (60 * SECOND_NS)) < job->held_s * 1e9 ? 2000000 : 0;

	return (uint64_t)(part->scanned_mb * MEGABYTE_NS) + 2 * (LAUNCH_NS + held_ns);
}

static uint32_t most(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* As operation_sample_some() samples it (plugin/operations/operation.c). */
static void operate(struct hour *hour, const struct part *part, uint64_t *sequence, uint64_t now_ns)
{
	struct sampling_name name = { .communicator = hour->communicator,
				      .function = part->function,
				      .sequence = (*sequence)++ };
	uint64_t number = sampling_number(&name), scan = scan_ns(hour->job, part, now_ns);
	uint32_t least = sampling_least(&hour->row, part->bytes);
	bool is_first = name.sequence < RW_SCAN_FIRST;
	bool scanned = sampling_takes_number(number, most(hour->budget.scan_every, least)) ||
		       sampling_takes_first(number, name.sequence, hour->first, least);
	uint32_t follow_least = least > 1 ? hour->budget.small_every : 1;
	bool followed = sampling_takes_number(number, most(hour->budget.progress_every, follow_least));
	struct budget_cost cost = { .scans = scanned ? scan : 0,
				    .progress = followed ? 2 * WRITE_NS : 0,
				    .first = scanned && is_first ? scan : 0,
				    .left_out = !followed };

	cost.total = cost.scans + cost.progress + CALLBACKS_NS;
	hour->callbacks_ns += CALLBACKS_NS;
	add(&hour->arriving[LOOKS_IN_FLIGHT - 1], &cost);
	add(&hour->all, &(struct budget_cost){ .scans = scan, .progress = 2 * WRITE_NS });
	hour->operations++;
	hour->scanned += scanned;
	hour->first_operations += is_first;
	hour->first_scanned += is_first && scanned;
}

static struct budget_cost spent(const struct hour *hour)
{
	struct budget_cost sum = hour->known;

	for (int i = 0; i < LOOKS_IN_FLIGHT; i++)
		add(&sum, &hour->arriving[i]);
	return sum;
}

static void go_on(struct hour *hour, uint64_t now_ns)
{
	while (hour->looked_ns + LOOK_NS <= now_ns)
		look(hour, hour->looked_ns + LOOK_NS);
}

/* The functions' operations by turns, as a model's layers have them. */
static void step(struct hour *hour, uint64_t begin_ns)
{
	const struct job *job = hour->job;
	uint32_t count = job->parts[0].count + job->parts[1].count;
	double made[FUNCTIONS] = { 0 };

	for (uint32_t i = 0; i < count; i++) {
		uint64_t now_ns = begin_ns + (uint64_t)(job->busy_s * 1e9 * i / count);
		int which =
		    made[1] / (job->parts[1].count ? job->parts[1].count : 1e-9) < made[0] / job->parts[0].count &&
		    job->parts[1].count;

		go_on(hour, now_ns);
		operate(hour, &job->parts[which], &hour->sequence[which], now_ns);
		made[which]++;
	}
}

static void renew(struct hour *hour, uint64_t now_ns)
{
	uint64_t communicator = hour->job->renewed ? now_ns / (hour->job->renewed * SECOND_NS) : 0;

	if (communicator == hour->communicator)
		return;
	hour->communicator = communicator;
	hour->row = (struct sampling_row){ 0 };
	hour->sequence[0] = hour->sequence[1] = 0;
}

static double percent(uint64_t part_ns, double whole_s)
{
	return (double)part_ns / (whole_s * 1e7);
}

static int print(const struct hour *hour, double seconds)
{
	struct budget_cost sum = spent(hour);
	uint64_t ours_ns = sum.scans + sum.progress;
	double allowed_s = seconds * PPM / 1e6 + RW_SCAN_FIRST_MS / 1e3;
	/* In flight when the sum is spent, and a look's work each second before it is seen: a tenth of the
	 * allowance. */
	bool more = (double)ours_ns / 1e9 > allowed_s * 1.1 && (double)ours_ns / 1e9 > allowed_s + 0.1;

	printf("| %s | %.2f %% | %.2f s | %.2f %% | %.2f %% | %.0f %% | %.2f %%%s |\n", hour->job->name,
	       percent(hour->all.scans + hour->all.progress, seconds), (double)hour->spent_first_minute_ns / 1e9,
	       percent(ours_ns, seconds), percent(hour->callbacks_ns, seconds),
	       100.0 * (double)hour->first_scanned / (double)hour->first_operations,
	       100.0 * (double)hour->scanned / (double)hour->operations, more ? " TOO MUCH" : "");
	return more;
}

static int play(const struct job *job, double seconds)
{
	struct hour hour = { .job = job, .first = RW_SCAN_FIRST };
	uint64_t steps = (uint64_t)(seconds / job->step_s);

	budget_open(&hour.budget, PPM, RW_SCAN_FIRST_MS * UINT64_C(1000000), 0, &hour.known);
	for (uint64_t i = 0; i < steps; i++) {
		uint64_t now_ns = (uint64_t)(job->step_s * 1e9 * (double)i);

		if (now_ns >= 60 * SECOND_NS && !hour.spent_first_minute_ns)
			hour.spent_first_minute_ns = spent(&hour).scans + spent(&hour).progress;
		renew(&hour, now_ns);
		step(&hour, now_ns);
	}
	return print(&hour, seconds);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 3600;
	int failed = 0;

	printf("| job | all would take | scans and writes, first minute | of the whole time | callbacks | of first "
	       "operations scanned | of all |\n"
	       "|---|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++)
		failed |= play(&jobs[i], seconds);
	return failed;
}
