/* SPDX-License-Identifier: MIT */
#include "plugin/guest/config.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "identity/decimal.h"
#include "identity/watchdog.h"
#include "plugin/nccl/dtype.h"
#include "plugin/nccl/names.h"

enum { LINE = 320, NAME_MAX_LENGTH = 40, MESH_DIMENSIONS = 8, MESH_NAME = 31 };

/* How a value is checked and kept. FREE, NUMBER, DURATION, MESH: kept by whoever reads it (identity, the analysis). */
enum kind { FREE, NUMBER, DURATION, CHOICE, SIZE, TEXT, PERCENT, TYPES, MESH };

struct entry {
	struct config_variable public;
	enum kind kind;
	size_t offset;
};

#define MEMBER(name) offsetof(struct config, name)

static const struct entry entries[] = {
	{ { "RANKWATCH", "off|on", "on", "record at all" }, CHOICE, MEMBER(on) },
	{ { "RANKWATCH_DIR", "DIRECTORY", "", "where black boxes go, instead of /dev/shm" }, TEXT, MEMBER(directory) },
	{ { "RANKWATCH_HISTORY", "SIZE", "0", "size of a box, as in 8M; 0: by free space" },
	  SIZE,
	  MEMBER(history_bytes) },
	{ { "RANKWATCH_RANK", "NUMBER", "", "world rank, before any launcher's variable" }, NUMBER, 0 },
	{ { "RANKWATCH_JOB", "NAME", "", "job, before any scheduler's variable" }, FREE, 0 },
	{ { "RANKWATCH_NATS", "URL", "", "for the collector: where it publishes, as nats://host:4222" }, FREE, 0 },
	{ { "RANKWATCH_TIMEOUT", "DURATION", "", "the framework's watchdog, as in 100, 10m; 0: none" }, DURATION, 0 },
	{ { "RANKWATCH_GPU_TIME", "auto|watermark|off", "auto", "GPU progress: of a sample, of every operation, none" },
	  CHOICE,
	  MEMBER(gpu_time) },
	{ { "RANKWATCH_KERNELCH", "0|1", "0",
	    "ask NCCL for its kernel events, too: whose kernel begins late on a full GPU, and when collectives in CUDA "
	    "graphs ran" },
	  CHOICE,
	  MEMBER(kernelch) },
	{ { "RANKWATCH_CHAIN", "LIBRARY", "", "profiler plugin to run behind ours, named as NCCL names it" }, FREE, 0 },
	{ { "RANKWATCH_QUIET", "0|1", "0", "no start line" }, CHOICE, MEMBER(quiet) },
	{ { "RANKWATCH_LOG", "FILE", "", "messages go here instead of standard error" }, FREE, 0 },
	{ { "RANKWATCH_PRELOAD", "0|1", "1", "when preloaded, see NCCL's calls too; 0: they pass straight through" },
	  CHOICE,
	  MEMBER(preload) },
	{ { "RANKWATCH_MESH", "NAME=SIZE,…", "", "names for communicators, outermost first, as in pp=2,fsdp=4" },
	  MESH,
	  0 },
	{ { "RANKWATCH_BUDGET", "PERCENT", "0.25",
	    "most that we may add to the job, of its time; unset: and 2 s for its first operations" },
	  PERCENT,
	  MEMBER(budget_ppm) },
	{ { "RANKWATCH_SCAN", "auto|all|input|output|off", "auto",
	    "scan values: auto: inputs, before their operation, within the budget" },
	  CHOICE,
	  MEMBER(scan) },
	{ { "RANKWATCH_GRAPHS", "0|1", "0", "scan inside CUDA graphs, too: adds nodes that stay in them" },
	  CHOICE,
	  MEMBER(graphs) },
	{ { "RANKWATCH_SCAN_PTX", "0|1", "1",
	    "where the driver takes no machine code of ours, let it compile the scan kernel; 0: nothing is scanned "
	    "there" },
	  CHOICE,
	  MEMBER(scan_ptx) },
	{ { "RANKWATCH_UINT8_AS", "FUNCTION:TYPE", "", "what bytes really are, as in AllGather:float8_e4m3,…" },
	  TYPES,
	  MEMBER(uint8_as) },
	{ { "RANKWATCH_ON_NAN", "record|warn|abort", "record",
	  "what a NaN leads to; abort: only one that this rank has brought in beyond doubt" }, CHOICE, MEMBER(on_nan) },
	{ { NULL, NULL, NULL, NULL }, FREE, 0 },
};

const struct config_variable *config_variables(void)
{
	static struct config_variable list[sizeof(entries) / sizeof(entries[0])];

	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		list[i] = entries[i].public;
	return list;
}

static int parse_choice(const char *values, const char *value, uint32_t *choice)
{
	size_t length = strlen(value);

	for (*choice = 0;; (*choice)++) {
		size_t word = strcspn(values, "|");

		if (word == length && strncasecmp(values, value, length) == 0)
			return 0;
		if (!values[word])
			return -EINVAL;
		values += word + 1;
	}
}

static int parse_size(const char *value, uint64_t *bytes)
{
	static const char units[] = "KMG";
	uint64_t number;
	const char *end = decimal_whole(value, UINT64_MAX, &number);

	if (!end)
		return -EINVAL;
	const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	int shift = unit ? 10 * (int)(unit - units + 1) : 0;
	if (unit)
		end++;
	if (strcmp(end, "iB") == 0 || strcmp(end, "B") == 0)
		end += strlen(end);
	if (*end || number > UINT64_MAX >> shift)
		return -EINVAL;
	*bytes = number << shift;
	return 0;
}

/* Parts of a million; up to 100 %. */
static int parse_percent(const char *value, uint32_t *ppm)
{
	uint64_t parts;
	const char *end = decimal_read(value, 4, 1000000, &parts);

	if (!end || *end)
		return -EINVAL;
	*ppm = (uint32_t)parts;
	return 0;
}

static uint8_t function_named(const char *name, size_t length)
{
	char copy[NAME_MAX_LENGTH];

	snprintf(copy, sizeof(copy), "%.*s", (int)length, name);
	return names_function(copy);
}

/* FUNCTION:TYPE, or several with commas between. */
static int parse_types(const char *value, uint8_t *types)
{
	uint8_t parsed[RW_FUNCTION_COUNT] = { 0 };

	while (*value) {
		size_t length = strcspn(value, ","), name = strcspn(value, ":");

		if (name >= length)
			return -EINVAL;
		uint8_t function = function_named(value, name);
		uint8_t type = dtype_named(value + name + 1, length - name - 1);
		if (function == RW_FUNCTION_UNKNOWN || type == RW_DTYPE_UNKNOWN)
			return -EINVAL;
		parsed[function] = type;
		value += length + (value[length] == ',');
	}
	memcpy(types, parsed, sizeof(parsed));
	return 0;
}

/* One dimension: its length, or 0 when it is none. `size` is what the analysis will take it for. */
static size_t parse_dimension(const char *at, int32_t *size)
{
	size_t length = strcspn(at, ","), name = strcspn(at, "=");
	uint64_t value;
	const char *end = name < length ? decimal_whole(at + name + 1, INT32_MAX, &value) : NULL;

	if (!name || name > MESH_NAME || end != at + length || !value)
		return 0;
	*size = (int32_t)value;
	return length;
}

/* What is wrong with it, as a sentence without its end; false: nothing is. */
static bool mesh_is_wrong(const char *mesh, char *why, size_t room)
{
	int32_t ranks = 1, size;
	int count = 0;

	for (const char *at = mesh; *at;) {
		size_t length = parse_dimension(at, &size);

		if (!length)
			snprintf(why, room, "\"%.*s\" is no NAME=SIZE", (int)strcspn(at, ","), at);
		else if (++count > MESH_DIMENSIONS)
			snprintf(why, room, "it has more than %d dimensions", MESH_DIMENSIONS);
		else if (__builtin_mul_overflow(ranks, size, &ranks))
			snprintf(why, room, "no job has so many ranks");
		else {
			at += length + (at[length] == ',');
			continue;
		}
		return true;
	}
	return false;
}

static int store(struct config *config, const struct entry *entry, const char *value)
{
	void *member = (char *)config + entry->offset;

	switch (entry->kind) {
	case CHOICE:
		return parse_choice(entry->public.values, value, member);
	case NUMBER:
		return *value && strspn(value, "0123456789") != strlen(value) ? -EINVAL : 0;
	case DURATION:
		return *value && strcmp(value, "0") != 0 && !watchdog_duration_ms(value, 1000) ? -EINVAL : 0;
	case SIZE:
		return parse_size(value, member);
	case PERCENT:
		config->budget_given = value != entry->public.initial;
		return parse_percent(value, member);
	case TYPES:
		return parse_types(value, member);
	case TEXT:
		*(const char **)member = *value ? value : NULL;
		return 0;
	default:
		return 0;
	}
}

static void report_mesh(const char *mesh, config_report *report, void *argument)
{
	char why[96], line[LINE];

	if (!mesh_is_wrong(mesh, why, sizeof(why)))
		return;
	snprintf(line, sizeof(line), "RANKWATCH_MESH=%.64s: %s, as in pp=2,fsdp=4; no communicator is named by it",
		 mesh, why);
	report(argument, line);
}

static void read_entry(struct config *config, const struct entry *entry, config_get *get, config_report *report,
		       void *argument)
{
	const struct config_variable *variable = &entry->public;
	const char *value = get(argument, variable->name);
	char line[LINE];

	store(config, entry, variable->initial);
	if (!value || !*value)
		return;
	if (entry->kind == MESH) {
		report_mesh(value, report, argument);
		return;
	}
	if (store(config, entry, value) == 0)
		return;
	store(config, entry, variable->initial);
	snprintf(line, sizeof(line), "%s=%.64s is not %s%s; %s is used", variable->name, value,
		 strchr(variable->values, '|') ? "one of " : "a ", variable->values,
		 *variable->initial ? variable->initial : "none");
	report(argument, line);
}

/* Levenshtein distance: what separates a typing error from another name. */
static int distance(const char *a, const char *b)
{
	int row[NAME_MAX_LENGTH + 1];
	int columns = (int)strnlen(b, NAME_MAX_LENGTH);

	for (int j = 0; j <= columns; j++)
		row[j] = j;
	for (int i = 1; a[i - 1] && i <= NAME_MAX_LENGTH; i++) {
		int diagonal = row[0];

		row[0] = i;
		for (int j = 1; j <= columns; j++) {
			int change = diagonal + (a[i - 1] != b[j - 1]);
			int shorter = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;

			diagonal = row[j];
			row[j] = change < shorter ? change : shorter;
		}
	}
	return row[columns];
}

static void check_name(const char *name, config_report *report, void *argument)
{
	const char *nearest = NULL;
	int least = NAME_MAX_LENGTH;
	char line[LINE];

	for (const struct entry *entry = entries; entry->public.name; entry++) {
		int steps = distance(name, entry->public.name);

		if (steps == 0)
			return;
		if (steps < least) {
			least = steps;
			nearest = entry->public.name;
		}
	}
	snprintf(line, sizeof(line), "%s is not a variable of rankwatch; did you mean %s?", name, nearest);
	report(argument, line);
}

static void check_names(char *const *names, config_report *report, void *argument)
{
	static const char prefix[] = "RANKWATCH";

	for (; *names; names++) {
		char name[NAME_MAX_LENGTH + 1];
		size_t length = strcspn(*names, "=");

		if (strncmp(*names, prefix, sizeof(prefix) - 1) != 0)
			continue;
		if ((*names)[sizeof(prefix) - 1] != '_' && length != sizeof(prefix) - 1)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)length, *names);
		check_name(name, report, argument);
	}
}

void config_read(struct config *config, config_get *get, char *const *names, config_report *report, void *argument)
{
	*config = (struct config){ 0 };
	for (const struct entry *entry = entries; entry->public.name; entry++)
		read_entry(config, entry, get, report, argument);
	if (names)
		check_names(names, report, argument);
}
