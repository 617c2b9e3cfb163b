/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/workload/faults/fault.h"
#include "sim/workload/job/interpreter.h"
#include "sim/workload/job/launcher.h"
#include "sim/workload/job/options.h"
#include "sim/workload/job/rank.h"

int main(int argc, char **argv)
{
	struct options options;

	options_parse(&options, argc, argv);
	if (!getenv("RANK"))
		return launcher_main(&options, argv);
	if (!options.fault->in_python)
		return rank_main(&options);
	fprintf(stderr, "workload: cannot start python3: %s\n", strerror(-interpreter_become(argv)));
	return EXIT_FAILURE;
}
