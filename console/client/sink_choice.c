/* SPDX-License-Identifier: MIT */
#include "console/client/sink_choice.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "blackbox/box_store.h"
#include "console/boxes/kept_boxes.h"
#include "console/cli/option.h"
#include "console/cli/size.h"

enum { KEY_FINDINGS = 0x200, KEY_KEEP_BOXES, KEY_ON_FINDING, KEY_ON_FINDING_FD, KEY_SAVE, KEY_SAVE_LIMIT };

/* From the launcher, which started this collector. NULL: there is nothing to read. */
static const char *read_command(const char *number)
{
	char *text = NULL;
	size_t room = 0;
	FILE *file = fdopen(atoi(number), "r");
	ssize_t length = file ? getdelim(&text, &room, '\0', file) : -1;

	if (file)
		fclose(file);
	if (length > 0)
		return text;
	free(text);
	return NULL;
}

int sink_choice_pass_command(const char *command)
{
	size_t size = strlen(command) + 1;
	int fd = memfd_create("rankwatch-on-finding", 0);

	if (fd >= 0 && write(fd, command, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0)
		return fd;
	int err = -errno;

	if (fd >= 0)
		close(fd);
	return err;
}

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
		choice->on_finding =
		    option_hide(argument); /* commands hold secrets: the address of a web hook is one */
		return 0;
	case KEY_ON_FINDING_FD:
		choice->on_finding = read_command(argument);
		if (!choice->on_finding)
			argp_error(state, "--on-finding-fd: descriptor %s has no command", argument);
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
	{ "on-finding-fd", KEY_ON_FINDING_FD, "N", OPTION_HIDDEN, "Likewise, read from this descriptor", 0 },
	{ "save", KEY_SAVE, "DIRECTORY", 0,
	  "Keep each black box, compressed, in DIRECTORY/JOB when its process ends, and all at SIGTERM", 0 },
	{ "save-limit", KEY_SAVE_LIMIT, "SIZE", 0,
	  "Remove the oldest saved boxes of ended processes beyond SIZE (2G; 0: keep all)", 0 },
	{ 0 },
};

const struct argp sink_choice_argp = { .options = options, .parser = parse };
