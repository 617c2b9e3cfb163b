/* SPDX-License-Identifier: MIT */
#include "sim/nvml/script.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "sim/cuda/devices/visible.h"

enum { RULES = 32, BLOCK_LOOK_MS = 20, LINE_BYTES = 512 };

struct device {
	unsigned long long values[SCRIPT_VALUE_COUNT];
	unsigned int xids[SCRIPT_XIDS];
	size_t xid_count;
};

struct rule {
	char call[64];
	nvmlReturn_t error; /* NVML_SUCCESS: does not fail */
	bool block;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct device devices[SCRIPT_DEVICES];
static struct rule rules[RULES];
static size_t rule_count;
static bool filled, right = true;
static struct stat read_as;

static const struct {
	const char *name;
	unsigned long long usual;
} values[SCRIPT_VALUE_COUNT] = {
	[SCRIPT_SM_CLOCK] = { "sm-clock", 1980 },
	[SCRIPT_SM_CLOCK_MAX] = { "sm-clock-max", 1980 },
	[SCRIPT_TEMPERATURE] = { "temperature", 45 },
	[SCRIPT_POWER] = { "power", 300 },
	[SCRIPT_POWER_LIMIT] = { "power-limit", 700 },
	[SCRIPT_CLOCKS_EVENT_REASONS] = { "clocks-event-reasons", 0 },
	[SCRIPT_ECC_CORRECTED] = { "ecc-corrected", 0 },
	[SCRIPT_ECC_UNCORRECTED] = { "ecc-uncorrected", 0 },
	[SCRIPT_ECC_CORRECTED_EVER] = { "ecc-corrected-ever", 0 },
	[SCRIPT_ECC_UNCORRECTED_EVER] = { "ecc-uncorrected-ever", 0 },
	[SCRIPT_REMAPPED_CORRECTED] = { "remapped-corrected", 0 },
	[SCRIPT_REMAPPED_UNCORRECTED] = { "remapped-uncorrected", 0 },
	[SCRIPT_REMAPPED_PENDING] = { "remapped-pending", 0 },
	[SCRIPT_REMAPPED_FAILURE] = { "remapped-failure", 0 },
	[SCRIPT_NVLINK_ERRORS] = { "nvlink-errors", 0 },
	[SCRIPT_MEMORY_USED] = { "memory-used", 1024 },
	[SCRIPT_MEMORY_TOTAL] = { "memory-total", 16384 },
};

static const char *const reasons[] = {
	"gpu-idle",       "applications-clocks", "power-cap",           "hw-slowdown",
	"sync-boost",     "sw-thermal-slowdown", "hw-thermal-slowdown", "hw-power-brake",
	"display-clocks",
};

static void set_usual(void)
{
	memset(devices, 0, sizeof(devices));
	for (size_t i = 0; i < SCRIPT_DEVICES; i++)
		for (size_t value = 0; value < SCRIPT_VALUE_COUNT; value++)
			devices[i].values[value] = values[value].usual;
	rule_count = 0;
	right = true;
	filled = true;
}

static bool parse_number(const char *text, unsigned long long *number)
{
	char *end;

	*number = strtoull(text, &end, 0);
	return *text >= '0' && *text <= '9' && !*end;
}

/* "hw-slowdown+power-cap", or a number. */
static bool parse_reasons(char *text, unsigned long long *bits)
{
	char *rest = NULL;

	if (parse_number(text, bits))
		return true;
	*bits = 0;
	for (char *item = strtok_r(text, "+", &rest); item; item = strtok_r(NULL, "+", &rest)) {
		size_t bit = 0;

		while (bit < sizeof(reasons) / sizeof(*reasons) && strcmp(reasons[bit], item) != 0)
			bit++;
		if (bit == sizeof(reasons) / sizeof(*reasons))
			return false;
		*bits |= 1ull << bit;
	}
	return true;
}

static bool set_item(struct device *device, const char *name, char *text)
{
	unsigned long long number;

	if (strcmp(name, "xid") == 0) {
		if (!parse_number(text, &number) || device->xid_count == SCRIPT_XIDS)
			return false;
		device->xids[device->xid_count++] = (unsigned int)number;
		return true;
	}
	for (size_t i = 0; i < SCRIPT_VALUE_COUNT; i++) {
		if (strcmp(values[i].name, name) != 0)
			continue;
		return i == SCRIPT_CLOCKS_EVENT_REASONS ? parse_reasons(text, &device->values[i])
							: parse_number(text, &device->values[i]);
	}
	return false;
}

/* "all", a number, or a PCI address as in 0000:13:00. */
static bool parse_devices(const char *text, size_t *first, size_t *last)
{
	unsigned int domain, bus, slot;
	unsigned long long number;

	*first = 0;
	*last = SCRIPT_DEVICES - 1;
	if (strcmp(text, "all") == 0)
		return true;
	if (sscanf(text, "%x:%x:%x", &domain, &bus, &slot) == 3)
		number = bus - VISIBLE_FIRST_PCI_BUS;
	else if (!parse_number(text, &number))
		return false;
	*first = *last = (size_t)number;
	return number < SCRIPT_DEVICES;
}

static bool parse_device_line(const char *who, char **rest)
{
	size_t first, last;

	if (!parse_devices(who, &first, &last))
		return false;
	for (char *item = strtok_r(NULL, " \t", rest); item; item = strtok_r(NULL, " \t", rest)) {
		char *text = strchr(item, '=');

		if (!text)
			return false;
		*text++ = '\0';
		for (size_t i = first; i <= last; i++) {
			char copy[LINE_BYTES];

			snprintf(copy, sizeof(copy), "%s", text);
			if (!set_item(&devices[i], item, copy))
				return false;
		}
	}
	return true;
}

static bool parse_call_line(char **rest)
{
	const char *name = strtok_r(NULL, " \t", rest), *what = strtok_r(NULL, " \t", rest);
	struct rule *rule = &rules[rule_count];
	unsigned long long error = 0;

	if (!name || !what || rule_count == RULES || strlen(name) >= sizeof(rule->call))
		return false;
	*rule = (struct rule){ .block = strcmp(what, "block") == 0 };
	strcpy(rule->call, name);
	if (!rule->block && (strncmp(what, "fail=", 5) != 0 || !parse_number(what + 5, &error) || !error))
		return false;
	rule->error = (nvmlReturn_t)error;
	rule_count++;
	return true;
}

static void parse_line(char *line, const char *path)
{
	char whole[LINE_BYTES], *rest = NULL;

	snprintf(whole, sizeof(whole), "%s", line);
	line[strcspn(line, "#")] = '\0';
	char *first = strtok_r(line, " \t", &rest);

	if (!first || (strcmp(first, "call") == 0 ? parse_call_line(&rest) : parse_device_line(first, &rest)))
		return;
	fprintf(stderr, "stand-in NVML: SIM_NVML: %s: \"%s\" is not understood; every call fails\n", path, whole);
	right = false;
}

/* The last line counts once it is whole. */
static void read_lines(FILE *file, const char *path)
{
	char line[LINE_BYTES];

	set_usual();
	while (right && fgets(line, sizeof(line), file)) {
		char *end = strchr(line, '\n');

		if (!end)
			break;
		*end = '\0';
		parse_line(line, path);
	}
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static const char *script_path(void)
{
	const char *path = getenv("SIM_NVML");

	return path && *path ? path : NULL;
}

bool script_exists(void)
{
	return script_path() != NULL;
}

static void refresh(void)
{
	const char *path = script_path();
	struct stat now;

	if (!filled)
		set_usual();
	if (!path || stat(path, &now) != 0 || is_same(&now, &read_as))
		return;
	FILE *file = fopen(path, "re");

	if (!file)
		return;
	read_as = now;
	read_lines(file, path);
	fclose(file);
}

unsigned long long script_value(unsigned int device, enum script_value value)
{
	pthread_mutex_lock(&mutex);
	refresh();
	unsigned long long found = devices[device].values[value];
	pthread_mutex_unlock(&mutex);
	return found;
}

size_t script_xids(unsigned int device, size_t number, unsigned int *xid)
{
	pthread_mutex_lock(&mutex);
	refresh();
	size_t count = devices[device].xid_count;

	if (number < count)
		*xid = devices[device].xids[number];
	pthread_mutex_unlock(&mutex);
	return count;
}

static nvmlReturn_t find_rule(const char *name, bool *block)
{
	nvmlReturn_t error = NVML_SUCCESS;

	pthread_mutex_lock(&mutex);
	refresh();
	*block = false;
	for (size_t i = 0; i < rule_count; i++) {
		if (strcmp(rules[i].call, name) != 0)
			continue;
		*block |= rules[i].block;
		error = rules[i].error;
	}
	if (!right)
		error = NVML_ERROR_UNKNOWN;
	pthread_mutex_unlock(&mutex);
	return error;
}

nvmlReturn_t script_call(const char *name)
{
	const struct timespec look = { .tv_nsec = BLOCK_LOOK_MS * 1000000L };
	bool block;
	nvmlReturn_t error = find_rule(name, &block);

	while (block) {
		nanosleep(&look, NULL);
		error = find_rule(name, &block);
	}
	return error;
}
