/* SPDX-License-Identifier: MIT */
#include "console/metrics/scrape.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/proc_stat.h"
#include "base/small_file.h"
#include "console/client/collectors.h"
#include "protocol/message.h"

/* Of all nodes: 16,384 ranks take most of a second on a busy machine (docs/benchmarks.md); Prometheus waits for 10 s.
 */
enum { ANSWER_MS = 1000, ALL_NODES_ANSWER_MS = 5000 };

/* Negative: not known. */
static double cpu_seconds(json_int_t pid)
{
	char path[64], line[1024];
	uint64_t user, system;

	snprintf(path, sizeof(path), "/proc/%" JSON_INTEGER_FORMAT "/stat", pid);
	if (pid <= 0 || small_file_read(AT_FDCWD, path, line, sizeof(line)) <= 0 ||
	    !proc_stat_number(line, PROC_STAT_USER_TICKS, &user) ||
	    !proc_stat_number(line, PROC_STAT_SYSTEM_TICKS, &system))
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
