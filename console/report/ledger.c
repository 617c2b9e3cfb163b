/* SPDX-License-Identifier: MIT */
#include "console/report/ledger.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "finding/value.h"

enum { GPU_NAME = 48, HOST_NAME = 64 };

/* One who took part in the job that is being added. */
struct part {
	char name[HOST_NAME + GPU_NAME], host[HOST_NAME + 1];
	unsigned faults;
};

struct parts {
	struct part *list[LEDGER_SORTS];
	size_t counts[LEDGER_SORTS];
};

/* A desync or an overflow is the program's, memory and versions are the job's. */
static unsigned faults_of(const json_t *finding)
{
	static const struct {
		const char *kind;
		enum ledger_fault fault;
	} kinds[] = {
		{ "straggler", LEDGER_LATE }, { "slowdown", LEDGER_LATE },  { "hang", LEDGER_LAST },
		{ "gone", LEDGER_LAST },      { "nan", LEDGER_BAD },        { "inf", LEDGER_BAD },
		{ "drift", LEDGER_BAD },      { "saturation", LEDGER_BAD }, { "corruption", LEDGER_BAD },
		{ "gpu", LEDGER_BAD },
	};

	if (value_is(finding, "severity", "notice") || value_is(finding, "confidence", "inconclusive") ||
	    value_is(finding, "scope", "job"))
		return 0;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (value_is(finding, "kind", kinds[i].kind))
			return 1u << kinds[i].fault;
	return 0;
}

static struct part *find_part(const struct parts *parts, enum ledger_sort sort, const char *name)
{
	for (size_t i = 0; i < parts->counts[sort]; i++)
		if (!strcmp(parts->list[sort][i].name, name))
			return &parts->list[sort][i];
	return NULL;
}

static int add_part(struct parts *parts, enum ledger_sort sort, const char *name, const char *host)
{
	if (find_part(parts, sort, name))
		return 0;
	struct part *list = reallocarray(parts->list[sort], parts->counts[sort] + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	parts->list[sort] = list;
	struct part *part = &list[parts->counts[sort]++];

	*part = (struct part){ 0 };
	snprintf(part->name, sizeof(part->name), "%s", name);
	snprintf(part->host, sizeof(part->host), "%s", host);
	return 0;
}

/* As in findings: "GPU-" and the UUID. */
static void name_gpu(char name[GPU_NAME], const uint8_t *uuid)
{
	int used = snprintf(name, GPU_NAME, "GPU-");

	for (int i = 0; i < 16; i++)
		used += snprintf(name + used, GPU_NAME - (size_t)used, "%s%02x",
				 i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

static int add_process(struct parts *parts, const struct rw_box_header *header)
{
	char host[HOST_NAME + 1], gpu[GPU_NAME];

	snprintf(host, sizeof(host), "%.*s", (int)sizeof(header->host), header->host);
	int err = add_part(parts, LEDGER_HOST, host, host);

	for (size_t i = 0; i < RW_BOX_DEVICES && !err; i++) {
		if (!header->devices[i].used)
			continue;
		name_gpu(gpu, header->devices[i].uuid);
		err = add_part(parts, LEDGER_GPU, gpu, host);
	}
	return err;
}

static void blame(const struct parts *parts, const json_t *finding)
{
	const json_t *where;
	unsigned faults = faults_of(finding);
	size_t i;

	json_array_foreach(json_object_get(finding, "where"), i, where)
	{
		const char *host = value_text(where, "host"), *gpu = value_text(where, "gpu");
		struct part *of_host = host ? find_part(parts, LEDGER_HOST, host) : NULL;
		struct part *of_gpu = gpu ? find_part(parts, LEDGER_GPU, gpu) : NULL;

		if (of_host)
			of_host->faults |= faults;
		if (of_gpu)
			of_gpu->faults |= faults;
	}
}

static struct ledger_entry *find_or_add(struct ledger *ledger, enum ledger_sort sort, const struct ledger_part *part)
{
	for (size_t i = 0; i < ledger->counts[sort]; i++)
		if (!strcmp(ledger->entries[sort][i].name, part->name))
			return &ledger->entries[sort][i];
	struct ledger_entry *entries = reallocarray(ledger->entries[sort], ledger->counts[sort] + 1, sizeof(*entries));

	if (!entries)
		return NULL;
	ledger->entries[sort] = entries;
	entries[ledger->counts[sort]] = (struct ledger_entry){ .name = strdup(part->name), .host = strdup(part->host) };
	return entries[ledger->counts[sort]].name && entries[ledger->counts[sort]].host
		   ? &entries[ledger->counts[sort]++]
		   : NULL;
}

static int add_job(struct ledger_entry *entry, unsigned faults, double share)
{
	double *shares = reallocarray(entry->shares, entry->jobs + 1, sizeof(*shares));

	if (!shares)
		return -ENOMEM;
	entry->shares = shares;
	shares[entry->jobs++] = share;
	entry->named_in += faults != 0;
	for (int fault = 0; fault < LEDGER_FAULTS; fault++)
		entry->named[fault] += faults >> fault & 1;
	return 0;
}

int ledger_add_parts(struct ledger *ledger, enum ledger_sort sort, const struct ledger_part *parts, size_t count)
{
	size_t named = 0;
	int err = 0;

	for (size_t i = 0; i < count; i++)
		named += parts[i].faults != 0;
	for (size_t i = 0; i < count && !err; i++) {
		struct ledger_entry *entry = find_or_add(ledger, sort, &parts[i]);

		err = entry ? add_job(entry, parts[i].faults, (double)named / (double)count) : -ENOMEM;
	}
	return err;
}

static int add_sort(struct ledger *ledger, enum ledger_sort sort, const struct parts *parts)
{
	struct ledger_part *list = calloc(parts->counts[sort] + 1, sizeof(*list));

	for (size_t i = 0; i < parts->counts[sort] && list; i++)
		list[i] = (struct ledger_part){ parts->list[sort][i].name, parts->list[sort][i].host,
						parts->list[sort][i].faults };
	int err = list ? ledger_add_parts(ledger, sort, list, parts->counts[sort]) : -ENOMEM;

	free(list);
	return err;
}

static void count_ranks(struct ledger *ledger, const struct replay *replay)
{
	int32_t total = replay->count ? replay_header(&replay->processes[0])->world_size : -1;

	ledger->ranks += replay->count;
	ledger->ranks_total = total > 0 && ledger->ranks_total >= 0 ? ledger->ranks_total + total : -1;
}

int ledger_add(struct ledger *ledger, const struct replay *replay)
{
	struct parts parts = { 0 };
	const char *id;
	json_t *finding;
	int err = 0;

	for (size_t i = 0; i < replay->count && !err; i++)
		err = add_process(&parts, replay_header(&replay->processes[i]));
	json_object_foreach(replay->findings, id, finding) blame(&parts, finding);
	for (int sort = 0; sort < LEDGER_SORTS && !err; sort++)
		err = add_sort(ledger, (enum ledger_sort)sort, &parts);
	for (int sort = 0; sort < LEDGER_SORTS; sort++)
		free(parts.list[sort]);
	if (!err)
		count_ranks(ledger, replay);
	ledger->jobs += !err;
	return err;
}

/* P(named in k jobs or more) where each job names it with its own share: the Poisson binomial distribution, summed up
 * job by job. */
static int judge(struct ledger_entry *entry)
{
	double *jobs = calloc(entry->jobs + 2, sizeof(*jobs));

	if (!jobs)
		return -ENOMEM;
	jobs[0] = 1;
	entry->expected = 0;
	for (unsigned job = 0; job < entry->jobs; job++) {
		double share = entry->shares[job];

		for (unsigned k = job + 1; k > 0; k--)
			jobs[k] = jobs[k] * (1 - share) + jobs[k - 1] * share;
		jobs[0] *= 1 - share;
		entry->expected += share;
	}
	entry->chance = 0;
	for (unsigned k = entry->jobs; k >= entry->named_in; k--) {
		entry->chance += jobs[k];
		if (!k)
			break;
	}
	entry->chance = fmin(1, entry->chance);
	free(jobs);
	return 0;
}

static int by_chance(const void *left, const void *right)
{
	const struct ledger_entry *a = left, *b = right;

	if (a->chance < b->chance || a->chance > b->chance)
		return a->chance < b->chance ? -1 : 1;
	return a->named_in != b->named_in ? (a->named_in < b->named_in) - (a->named_in > b->named_in)
					  : strcmp(a->name, b->name);
}

int ledger_judge(struct ledger *ledger)
{
	int err = 0;

	for (int sort = 0; sort < LEDGER_SORTS; sort++) {
		struct ledger_entry *entries = ledger->entries[sort];
		size_t count = ledger->counts[sort];
		double least = 0;

		for (size_t i = 0; i < count && !err; i++)
			err = judge(&entries[i]);
		if (count)
			qsort(entries, count, sizeof(*entries), by_chance);
		for (size_t i = 0; i < count; i++)
			least = entries[i].chance = fmax(least, fmin(1, entries[i].chance * (double)(count - i)));
	}
	return err;
}

void ledger_free(struct ledger *ledger)
{
	for (int sort = 0; sort < LEDGER_SORTS; sort++) {
		for (size_t i = 0; i < ledger->counts[sort]; i++) {
			free(ledger->entries[sort][i].name);
			free(ledger->entries[sort][i].host);
			free(ledger->entries[sort][i].shares);
		}
		free(ledger->entries[sort]);
	}
	*ledger = (struct ledger){ 0 };
}
