/* SPDX-License-Identifier: MIT */
/* Ranks that do not come to the init of a communicator whose members are on several hosts: each host has an analysis
 * and a node half of its own, and the job half hears them all. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include <rankwatch/message.h>
#include <rankwatch/operation.h>

#include "analysis/job/told.h"
#include "analysis/analysis.h"
#include "analysis/job/job_half.h"
#include "analysis/job/job_view.h"
#include "analysis/node/node_half.h"

enum { HOSTS = 16, RANKS = 128, NOT_STARTED = -1, PARENT = 0x700000055, SPLITS = 65535 };

/* What a rank does, and in which init. */
enum doing { WAITS, IDLE, BUSY, STOPPED, UNSEEN, DEAD };

/* A rank that waits in an init, and its place there. */
struct place {
	int rank, id, size, comm_rank;
};

struct plan {
	int hosts, per_host;
	int size;   /* of the communicator that is made … */
	int stride; /* … of every so many ranks, from `first` on */
	int first;
	int idle;   /* this rank does not come; -1: all do */
	enum doing doing;
	bool boxed; /* its process has a black box, as after an earlier communicator */
	bool split; /* the communicator is there, and is split … */
	uint64_t passed;  /* … which these ranks, a bit each, have been through … */
	double passes_s;  /* … since then, and they are idle since … */
	bool ended;       /* … or have ended … */
	uint64_t unclear; /* … and of these it is not known */
	int lost_host; /* all batches of this host are lost from lost_s on; -1: none is */
	double lost_s;
	uint32_t seed;
	double lose; /* so much of all batches and questions is lost, at random */
	double restart_s; /* host 0's collector starts anew then; 0: never */
	const struct place *places; /* instead: who waits where, while all others are idle; NULL: as above */
	double seconds, comes_s; /* when the rank comes after all; 0: never */
};

struct told {
	int opened, closed, named;
	int32_t rank;
	double at_s;
	enum rw_kind kind;
	enum rw_confidence confidence;
	enum rw_scope scope;
	enum rw_phase phase;
	enum rw_severity severity;
	enum rw_standing standing;
	size_t waiting;
	char text[512], host[64], cause[96];
};

struct host {
	struct analysis *analysis;
	struct node_half *half;
	bool added[RANKS];
	unsigned starts;
};

struct play {
	const struct plan *plan;
	struct host hosts[HOSTS];
	struct job_half *judge;
	struct told told;
	double now_s;
	int asked, messages[RW_MESSAGE_TYPES];
	int sending; /* the host that sends now */
	int by_hosts; /* findings of hosts */
	int32_t named_rank; /* the last one that was named */
	uint32_t random;
};

static uint64_t ns(double seconds)
{
	return (uint64_t)(seconds * 1e9);
}

static void note(void *argument, const struct rw_finding *finding)
{
	struct play *play = argument;
	struct told *told = &play->told;

	told->opened += finding->state == RW_FINDING_OPEN;
	told->closed += finding->state == RW_FINDING_CLOSED;
	if (finding->state == RW_FINDING_OPEN && finding->rank_count)
		told->named++;
	if (finding->state == RW_FINDING_OPEN && finding->rank_count)
		play->named_rank = finding->ranks[0];
	if (finding->state == RW_FINDING_OPEN)
		told->at_s = play->now_s;
	told->rank = finding->rank_count ? finding->ranks[0] : -1;
	told->kind = finding->kind;
	told->confidence = finding->confidence;
	told->scope = finding->scope;
	told->phase = finding->operation.phase;
	told->severity = finding->severity;
	told->standing = finding->standing;
	told->waiting = finding->late.waiting_count;
	snprintf(told->text, sizeof(told->text), "%s", finding->text);
	snprintf(told->host, sizeof(told->host), "%s",
		 finding->where_count && finding->where[0].host ? finding->where[0].host : "");
	snprintf(told->cause, sizeof(told->cause), "%s", finding->cause.text ? finding->cause.text : "");
}

static void note_of_host(void *argument, const struct rw_finding *finding)
{
	struct play *play = argument;

	play->by_hosts += finding->state == RW_FINDING_OPEN;
}

static int host_of(const struct plan *plan, int rank)
{
	return rank / plan->per_host;
}

/* Numerical Recipes' generator. */
static double draw(struct play *play)
{
	play->random = play->random * 1664525u + 1013904223u;
	return play->random / 4294967296.0;
}

static bool is_lost(struct play *play, int host)
{
	return (host == play->plan->lost_host && play->now_s >= play->plan->lost_s) || draw(play) < play->plan->lose;
}

static void hear(void *argument, const void *bytes, size_t length)
{
	struct play *play = argument;
	struct rw_batch header;

	memcpy(&header, bytes, sizeof(header));
	for (uint32_t i = 0; i < header.count; i++)
		play->messages[((const unsigned char *)bytes)[sizeof(header) + i * RW_MESSAGE_SIZE]]++;
	if (!is_lost(play, play->sending))
		cr_expect_eq(job_half_take(play->judge, bytes, length, ns(play->now_s + 5000), NULL), 0);
}

static void ask(void *argument, const char *host, const void *bytes, size_t length)
{
	struct play *play = argument;
	int number = atoi(host + 1);

	play->asked++;
	if (!is_lost(play, number))
		cr_expect_eq(node_half_ask(play->hosts[number].half, bytes, length, ns(play->now_s + 100 * number), NULL), 0);
}

static void start_host(struct play *play, int number)
{
	struct host *host = &play->hosts[number];
	char name[16];

	snprintf(name, sizeof(name), "h%d", number);
	const struct node_identity identity = { .job = "j", .host = name, .start = (uint64_t)number * 10 + ++host->starts };
	node_half_free(host->half);
	analysis_free(host->analysis);
	memset(host->added, 0, sizeof(host->added));
	host->analysis = analysis_new(false, note_of_host, play);
	host->half = node_half_new(host->analysis, &identity);
}

static bool is_member(const struct plan *plan, int rank)
{
	return rank >= plan->first && (rank - plan->first) % plan->stride == 0 &&
	       (rank - plan->first) / plan->stride < plan->size;
}

static bool has(uint64_t ranks, int rank)
{
	return rank < 64 && ranks >> rank & 1;
}

static bool has_passed(const struct play *play, int rank)
{
	return has(play->plan->passed, rank) && play->now_s >= play->plan->passes_s;
}

static enum doing doing_of(const struct play *play, int rank)
{
	const struct plan *plan = play->plan;

	return rank != plan->idle || (has(plan->passed, rank) && !has_passed(play, rank)) ||
		       (plan->comes_s > 0 && play->now_s >= plan->comes_s)
		   ? WAITS
		   : plan->doing;
}

static void count_splits(struct play *play, int rank, uint64_t splits)
{
	const struct plan *plan = play->plan;
	const struct rw_communicator parent = { .id = PARENT,
						.rank = (rank - plan->first) / plan->stride,
						.nranks = plan->size,
						.nnodes = plan->hosts,
						.created_ns = 1,
						.splits = splits };

	cr_assert_eq(analysis_add_communicator(play->hosts[host_of(plan, rank)].analysis, (analysis_process_id)rank + 1,
					       0, &parent),
		     0);
}

/* It has been through the split. */
static void go_on(struct play *play, int rank)
{
	struct analysis *analysis = play->hosts[host_of(play->plan, rank)].analysis;

	count_splits(play, rank, SPLITS + 1);
	cr_assert_eq(analysis_set_init(analysis, (analysis_process_id)rank + 1, &(struct rw_init){ 0 }), 0);
	if (play->plan->ended)
		analysis_set_life(analysis, (analysis_process_id)rank + 1, ANALYSIS_EXITED, 0,
				  ns(100 * host_of(play->plan, rank) + play->plan->passes_s));
}

static void add(struct play *play, int rank)
{
	const struct plan *plan = play->plan;
	struct host *host = &play->hosts[host_of(plan, rank)];
	struct rw_box_header box = {
		.world_rank = rank, .world_size = plan->hosts * plan->per_host, .job = "j", .watchdog_ms = 600000
	};
	struct analysis_process process = { .id = (analysis_process_id)rank + 1, .pid = 1000 + rank, .box = &box };

	snprintf(box.host, sizeof(box.host), "h%d", host_of(plan, rank));
	cr_assert_eq(analysis_add_process(host->analysis, &process), 0);
	host->added[rank] = true;
	if (plan->split && is_member(plan, rank))
		count_splits(play, rank, has(plan->unclear, rank) ? 0 : SPLITS);
}

static void read_places(struct play *play, int number)
{
	struct host *host = &play->hosts[number];

	for (const struct place *place = play->plan->places; place->size; place++) {
		const struct rw_init init = { .since_ns = ns(100 * number + 1),
					      .id = (uint64_t)place->id,
					      .nranks = place->size,
					      .rank = place->comm_rank };
		if (host_of(play->plan, place->rank) != number)
			continue;
		if (!host->added[place->rank])
			add(play, place->rank);
		cr_assert_eq(analysis_set_init(host->analysis, (analysis_process_id)place->rank + 1, &init), 0);
	}
}

/* What the host's collector reads of its boxes. */
static void read_boxes(struct play *play, int number)
{
	const struct plan *plan = play->plan;
	struct host *host = &play->hosts[number];

	if (plan->places) {
		read_places(play, number);
		return;
	}
	for (int rank = number * plan->per_host; rank < (number + 1) * plan->per_host; rank++) {
		enum doing doing = doing_of(play, rank);
		bool comes = doing == WAITS && is_member(plan, rank) && !has_passed(play, rank);
		if ((doing == WAITS || doing == DEAD || plan->boxed) && !host->added[rank])
			add(play, rank);
		if (has_passed(play, rank)) {
			go_on(play, rank);
			continue;
		}
		const struct rw_init init = {
			.since_ns = ns(100 * number + (plan->comes_s > 0 && rank == plan->idle ? plan->comes_s : 1)),
			.id = 77,
			.nranks = plan->size,
			.rank = (rank - plan->first) / plan->stride,
			.parent = plan->split ? PARENT : 0
		};
		if ((comes || doing == DEAD) && host->added[rank])
			cr_assert_eq(analysis_set_init(host->analysis, (analysis_process_id)rank + 1, &init), 0);
		if (doing == DEAD)
			analysis_set_life(host->analysis, (analysis_process_id)rank + 1, ANALYSIS_KILLED, -1, ns(100 * number + 2));
	}
}

/* What it finds in /proc. */
static void look_for_absentees(struct play *play, int number)
{
	static const enum analysis_absence absences[] = {
		[WAITS] = ANALYSIS_ABSENT_IDLE,     [IDLE] = ANALYSIS_ABSENT_IDLE,
		[BUSY] = ANALYSIS_ABSENT_BUSY,      [STOPPED] = ANALYSIS_ABSENT_STOPPED,
		[UNSEEN] = ANALYSIS_ABSENT_UNKNOWN, [DEAD] = ANALYSIS_ABSENT_UNKNOWN,
	};
	const struct plan *plan = play->plan;
	int32_t ranks[RANKS];
	size_t count = analysis_absentees(play->hosts[number].analysis, ranks, RANKS);

	cr_assert_leq(count, RANKS);
	for (size_t i = 0; i < count; i++) {
		bool here = host_of(plan, ranks[i]) == number;
		const struct analysis_absentee absentee = {
			.world_rank = ranks[i], .pid = here ? 1000 + ranks[i] : 0, .tid = here ? (uint32_t)(1000 + ranks[i]) : 0,
			.absence = here ? absences[doing_of(play, ranks[i])] : ANALYSIS_ABSENT_UNKNOWN,
		};
		analysis_set_absentee(play->hosts[number].analysis, &absentee, ns(play->now_s + 100 * number));
	}
}

static struct play play(const struct plan *plan)
{
	struct play play = { .plan = plan, .random = plan->seed };

	play.judge = job_half_new("j", note, &play);
	for (int i = 0; i < plan->hosts; i++)
		start_host(&play, i);
	for (play.now_s = 1; play.now_s < plan->seconds; play.now_s += 0.25) {
		if (plan->restart_s > 0 && play.now_s == plan->restart_s)
			start_host(&play, 0);
		for (int i = 0; i < plan->hosts; i++) {
			uint64_t now_ns = ns(play.now_s + 100 * i);
			play.sending = i;
			/* Once all have come, the communicator is made. */
			if (plan->comes_s > 0 && play.now_s > plan->comes_s + 0.5)
				for (int rank = i * plan->per_host; rank < (i + 1) * plan->per_host; rank++)
					analysis_set_init(play.hosts[i].analysis, (analysis_process_id)rank + 1, &(struct rw_init){ 0 });
			else
				read_boxes(&play, i);
			if (play.now_s == (int)play.now_s)
				look_for_absentees(&play, i);
			analysis_tick(play.hosts[i].analysis, now_ns);
			node_half_tick(play.hosts[i].half, now_ns, hear, &play);
		}
		job_half_tick(play.judge, ns(play.now_s + 5000));
		job_half_ask_why(play.judge, ns(play.now_s + 5000), ask, &play);
	}
	for (int i = 0; i < plan->hosts; i++) {
		node_half_free(play.hosts[i].half);
		analysis_free(play.hosts[i].analysis);
	}
	job_half_free(play.judge);
	return play;
}

/* All ranks of the world make one, as FSDP does in the first step. */
static struct plan whole(int hosts, enum doing doing)
{
	const int per_host = 4;

	return (struct plan){ .hosts = hosts,
			      .per_host = per_host,
			      .size = hosts * per_host,
			      .stride = 1,
			      .idle = hosts * per_host - 2,
			      .doing = doing,
			      .lost_host = -1,
			      .seconds = 30 };
}

/* The same rank of each host, as data parallelism has it where tensor parallelism lies within hosts. */
static struct plan across(int hosts, enum doing doing)
{
	struct plan plan = whole(hosts, doing);

	plan.size = hosts;
	plan.stride = 4;
	plan.first = 2;
	plan.boxed = true;
	return plan;
}

static void expect_named(const struct play *play, enum rw_kind kind, const char *what)
{
	const struct plan *plan = play->plan;
	char host[16];

	snprintf(host, sizeof(host), "h%d", host_of(plan, plan->idle));
	cr_expect_eq(play->told.opened, 1, "%s: %d, %s", what, play->told.opened, play->told.text);
	cr_expect_eq(play->told.rank, plan->idle, "%s: %s", what, play->told.text);
	cr_expect_eq(play->told.kind, kind, "%s: %s", what, play->told.text);
	cr_expect_eq(play->told.confidence, RW_LIKELY, "%s", what);
	cr_expect_eq(play->told.severity, RW_CRITICAL, "%s", what);
	cr_expect_eq(play->told.phase, RW_PHASE_INIT, "%s", what);
	cr_expect_eq(play->told.waiting, (size_t)plan->size - 1, "%s", what);
	cr_expect_str_eq(play->told.host, host, "%s", what);
	cr_expect_eq(play->by_hosts, 0, "%s: no host could know it", what);
}

Test(births, a_rank_that_does_not_come_is_named)
{
	const struct {
		const char *what;
		struct plan plan;
		enum rw_kind kind;
		double from_s, to_s;
	} cases[] = {
		{ "the world on 2 hosts", whole(2, IDLE), RW_KIND_HANG, 11, 15 },
		{ "the world on 16 hosts", whole(16, IDLE), RW_KIND_HANG, 11, 15 },
		{ "one rank of each of 16 hosts", across(16, IDLE), RW_KIND_HANG, 11, 15 },
		{ "stopped", whole(2, STOPPED), RW_KIND_GONE, 4, 8 },
		{ "stopped, of 16 hosts", across(16, STOPPED), RW_KIND_GONE, 4, 8 },
		{ "ended in the init", whole(2, DEAD), RW_KIND_GONE, 11, 15 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct play played = play(&cases[i].plan);
		expect_named(&played, cases[i].kind, cases[i].what);
		cr_expect(played.told.at_s >= cases[i].from_s && played.told.at_s <= cases[i].to_s, "%s: after %f s",
			  cases[i].what, played.told.at_s);
	}
}

static struct plan split(struct plan plan)
{
	plan.boxed = plan.split = true;
	return plan;
}

Test(births, a_rank_that_does_not_come_to_a_split_is_named)
{
	const struct {
		const char *what;
		struct plan plan;
		enum rw_kind kind;
	} cases[] = {
		{ "the world on 2 hosts", split(whole(2, IDLE)), RW_KIND_HANG },
		{ "the world on 16 hosts", split(whole(16, IDLE)), RW_KIND_HANG },
		{ "one rank of each of 16 hosts", split(across(16, IDLE)), RW_KIND_HANG },
		{ "stopped", split(whole(2, STOPPED)), RW_KIND_GONE },
		{ "ended in the split", split(whole(2, DEAD)), RW_KIND_GONE },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct play played = play(&cases[i].plan);
		expect_named(&played, cases[i].kind, cases[i].what);
		cr_expect(strstr(played.told.text, "in ncclCommSplit of "), "%s: %s", cases[i].what, played.told.text);
	}
}

static void expect_silence(struct plan plan, const char *what)
{
	struct play played = play(&plan);

	cr_expect_eq(played.told.opened, 0, "%s: %s", what, played.told.text);
	cr_expect_eq(played.by_hosts, 0, "%s", what);
}

Test(births, nobody_is_told_of_who_gets_on_or_comes_or_where_it_is_not_known_who_is_missing)
{
	struct plan comes = whole(2, IDLE), two = across(2, IDLE);

	struct plan late = whole(2, BUSY), late_across = across(16, BUSY);

	comes.comes_s = 9;
	two.seconds = late.seconds = late_across.seconds = 60;
	late.comes_s = late_across.comes_s = 41;
	expect_silence(late, "it prepares something for 40 s, then comes");
	expect_silence(late_across, "the same, 16 hosts");
	expect_silence(whole(2, BUSY), "it gets on");
	expect_silence(across(16, BUSY), "it gets on, 16 hosts");
	expect_silence(comes, "it comes in time");
	expect_silence(two, "a group of two: who the other one is cannot be known");
}

/* Half of them are still in it, as NCCL makes their communicator, and something else keeps them. */
Test(births, nobody_is_told_of_who_has_been_through_the_split)
{
	for (int hosts = 2; hosts <= 4; hosts += 2)
		for (int ended = 0; ended < 2; ended++)
			for (int way = 0; way < 4; way++) {
				struct plan plan = split(whole(hosts, way % 2 ? IDLE : STOPPED));
				plan.passed = 1u << plan.idle | 1u << 1;
				plan.passes_s = way < 2 ? 1 : 5;
				plan.ended = ended;
				plan.seconds = 60;
				expect_silence(plan, "all have come");
			}
}

Test(births, nobody_is_named_where_it_is_not_known_whether_the_rank_would_be_seen_in_the_split)
{
	struct plan plan = split(whole(2, IDLE));

	plan.unclear = 1u << plan.idle;
	plan.seconds = 60;
	struct play played = play(&plan);
	cr_expect_eq(played.told.named, 0, "%s", played.told.text);
	cr_expect_eq(played.told.confidence, RW_INCONCLUSIVE);
	plan.unclear = 0xff & ~(1u << plan.idle);
	expect_silence(plan, "of none of those that wait it is known which split it is");
}

Test(births, the_finding_is_closed_when_the_rank_has_come)
{
	struct plan plan = whole(2, IDLE);

	plan.comes_s = 20;
	struct play played = play(&plan);
	cr_expect_eq(played.told.opened, 1);
	cr_expect_eq(played.told.closed, 1);
}

/* It waits in another communicator's init, and nobody of its host is asked about it in vain. */
Test(births, nobody_is_named_where_a_host_is_not_heard)
{
	struct plan plan = whole(16, IDLE);

	plan.seconds = 60;
	plan.lost_host = 3;
	plan.lost_s = 6;
	struct play played = play(&plan);
	cr_expect_eq(played.told.named, 0, "%s", played.told.text);
	cr_expect_eq(played.told.opened, 1, "%s", played.told.text);
	cr_expect_eq(played.told.confidence, RW_INCONCLUSIVE);
	cr_expect_eq(played.told.scope, RW_SCOPE_JOB);
	cr_expect_eq(played.told.severity, RW_WARNING);
	cr_expect(strstr(played.told.text, "ranks 12-15"), "%s", played.told.text);
}

Test(births, nobody_is_named_where_nothing_is_known_of_the_rank)
{
	struct plan plan = whole(2, UNSEEN);

	plan.seconds = 60;
	struct play played = play(&plan);
	cr_expect_eq(played.told.named, 0, "%s", played.told.text);
	cr_expect_eq(played.told.opened, 1);
	cr_expect_eq(played.told.confidence, RW_INCONCLUSIVE);
	cr_expect_geq(played.told.at_s, 31);
	cr_expect(strstr(played.told.text, "ranks 0-5,7 have waited"), "%s", played.told.text);
	cr_expect(strstr(played.told.text, "no host reports what rank 6 does"), "%s", played.told.text);
}

/* Whatever is lost: no rank but the one that does not come is named, and none that gets on. */
Test(births, much_that_is_lost_names_nobody_else)
{
	int named = 0;

	for (int i = 0; i < 40; i++) {
		struct plan plan = i % 2 ? whole(4, i % 4 == 1 ? IDLE : BUSY) : across(8, i % 4 == 0 ? IDLE : BUSY);
		plan.lose = 0.02 * i;
		plan.comes_s = i % 3 ? 0 : 35;
		plan.seconds = 60;
		plan.seed = (uint32_t)i;
		if (i % 5 < 2)
			plan = split(plan);
		struct play played = play(&plan);
		cr_expect(!played.told.named || played.named_rank == plan.idle, "%d: %s", i, played.told.text);
		cr_expect(!played.told.named || plan.doing == IDLE, "%d: %s", i, played.told.text);
		cr_expect(plan.doing == IDLE || plan.lose > 0.2 || !played.told.opened,
			  "%d: while little is lost, of one that gets on nothing is told: %s", i, played.told.text);
		named += played.told.named > 0;
	}
	cr_expect_geq(named, 10, "%d of 20", named);
}

Test(births, a_collector_that_starts_anew_is_heard)
{
	struct plan plan = whole(2, IDLE);

	plan.restart_s = 6;
	struct play played = play(&plan);
	expect_named(&played, RW_KIND_HANG, "restarted");
}

/* Two ranks a host. Rank 1 is missing in one init because it waits for rank 5 in another: it is no more than idle, too.
 */
Test(births, who_waits_itself_is_not_the_one_to_be_named)
{
	static const struct place places[] = { { 0, 7, 4, 0 }, { 2, 7, 4, 2 }, { 3, 7, 4, 3 }, { 1, 8, 4, 0 },
					       { 4, 9, 4, 0 }, { 6, 9, 4, 2 }, { 7, 9, 4, 3 }, { 0 } };
	const struct plan plan = {
		.hosts = 4, .per_host = 2, .idle = 5, .doing = IDLE, .lost_host = -1, .seconds = 30, .places = places
	};
	struct play played = play(&plan);

	cr_expect_eq(played.told.opened, 1, "%s", played.told.text);
	cr_expect_eq(played.told.rank, 5, "%s", played.told.text);
	cr_expect_eq(played.told.kind, RW_KIND_HANG);
}

Test(births, ranks_of_several_hosts_that_make_communicators_in_another_order_are_a_circle)
{
	static const struct place places[] = { { 0, 7, 8, 0 }, { 1, 8, 8, 1 }, { 2, 8, 8, 2 },
					       { 3, 8, 8, 3 }, { 4, 8, 8, 4 }, { 5, 8, 8, 5 },
					       { 6, 8, 8, 6 }, { 7, 8, 8, 7 }, { 0 } };

	for (int hosts = 1; hosts <= 8; hosts *= 2) {
		const struct plan plan = { .hosts = hosts,
					   .per_host = 8 / hosts,
					   .idle = -1,
					   .doing = IDLE,
					   .lost_host = -1,
					   .seconds = 30,
					   .places = places };
		struct play played = play(&plan);
		/* Also where both ranks are on one host: that sees too few of the others. */
		cr_expect_eq(played.told.opened, hosts > 1, "%d hosts: %s", hosts, played.told.text);
		cr_expect_eq(played.by_hosts, hosts == 1);
		cr_expect_eq(played.told.named, 0);
		if (hosts == 1)
			continue;
		cr_expect_eq(played.told.standing, RW_STANDING_CIRCLE);
		cr_expect_eq(played.told.confidence, RW_INCONCLUSIVE);
		cr_expect(strstr(played.told.text,
				 "ranks 0,1 wait for each other: rank 0 in ncclCommInitRank of 8 ranks for rank 1"),
			  "%s", played.told.text);
	}
}

struct batch {
	struct rw_batch header;
	struct rw_message messages[8];
};

static void add_message(struct batch *batch, enum rw_message_type type, int32_t rank, uint8_t function,
			struct rw_message message)
{
	message.type = (uint8_t)type;
	message.rank = rank;
	message.function = function;
	batch->messages[batch->header.count++] = message;
}

/* Rank 0 waits in an operation that rank 1 of another host has not called, says its host, and that it does nothing:
 * because it waits in an init? */
static void tell(struct play *played, uint64_t number, bool in_init)
{
	struct batch here = { .header = { .magic = RW_BATCH_MAGIC,
					  .version = RW_BATCH_VERSION,
					  .number = number,
					  .start = 1,
					  .host = "h0",
					  .job = "j" } };
	struct batch there = here;

	strcpy(there.header.host, "h1");
	add_message(&here, RW_MESSAGE_FLIGHT, 0, RW_FUNCTION_ALL_REDUCE,
		    (struct rw_message){ .flight = { .comm = 5,
						     .sequence = 9,
						     .age_ms = (uint32_t)(2000 + 1000 * number),
						     .peer_or_root = -1,
						     .flags = RW_MESSAGE_ARRIVED | RW_MESSAGE_HOLDS,
						     .phase = RW_PHASE_RUNNING } });
	add_message(&there, RW_MESSAGE_CALLS, 1, RW_FUNCTION_ALL_REDUCE,
		    (struct rw_message){ .calls = { .comm = 5, .next = 9, .calls = UINT64_MAX, .idle_ms = 2000 } });
	add_message(&there, RW_MESSAGE_WHY, 1, 0,
		    (struct rw_message){ .why = { .idle_ms = 4000, .progress = RW_MESSAGE_STANDS } });
	if (in_init)
		add_message(&there, RW_MESSAGE_INIT, 1, 0,
			    (struct rw_message){ .init = { .init = 77,
							   .size = 2,
							   .comm_rank = 1,
							   .world_size = 4,
							   .age_ms = (uint32_t)(1000 * (number - 9)) } });
	cr_assert_eq(job_half_take(played->judge, &here, sizeof(here.header) + here.header.count * RW_MESSAGE_SIZE,
				   ns((double)number), NULL),
		     0);
	cr_assert_eq(job_half_take(played->judge, &there, sizeof(there.header) + there.header.count * RW_MESSAGE_SIZE,
				   ns((double)number), NULL),
		     0);
	job_half_tick(played->judge, ns((double)number));
}

/* All four ranks, each of a host of its own, have waited for a minute in the init of a larger communicator when a judge
 * begins to hear. The two last ones are heard three seconds later, and the fifth rank never. */
Test(births, a_judge_that_has_just_begun_to_hear_misses_nobody)
{
	struct play played = { .judge = NULL };
	double told_s = 0;

	played.judge = job_half_new("j", note, &played);
	for (int tick = 0; tick < 400; tick++) {
		double now_s = tick / 10.0;
		for (int rank = 0; rank < 4; rank++) {
			struct batch batch = { .header = { .magic = RW_BATCH_MAGIC,
							   .version = RW_BATCH_VERSION,
							   .number = (uint64_t)tick / 10,
							   .start = 1,
							   .job = "j" } };
			if (tick % 10 != rank || (rank > 1 && tick < 30))
				continue;
			snprintf(batch.header.host, sizeof(batch.header.host), "h%d", rank);
			add_message(&batch, RW_MESSAGE_INIT, rank, 0,
				    (struct rw_message){ .init = { .init = 77,
								   .size = 5,
								   .comm_rank = rank,
								   .world_size = 5,
								   .age_ms = (uint32_t)(60000 + now_s * 1000) } });
			cr_assert_eq(job_half_take(played.judge, &batch, sizeof(batch.header) + RW_MESSAGE_SIZE,
						   ns(5000 + now_s), NULL),
				     0);
		}
		job_half_tick(played.judge, ns(5000 + now_s));
		told_s = played.told.opened && told_s == 0 ? now_s : told_s;
	}
	cr_expect_eq(played.told.opened, 1);
	cr_expect_gt(told_s, 9, "%.1f s: %s", told_s, played.told.text);
	cr_expect(strstr(played.told.text, "rank 4"), "%s", played.told.text);
	job_half_free(played.judge);
}

static void count_doing(void *argument, const struct analysis_rank_view *row)
{
	int *count = argument;

	count[row->doing]++;
	if (row->doing == ANALYSIS_DOING_INIT)
		cr_expect_eq(row->since_ns, ns(9));
}

Test(births, the_view_of_all_hosts_shows_who_is_in_an_init)
{
	struct play played = { .judge = NULL };
	struct job_view view;
	int count[ANALYSIS_DOING_WORKS + 1] = { 0 };

	played.judge = job_half_new("j", note, &played);
	job_half_keep_course(played.judge);
	for (uint64_t number = 10; number < 12; number++)
		tell(&played, number, true);
	job_half_look(played.judge, &view);
	job_view_ranks(&view, count_doing, count);
	cr_expect_eq(count[ANALYSIS_DOING_INIT], 1);
	job_half_free(played.judge);
}

Test(births, who_waits_in_an_init_does_not_hang_where_it_is_missing_in_an_operation)
{
	for (int in_init = 0; in_init < 2; in_init++) {
		struct play played = { .judge = NULL };
		played.judge = job_half_new("j", note, &played);
		for (uint64_t number = 10; number < 30; number++)
			tell(&played, number, in_init);
		cr_expect_eq(played.told.named, !in_init, "%d: %s", in_init, played.told.text);
		job_half_free(played.judge);
	}
}

Test(births, nothing_is_sent_of_inits_that_last_less_than_a_second)
{
	struct plan plan = whole(2, IDLE);

	plan.idle = NOT_STARTED;
	plan.comes_s = 1.25;
	struct play played = play(&plan);
	cr_expect_eq(played.messages[RW_MESSAGE_INIT], 0);
	cr_expect_eq(played.messages[RW_MESSAGE_ABSENT], 0);
	cr_expect_eq(played.asked, 0);
}

/* In messages names are cut. */
Test(births, a_number_or_a_hash_is_no_name_of_a_communicator)
{
	static const char *const cases[][2] = {
		{ "12", "a communicator of 8 ranks (group 12)" }, { "da39a3ee5e6b4b0d32", "a communicator of 8 ranks" },
		{ "undefined:da39a3ee", "a communicator of 8 ranks" }, { "mesh_fsdp:12", "mesh_fsdp:12" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct world_comm comm = { .size = 8 };
		char text[64];

		snprintf(comm.name, sizeof(comm.name), "%s", cases[i][0]);
		cr_expect_str_eq(told_comm_name(text, sizeof(text), &comm), cases[i][1]);
	}
}
