/* SPDX-License-Identifier: MIT */
/*
 * How often a healthy job of many ranks is accused: job_day RANKS HOURS [SEED [NOISE]]. Messages of a generated job in
 * which nothing is wrong and nothing is even, as docs/accuracy.md, "A day of a large job", describes it, through the
 * job half; with NOISE, so many times as much noise. Prints each finding as it is opened, and a row of that page. Ends
 * with 1 if there were more than one warning a day.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "job_messages.h"

static const double work_s = 1.4, transfers_s = 0.2; /* of a row, which is about two seconds with its waits */
static const double differ = 0.02;	   /* ranks differ for good by up to this, either way */
static const double host_noise = 0.004, host_lasts = 0.97;
static const double rank_noise = 0.006, rank_lasts = 0.9;
static const double row_noise = 0.006;	   /* that is over with the row */
static const double stalls = 1e-6, stall_s = 0.5;      /* of a rank in a row, and how long on average (exponential) */
static const double pauses = 4e-7, pause_s = 1;	       /* likewise of a host */
static const double checkpoint_every_s = 1800, checkpoint_s = 8;

struct day {
	struct job_half *half;
	struct job_messages job;
	float *differs, *rank_is, *host_is; /* share of the work */
	double *own_s;			    /* of this row */
	uint64_t random, rows, sent; /* sent: batches of each host */
	double times;			    /* as much noise */
	double now_s, checkpoint_at_s, longest_row_s, cpu_s;
	uint32_t warnings, notices;
};

static void emit(void *argument, const struct rw_finding *finding)
{
	struct day *day = argument;

	if (finding->state != RW_FINDING_OPEN)
		return;
	if (finding->severity >= RW_WARNING)
		day->warnings++;
	else
		day->notices++;
	fprintf(stderr, "after %.0f s, severity %d: %s\n", day->now_s, (int)finding->severity, finding->text);
}

/* xorshift64*, Vigna 2016. */
static uint64_t draw(struct day *day)
{
	day->random ^= day->random >> 12;
	day->random ^= day->random << 25;
	day->random ^= day->random >> 27;
	return day->random * 0x2545f4914f6cdd1du;
}

static double uniform(struct day *day)
{
	return (double)(draw(day) >> 11) / 9007199254740992.0;
}

/* Standard deviation about 1 with a heavy tail: the sum of three uniform numbers, one in 64 of them three times as
 * large. */
static double noise(struct day *day)
{
	uint64_t bits = draw(day);
	double sum = (double)(bits & 0xfffff) + (double)(bits >> 20 & 0xfffff) + (double)(bits >> 40 & 0xfffff);
	double value = (sum / 1048576 - 1.5) * 2;

	return bits >> 58 ? value : 3 * value;
}

static double exponential(struct day *day)
{
	return -log(1 - uniform(day));
}

static float goes_on(struct day *day, float value, double lasts, double deviation)
{
	return (float)(lasts * value + sqrt(1 - lasts * lasts) * deviation * noise(day));
}

static double work(struct day *day, int rank, float of_host)
{
	day->rank_is[rank] = goes_on(day, day->rank_is[rank], rank_lasts, rank_noise);
	double noisy = of_host + day->rank_is[rank] + row_noise * noise(day);
	double own_s = work_s * (1 + day->differs[rank] + day->times * noisy);
	if (uniform(day) < stalls)
		own_s += stall_s * exponential(day);
	return own_s;
}

/* All write at once; how long each takes differs, and not by who it is. */
static double checkpoint(struct day *day)
{
	return checkpoint_s * (0.7 + 0.1 * exponential(day));
}

/* Nobody goes on before the last has come. */
static void end_row(struct day *day)
{
	bool saves = day->now_s >= day->checkpoint_at_s;
	double last_s = 0;

	for (int host = 0; host < day->job.hosts; host++) {
		day->host_is[host] = goes_on(day, day->host_is[host], host_lasts, host_noise);
		double paused_s = uniform(day) < pauses ? pause_s * exponential(day) : 0;
		for (int rank = host * JOB_PER_HOST; rank < (host + 1) * JOB_PER_HOST; rank++) {
			day->own_s[rank] = work(day, rank, day->host_is[host]) + paused_s + (saves ? checkpoint(day) : 0);
			last_s = day->own_s[rank] > last_s ? day->own_s[rank] : last_s;
		}
	}
	if (saves)
		day->checkpoint_at_s = day->now_s + checkpoint_every_s;
	double lasted_s = last_s + transfers_s;
	for (int rank = 0; rank < day->job.ranks; rank++) {
		day->job.own_us[rank] += (uint64_t)(day->own_s[rank] * 1e6);
		day->job.inside_us[rank] += (uint64_t)((lasted_s - day->own_s[rank]) * 1e6);
	}
	day->now_s += lasted_s;
	day->longest_row_s = lasted_s > day->longest_row_s ? lasted_s : day->longest_row_s;
	day->rows++;
}

/* What the hosts send, and the job half does, at this time. */
static void tick(struct day *day, uint64_t now_ns, bool with_row)
{
	for (int host = 0; host < day->job.hosts; host++) {
		job_begin_batch(&day->job);
		for (int rank = host * JOB_PER_HOST; with_row && rank < (host + 1) * JOB_PER_HOST; rank++) {
			if (day->rows == 1)
				job_introduce(&day->job, rank);
			job_row(&day->job, rank, day->rows);
			if (day->rows % 4 == 0)
				job_order(&day->job, rank, day->rows);
		}
		day->cpu_s += job_send(&day->job, day->half, host, day->sent, now_ns);
	}
	day->sent++;
	double began_s = job_cpu_s();
	job_half_tick(day->half, now_ns);
	day->cpu_s += job_cpu_s() - began_s;
}

static void play(struct day *day, double hours)
{
	double next_print_s = 0;

	while (day->now_s < hours * 3600) {
		double from_s = day->now_s;
		end_row(day);
		/* A host that lives sends each second, whatever its ranks do. */
		for (double at_s = from_s + 1; day->sent && at_s < day->now_s; at_s++)
			tick(day, (uint64_t)(at_s * 1e9), false);
		tick(day, (uint64_t)(day->now_s * 1e9), true);
		if (day->now_s < next_print_s)
			continue;
		next_print_s = day->now_s + 3600;
		fprintf(stderr, "%.1f of %.0f h, %u warnings, %u notices\n", day->now_s / 3600, hours, day->warnings, day->notices);
	}
}

int main(int count, char **arguments)
{
	int ranks = count > 1 ? atoi(arguments[1]) : 0;
	double hours = count > 2 ? atof(arguments[2]) : 0;
	struct day day = { .random = count > 3 ? strtoull(arguments[3], NULL, 10) : 1, .checkpoint_at_s = checkpoint_every_s,
			   .times = count > 4 ? atof(arguments[4]) : 1 };

	if (ranks < 2 * JOB_PER_HOST || ranks % JOB_PER_HOST || hours <= 0 || !day.random || !(day.times >= 0)) {
		fprintf(stderr, "usage: job_day RANKS HOURS [SEED [NOISE]]; ranks: a multiple of %d\n", JOB_PER_HOST);
		return 2;
	}
	job_messages_init(&day.job, ranks);
	day.half = job_half_new("bench", emit, &day);
	day.differs = calloc((size_t)ranks, sizeof(*day.differs));
	day.rank_is = calloc((size_t)ranks, sizeof(*day.rank_is));
	day.host_is = calloc((size_t)day.job.hosts, sizeof(*day.host_is));
	day.own_s = calloc((size_t)ranks, sizeof(*day.own_s));
	if (!day.half || !day.differs || !day.rank_is || !day.host_is || !day.own_s)
		abort();
	for (int rank = 0; rank < ranks; rank++)
		day.differs[rank] = (float)(differ * (2 * uniform(&day) - 1));
	play(&day, hours);
	struct job_half_summary summary;
	job_half_summarise(day.half, &summary);
	printf("| %d | %.1f | %llu | %llu | %u | %u | %.1f | %.0f |\n", ranks, day.now_s / 3600, (unsigned long long)day.rows,
	       (unsigned long long)summary.rows, day.warnings, day.notices, day.longest_row_s, day.cpu_s);
	double days = fmax(1, day.now_s / 86400);
	job_half_free(day.half);
	job_messages_free(&day.job);
	free(day.differs);
	free(day.rank_is);
	free(day.host_is);
	free(day.own_s);
	return day.warnings > days;
}
