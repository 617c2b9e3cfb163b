/* SPDX-License-Identifier: MIT */
/* Prints the thresholds of one kind of finding as the table of its page: print_thresholds KIND. */
#include <stdio.h>
#include <string.h>

#include "analysis/thresholds.h"
#include "finding/finding_json.h"

int main(int argc, char **argv)
{
	char text[32];

	if (argc != 2) {
		fprintf(stderr, "usage: %s KIND\n", argv[0]);
		return 2;
	}
	puts("| value | what it is | constant |\n|---|---|---|");
	for (size_t i = 0; i < threshold_count; i++)
		if (!strcmp(finding_kind_name(thresholds[i].kind), argv[1]))
			printf("| %s | %s | `%s` |\n", threshold_text(text, sizeof(text), &thresholds[i]),
			       thresholds[i].meaning, thresholds[i].name);
	return 0;
}
