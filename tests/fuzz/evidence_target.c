/* SPDX-License-Identifier: MIT */
/*
 * A file of evidence beside the boxes of a run, as a report takes it and as the next collector of the job goes on with
 * it. The first byte of the input says what the rest is:
 *
 *   even  the file as it lies on the disk, saved or not
 *   odd   lines of findings (changed_findings.h), which become records with their checksums here
 *
 * What a person is shown holds nothing that moves the cursor, and what the collector writes is whole.
 */
#include "tests/fuzz/box_target.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blackbox/evidence.h"
#include "collector/sinks/evidence.h"
#include "console/replay/seen_live.h"
#include "console/report/report_findings.h"
#include "finding/value.h"
#include "tests/fuzz/changed_findings.h"

#define NAME "job-host" EVIDENCE_SUFFIX
#define BOX  "rank0-1.rwbox"

enum { RANKS = 4, SECOND = 1000000000, NEW_ENTRIES = 1 };

static char directory[] = "/dev/shm/rankwatch-fuzz-XXXXXX";
static int directory_fd = -1;

static void remove_directory(void)
{
	evidence_clear(directory_fd);
	unlinkat(directory_fd, BOX, 0);
	rmdir(directory);
}

static void make_directory(void)
{
	directory_fd = mkdtemp(directory) ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (directory_fd < 0) {
		fprintf(stderr, "skipped: no directory in /dev/shm\n");
		exit(77);
	}
	close(openat(directory_fd, BOX, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	atexit(remove_directory);
}

static void put_file(const void *bytes, size_t size)
{
	int fd = openat(directory_fd, NAME, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	close(fd);
}

/* Every third line is what another entry was told last. */
static void put_record(FILE *file, const char *line, unsigned number)
{
	char *record;

	if (asprintf(&record, "{\"entry\":%u,\"finding\":%s}", number % 3, line) < 0)
		abort();
	evidence_put(file, record);
	free(record);
}

static void put_records(const uint8_t *data, size_t size)
{
	char *text = NULL, *bytes = NULL, *rest = NULL;
	size_t length;
	FILE *lines = open_memstream(&text, &length);
	unsigned number = 0;

	changed_findings_write(lines, data, size);
	fclose(lines);
	FILE *file = open_memstream(&bytes, &length);

	fputs("rankwatch evidence 1 1795921200000000000\n", file);
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		put_record(file, line, number++);
	fclose(file);
	put_file(bytes, length);
	free(text);
	free(bytes);
}

static int read_kept(struct kept_findings *kept, unsigned *damaged)
{
	char why[EVIDENCE_WHY] = "";
	uint64_t created_ns;
	int err = evidence_read(directory_fd, NAME, geteuid(), kept_findings_take, kept, &created_ns, damaged, why);

	if (err && strncmp(why, NAME ": ", strlen(NAME ": ")))
		abort();
	return err;
}

/* The run of the finding that the input changes. */
static void make_run(struct seen_live_run *run)
{
	const uint64_t begin_ns = UINT64_C(1763665200) * SECOND;

	*run = (struct seen_live_run){ .processes = calloc(RANKS, sizeof(*run->processes)),
				       .ranks = RANKS,
				       .communicators = json_pack("{s:n}", "0x5") };
	for (int32_t rank = 0; rank < RANKS; rank++, run->count++)
		run->processes[rank] = (struct seen_live_process){
			rank, 7 + (uint32_t)rank, "a", begin_ns, begin_ns + 3600 * UINT64_C(1000000000), rank & 1
		};
}

static void print(const json_t *findings)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	report_findings_print(out, &(struct report_findings){
				       .list = findings, .notices = true, .style = { .whole = true, .width = 100 } });
	report_findings_worst(findings, RW_NOTICE);
	fclose(out);
	changed_findings_check_text(text);
	free(text);
}

static void report(void)
{
	struct kept_findings kept = { 0 };
	struct seen_live_run run;
	unsigned damaged = 0;
	json_t *findings = json_pack("{s:o}", "9f-3@0 0", changed_findings_kept());

	make_run(&run);
	if (read_kept(&kept, &damaged) == 0)
		seen_live_merge(findings, &kept, &run);
	print(findings);
	json_decref(findings);
	json_decref(run.communicators);
	free(run.processes);
	kept_findings_free(&kept);
}

/* The next collector has found something itself, and goes on with what is there. */
static void collect(void)
{
	struct evidence_sink *sink = evidence_sink_new("job", "host", true);
	struct kept_findings kept = { 0 };
	json_t *finding = changed_findings_kept();
	char *line = json_dumps(finding, JSON_COMPACT);
	unsigned damaged = 0;

	evidence_sink_put(sink, line);
	evidence_sink_tick(sink, directory, SECOND);
	if (read_kept(&kept, &damaged) || damaged || kept.refused || json_object_size(kept.entries) < NEW_ENTRIES)
		abort();
	evidence_sink_free(sink, directory);
	kept_findings_free(&kept);
	json_decref(finding);
	free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (directory_fd < 0)
		make_directory();
	if (!size)
		return 0;
	if (data[0] & 1)
		put_records(data + 1, size - 1);
	else
		put_file(data + 1, size - 1);
	report();
	collect();
	return 0;
}
