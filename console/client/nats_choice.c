/* SPDX-License-Identifier: MIT */
#include "console/client/nats_choice.h"

#include <stdlib.h>
#include <string.h>

#include "console/cli/option.h"
#include "protocol/server_url.h"

enum { KEY_NATS = 0x300 };

static char environment_is_wrong[SERVER_URL_WHY];

static const char *from_environment(void)
{
	const char *url = getenv(NATS_CHOICE_VARIABLE);

	environment_is_wrong[0] = '\0';
	if (!url || !*url || server_url_check(url, environment_is_wrong))
		return NULL;
	return url;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct nats_choice *choice = state->input;
	char why[SERVER_URL_WHY];

	switch (key) {
	case ARGP_KEY_INIT:
		choice->url = from_environment();
		return 0;
	case KEY_NATS:
		environment_is_wrong[0] = '\0';
		choice->url = *argument ? option_hide(argument) : NULL; /* it may hold a password */
		if (choice->url && server_url_check(choice->url, why))
			argp_error(state, "--nats: the address is not nats://[USER:PASSWORD@]HOST[:PORT]: %s", why);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const char *nats_choice_complaint(const struct nats_choice *choice)
{
	return !choice->url && *environment_is_wrong ? environment_is_wrong : NULL;
}

static const struct argp_option options[] = {
	{ "nats", KEY_NATS, "URL", 0,
	  "The NATS server through which the collectors of a job's nodes are heard; otherwise RANKWATCH_NATS, which no "
	  "other "
	  "user can read; \"\": none",
	  0 },
	{ 0 },
};

const struct argp nats_choice_argp = { .options = options, .parser = parse };
