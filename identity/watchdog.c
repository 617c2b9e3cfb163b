/* SPDX-License-Identifier: MIT */
#include "identity/watchdog.h"

#include <stdio.h>
#include <string.h>

#include "identity/decimal.h"

enum { TITAN_INIT_MS = 300000, TITAN_TRAIN_MS = 100000, PYTORCH_MS = 600000 };

#define LONGEST_THOUSANDTHS UINT64_C(1000000000000) /* 10^9 of any unit: their product stays below 2^64 */

struct arguments {
	const char *text;
	size_t size;
};

/* The argument after `current`, or the first one; NULL at the end. An unterminated last one is not seen. */
static const char *next_argument(const struct arguments *arguments, const char *current)
{
	if (!arguments->text)
		return NULL;

	const char *end = arguments->text + arguments->size;
	const char *next = current ? current + strlen(current) + 1 : arguments->text;

	return next < end && memchr(next, '\0', (size_t)(end - next)) ? next : NULL;
}

/* Does `argument` name `option`, `-` and `_` being the same? Returns what follows the name, else NULL. */
static const char *after_name(const char *argument, const char *option)
{
	for (; *option; argument++, option++)
		if (*argument != *option && !(*argument == '-' && *option == '_'))
			return NULL;
	return argument;
}

/* Value of `--name=value` or `--name value`; the last one counts, as in argparse. NULL: not given. */
static const char *option_value(const struct arguments *arguments, const char *option)
{
	const char *value = NULL;

	for (const char *at = next_argument(arguments, NULL); at; at = next_argument(arguments, at)) {
		const char *rest = after_name(at, option);

		if (rest && *rest == '=')
			value = rest + 1;
		else if (rest && !*rest)
			value = next_argument(arguments, at);
	}
	return value;
}

static bool mentions(const struct arguments *arguments, const char *word)
{
	for (const char *at = next_argument(arguments, NULL); at; at = next_argument(arguments, at))
		if (strstr(at, word))
			return true;
	return false;
}

uint64_t watchdog_duration_ms(const char *text, uint64_t unit_ms)
{
	static const struct {
		const char *name;
		uint64_t ms;
	} units[] = { { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 } };
	uint64_t thousandths;
	const char *end = text ? decimal_read(text, 3, LONGEST_THOUSANDTHS, &thousandths) : NULL;

	if (!end)
		return 0;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(end, units[i].name) == 0) {
			unit_ms = units[i].ms;
			end += strlen(end);
		}
	return *end ? 0 : thousandths * unit_ms / 1000;
}

static void set(struct identity *identity, uint64_t ms, uint64_t init_ms, const char *from)
{
	identity->watchdog_ms = ms;
	identity->watchdog_init_ms = init_ms;
	snprintf(identity->watchdog_from, sizeof(identity->watchdog_from), "%s", from);
}

static bool from_command_line(struct identity *identity, const struct arguments *arguments)
{
	static const struct {
		const char *option;
		uint64_t unit_ms;
	} options[] = { { "--distributed_timeout_minutes", 60000 }, { "--ddp_timeout", 1000 } };
	uint64_t train = watchdog_duration_ms(option_value(arguments, "--comm.train_timeout_seconds"), 1000);
	uint64_t init = watchdog_duration_ms(option_value(arguments, "--comm.init_timeout_seconds"), 1000);

	if (train || init) {
		set(identity, train ? train : TITAN_TRAIN_MS, init ? init : TITAN_INIT_MS, "cmdline");
		return true;
	}
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		uint64_t ms = watchdog_duration_ms(option_value(arguments, options[i].option), options[i].unit_ms);

		if (!ms)
			continue;
		set(identity, ms, 0, "cmdline");
		return true;
	}
	return false;
}

static bool is_python(const struct arguments *arguments)
{
	const char *program = next_argument(arguments, NULL);
	const char *slash = program ? strrchr(program, '/') : NULL;

	return program && strncmp(slash ? slash + 1 : program, "python", 6) == 0;
}

void watchdog_read(struct identity *identity, identity_get *get, void *argument, const char *command_line,
		   size_t command_line_size)
{
	const struct arguments arguments = { command_line, command_line ? command_line_size : 0 };
	const char *ours = get(argument, "RANKWATCH_TIMEOUT");

	set(identity, 0, 0, "");
	if (ours && *ours) {
		uint64_t ms = watchdog_duration_ms(ours, 1000);

		if (ms)
			set(identity, ms, 0, "RANKWATCH_TIMEOUT");
		return; /* 0 means: there is none */
	}
	if (from_command_line(identity, &arguments))
		return;
	/* The file says, and nobody here reads it: it can lie on a mount that no longer answers. */
	if (option_value(&arguments, "--job.config_file"))
		return;
	if (mentions(&arguments, "torchtitan"))
		set(identity, TITAN_TRAIN_MS, TITAN_INIT_MS, "torchtitan, assumed");
	else if (is_python(&arguments) && (get(argument, "MASTER_ADDR") || get(argument, "TORCHELASTIC_RUN_ID")))
		set(identity, PYTORCH_MS, 0, "PyTorch, assumed");
}
