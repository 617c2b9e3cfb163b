/* SPDX-License-Identifier: MIT */
/*
 * Small jobs that the input draws (tests/unit/analysis/jobs/loose_jobs.h), as the analysis of one host judges them, and
 * as what it sends to the judge of all hosts is judged there, whose questions it answers.
 */
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/job/job_half.h"
#include "analysis/job/job_view.h"
#include "analysis/node/node_half.h"
#include "tests/fuzz/box_target.h"
#include "tests/fuzz/heard.h"
#include "tests/fuzz/told.h"
#include "tests/unit/analysis/jobs/job_shown.h"
#include "tests/unit/analysis/jobs/loose_jobs.h"
#include "tests/unit/analysis/jobs/shown.h"

enum { TICKS_PER_LOOK = 16, MOST_RANKS = 6, MOST_SUSPECTS = 4 };

static struct {
	struct node_half *node;
	struct job_half *job;
	unsigned int ticks;
	uint64_t now_ns;
} hosts;

static void on_finding(void *argument, const struct rw_finding *finding)
{
	(void)argument;
	heard_finding("host", finding, MOST_RANKS);
	if (hosts.node)
		node_half_note_finding(hosts.node, finding);
}

/* Of the judge of all hosts. */
static void on_judged(void *argument, const struct rw_finding *finding)
{
	(void)argument;
	heard_finding("all hosts", finding, MOST_RANKS);
}

static void on_sent(void *argument, const void *bytes, size_t length)
{
	const char *why = "";

	(void)argument;
	told(bytes, length);
	if (job_half_take(hosts.job, bytes, length, hosts.now_ns, &why)) {
		fprintf(stderr, "a batch was refused: %s\n", why);
		abort();
	}
}

static void on_asked(void *argument, const char *host, const void *bytes, size_t length)
{
	const char *why = "";

	(void)argument;
	told_text(host);
	told(bytes, length);
	if (node_half_ask(hosts.node, bytes, length, hosts.now_ns, &why)) {
		fprintf(stderr, "a question was refused: %s\n", why);
		abort();
	}
}

static void look_at_hosts(void)
{
	struct analysis_suspect suspects[MOST_SUSPECTS] = { 0 };
	struct job_half_summary summary;
	struct job_view view;

	job_half_look(hosts.job, &view);
	job_half_summarise(hosts.job, &summary);
	job_shown(heard_file(), &view, &summary);
	size_t count = node_half_suspects(hosts.node, suspects, MOST_SUSPECTS);
	fprintf(heard_file(), "%zu suspects of the node, %u since %lu\n", count, suspects[0].process,
		(unsigned long)suspects[0].since_ns);
}

static void on_begun(void *argument, struct analysis *analysis)
{
	const struct node_identity identity = { .job = "loose", .host = "a", .boot = { 1 }, .start = 17 };

	(void)argument;
	analysis_keep_cells(analysis);
	analysis_watch_time(analysis, shown_stretch, heard_file());
	hosts.ticks = 0;
	hosts.node = node_half_new(analysis, &identity);
	hosts.job = job_half_new("loose", on_judged, NULL);
	if (!hosts.node || !hosts.job)
		abort();
	job_half_keep_course(hosts.job);
}

static void on_ticked(void *argument, struct analysis *analysis, uint64_t now_ns)
{
	(void)argument;
	hosts.now_ns = now_ns;
	node_half_tick(hosts.node, now_ns, on_sent, NULL);
	job_half_tick(hosts.job, now_ns);
	job_half_ask_why(hosts.job, now_ns, on_asked, NULL);
	if (++hosts.ticks % TICKS_PER_LOOK)
		return;
	shown_now(heard_file(), analysis);
	look_at_hosts();
}

static void on_ended(void *argument, struct analysis *analysis)
{
	(void)argument;
	node_half_end(hosts.node, hosts.now_ns, on_sent, NULL);
	look_at_hosts();
	shown_now(heard_file(), analysis);
	shown_in_the_end(heard_file(), analysis);
	node_half_free(hosts.node);
	job_half_free(hosts.job);
	hosts.node = NULL;
	heard_nothing_yet();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct loose_hooks hooks = { .finding = on_finding, .begun = on_begun, .ticked = on_ticked, .ended = on_ended,
					   .words = heard_prints ? heard_file() : NULL };

	heard_nothing_yet();
	loose_play_bytes(data, size, &hooks);
	heard_all();
	return 0;
}
