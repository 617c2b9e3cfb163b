/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "launcher.h"
#include "options.h"
#include "rank.h"

int main(int argc, char **argv)
{
	struct options options;

	options_parse(&options, argc, argv);
	return getenv("RANK") ? rank_main(&options) : launcher_main(&options, argv);
}
