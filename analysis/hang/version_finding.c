/* SPDX-License-Identifier: MIT */
#include "analysis/hang/version_finding.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model.h"
#include "analysis/report/naming.h"

enum { NAME_MAX_LENGTH = 48, VALUE_SHOWN = 40 };

/* These name places, interfaces and logs: each host or rank has its own. */
static const char *const own[] = {
	"NCCL_HOSTID",          "NCCL_SOCKET_IFNAME",     "NCCL_IB_HCA",
	"NCCL_IB_GID_INDEX",    "NCCL_IB_ADDR_RANGE",     "NCCL_TOPO_FILE",
	"NCCL_TOPO_DUMP_FILE",  "NCCL_GRAPH_DUMP_FILE",   "NCCL_CONF_FILE",
	"NCCL_DEBUG",           "NCCL_DEBUG_SUBSYS",      "NCCL_DEBUG_FILE",
	"NCCL_RAS_ADDR",        "NCCL_COMM_ID",           "NCCL_OOB_NET_IFNAME",
	"NCCL_PROFILER_PLUGIN", "NCCL_PROFILE_DUMP_FILE", "NCCL_INSPECTOR_DUMP_DIR",
};

/* Something that all processes should have alike: `value` writes how it is in one of them. */
struct trait {
	const char *name; /* "NCCL", "NCCL_ALGO" */
	const char *(*value)(const struct trait *trait, const struct versions *versions, char *text, size_t room);
	enum rw_severity severity;
	const char *advice;
};

/* Which processes have another value than most. */
struct split {
	const struct process *usual; /* one of the most */
	uint32_t odd;                /* how many differ */
	int32_t lowest;              /* of the ranks that are as this one */
};

static const char *nccl_value(const struct trait *trait, const struct versions *versions, char *text, size_t room)
{
	uint32_t version = versions->nccl;

	(void)trait;
	snprintf(text, room, "%u.%u.%u", version / 10000, version / 100 % 100, version % 100);
	return version ? text : NULL;
}

static const char *cuda_value(const struct trait *trait, const struct versions *versions, char *text, size_t room)
{
	(void)trait;
	snprintf(text, room, "%u.%u", versions->cuda / 1000, versions->cuda % 1000 / 10);
	return versions->cuda ? text : NULL;
}

static const char *rankwatch_value(const struct trait *trait, const struct versions *versions, char *text, size_t room)
{
	uint32_t version = versions->rankwatch;

	(void)trait;
	snprintf(text, room, "%u.%u.%u", version >> 16, version >> 8 & 0xff, version & 0xff);
	return text;
}

static const char *next_variable(const char *variable)
{
	return variable + strlen(variable) + 1;
}

/* The whole value is compared; shown is only its beginning. */
static const char *variable_value(const struct trait *trait, const struct versions *versions, char *text, size_t room)
{
	size_t length = strlen(trait->name);

	snprintf(text, room, "not set");
	for (const char *at = versions->variables; at && *at; at = next_variable(at))
		if (!strncmp(at, trait->name, length) && at[length] == '=')
			snprintf(text, room, "%s", at + length + 1);
	return text;
}

static const char *interposer_value(const struct trait *trait, const struct versions *versions, char *text, size_t room)
{
	(void)trait;
	snprintf(text, room, "%s", versions->interposed ? "on" : "off");
	return text;
}

static const char same_build[] =
    "run the same build on all ranks: check the image, LD_LIBRARY_PATH and driver of these";

static const struct trait builds[] = {
	{ "NCCL", nccl_value, RW_WARNING, same_build },
	{ "the CUDA driver's API", cuda_value, RW_WARNING, same_build },
	{ "rankwatch", rankwatch_value, RW_NOTICE, same_build },
	{ "the interposer", interposer_value, RW_NOTICE,
	  "start all ranks under rankwatch run, or check LD_PRELOAD and RANKWATCH_PRELOAD of these: what only the "
	  "interposer sees is not compared between them" },
};

static bool is_own(const char *variable)
{
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (!strncmp(variable, own[i], strlen(own[i])) && variable[strlen(own[i])] == '=')
			return true;
	return false;
}

static bool is_alike(const struct trait *trait, const struct process *a, const struct process *b)
{
	char left[256], right[256];
	const char *of_a = trait->value(trait, &a->versions, left, sizeof(left));
	const char *of_b = trait->value(trait, &b->versions, right, sizeof(right));

	return !of_a || !of_b || !strcmp(of_a, of_b);
}

static struct split split_as(const struct job *job, const struct trait *trait, const struct process *usual)
{
	struct split split = { .usual = usual, .lowest = INT32_MAX };

	for (uint32_t i = 0; i < job->process_count; i++)
		split.odd += !is_alike(trait, usual, job->processes[i]);
	for (uint32_t i = 0; i < job->rank_count; i++) {
		const struct rank *rank = &job->ranks[i];

		if (rank->process && rank->world < split.lowest && is_alike(trait, usual, rank->process))
			split.lowest = rank->world;
	}
	return split;
}

static bool is_usual(const struct split *split, const struct split *best)
{
	if (!best->usual || split->odd != best->odd)
		return !best->usual || split->odd < best->odd;
	return split->lowest < best->lowest;
}

/* Most processes agree with one another, or those of the lowest rank stand for what is usual: which was seen first is
 * chance. */
static struct split split_by(const struct job *job, const struct trait *trait)
{
	struct split best = { 0 };
	char text[256];

	for (uint32_t i = 0; i < job->process_count; i++) {
		/* What is not known is like everything. */
		if (!trait->value(trait, &job->processes[i]->versions, text, sizeof(text)) ||
		    (best.usual && is_alike(trait, job->processes[i], best.usual)))
			continue;
		struct split split = split_as(job, trait, job->processes[i]);

		if (is_usual(&split, &best))
			best = split;
		if (!best.odd)
			break;
	}
	return best;
}

static uint32_t odd_ranks(const struct job *job, const struct trait *trait, const struct split *split, uint32_t *ranks)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < job->rank_count; i++)
		if (!is_alike(trait, job->ranks[i].process, split->usual))
			ranks[count++] = i;
	return count;
}

static struct record *make_record(const struct analysis *analysis, const struct trait *trait, const struct split *split,
				  const uint32_t *ranks, uint32_t count)
{
	struct record *record = record_new(&analysis->job, RW_KIND_VERSION, RW_SCOPE_RANK, ranks, count);
	char who[128], odd[256], usual[256];
	bool is_build = trait->value != variable_value;

	if (!record)
		return NULL;
	trait->value(trait, &analysis->job.ranks[ranks[0]].process->versions, odd, sizeof(odd));
	trait->value(trait, &split->usual->versions, usual, sizeof(usual));
	record->finding.severity = trait->severity;
	record->finding.confidence = split->odd * 2 < analysis->job.process_count ? RW_CERTAIN : RW_LIKELY;
	record->finding.first_seen_ns = analysis->now_ns;
	if (record->finding.confidence != RW_CERTAIN)
		record_add_missing(record, "which of them is intended: no more than half of the processes agree");
	snprintf(record->text, sizeof(record->text), "%s %s %s%s%.*s where the others have %.*s",
		 naming_ranks(who, sizeof(who), record->finding.ranks, count), count == 1 ? "has" : "have", trait->name,
		 is_build ? " " : "=", VALUE_SHOWN, odd, VALUE_SHOWN, usual);
	snprintf(record->advice, sizeof(record->advice), "%s", trait->advice);
	record->finding.advice = record->advice;
	return record;
}

/* The first difference makes the finding, the others are its evidence. */
static void consider(struct analysis *analysis, const struct trait *trait, uint32_t *ranks, struct record **record)
{
	struct split split = split_by(&analysis->job, trait);
	char odd[256], usual[256], text[160];
	uint32_t count = split.odd ? odd_ranks(&analysis->job, trait, &split, ranks) : 0;

	if (!count)
		return;
	if (!*record)
		*record = make_record(analysis, trait, &split, ranks, count);
	if (!*record)
		return;
	trait->value(trait, &analysis->job.ranks[ranks[0]].process->versions, odd, sizeof(odd));
	trait->value(trait, &split.usual->versions, usual, sizeof(usual));
	snprintf(text, sizeof(text), "%s: %.*s, others %.*s", trait->name, VALUE_SHOWN, odd, VALUE_SHOWN, usual);
	record_add_evidence(*record, "box", -1, text);
}

/* Each variable that some process has, once: when the process is the first that has it. */
static bool is_first_with(const struct job *job, uint32_t index, const struct trait *trait)
{
	char text[256];

	for (uint32_t i = 0; i < index; i++) {
		variable_value(trait, &job->processes[i]->versions, text, sizeof(text));
		if (strcmp(text, "not set"))
			return false;
	}
	return true;
}

static void consider_variables(struct analysis *analysis, uint32_t index, uint32_t *ranks, struct record **record)
{
	char name[NAME_MAX_LENGTH];

	for (const char *at = analysis->job.processes[index]->versions.variables; at && *at; at = next_variable(at)) {
		struct trait trait = { name, variable_value, RW_WARNING, "set it alike on all ranks, or on none" };
		size_t length = strcspn(at, "=");

		if (length >= sizeof(name) || is_own(at))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)length, at);
		if (is_first_with(&analysis->job, index, &trait))
			consider(analysis, &trait, ranks, record);
	}
}

static void compare(struct analysis *analysis, uint64_t now_ns)
{
	uint32_t *ranks = calloc(analysis->job.rank_count + 1, sizeof(*ranks));
	struct record *record = NULL;

	if (!ranks)
		return;
	for (size_t i = 0; i < sizeof(builds) / sizeof(*builds); i++)
		consider(analysis, &builds[i], ranks, &record);
	for (uint32_t i = 0; i < analysis->job.process_count; i++)
		consider_variables(analysis, i, ranks, &record);
	if (record)
		findings_tell(&analysis->findings, record, now_ns);
	free(ranks);
}

void version_finding_tick(struct analysis *analysis, uint64_t now_ns)
{
	struct versions_watch *watch = &analysis->versions;

	if (watch->processes != analysis->job.process_count || watch->ranks != analysis->job.rank_count) {
		*watch = (struct versions_watch){ .processes = analysis->job.process_count,
						  .ranks = analysis->job.rank_count,
						  .since_ns = now_ns };
		return;
	}
	if (watch->compared || watch->processes < 2 || now_ns < watch->since_ns + VERSIONS_SETTLE_NS)
		return;
	watch->compared = true;
	compare(analysis, now_ns);
}
