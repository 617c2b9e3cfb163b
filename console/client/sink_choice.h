/* SPDX-License-Identifier: MIT */
/* Where findings and boxes go besides the terminal, and what stays: --findings, --keep-boxes, --on-finding, --save and
 * --save-limit. A child of the command's argp, whose ARGP_KEY_INIT sets child_inputs to a zeroed sink_choice. */
#ifndef CONSOLE_CLIENT_SINK_CHOICE_H
#define CONSOLE_CLIENT_SINK_CHOICE_H

#include <argp.h>
#include <stdint.h>

struct sink_choice {
	const char *findings;   /* file, or "-"; NULL: none */
	const char *on_finding; /* shell command, hidden in argv; NULL: none; not freed */
	const char *save;       /* directory; NULL: boxes are not saved */
	const char *save_limit; /* as typed; NULL: the default */
	uint64_t save_limit_bytes;
	uint64_t keep_bytes; /* of ended runs' black boxes in memory; KEPT_BOXES_ALL: none is removed */
};

extern const struct argp sink_choice_argp;

/* A descriptor for --on-finding-fd of a collector that is about to be executed: its command line does not show the
 * command. Or -errno. */
int sink_choice_pass_command(const char *command);

#endif
