/* SPDX-License-Identifier: MIT */
/* Prints the thresholds of one kind of finding as the table of its page, or what the analysis keeps at most:
 * print_thresholds KIND|bounds. */
#include <stdio.h>
#include <string.h>

#include "analysis/numbers/bounds.h"
#include "analysis/numbers/thresholds.h"
#include "finding/finding_json.h"

static void print_bounds(void)
{
	puts("| at most | of | beyond | constant |\n|---|---|---|---|");
	for (size_t i = 0; i < bound_count; i++)
		printf("| %lu | %s | %s | `%s` |\n", bounds[i].most, bounds[i].what, bounds[i].beyond, bounds[i].name);
}

int main(int argc, char **argv)
{
	char text[32];

	if (argc != 2) {
		fprintf(stderr, "usage: %s KIND|bounds\n", argv[0]);
		return 2;
	}
	if (!strcmp(argv[1], "bounds")) {
		print_bounds();
		return 0;
	}
	puts("| value | what it is | constant |\n|---|---|---|");
	for (size_t i = 0; i < threshold_count; i++)
		if (!strcmp(finding_kind_name(thresholds[i].kind), argv[1]))
			printf("| %s | %s | `%s` |\n", threshold_text(text, sizeof(text), &thresholds[i]),
			       thresholds[i].meaning, thresholds[i].name);
	return 0;
}
