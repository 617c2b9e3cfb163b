/* SPDX-License-Identifier: MIT */
/*
 * What the plugin's small rules answer to drawn numbers, kept word for word: what becomes of values of its environment
 * variables that lie at a limit, below and above it; how the budget and the graphs' share of the box go up and down. As
 * in course_test.c, it says that nothing changes unnoticed. A change that is meant: `ninja -C build plugin-courses`.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rankwatch/blackbox.h>

#include "plugin/cost/budget.h"
#include "plugin/cost/scan_share.h"
#include "plugin/guest/config.h"
#include "tests/kept_text.h"

#define SECOND UINT64_C(1000000000)

enum { ENVIRONMENTS = 200, SECONDS = 400 };

static uint64_t state = 1;
static FILE *out;
static char *text;
static size_t text_size;

static uint32_t draw(uint32_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % below;
}

/* With courses/NAME.txt, or writes that. */
static void compare(const char *name)
{
	fclose(out);
	kept_text_compare(COURSES, name, text, "ninja -C build plugin-courses");
	free(text);
}

static const char *get(void *argument, const char *name)
{
	size_t length = strlen(name);

	for (char *const *at = argument; *at; at++)
		if (strncmp(*at, name, length) == 0 && (*at)[length] == '=')
			return *at + length + 1;
	return NULL;
}

static void tell(void *argument, const char *line)
{
	(void)argument;
	fprintf(out, "  %s\n", line);
}

/* Whole values, and pieces that others are made of: what they say of a number at its largest is the same for each
 * variable. */
static const char *const values[] = {
	"0",
	"1",
	"2",
	"9",
	"10",
	"00",
	"01",
	"-1",
	"+1",
	" 1",
	"1 ",
	"",
	"on",
	"off",
	"ON",
	"oN",
	"auto",
	"Auto",
	"autos",
	"aut",
	"watermark",
	"all",
	"input",
	"output",
	"record",
	"warn",
	"abort",
	"record|warn",
	"100",
	"100.0",
	"100.0000",
	"100.00001",
	"100.0001",
	"99.9999",
	"0.25",
	"0.0001",
	"0.00009",
	".5",
	"5.",
	"5.x",
	"1e3",
	"1K",
	"1k",
	"1KiB",
	"1KB",
	"1Ki",
	"1KiBs",
	"1M",
	"1G",
	"1T",
	"1B",
	"1iB",
	"K",
	"18446744073709551615",
	"18446744073709551616",
	"18014398509481983K",
	"18014398509481984K",
	"17592186044415M",
	"17592186044416M",
	"17179869183G",
	"17179869184G",
	"10m",
	"10ms",
	"10s",
	"10h",
	"10d",
	"1.5h",
	"0.0005",
	"0.001",
	"1000000000",
	"1000000001",
	"1000000000h",
	"1000000001h",
	"a=1",
	"a=0",
	"=1",
	"a=",
	"a=1,",
	",a=1",
	"a=2147483647",
	"a=2147483648",
	"a=46341,b=46341",
	"a=46340,b=46341",
	"a=65536,b=32767",
	"a=65536,b=32768",
	"a=1,b=2,c=3,d=4,e=5,f=6,g=7,h=8",
	"a=1,b=2,c=3,d=4,e=5,f=6,g=7,h=8,i=9",
	"a23456789012345678901234567890=2",
	"a234567890123456789012345678901=2",
	"a2345678901234567890123456789012=2",
	"AllGather:bf16",
	"AllGather:bf16,",
	"AllGather:",
	":bf16",
	"AllGather",
	"AllGather:bf16,AllReduce:float8_e4m3",
	"AllGather:bf16,AllGather:float32",
	"allgather:bf16",
	"Send:int8,Recv:uint8",
	"ReduceScatter:float16:float32",
	",",
	"=",
	"|",
	"auto|off",
	"x23456789012345678901234567890123456789012345678901234567890123",
	"x234567890123456789012345678901234567890123456789012345678901234",
	"x2345678901234567890123456789012345678901234567890123456789012345",
	"AllGather456789012345678901234567890123:bf16",
	"AllGather4567890123456789012345678901234567890:bf16",
};

/* Also names that somebody may have meant: a letter too few, too many, another one. */
static void draw_name(char *name, size_t size)
{
	const struct config_variable *variables = config_variables();
	uint32_t count = 0, at;

	while (variables[count].name)
		count++;
	int length = snprintf(name, size, "%s", variables[draw(count)].name);
	at = draw((uint32_t)length);
	switch (draw(12)) {
	case 0: name[at] = (char)('A' + draw(26)); break;
	case 1: memmove(name + at, name + at + 1, (size_t)length - at); break;
	case 2:
		memmove(name + at + 1, name + at, (size_t)length - at + 1);
		name[at] = '_';
		break;
	case 3:
		snprintf(name + length, size - (size_t)length, "_%.*s", (int)draw(30),
			 "ABCDEFGHIJKLMNOPQRSTUVWXYZABCD");
		break;
	default: break;
	}
}

Test(numbers, of_the_environment)
{
	out = open_memstream(&text, &text_size);
	for (uint32_t number = 0; number < ENVIRONMENTS; number++) {
		char variables[4][160], *environment[5] = { 0 }, name[96];
		uint32_t count = 1 + draw(4);
		struct config config;

		for (uint32_t i = 0; i < count; i++) {
			draw_name(name, sizeof(name));
			snprintf(variables[i], sizeof(variables[i]), "%s=%s", name, values[draw(sizeof(values) / sizeof(*values))]);
			environment[i] = variables[i];
			fprintf(out, "%s ", variables[i]);
		}
		fprintf(out, "\n");
		config_read(&config, get, draw(8) ? environment : NULL, tell, environment);
		fprintf(out, "  %u %u %u %u %u %u %u %u %u %d %lu %s", config.on, config.gpu_time, config.kernelch,
			config.quiet, config.preload, config.scan, config.on_nan, config.budget_ppm, config.graphs,
			config.budget_given, config.history_bytes, config.directory ? config.directory : "-");
		for (int i = 0; i < RW_FUNCTION_COUNT; i++)
			if (config.uint8_as[i])
				fprintf(out, " %d:%u", i, config.uint8_as[i]);
		fprintf(out, "\n");
	}
	compare("environment");
}

/* Lines by the thousand, of which a number is kept. */
static void keep_number(const char *name, uint32_t number, void play(uint32_t number))
{
	FILE *all = out;
	const char *path = getenv("COURSES_SHOWN");
	FILE *shown = path ? fopen(path, "ae") : NULL;
	uint64_t sum = 14695981039346656037u;
	char *lines;
	size_t size;

	out = open_memstream(&lines, &size);
	cr_assert(out);
	play(number);
	fclose(out);
	out = all;
	for (size_t i = 0; i < size; i++)
		sum = (sum ^ (unsigned char)lines[i]) * 1099511628211u;
	fprintf(out, "%s %u: %016lx\n", name, number, sum);
	if (shown) {
		fputs(lines, shown);
		fclose(shown);
	}
	free(lines);
}

/* Each value of one variable: a limit that is met must not depend on a draw. */
static void play_variable(uint32_t number)
{
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		char pair[160], *environment[] = { pair, NULL };
		struct config config;

		snprintf(pair, sizeof(pair), "%s=%s", config_variables()[number].name, values[i]);
		config_read(&config, get, environment, tell, environment);
		fprintf(out, "%s: %u%u%u%u%u%u%u%u %u %lu\n", values[i], config.on, config.gpu_time, config.kernelch,
			config.quiet, config.preload, config.scan, config.on_nan, config.graphs, config.budget_ppm,
			config.history_bytes);
	}
}

Test(numbers, of_each_variable)
{
	out = open_memstream(&text, &text_size);
	for (uint32_t number = 0; config_variables()[number].name; number++)
		keep_number(config_variables()[number].name, number, play_variable);
	compare("variables");
}

static void play_budget(uint32_t number)
{
	static const uint32_t limits[] = { 0, 1, 7, 2500, 10000, 1000000 };
	static const uint64_t steps[] = { 1,      1000000,    SECOND / 2 - 1, SECOND / 2, SECOND - 1,
					  SECOND, SECOND + 1, 250000000,      3500000 };
	struct budget_cost cost = { 0 };
	struct budget budget;
	uint64_t now_ns = 5 * SECOND;
	uint32_t limit = limits[number % 6];

	budget_open(&budget, limit, number % 2 ? RW_SCAN_FIRST_MS * (SECOND / 1000) : limits[draw(6)], now_ns, &cost);
	for (uint32_t i = 0; i < SECONDS; i++) {
		uint64_t step = steps[draw(9)];
		/* What a limit allows, exactly or about so, or far more. */
		uint64_t spends = limit * step / 1000000 / (1u << draw(4));

		spends *= draw(4) ? 1 : draw(40);
		now_ns += step;
		cost.total += spends;
		cost.total += draw(2);
		cost.total -= spends ? draw(2) : 0;
		cost.scans += draw(3) ? spends / (1 + draw(3)) : 0;
		cost.progress += draw(3) ? spends / (1 + draw(3)) : 0;
		cost.first += draw(3) ? (cost.scans - cost.first) / (1 + draw(3)) : 0;
		budget_judge(&budget, now_ns, &cost);
		fprintf(out, "%lu: %u %u, %u then %u, calm %u\n", now_ns, budget.scan_every, budget.progress_every,
			budget.cost_ppm, budget.next_ppm, budget.calm_s);
	}
}

static void play_share(uint32_t number)
{
	static const uint64_t steps[] = { 1,          SECOND / 50 - 1, SECOND / 50, SECOND / 50 + 1,
					  SECOND - 1, SECOND,          SECOND + 1,  3500000 };
	struct scan_share share;
	uint64_t now_ns = SECOND, claims = 0;
	uint32_t busy = draw(2000);

	scan_share_open(&share, 64u << number, now_ns);
	for (uint32_t i = 0; i < SECONDS; i++) {
		uint32_t wanted = draw(4) ? draw(1 + busy / 4) : draw(2 * busy + 2), taken = 0;

		if (i % 60 == 0)
			busy = draw(3) ? draw(2000) : 0;
		for (uint32_t k = 0; k < wanted; k++)
			taken += scan_share_take(&share);
		claims += taken + draw(busy + 1);
		now_ns += steps[draw(8)];
		uint32_t every = scan_share_judge(&share, now_ns, claims);

		fprintf(out, "%lu: %u of %u, %lu left, %u, calm %u\n", now_ns, taken, wanted, share.left, every, share.calm_s);
	}
}

Test(numbers, of_costs)
{
	out = open_memstream(&text, &text_size);
	for (uint32_t number = 0; number < 24; number++)
		keep_number("budget", number, play_budget);
	for (uint32_t number = 0; number < 12; number++)
		keep_number("share", number, play_share);
	compare("costs");
}
