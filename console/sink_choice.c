/* SPDX-License-Identifier: MIT */
#include "console/sink_choice.h"

#include "blackbox/box_store.h"
#include "console/kept_boxes.h"
#include "console/size.h"

enum { KEY_FINDINGS = 0x200, KEY_KEEP_BOXES, KEY_ON_FINDING, KEY_SAVE, KEY_SAVE_LIMIT };

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct sink_choice *choice = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		choice->save_limit_bytes = BOX_STORE_LIMIT;
		choice->keep_bytes = kept_boxes_usual_limit();
		return 0;
	case KEY_FINDINGS:
		choice->findings = argument;
		return 0;
	case KEY_KEEP_BOXES:
		if (kept_boxes_parse(argument, &choice->keep_bytes))
			argp_error(state, "--keep-boxes: \"%s\" is neither a size such as 500M or 4G nor \"all\"",
				   argument);
		return 0;
	case KEY_ON_FINDING:
		choice->on_finding = argument;
		return 0;
	case KEY_SAVE:
		choice->save = argument;
		return 0;
	case KEY_SAVE_LIMIT:
		if (size_parse(argument, &choice->save_limit_bytes))
			argp_error(state, "--save-limit: \"%s\" is not a size such as 500M or 4G", argument);
		choice->save_limit = argument;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{ "findings", KEY_FINDINGS, "FILE", 0,
	  "Append findings to FILE as JSON lines, as they change; - is standard output", 0 },
	{ "keep-boxes", KEY_KEEP_BOXES, "SIZE|all", 0,
	  "Of ended runs' black boxes in memory keep the newest within SIZE (2 % of memory), and the last with "
	  "findings; all: remove "
	  "none, nor those of a run that ended well",
	  0 },
	{ "on-finding", KEY_ON_FINDING, "COMMAND", 0,
	  "Run the shell COMMAND, with the finding as JSON on its input, when one from warning up opens, gets more "
	  "severe or "
	  "closes",
	  0 },
	{ "save", KEY_SAVE, "DIRECTORY", 0,
	  "Keep each black box, compressed, in DIRECTORY/JOB when its process ends, and all at SIGTERM", 0 },
	{ "save-limit", KEY_SAVE_LIMIT, "SIZE", 0,
	  "Remove the oldest saved boxes of ended processes beyond SIZE (2G; 0: keep all)", 0 },
	{ 0 },
};

const struct argp sink_choice_argp = { .options = options, .parser = parse };
