/* SPDX-License-Identifier: MIT */
/*
 * What single rules of the analysis answer to drawn numbers, of which many are equal, or lie at a limit, or fill a
 * table: whom the account names, how steps change, where levels lie, what repeats, how votes go, what the table of
 * steps keeps, what a GPU's readings add up to. As in answers_test.c, it says that nothing changes unnoticed. A change
 * that is meant: `ninja -C build analysis-answers`.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/match/account.h"
#include "analysis/known/cells.h"
#include "analysis/host/gpu_trend.h"
#include "analysis/host/gpus.h"
#include "analysis/job/votes.h"
#include "analysis/job/world.h"
#include "analysis/explain/levels.h"
#include "analysis/model.h"
#include "analysis/measure/pace.h"
#include "analysis/measure/pace_course.h"
#include "analysis/steps/period.h"
#include "analysis/report/record.h"
#include "analysis/numbers/trend.h"
#include "tests/unit/analysis/whole/kept_answers.h"

#define MS UINT64_C(1000000)

enum { DRAWS = 40, RANKS = 12, VALUES = 600 };

static uint64_t state;

static uint32_t draw(uint32_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % below;
}

/* Few, so that many of them are equal. */
static uint64_t drawn_time(void)
{
	static const uint64_t times[] = {
		0,       1,        19 * MS,  ACCOUNT_TOLD_NS - 1, ACCOUNT_TOLD_NS, ACCOUNT_TOLD_NS + 1, 95 * MS,
		50 * MS, 100 * MS, 1000 * MS
	};

	return times[draw(10)];
}

static void show_account(const struct analysis_account *told)
{
	fprintf(kept.all, "%d %.6g %.6g %.6g %.6g %.6g %d:", told->known, told->own, told->wait, told->transfer,
		told->unseen, told->nobody, told->left_out);
	for (uint32_t i = 0; i < told->loss_count; i++) {
		const struct analysis_loss *loss = &told->losses[i];

		fprintf(kept.all, " %d %.6g %d %d %lu/%lu %.6g %d %d,", loss->rank, loss->share, loss->at_least,
			loss->spread_out, loss->steps, loss->of_steps, loss->step_ms, loss->by, loss->cause_class);
	}
	fprintf(kept.all, "\n");
}

/* Ranks that are nearly alike, but for some: shares lie around what is told. */
static void draw_rank(struct account_rank *rank, bool alike)
{
	uint64_t whole = 1000 * MS, wait = alike ? 100 * MS : drawn_time(), transfer = alike ? 100 * MS : drawn_time();

	*rank = (struct account_rank){ 0 };
	rank->whole.parts.wait_ns = draw(3) ? wait : wait + draw(4) * 10 * MS;
	rank->whole.parts.transfer_ns = transfer;
	rank->whole.parts.unseen_ns = draw(4) ? 0 : draw(3) * 10 * MS;
	rank->whole.parts.unseen_ns += draw(2);
	rank->whole.parts.own_ns =
	    whole - rank->whole.parts.wait_ns - rank->whole.parts.transfer_ns - rank->whole.parts.unseen_ns;
	if (draw(3) == 0)
		rank->whole.parts.own_ns += draw(5) * 25 * MS;
	rank->waited_ns = draw(2) ? 0 : drawn_time();
	rank->waited_ns *= 1 + draw(4);
	rank->late_step = draw(3);
	rank->late_ns = drawn_time();
	rank->late_ns *= 1 + draw(3);
	rank->late_steps = draw(4);
	rank->host_ns = draw(2) ? 0 : draw(3) * MS;
	rank->device_ns = draw(2) ? 0 : draw(3) * MS;
}

static void play_account(void)
{
	static struct analysis analysis;
	struct account_rank ranks[RANKS];
	struct rank job_ranks[RANKS];
	bool alike = draw(2);

	memset(job_ranks, 0, sizeof(job_ranks));
	analysis.account = (struct account){ .ranks = ranks, .rank_count = draw(RANKS + 1) };
	analysis.account.nobody_ns = drawn_time();
	analysis.account.left_out = draw(4);
	analysis.account.untimed = draw(8);
	analysis.account.first_step = draw(3);
	analysis.account.last_step = draw(2) ? 20 + draw(5) - 2 : draw(60);
	analysis.account.steps_before = draw(3) ? 0 : draw(30);
	analysis.account.marked = draw(2);
	analysis.job.ranks = job_ranks;
	analysis.job.rank_count = analysis.account.rank_count;
	for (uint32_t i = 0; i < analysis.account.rank_count; i++) {
		job_ranks[i].world = (int32_t)(100 + i);
		draw_rank(&ranks[i], alike);
	}
	struct analysis_account told;

	account_tell(&analysis, &told);
	show_account(&told);
}

static void show_pace(const struct pace_course *course)
{
	struct analysis_pace pace = pace_course_judge(course);

	fprintf(kept.all, "%d of %lu, since %lu at %lu: %.6g then %.6g, %.6g, late %.6g; waits %.6g, %.6g\n",
		pace.course, pace.known, pace.since_step, pace.step, pace.before_ms, pace.now_ms, pace.ms_per_step,
		pace.late_share, pace.wait_ms, pace.wait_ms_per_step);
}

/* Steps that become longer once, again, bit by bit, or faster and faster; some of them missing, or told too late. */
static void play_pace(void)
{
	struct pace_course *course = calloc(1, sizeof(*course));
	uint64_t at_ns = 1000, step = 1 + draw(3), turns = 40 + draw(draw(8) ? 400 : 4000), first = draw(200),
		 second = first + draw(300);
	uint64_t kind = draw(6), rise = MS * (1 + draw(60)), noise = draw(3) ? draw(3) * MS : 0, part = draw(3);

	cr_assert(course);
	for (uint64_t i = 0; i < turns; i++) {
		uint64_t length = 100 * MS, more = 0;

		if (kind == 1 && i >= first)
			more = rise;
		if (kind == 2)
			more = i < first ? 0 : i < second ? rise : 2 * rise;
		if (kind == 3)
			more = rise * i / 100;
		if (kind == 4)
			more = i < first ? rise : (i - first) * (i - first) * rise / 100000;
		if (kind == 5)
			more = i < first ? 0 : (i - first) * rise / 50;
		uint32_t numbering = draw(2000) ? 7 : 8;
		uint64_t begin_ns = draw(300) ? at_ns : 0, wait_ns = more * part / 2 + draw(2) * MS,
			 waited = step + draw(3) - 1, late = step - draw(3);

		pace_course_begin(course, numbering, step, begin_ns);
		pace_course_wait(course, waited, wait_ns);
		pace_course_late(course, late, more * part / 2);
		at_ns += length + more + (noise ? draw((uint32_t)noise) : 0);
		step += draw(60) ? 1 : draw(4);
		if (i % 61 == 60)
			show_pace(course);
	}
	show_pace(course);
	free(course);
}

static void play_levels(void)
{
	static double at[VALUES * 4], values[VALUES * 4];
	struct lasting_level levels[LEVELS_MOST];
	size_t count = draw(10) ? draw(VALUES) : LEVELS_VALUES - 2 + draw(5);
	double level = 100, slope = 0, x = 0;
	uint32_t noise = draw(3) ? draw(6) : 0;

	for (size_t i = 0; i < count; i++) {
		if (draw(40) == 0)
			level += (double)draw(100) - 50;
		if (draw(60) == 0)
			slope = draw(2) ? 0 : (double)draw(5) - 2;
		level += slope;
		at[i] = x;
		x += draw(10) ? 1 : 3;
		values[i] = level + (noise ? draw(noise) : 0);
		values[i] += draw(50) ? 0 : 500;
	}
	size_t found = levels_find(at, values, count, levels);

	fprintf(kept.all, "%zu values, score %.6g, slope %.6g, %zu levels:", count, trend_score(values, count),
		trend_slope(at, values, count), found);
	for (size_t i = 0; i < found; i++)
		fprintf(kept.all, " %zu-%zu %.6g %.6g", levels[i].begin, levels[i].end, levels[i].median, levels[i].slope);
	fprintf(kept.all, "\n");
}

static void play_period(void)
{
	static uint32_t signatures[1024];
	uint32_t length = 1 + draw(draw(4) ? 12 : 200), count = draw(1024), pattern[200];
	struct period_tail tail = { 0 };

	for (uint32_t i = 0; i < length; i++) {
		pattern[i] = draw(4) << 3;
		pattern[i] |= draw(PERIOD_MARKS + 1);
	}
	for (uint32_t i = 0; i < count; i++)
		signatures[i] = draw(400) ? pattern[i % length] : draw(64);
	struct period found = period_find(signatures, count);

	fprintf(kept.all, "%u of %u: %u %u %u %d", length, count, found.length, found.explained, found.start, found.step);
	for (uint32_t i = 0; i < count && i < 60; i++)
		fprintf(kept.all, " %d%d", period_starts(signatures, i), period_ends(&tail, signatures[i]));
	fprintf(kept.all, "\n");
}

/* In C, arguments are evaluated in any order: a draw has a statement of its own. */
static void show_notes(const struct pace *pace, uint64_t step)
{
	uint64_t back = draw(70);
	uint32_t last = 1 + draw(PACE_STEPS + 2), first = draw(PACE_FIRST);

	fprintf(kept.all, "%lu %lu %lu %lu %lu %lu\n", pace->first_step, pace->first_ns,
		pace_duration_ns(pace, step - back), pace_duration_ns(pace, step), pace_step_ns(pace, last),
		pace->firsts_ns[first]);
}

static void play_pace_notes(void)
{
	struct pace pace = { 0 };
	uint64_t step = draw(3), at_ns = 5;

	for (uint32_t i = 0; i < 200; i++) {
		step += draw(20) ? 1 : draw(70);
		at_ns += MS * (1 + draw(9));
		pace_note(&pace, draw(30) ? step : step - draw(3), at_ns);
		if (i % 9 == 0)
			show_notes(&pace, step);
	}
}

static void play_cells(void)
{
	struct cells cells;
	uint64_t step = 1, at_ns = 0;
	uint32_t ranks = 1 + draw(20);

	memset(&cells, 0, sizeof(cells));
	cells_open(&cells, draw(6) ? (size_t)(1 + draw(40)) * ranks * sizeof(struct cell) : 0);
	for (uint32_t i = 0; i < 700; i++) {
		uint64_t of = draw(12) ? step : step > 6 ? step - draw(6) : draw(3);
		struct cell *cell = cells_at(&cells, draw(ranks), of, at_ns);

		if (cell)
			cell->own_ms += (float)draw(50);
		if (draw(6) == 0) {
			struct cell_magnitude *magnitude = cells_magnitude_at(&cells, draw(CELLS_LINES + 1), of, at_ns);
			if (magnitude)
				magnitude->brought += (float)draw(9);
		}
		at_ns += draw(3) * 10 * MS;
		step += draw(8) == 0;
		step += draw(240) == 0 ? draw(9) : 0;
	}
	fprintf(kept.all, "%zu columns, %zu bytes of %zu, %lu changes\n", cells.count, cells.bytes, cells.limit,
		cells.changes);
	for (size_t i = 0; i < cells.count; i++) {
		const struct column *column = &cells.columns[i];

		fprintf(kept.all, "%lu-%lu %lu-%lu %lu:", column->step, column->last_step, column->from_ns,
			column->until_ns, column->changed);
		for (uint32_t k = 0; k < column->rank_count; k++)
			fprintf(kept.all, " %.6g", (double)column->cells[k].own_ms);
		for (uint32_t k = 0; k < column->line_count; k++)
			fprintf(kept.all, " %.6g", (double)column->magnitudes[k].brought);
		fprintf(kept.all, "\n");
	}
	cells_free(&cells);
}

static void play_votes(void)
{
	struct vote cast[RANKS];
	struct world_comm comm = { .size = (int32_t)draw(RANKS + 2) };
	struct votes votes = { .cast = cast, .count = draw(RANKS + 1) };
	uint32_t odd[RANKS], usual[RANKS], odd_count = 0, usual_count = 0;

	for (uint32_t i = 0; i < votes.count; i++)
		cast[i] = (struct vote){ .value = draw(4), .rank = (i * 7) % 13 };
	votes_count(&votes);
	bool majority = votes_have_majority(&votes, &comm);

	fprintf(kept.all, "%u: usual %lu by %u, %d", votes.count, votes.usual, votes.usual_count, majority);
	votes_split(&votes, draw(2) ? majority : false, odd, &odd_count, usual, &usual_count);
	for (uint32_t i = 0; i < odd_count; i++)
		fprintf(kept.all, " -%u", odd[i]);
	for (uint32_t i = 0; i < usual_count; i++)
		fprintf(kept.all, " %u", usual[i]);
	fprintf(kept.all, "\n");
}

static void show_gpu(const struct gpu *gpu, uint64_t now_ns)
{
	char text[160];
	size_t room = draw(4) ? sizeof(text) : 1 + draw(60);
	uint32_t reasons = draw(512);
	struct gpu_course_verdict verdict =
	    gpu_course_judge(&gpu->course, now_ns > draw(90) * 1000 * MS ? now_ns - 80 * 1000 * MS : 0);

	fprintf(kept.all,
		"%d at %lu: slow since %lu, %ld nvlink at %lu, peak %ld, %u of %u drops, %lu readings, %u xids; %d %ld "
		"%.6g %ld %lu-%lu; %s\n",
		gpu->is_read, now_ns, gpu->slow_since_ns, gpu->nvlink_before, gpu->nvlink_before_ns, gpu->memory.peak,
		gpu_trend_drops(gpu, now_ns), gpu->memory.drop_count, gpu->reading_count, gpu->xid_count,
		verdict.course, verdict.grown, verdict.bytes_per_s, verdict.used, verdict.from_ns, verdict.end_ns,
		gpu_trend_reasons(text, room, reasons));
	for (uint32_t i = 0; i < GPU_XIDS + 1; i++) {
		const struct gpu_xid *xid = gpu_xid_at(gpu, i);

		if (xid)
			fprintf(kept.all, " %u %lu-%lu %u %d %s", xid->number, xid->first_ns, xid->last_ns,
				xid->sources, xid->pid, xid->text);
	}
	for (uint64_t age = 0; age < GPU_READINGS + 2; age += 1 + draw(90)) {
		const struct gpu_reading *reading = gpu_reading_at(gpu, age);

		if (reading)
			fprintf(kept.all, " %lu:%lu %x %d", age, reading->at_ns, reading->reasons, reading->sm_mhz);
	}
	fprintf(kept.all, "\n");
}

/* Readings and Xids of some GPUs, with memory that is filled, falls and rises around what is told. */
static void play_gpus(void)
{
	static const uint64_t spans[] = { 500, 500, 500, 500, 1000, 4999, 5000, 5001, 59999, 60000 };
	const int64_t total = 1000000;
	struct gpus gpus;
	uint64_t now_ms = 1000, readings = draw(8) ? 100 + draw(200) : 700;
	int64_t used = 300000, errors = 0;

	memset(&gpus, 0, sizeof(gpus));
	for (uint64_t i = 0; i < readings; i++) {
		struct analysis_gpu_state gpu = { .at_ns = now_ms * MS, .sm_mhz = (int32_t)draw(2000) };
		struct analysis_gpu_event event = { .source = draw(2) ? ANALYSIS_GPU_NVML : ANALYSIS_GPU_KERNEL_LOG,
						    .at_ns = now_ms * MS };
		static const int64_t levels[] = { 949999, 950000, 950001, 930000, 929999, 930001, 970000, 999999, 300000 };

		gpu.clock_reasons = draw(3) ? 0 : (int64_t)draw(512) - 1;
		event.xid = 13 + draw(3);
		event.pid = (int32_t)draw(3) - 1;
		used = draw(3) ? used + draw(2000) : levels[draw(9)];
		errors = draw(10) ? errors + draw(3) : draw(5);
		gpu.memory_used = draw(40) ? used % total : -1;
		gpu.memory_total = draw(40) ? total : -1;
		gpu.nvlink_errors = draw(20) ? errors : -1;
		snprintf(gpu.uuid, sizeof(gpu.uuid), "GPU-0000000%u-0000-0000-0000-000000000000", draw(3) ? 1 : draw(5));
		snprintf(gpu.pci, sizeof(gpu.pci), "0000:%02X:00.0", draw(3));
		memcpy(event.uuid, gpu.uuid, sizeof(event.uuid));
		if (draw(2))
			snprintf(event.text, sizeof(event.text), "text %u", draw(9));
		if (draw(6) == 0)
			fprintf(kept.all, "%d ", gpus_add_event(&gpus, &event));
		fprintf(kept.all, "%d ", gpus_add_state(&gpus, &gpu));
		now_ms += spans[draw(10)];
	}
	for (uint32_t i = 0; i < gpus.count; i++)
		show_gpu(gpus.items[i], now_ms * MS);
	gpus_free(&gpus);
}

/* As many pieces of evidence, and of what is missing, as there is room for, and more. */
static void play_records(void)
{
	static const uint8_t uuid[16] = { 1, 2, 3 };
	struct record_subject subjects[4];
	static struct process process;
	uint32_t count = 1 + draw(4);
	int32_t waiting[3];
	char what[300];

	process = (struct process){ 0 };
	for (uint32_t i = 0; i < count; i++) {
		subjects[i] = (struct record_subject){ .world_rank = (int32_t)draw(9) - 1 };
		subjects[i].host = draw(3) ? "host" : "another";
		subjects[i].pid = (int32_t)draw(3) * 100;
		subjects[i].uuid = draw(2) ? uuid : NULL;
	}
	struct record *record = record_new_named(RW_KIND_HANG, RW_SCOPE_RANK, subjects, count);

	cr_assert(record);
	for (uint32_t i = draw(RECORD_EVIDENCE + 3); i; i--) {
		memset(what, 'a' + (int)draw(26), sizeof(what));
		what[draw(2) ? draw(20) : 220 + draw(8)] = '\0';
		const char *source = draw(2) ? "messages" : "box";
		double ms = (double)draw(9) - 2;
		record_add_evidence(record, source, ms, what);
	}
	for (uint32_t i = draw(RECORD_MISSING + 3); i; i--) {
		memset(what, 'a' + (int)draw(26), sizeof(what));
		what[draw(2) ? draw(20) : 189 + draw(6)] = '\0';
		record_add_missing(record, what);
	}
	process.watchdog_ms = draw(4) * 300000;
	process.watchdog_init_ms = draw(3) * 600000;
	if (draw(3))
		snprintf(process.watchdog_from, sizeof(process.watchdog_from), "cmdline");
	if (draw(3)) {
		bool first_step_done = draw(2);
		record_set_watchdog(record, &process, first_step_done, draw(5) * 150000 * MS);
	}
	for (uint32_t i = 0; i < 3; i++)
		waiting[i] = (int32_t)draw(9) - 1;
	if (draw(2))
		cr_assert_eq(record_set_waiting_worlds(record, waiting, draw(4)), 0);
	record_set_words(record, RW_CAUSE_LOCK, "cause", "advice");
	kept_keys(&record->finding);
	record_free(record);
}

static bool play_rules(unsigned int number)
{
	static void (*const plays[])(void) = { play_account,    play_account, play_pace,  play_levels, play_period,
					       play_pace_notes, play_cells,   play_votes, play_gpus,   play_records };

	state = number + 1;
	for (int i = 0; i < DRAWS; i++)
		plays[number % 10]();
	return number < 69;
}

Test(rules_answers, about_drawn_numbers)
{
	kept_compare("rules", play_rules);
}
