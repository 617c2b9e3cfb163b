/* SPDX-License-Identifier: MIT */
#include "console/metrics/scrape.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "protocol/message.h"
#include "console/collectors.h"

/* Of all nodes: 16,384 ranks take most of a second on a busy machine (docs/benchmarks.md); Prometheus waits for 10 s. */
enum { ANSWER_MS = 1000, ALL_NODES_ANSWER_MS = 5000 };

/* utime and stime, fields 14 and 15 of proc(5)'s /proc/PID/stat; negative: not known. */
static double cpu_seconds(json_int_t pid)
{
	char path[64], line[1024];
	uint64_t user, system;

	snprintf(path, sizeof(path), "/proc/%" JSON_INTEGER_FORMAT "/stat", pid);
	FILE *file = pid > 0 ? fopen(path, "re") : NULL;
	const char *name_end = file && fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;

	if (file)
		fclose(file);
	if (!name_end ||
	    sscanf(name_end, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64, &user, &system) != 2)
		return -1;
	return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static bool is_wanted(const struct collector_answer *answer, const char *job)
{
	return !job ||
	       (json_is_string(json_object_get(answer->hello, "job")) && message_hello_is_of(answer->hello, job));
}

static int ask(const struct scrape_choice *choice, struct collectors *collectors)
{
	char topics[96];

	snprintf(topics, sizeof(topics), "[\"ranks\",\"findings\",\"%s\"%s]", choice->all_nodes ? "hosts" : "gpus",
		 choice->communicators ? ",\"communicators\"" : "");
	return choice->all_nodes ? collectors_find_all_nodes(collectors, topics, ALL_NODES_ANSWER_MS)
				 : collectors_find(collectors, topics, ANSWER_MS);
}

char *scrape(const struct scrape_choice *choice, enum exposition_format format, size_t *length)
{
	struct collectors collectors;
	struct exposition_job *jobs = NULL;
	size_t count = 0;
	char *text = NULL;

	if (ask(choice, &collectors) == 0)
		jobs = calloc(collectors.count + 1, sizeof(*jobs));
	for (size_t i = 0; jobs && i < collectors.count; i++) {
		const struct collector_answer *answer = &collectors.answers[i];

		if (is_wanted(answer, choice->job))
			jobs[count++] = (struct exposition_job){
				.hello = answer->hello,
				.findings = answer->findings,
				.snapshot = answer->snapshot,
				.cpu_seconds = cpu_seconds(json_integer_value(json_object_get(answer->hello, "pid"))),
			};
	}
	FILE *out = jobs ? open_memstream(&text, length) : NULL;

	if (out) {
		exposition_write(out, format, jobs, count);
		if (fclose(out)) {
			free(text);
			text = NULL;
		}
	}
	free(jobs);
	collectors_free(&collectors);
	return text;
}
