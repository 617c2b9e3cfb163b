/* SPDX-License-Identifier: MIT */
#include "console/metrics/exposition.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "console/metrics/incidents.h"

enum type { COUNTER, GAUGE, INFO };

/* Where a sample is written. */
struct page {
	FILE *out;
	enum exposition_format format;
	const struct family *family;
	const struct exposition_job *job;
};

/* The samples of one metric stand together, whatever they are of: so each writes those of one job. */
struct family {
	const char *name; /* without _total and _info */
	enum type type;
	const char *unit; /* the name ends in it; NULL: none */
	const char *help;
	void (*write)(const struct page *page);
	const char *key; /* of the number in a row of the snapshot; NULL: `write` knows */
	double scale;
};

static const char *text_at(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static void label(const struct page *page, const char *name, const char *value, bool first)
{
	fprintf(page->out, "%s%s=\"", first ? "" : ",", name);
	for (;;) {
		size_t plain = strcspn(value, "\n\"\\");

		fwrite(value, 1, plain, page->out);
		value += plain;
		if (!*value)
			break;
		fprintf(page->out, "\\%c", *value == '\n' ? 'n' : *value);
		value++;
	}
	putc('"', page->out);
}

static void begin(const struct page *page)
{
	static const char *const endings[] = { [COUNTER] = "_total", [GAUGE] = "", [INFO] = "_info" };

	fprintf(page->out, "%s%s{", page->family->name, endings[page->family->type]);
	label(page, "job_id", text_at(page->job->hello, "job"), true);
}

static void rank_label(const struct page *page, const json_t *rank)
{
	char number[24];

	snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, json_integer_value(rank));
	label(page, "rank", number, false);
}

static void end(const struct page *page, double value)
{
	/* A count to its last digit; 15 of a measurement are more than it has. */
	if (value == floor(value) && fabs(value) < 0x1p53)
		fprintf(page->out, "} %" PRId64 "\n", (int64_t)value);
	else
		fprintf(page->out, "} %.15g\n", value);
}

/* Such a collector sees no machine: it hears those that do. */
static bool is_of_all_nodes(const struct exposition_job *job)
{
	return json_is_true(json_object_get(job->hello, "all_nodes"));
}

static bool is_rank(const json_t *row)
{
	return json_integer_value(json_object_get(row, "rank")) >= 0;
}

/* One sample for each row of `rows` that has the number; a rank without a number in the world has none. */
static void write_rows(const struct page *page, const char *rows)
{
	const json_t *row, *number;
	size_t i;

	json_array_foreach(json_object_get(page->job->snapshot, rows), i, row)
	{
		number = json_object_get(row, page->family->key);
		if (!json_is_number(number) || !is_rank(row))
			continue;
		begin(page);
		rank_label(page, json_object_get(row, "rank"));
		end(page, json_number_value(number) * page->family->scale);
	}
}

/* Of an object in each rank's row. */
static void write_scanning(const struct page *page)
{
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(page->job->snapshot, "ranks"), i, row)
	{
		const json_t *number = json_object_get(json_object_get(row, "scanning"), page->family->key);

		if (!json_is_number(number) || !is_rank(row))
			continue;
		begin(page);
		rank_label(page, json_object_get(row, "rank"));
		end(page, json_number_value(number) * page->family->scale);
	}
}

static void write_ranks(const struct page *page)
{
	write_rows(page, "ranks");
}

static void write_gpus(const struct page *page)
{
	write_rows(page, "gpus");
}

static void write_job(const struct page *page)
{
	const json_t *number = json_object_get(json_object_get(page->job->snapshot, "job"), page->family->key);

	if (!json_is_number(number))
		return;
	begin(page);
	end(page, json_number_value(number) * page->family->scale);
}

/* "" where it is not known. */
static const char *gpu_number(const json_t *gpu, char *number, size_t size)
{
	const json_t *index = json_object_get(gpu, "index");

	*number = '\0';
	if (json_is_integer(index))
		snprintf(number, size, "%" JSON_INTEGER_FORMAT, json_integer_value(index));
	return number;
}

/* What joins a rank's samples with those of node and GPU exporters. GPUs come in the order of ranks, not of all of
 * them. */
static void write_rank_info(const struct page *page)
{
	const json_t *gpus = json_object_get(page->job->snapshot, "gpus"), *row;
	char number[24];
	size_t i, next = 0;

	json_array_foreach(json_object_get(page->job->snapshot, "ranks"), i, row)
	{
		const json_t *gpu = json_array_get(gpus, next);

		if (!json_equal(json_object_get(gpu, "rank"), json_object_get(row, "rank")))
			gpu = NULL;
		next += gpu != NULL;
		if (!is_rank(row))
			continue;
		begin(page);
		rank_label(page, json_object_get(row, "rank"));
		label(page, "hostname", text_at(row, "host"), false);
		label(page, "gpu", gpu_number(gpu, number, sizeof(number)), false);
		label(page, "UUID", text_at(gpu, "uuid"), false);
		label(page, "pci", text_at(gpu, "pci"), false);
		end(page, 1);
	}
}

static void write_doing(const struct page *page)
{
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(page->job->snapshot, "ranks"), i, row)
	{
		if (!is_rank(row))
			continue;
		begin(page);
		rank_label(page, json_object_get(row, "rank"));
		label(page, "doing", text_at(row, "doing"), false);
		end(page, 1);
	}
}

/* How long a rank has stood in the operation that it is in. */
static void write_age(const struct page *page)
{
	double now_ms = json_number_value(json_object_get(page->job->snapshot, "unix_ms"));
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(page->job->snapshot, "ranks"), i, row)
	{
		const char *doing = text_at(row, "doing");
		double since_ms = json_number_value(json_object_get(row, "since_unix_ms"));
		bool stands =
		    (!strcmp(doing, "waits") || !strcmp(doing, "inside")) && since_ms > 0 && since_ms < now_ms;

		if (!is_rank(row))
			continue;
		begin(page);
		rank_label(page, json_object_get(row, "rank"));
		end(page, stands ? (now_ms - since_ms) / 1e3 : 0);
	}
}

/* What the framework's watchdog leaves of its time; the whole of it while nothing is in flight. */
static void write_watchdog(const struct page *page)
{
	const json_t *watchdog = json_object_get(page->job->snapshot, "watchdog");
	const json_t *deadline = json_object_get(watchdog, "deadline_unix_ms");
	double now_ms = json_number_value(json_object_get(page->job->snapshot, "unix_ms"));

	if (!json_is_object(watchdog))
		return;
	begin(page);
	if (json_is_number(deadline))
		end(page, (json_number_value(deadline) - now_ms) / 1e3);
	else
		end(page, json_number_value(json_object_get(watchdog, "timeout_ms")) / 1e3);
}

/* How far each rank is in each communicator, where that was asked for. Several may have one name: the id tells them
 * apart. */
static void write_calls(const struct page *page)
{
	const json_t *communicator, *member;
	size_t i, j;

	json_array_foreach(json_object_get(page->job->snapshot, "communicators"), i, communicator)
	{
		json_array_foreach(json_object_get(communicator, "members"), j, member)
		{
			const json_t *calls = json_object_get(member, "calls");

			if (!json_is_number(calls) || !is_rank(member))
				continue;
			begin(page);
			label(page, "communicator", text_at(communicator, "name"), false);
			label(page, "comm", text_at(communicator, "comm"), false);
			rank_label(page, json_object_get(member, "rank"));
			end(page, json_number_value(calls));
		}
	}
}

static void write_watchdog_timeout(const struct page *page)
{
	const json_t *timeout = json_object_get(json_object_get(page->job->snapshot, "watchdog"), "timeout_ms");

	if (!json_is_number(timeout))
		return;
	begin(page);
	end(page, json_number_value(timeout) / 1e3);
}

/* Adds one to the number of findings that look like this from here: what tells them apart, their paths and operations,
 * is in no label, which would be another one each time. */
static void count_finding(json_t *counts, const json_t *finding, const json_t *rank)
{
	json_t *labels = json_pack("[s, s, s, s, s]", text_at(finding, "kind"), text_at(finding, "severity"),
				   text_at(finding, "confidence"), text_at(finding, "scope"),
				   text_at(json_object_get(finding, "cause"), "class"));
	json_array_append(labels, (json_t *)rank);
	char *key = json_dumps(labels, JSON_COMPACT);

	if (key)
		json_object_set_new(counts, key, json_integer(json_integer_value(json_object_get(counts, key)) + 1));
	free(key);
	json_decref(labels);
}

/* Each counts for each rank that it names; with rank="" where it names none. */
static void write_counted(const struct page *page, const json_t *findings)
{
	static const char *const names[] = { "kind", "severity", "confidence", "scope", "cause" };
	json_t *counts = json_object(), *count;
	const json_t *finding, *rank;
	const char *key;
	size_t i, j;

	json_array_foreach(findings, i, finding)
	{
		const json_t *ranks = json_object_get(finding, "ranks");

		if (json_array_size(ranks) == 0)
			count_finding(counts, finding, NULL);
		json_array_foreach(ranks, j, rank) count_finding(counts, finding, rank);
	}
	json_object_foreach(counts, key, count)
	{
		json_t *labels = json_loads(key, 0, NULL);

		begin(page);
		for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			label(page, names[i], json_string_value(json_array_get(labels, i)), false);
		if (json_array_get(labels, i))
			rank_label(page, json_array_get(labels, i));
		else
			label(page, "rank", "", false);
		end(page, json_number_value(count));
		json_decref(labels);
	}
	json_decref(counts);
}

static void write_findings(const struct page *page)
{
	write_counted(page, page->job->findings);
}

static void write_incidents(const struct page *page)
{
	json_t *incidents = incidents_open(page->job->findings);

	write_counted(page, incidents);
	json_decref(incidents);
}

static void write_findings_so_far(const struct page *page)
{
	const json_t *count;
	const char *kind;

	json_object_foreach(json_object_get(page->job->snapshot, "findings_so_far"), kind, count)
	{
		begin(page);
		label(page, "kind", kind, false);
		end(page, json_number_value(count));
	}
}

/* How many hosts are heard, are silent and have ended: every state has a sample, so that one which falls to 0 says so.
 */
static void write_hosts(const struct page *page)
{
	static const char *const states[] = { "heard", "silent", "ended" };
	const json_t *hosts = json_object_get(page->job->snapshot, "hosts"), *host;
	size_t index;

	for (size_t i = 0; json_is_array(hosts) && i < sizeof(states) / sizeof(states[0]); i++) {
		size_t count = 0;

		json_array_foreach(hosts, index, host) count += strcmp(text_at(host, "state"), states[i]) == 0;
		begin(page);
		label(page, "state", states[i], false);
		end(page, (double)count);
	}
}

static void write_up(const struct page *page)
{
	begin(page);
	end(page, page->job->snapshot != NULL);
}

static void write_level(const struct page *page)
{
	const json_t *sight = json_object_get(page->job->snapshot, "sight");

	begin(page);
	label(page, "level",
	      is_of_all_nodes(page->job) ? "all-nodes" : text_at(sight ? sight : page->job->hello, "level"), false);
	end(page, 1);
}

static void write_cpu(const struct page *page)
{
	if (page->job->cpu_seconds < 0)
		return;
	begin(page);
	end(page, page->job->cpu_seconds);
}

static const struct family families[] = {
	{ "rankwatch_collector_up", GAUGE, NULL,
	  "1 if the collector of this job answered, 0 if it is stopped or too busy.", write_up, NULL, 1 },
	{ "rankwatch_collector", INFO, NULL,
	  "How deep the collector sees: ebpf, root, proc or self; all-nodes: it hears the collectors of all nodes.",
	  write_level, NULL, 1 },
	{ "rankwatch_collector_cpu_seconds", COUNTER, "seconds", "CPU time that the collector has taken.", write_cpu,
	  NULL, 1 },
	{ "rankwatch_job_ranks", GAUGE, NULL, "Ranks of the job on all hosts, where that is known.", write_job,
	  "ranks_total", 1 },
	{ "rankwatch_job_ranks_seen", GAUGE, NULL,
	  "Ranks whose black box is read on this host; of all nodes: those that were heard of.", write_job, "processes",
	  1 },
	{ "rankwatch_job_hosts", GAUGE, NULL,
	  "Hosts of the job, by whether their collector is heard, silent or has ended.", write_hosts, NULL, 1 },
	{ "rankwatch_job_steps", COUNTER, NULL, "Training steps that were recognised.", write_job, "steps", 1 },
	{ "rankwatch_job_step_seconds", GAUGE, "seconds", "Median of the last steps.", write_job, "step_ms", 1e-3 },
	{ "rankwatch_job_operations_untracked", COUNTER, NULL, "Operations of which NCCL announced no task.", write_job,
	  "untracked", 1 },
	{ "rankwatch_job_operations_dropped", COUNTER, NULL, "Operations that were overwritten before they were read.",
	  write_job, "dropped", 1 },
	{ "rankwatch_watchdog_remaining_seconds", GAUGE, "seconds",
	  "Until the framework's watchdog ends the job, if what is in flight does not end; negative when it should "
	  "have.",
	  write_watchdog, NULL, 1 },
	{ "rankwatch_watchdog_timeout_seconds", GAUGE, "seconds",
	  "How long the framework's watchdog waits for an operation.", write_watchdog_timeout, NULL, 1 },
	{ "rankwatch_findings_open", GAUGE, NULL, "Open findings, for each rank that they name.", write_findings, NULL,
	  1 },
	{ "rankwatch_incidents_open", GAUGE, NULL,
	  "Incidents with open findings, by the finding that each began with, for each rank that it names.",
	  write_incidents, NULL, 1 },
	{ "rankwatch_findings", COUNTER, NULL,
	  "Findings from warning up, by their kind, open ones and those that are over.", write_findings_so_far, NULL,
	  1 },
	{ "rankwatch_rank", INFO, NULL, "Host and GPU of a rank, to join with other exporters.", write_rank_info, NULL,
	  1 },
	{ "rankwatch_rank_doing", GAUGE, NULL,
	  "What the rank does now: works, inside an operation, waits, missing, init, stopped, gone, unknown.",
	  write_doing, NULL, 1 },
	{ "rankwatch_inflight_age_seconds", GAUGE, "seconds",
	  "How long the rank has stood in the operation that it is in; 0 in none.", write_age, NULL, 1 },
	{ "rankwatch_rank_step", GAUGE, NULL, "The step that the rank is in.", write_ranks, "step", 1 },
	{ "rankwatch_rank_operations", COUNTER, NULL, "Collectives and point-to-point operations that the rank called.",
	  write_ranks, "operations", 1 },
	{ "rankwatch_rank_bytes", COUNTER, "bytes", "Bytes of the counts of the rank's calls.", write_ranks, "bytes",
	  1 },
	{ "rankwatch_communicator_operations", COUNTER, NULL, "Operations that the rank called in the communicator.",
	  write_calls, NULL, 1 },
	{ "rankwatch_rank_own_seconds", COUNTER, "seconds", "Time of the rank between its operations.", write_ranks,
	  "own_ms", 1e-3 },
	{ "rankwatch_rank_wait_seconds", COUNTER, "seconds",
	  "Time of the rank in operations that could not end before another rank came.", write_ranks, "wait_ms", 1e-3 },
	{ "rankwatch_rank_transfer_seconds", COUNTER, "seconds",
	  "Time of the rank in operations to which all had come.", write_ranks, "transfer_ms", 1e-3 },
	{ "rankwatch_rank_inside_seconds", COUNTER, "seconds",
	  "Of all nodes: time of the rank in operations, waits and transfers together.", write_ranks, "inside_ms",
	  1e-3 },
	{ "rankwatch_rank_unseen_seconds", COUNTER, "seconds", "Time of the rank of which nothing is known.",
	  write_ranks, "unseen_ms", 1e-3 },
	{ "rankwatch_lost_seconds", COUNTER, "seconds",
	  "Time that the other ranks waited for this one, summed over them.", write_ranks, "lost_ms", 1e-3 },
	{ "rankwatch_rank_callback_seconds", COUNTER, "seconds",
	  "What the plugin's callbacks have taken of the job's threads, estimated from a sample of them.", write_ranks,
	  "callback_ms", 1e-3 },
	{ "rankwatch_rank_clean_scans", COUNTER, NULL,
	  "Buffers of the rank that were scanned and held no NaN and no Inf.", write_ranks, "clean_scans", 1 },
	{ "rankwatch_rank_scanned_buffers", COUNTER, NULL,
	  "Buffers of the rank's process of which a scan has a result.", write_scanning, "buffers", 1 },
	{ "rankwatch_rank_scan_left_out", COUNTER, NULL,
	  "Operations of the rank's process that were not scanned for the sake of cost.", write_scanning, "left_out",
	  1 },
	{ "rankwatch_rank_scan_host_seconds", COUNTER, "seconds", "What scans have taken of the job's threads.",
	  write_scanning, "host_ms", 1e-3 },
	{ "rankwatch_rank_scan_gpu_seconds", COUNTER, "seconds", "What scans have taken of the GPU.", write_scanning,
	  "gpu_ms", 1e-3 },
	{ "rankwatch_rank_last_xid", GAUGE, NULL,
	  "The last Xid that the driver reported of the rank's GPU during the job.", write_gpus, "xid", 1 },
};

static void write_head(FILE *out, enum exposition_format format, const struct family *family)
{
	static const char *const types[] = { [COUNTER] = "counter", [GAUGE] = "gauge", [INFO] = "info" };
	/* The older format has no info, and its counters' names end in _total here as well. */
	bool older = format == EXPOSITION_TEXT;
	const char *ending = !older ? "" : family->type == COUNTER ? "_total" : family->type == INFO ? "_info" : "";

	fprintf(out, "# HELP %s%s %s\n", family->name, ending, family->help);
	fprintf(out, "# TYPE %s%s %s\n", family->name, ending,
		older && family->type == INFO ? "gauge" : types[family->type]);
	if (family->unit && !older)
		fprintf(out, "# UNIT %s %s\n", family->name, family->unit);
}

void exposition_write(FILE *out, enum exposition_format format, const struct exposition_job *jobs, size_t count)
{
	static const struct family build = { .name = "rankwatch_build",
					     .type = INFO,
					     .help = "The release of rankwatch that answers." };

	write_head(out, format, &build);
	fprintf(out, "rankwatch_build_info{version=\"%s\"} 1\n", RANKWATCH_VERSION);
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		write_head(out, format, &families[i]);
		for (size_t job = 0; job < count; job++) {
			const struct page page = {
				.out = out, .format = format, .family = &families[i], .job = &jobs[job]
			};

			families[i].write(&page);
		}
	}
	if (format == EXPOSITION_OPENMETRICS)
		fputs("# EOF\n", out);
}

const char *exposition_content_type(enum exposition_format format)
{
	return format == EXPOSITION_OPENMETRICS ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
						: "text/plain; version=0.0.4; charset=utf-8";
}

enum exposition_format exposition_accepted(const char *accept)
{
	return accept && strstr(accept, "application/openmetrics-text") ? EXPOSITION_OPENMETRICS : EXPOSITION_TEXT;
}
