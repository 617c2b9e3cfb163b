/* SPDX-License-Identifier: MIT */
/* Prints what the analysis keeps at most as the table of docs/analysis.md, "Bounds". */
#include <stdio.h>

#include "analysis/numbers/bounds.h"

int main(void)
{
	puts("| at most | of | beyond | constant |\n|---|---|---|---|");
	for (size_t i = 0; i < bound_count; i++)
		printf("| %lu | %s | %s | `%s` |\n", bounds[i].most, bounds[i].what, bounds[i].beyond, bounds[i].name);
	return 0;
}
