/* SPDX-License-Identifier: MIT */
#include "console/replay/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/view/view.h"
#include "base/clock.h"
#include "base/foreign_text.h"
#include "console/replay/common_clock.h"
#include "console/replay/host_clocks.h"
#include "console/replay/seen_live.h"
#include "finding/finding_json.h"
#include "finding/rank_list.h"

/* What the machines' analyses are asked to report while they see the run. */
struct playing {
	struct replay *replay;
	size_t machine; /* whose turn it is */
	const struct replay_watch *watch;
	uint32_t ranks_before, ranks; /* numbered by the machines before, and so far */
	struct progress *progress;
};

/* Bad values that a rank makes after it was clean again are another finding, and have the id of the first. */
static void keep_finding(void *argument, const struct rw_finding *finding)
{
	struct playing *playing = argument;
	struct replay *replay = playing->replay;
	char key[sizeof(finding->id) + 48];

	/* Two machines can find the same of the job, each for its own ranks. */
	snprintf(key, sizeof(key), "%s@%zu %" PRIu64, finding->id, playing->machine,
		 finding->values.present ? finding->first_seen_ns : 0);
	json_object_set_new(replay->findings, key,
			    finding_to_json(finding, replay->machines[playing->machine].realtime_offset_ns));
}

/* Each analysis numbers its ranks from 0. */
static void pass_stretch(void *argument, const struct analysis_stretch *stretch)
{
	struct playing *playing = argument;
	struct analysis_stretch reported = *stretch;

	reported.rank += playing->ranks_before;
	if (reported.waited_for != ANALYSIS_NO_RANK)
		reported.waited_for += playing->ranks_before;
	if (reported.rank >= playing->ranks)
		playing->ranks = reported.rank + 1;
	if (reported.waited_for != ANALYSIS_NO_RANK && reported.waited_for >= playing->ranks)
		playing->ranks = reported.waited_for + 1;
	playing->watch->time(playing->watch->argument, &reported);
}

static int add_entry(struct replay *replay, struct replay_machine *machine, struct box_entry *entry)
{
	struct replay_process *process = &replay->processes[replay->count];
	analysis_process_id id = (analysis_process_id)replay->count + 1;

	*process = (struct replay_process){
		.path = entry->path,
		.rank = box_rank(&entry->reader),
		.life = box_reader_life(&entry->reader, NULL),
	};
	process->feed = feed_new(machine->analysis, id, &entry->reader);
	entry->reader.fd = -1;
	if (!process->feed)
		return -ENOMEM;
	uint64_t created_ns = replay_header(process)->created_ns;

	if (!machine->count || created_ns < machine->first_ns)
		machine->first_ns = created_ns;
	machine->count++;
	replay->count++;
	return 0;
}

/* That of the first of these entries, with all others whose times are on one clock with its own: those of its number.
 */
static int add_machine(struct replay *replay, struct playing *playing, struct box_entry *entries, size_t count,
		       const size_t *clocks)
{
	struct replay_machine *machine = &replay->machines[replay->machine_count];
	int error = 0;

	*machine = (struct replay_machine){
		.analysis = analysis_new(true, keep_finding, playing),
		.first = replay->count,
		.realtime_offset_ns = box_realtime_offset(&entries[0].reader.header),
	};
	if (!machine->analysis)
		return -ENOMEM;
	replay->machine_count++;
	if (playing->watch)
		analysis_watch_time(machine->analysis, pass_stretch, playing);
	for (size_t i = 0; i < count && !error; i++)
		if (clocks[i] == clocks[0])
			error = add_entry(replay, machine, &entries[i]);
	return error;
}

static int add_machines(struct replay *replay, struct playing *playing, struct box_entry *entries, size_t count)
{
	size_t *clocks = calloc(count + 1, sizeof(*clocks));
	int error = clocks ? common_clock_find(entries, count, clocks) : -ENOMEM;

	for (size_t i = 0; i < count && !error; i++)
		if (clocks[i] == replay->machine_count)
			error = add_machine(replay, playing, &entries[i], count - i, &clocks[i]);
	free(clocks);
	return error;
}

static bool is_in(const struct replay_process *process, enum box_life life, uint64_t init)
{
	const struct rw_init *in = &replay_header(process)->init;

	return process->life == life && in->since_ns && in->id == init;
}

/* Has one ended in the init of a communicator in which others of its machine live? */
static bool has_lost_somebody(const struct replay_process *processes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t init = replay_header(&processes[i])->init.id;

		for (size_t k = 0; is_in(&processes[i], BOX_ORPHANED, init) && k < count; k++)
			if (is_in(&processes[k], BOX_ALIVE, init))
				return true;
	}
	return false;
}

static bool all_live_on(const struct replay_process *processes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (processes[i].life != BOX_ORPHANED &&
		    box_reader_life(feed_reader(processes[i].feed), NULL) != BOX_ALIVE)
			return false;
	return true;
}

/* Processes that live are of this host, whichever host's clock their times were brought to. */
static uint64_t now_of_living(const struct replay_process *processes, size_t count)
{
	uint64_t now_ns = clock_monotonic_ns();

	for (size_t i = 0; i < count; i++)
		if (processes[i].life == BOX_ALIVE)
			return box_clock_time(&feed_reader(processes[i].feed)->clock, now_ns);
	return now_ns;
}

/* A rank has ended, the others wait for it and live: if they still do after a moment, this is not the end of the whole
 * job. */
static void report_inits(const struct replay *replay, const struct replay_machine *machine)
{
	const struct timespec moment = { .tv_sec = 1 };
	const struct replay_process *processes = &replay->processes[machine->first];

	if (!has_lost_somebody(processes, machine->count))
		return;
	nanosleep(&moment, NULL);
	if (all_live_on(processes, machine->count))
		analysis_report_inits(machine->analysis, now_of_living(processes, machine->count));
}

/* A time of a machine on the first one's clock. */
static uint64_t first_clock(const struct replay *replay, const struct replay_machine *machine, uint64_t ns)
{
	int64_t ahead_ns =
	    host_clocks_sane(machine->realtime_offset_ns) - host_clocks_sane(replay->machines[0].realtime_offset_ns);

	if (machine == replay->machines)
		return ns;
	return ahead_ns < 0 && ns < (uint64_t)-ahead_ns ? 0 : ns + (uint64_t)ahead_ns;
}

/* Of all machines: as if each had as much to be read. */
static void show_progress(void *argument, uint64_t passed, uint64_t all)
{
	const uint64_t whole = 1000;
	const struct playing *playing = argument;

	progress_show(playing->progress,
		      playing->machine * whole +
			  (all ? (uint64_t)((double)passed / (double)all * (double)whole) : whole),
		      playing->replay->machine_count * whole);
}

static int play(struct replay *replay, struct replay_machine *machine, struct playing *playing)
{
	struct feed **feeds = calloc(machine->count + 1, sizeof(struct feed *));

	if (!feeds)
		return -ENOMEM;
	for (size_t i = 0; i < machine->count; i++)
		feeds[i] = replay->processes[machine->first + i].feed;
	feed_replay(feeds, machine->count, machine->analysis, show_progress, playing);
	for (size_t i = 0; i < machine->count; i++) {
		if (feed_last_ns(feeds[i]) > machine->last_ns)
			machine->last_ns = feed_last_ns(feeds[i]);
	}
	free(feeds);
	uint64_t last_ns = first_clock(replay, machine, machine->last_ns);

	if (last_ns > replay->last_ns)
		replay->last_ns = last_ns;
	report_inits(replay, machine);
	return 0;
}

/* One machine after the other: nothing of one depends on another. */
static int play_all(struct replay *replay, struct playing *playing)
{
	int error = 0;

	for (size_t i = 0; i < replay->machine_count && !error; i++) {
		playing->machine = i;
		playing->ranks_before = playing->ranks;
		error = play(replay, &replay->machines[i], playing);
	}
	progress_end(playing->progress);
	return error;
}

int replay_open(struct replay *replay, struct box_entry *entries, size_t count, const char *kernel_log,
		const struct replay_watch *watch, struct progress *progress)
{
	struct playing playing = { .replay = replay, .watch = watch, .progress = progress };
	int error;

	progress_begin(progress, "reading", count, "black box");
	*replay = (struct replay){ .realtime_offset_ns = box_realtime_offset(&entries[0].reader.header) };
	replay->findings = json_object();
	replay->processes = calloc(count, sizeof(*replay->processes));
	replay->machines = calloc(count, sizeof(*replay->machines));
	if (!replay->findings || !replay->processes || !replay->machines)
		return -ENOMEM;
	error = add_machines(replay, &playing, entries, count);
	if (error)
		return error;
	/* Of several machines at most one is this one: then nobody looks, which is said. */
	kernel_xids_add(&replay->xids, replay->machines[0].analysis, kernel_log, entries, count);
	error = play_all(replay, &playing);
	if (!error)
		seen_live_add(replay);
	return error;
}

void replay_close(struct replay *replay)
{
	for (size_t i = 0; i < replay->count; i++)
		feed_free(replay->processes[i].feed);
	for (size_t i = 0; i < replay->machine_count; i++)
		analysis_free(replay->machines[i].analysis);
	free(replay->machines);
	free(replay->processes);
	json_decref(replay->findings);
	*replay = (struct replay){ 0 };
}

const struct replay_process *replay_find(const struct replay *replay, int32_t rank)
{
	for (size_t i = 0; i < replay->count; i++) {
		if (replay->processes[i].rank == rank)
			return &replay->processes[i];
	}
	return NULL;
}

static int by_rank(const void *a, const void *b)
{
	const int32_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

size_t replay_ranks(const struct replay *replay, size_t first, size_t count, int32_t *ranks)
{
	size_t known = 0;

	for (size_t i = first; i < first + count; i++)
		if (replay->processes[i].rank >= 0)
			ranks[known++] = replay->processes[i].rank;
	if (known)
		qsort(ranks, known, sizeof(*ranks), by_rank);
	return known;
}

static bool has_boot(const struct replay_process *const *firsts, size_t count, const struct rw_box_header *header)
{
	for (size_t i = 0; i < count; i++)
		if (!strncmp(replay_header(firsts[i])->boot_id, header->boot_id, sizeof(header->boot_id)))
			return true;
	return false;
}

size_t replay_boots(const struct replay *replay, size_t first, size_t count, const struct replay_process **firsts)
{
	size_t found = 0;

	for (size_t i = first; i < first + count; i++)
		if (!has_boot(firsts, found, replay_header(&replay->processes[i])))
			firsts[found++] = &replay->processes[i];
	return found;
}

/* How many hosts there are besides the one that is named: "", " and 3 more". */
static void count_others(const struct replay *replay, const struct replay_machine *machine, char *text, size_t room)
{
	const struct replay_process **firsts = calloc(machine->count + 1, sizeof(const struct replay_process *));
	size_t boots = firsts ? replay_boots(replay, machine->first, machine->count, firsts) : 1;

	*text = '\0';
	if (boots > 1)
		snprintf(text, room, " and %zu more", boots - 1);
	free(firsts);
}

char *replay_machine_name(const struct replay *replay, const struct replay_machine *machine)
{
	char *host = foreign_text(replay_header(&replay->processes[machine->first])->host), *name = NULL, list[256],
	     others[32];
	int32_t *ranks = calloc(machine->count + 1, sizeof(*ranks));
	size_t count = ranks ? replay_ranks(replay, machine->first, machine->count, ranks) : 0;

	count_others(replay, machine, others, sizeof(others));
	if (count && asprintf(&name, "%s%s (rank%s %s)", host ? host : "?", others, count > 1 ? "s" : "",
			      rank_list_text(list, sizeof(list), ranks, count)) < 0)
		name = NULL;
	else if (!count && asprintf(&name, "%s%s", host ? host : "?", others) < 0)
		name = NULL;
	free(ranks);
	free(host);
	return name;
}

static void note_communicator(void *argument, const struct analysis_communicator_view *communicator)
{
	char key[24];

	snprintf(key, sizeof(key), "%llx", (unsigned long long)communicator->id);
	json_object_set_new(argument, key, json_null());
}

static void add_summary(struct analysis_summary *sum, const struct analysis_summary *one)
{
	sum->processes += one->processes;
	sum->operations += one->operations;
	sum->untracked += one->untracked;
	sum->one_sided += one->one_sided;
	sum->dropped += one->dropped;
	sum->captured += one->captured;
	sum->findings_opened += one->findings_opened;
	sum->xids += one->xids;
	if (sum->ranks_total < 0)
		sum->ranks_total = one->ranks_total;
	if (one->communicators > sum->communicators)
		sum->communicators = one->communicators;
	if (one->step > sum->step)
		sum->step = one->step;
	if (sum->steps)
		return;
	sum->steps = one->steps;
	sum->step_ms = one->step_ms;
	sum->first_step_ms = one->first_step_ms;
}

void replay_summarise(const struct replay *replay, struct analysis_summary *summary)
{
	json_t *communicators = json_object();

	analysis_summarise(replay->machines[0].analysis, summary);
	for (size_t i = 1; i < replay->machine_count; i++) {
		struct analysis_summary one;

		analysis_summarise(replay->machines[i].analysis, &one);
		add_summary(summary, &one);
	}
	for (size_t i = 0; replay->machine_count > 1 && i < replay->machine_count; i++)
		analysis_visit_communicators(replay->machines[i].analysis, note_communicator, communicators);
	if (json_object_size(communicators) > summary->communicators)
		summary->communicators = (uint32_t)json_object_size(communicators);
	json_decref(communicators);
}
