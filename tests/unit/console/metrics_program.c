/* SPDX-License-Identifier: MIT */
/* metrics_program text|openmetrics < [{"hello":…,"findings":…,"snapshot":…},…]: what an answer to Prometheus holds. */
#include <stdlib.h>
#include <string.h>

#include "console/metrics/exposition.h"

int main(int argc, char **argv)
{
	json_t *list = json_loadf(stdin, 0, NULL), *one;
	struct exposition_job *jobs = calloc(json_array_size(list) + 1, sizeof(*jobs));
	size_t i;

	if (argc != 2 || !list || !jobs)
		return 2;
	json_array_foreach(list, i, one)
		jobs[i] = (struct exposition_job){ .hello = json_object_get(one, "hello"),
						   .findings = json_object_get(one, "findings"),
						   .snapshot = json_object_get(one, "snapshot"),
						   .cpu_seconds = 0.25 };
	exposition_write(stdout, strcmp(argv[1], "openmetrics") ? EXPOSITION_TEXT : EXPOSITION_OPENMETRICS, jobs,
			 json_array_size(list));
	free(jobs);
	json_decref(list);
	return 0;
}
