/* SPDX-License-Identifier: MIT */
#include "sim/cuda/driver/fault.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sim/cuda/driver/calls.h"
#include "sim/cuda/driver/error.h"

#define RULES_MAX 64

struct rule {
	size_t call;
	CUresult error; /* CUDA_SUCCESS: does not fail */
	uint64_t late_ns;
	bool block, other_rank;
	unsigned long after, times; /* calls that pass first; calls that it is for then */
	atomic_ulong calls;
};

static struct rule rules[RULES_MAX];
static size_t rule_count;
static bool right;

static bool complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
static bool complain(const char *format, ...)
{
	char text[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	fprintf(stderr, "stand-in CUDA: SIM_CUDA_FAULTS: %s; cuInit fails\n", text);
	return false;
}

static bool parse_count(const char *value, unsigned long *count)
{
	char *end;

	*count = value ? strtoul(value, &end, 10) : 0;
	return value && *value >= '0' && *value <= '9' && !*end;
}

static bool parse_fail(struct rule *rule, const char *value)
{
	return value && error_from_text(value, &rule->error);
}

static bool parse_late(struct rule *rule, const char *value)
{
	static const struct {
		const char *unit;
		uint64_t ns;
	} units[] = { { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 } };
	char *end;

	if (!value || *value < '0' || *value > '9')
		return false;
	unsigned long number = strtoul(value, &end, 10);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].unit) == 0 && number <= UINT64_MAX / units[i].ns)
			rule->late_ns = number * units[i].ns;
	}
	return rule->late_ns > 0;
}

static bool parse_block(struct rule *rule, const char *value)
{
	rule->block = true;
	return !value;
}

static bool parse_after(struct rule *rule, const char *value)
{
	return parse_count(value, &rule->after);
}

static bool parse_times(struct rule *rule, const char *value)
{
	return parse_count(value, &rule->times) && rule->times;
}

static bool parse_rank(struct rule *rule, const char *value)
{
	const char *mine = getenv("RANK");
	unsigned long wanted, own;

	if (!parse_count(value, &wanted))
		return false;
	rule->other_rank = !parse_count(mine, &own) || own != wanted;
	return true;
}

static const struct {
	const char *name, *form;
	bool (*parse)(struct rule *rule, const char *value);
} items[] = {
	{ "fail", "fail=CUDA_ERROR_… or fail=NUMBER", parse_fail },
	{ "late", "late=NUMBER and us, ms or s", parse_late },
	{ "block", "block", parse_block },
	{ "after", "after=CALLS", parse_after },
	{ "times", "times=CALLS, at least 1", parse_times },
	{ "rank", "rank=NUMBER", parse_rank },
};

static bool parse_item(struct rule *rule, char *text)
{
	char *value = strchr(text, '=');

	if (value)
		*value++ = 0;
	for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++) {
		if (strcmp(items[i].name, text) != 0)
			continue;
		return items[i].parse(rule, value) || complain("%s%s%s is not of the form %s", text, value ? "=" : "",
							       value ? value : "", items[i].form);
	}
	return complain("\"%s\" is none of fail, late, block, after, times, rank", text);
}

static bool find_call(struct rule *rule, const char *symbol)
{
	for (rule->call = 0; rule->call < calls_count; rule->call++) {
		if (strcmp(calls[rule->call].symbol, symbol) == 0)
			return true;
	}
	return complain("no exported call \"%s\" (with its version, as in cuMemAlloc_v2)", symbol);
}

static bool parse_rule(char *text)
{
	struct rule *rule = &rules[rule_count];
	char *rest = NULL, *item, *given = strchr(text, ':');

	if (rule_count == RULES_MAX)
		return complain("more than %d rules", RULES_MAX);
	if (!given)
		return complain("\"%s\" has no ':' between the call and what happens to it", text);
	*given++ = 0;
	*rule = (struct rule){ .times = ~0ul };
	if (!find_call(rule, text))
		return false;
	for (item = strtok_r(given, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
		if (!parse_item(rule, item))
			return false;
	}
	if (!rule->block && !rule->late_ns && rule->error == CUDA_SUCCESS)
		return complain("the rule of %s says none of fail, late, block", text);
	rule_count++;
	return true;
}

static void read_rules(void)
{
	const char *given = getenv("SIM_CUDA_FAULTS");
	char *text = strdup(given ? given : ""), *rest = NULL;

	right = text != NULL;
	for (char *rule = text ? strtok_r(text, ";", &rest) : NULL; rule && right; rule = strtok_r(NULL, ";", &rest))
		right = parse_rule(rule);
	if (!right)
		rule_count = 0;
	free(text);
}

bool fault_rules_are_right(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_rules);
	return right;
}

static void sleep_ns(uint64_t ns)
{
	struct timespec left = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	while (nanosleep(&left, &left) != 0)
		;
}

static CUresult rule_apply(struct rule *rule)
{
	unsigned long before = atomic_fetch_add(&rule->calls, 1);

	if (rule->other_rank || before < rule->after || before - rule->after >= rule->times)
		return CUDA_SUCCESS;
	while (rule->block)
		pause();
	if (rule->late_ns)
		sleep_ns(rule->late_ns);
	return rule->error;
}

CUresult fault_apply(size_t number)
{
	CUresult result = CUDA_SUCCESS;

	fault_rules_are_right();
	for (size_t i = 0; i < rule_count && result == CUDA_SUCCESS; i++) {
		if (rules[i].call == number)
			result = rule_apply(&rules[i]);
	}
	return result;
}
