/* SPDX-License-Identifier: MIT */
/* --nats URL, or RANKWATCH_NATS: where findings and messages of this node go, and those of all nodes come from. A child
 * of the command's argp, whose ARGP_KEY_INIT sets child_inputs to a zeroed nats_choice. */
#ifndef CONSOLE_CLIENT_NATS_CHOICE_H
#define CONSOLE_CLIENT_NATS_CHOICE_H

#include <argp.h>
#include <stdbool.h>

#define NATS_CHOICE_VARIABLE "RANKWATCH_NATS"

struct nats_choice {
	const char *url; /* checked, hidden in argv; NULL: none; not freed */
};

extern const struct argp nats_choice_argp;

/* What is wrong with the environment's address, when that is why there is none; NULL: nothing is. */
const char *nats_choice_complaint(const struct nats_choice *choice);

#endif
