/* SPDX-License-Identifier: MIT */
#include "console/save_choice.h"

#include "blackbox/box_store.h"
#include "console/size.h"

enum { KEY_SAVE = 0x200, KEY_SAVE_LIMIT };

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct save_choice *choice = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		choice->limit_bytes = BOX_STORE_LIMIT;
		return 0;
	case KEY_SAVE:
		choice->directory = argument;
		return 0;
	case KEY_SAVE_LIMIT:
		if (size_parse(argument, &choice->limit_bytes))
			argp_error(state, "--save-limit: \"%s\" is not a size such as 500M or 4G", argument);
		choice->limit = argument;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{ "save", KEY_SAVE, "DIRECTORY", 0,
	  "Keep each black box, compressed, in DIRECTORY/JOB when its process ends, and all at SIGTERM", 0 },
	{ "save-limit", KEY_SAVE_LIMIT, "SIZE", 0,
	  "Remove the oldest saved boxes of ended processes beyond SIZE (2G; 0: keep all)", 0 },
	{ 0 },
};

const struct argp save_choice_argp = { .options = options, .parser = parse };
