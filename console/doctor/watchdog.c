/* SPDX-License-Identifier: MIT */
#include "console/doctor/check.h"

#include <stdio.h>
#include <string.h>

#include "identity/identity.h"

/* Arguments as /proc/PID/cmdline holds them. Returns the length; what does not fit is left out. */
static size_t join_command(char *const *command, char *line, size_t size)
{
	size_t length = 0;

	for (; command && *command; command++) {
		size_t word = strlen(*command) + 1;

		if (length + word > size)
			break;
		memcpy(line + length, *command, word);
		length += word;
	}
	return length;
}

static void watchdog_run(struct check_context *context, struct check_result *result)
{
	struct identity identity;
	char line[8192];
	size_t length = join_command(context->command, line, sizeof(line));

	identity_read(&identity, context->get, context->get_argument, 0, length ? line : NULL, length);
	if (!identity.watchdog_ms) {
		check_say(result, VERDICT_WARNING, "timeout not known: findings carry no countdown");
		check_advise(result, "set RANKWATCH_TIMEOUT to the seconds after which the framework gives up%s",
			     context->command ? "" : ", or name the command: rankwatch doctor -- torchrun train.py");
		return;
	}
	check_say(result, VERDICT_OK, "%.0f s (%s)", (double)identity.watchdog_ms / 1000, identity.watchdog_from);
	if (identity.watchdog_init_ms && identity.watchdog_init_ms != identity.watchdog_ms)
		check_say(result, VERDICT_OK, "%.0f s until the first step, then %.0f s (%s)",
			  (double)identity.watchdog_init_ms / 1000, (double)identity.watchdog_ms / 1000,
			  identity.watchdog_from);
}

const struct check watchdog_check = { .name = "watchdog", .run = watchdog_run };
