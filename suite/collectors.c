/* SPDX-License-Identifier: MIT */
#include "suite/collectors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/job/job_half.h"
#include "analysis/node/node_half.h"
#include "suite/chances.h"
#include "suite/give_up.h"

enum { LOST_ONE_IN = 20, LATE_ONE_IN = 20 };
static const uint64_t late_ns = 2000000000;

/* A batch on its way to the judge. */
struct letter {
	void *bytes;
	size_t length;
	uint64_t comes_ns;
};

struct host {
	struct suite_collectors *collectors;
	struct analysis *analysis;
	struct node_half *half; /* NULL: it is the only host */
};

struct suite_collectors {
	const struct suite_draw *draw;
	analysis_emit *emit;
	void *argument;
	struct host *hosts;
	int host_count;
	struct job_half *judge; /* NULL: one collector sees all ranks */
	struct chances chances;
	struct letter *letters;
	size_t letter_count, letter_room;
	uint64_t now_ns;
};

static void note_of_host(void *argument, const struct rw_finding *finding)
{
	const struct host *host = argument;

	if (host->half)
		node_half_note_finding(host->half, finding);
	host->collectors->emit(host->collectors->argument, finding);
}

static void open_host(struct suite_collectors *collectors, int number)
{
	struct host *host = &collectors->hosts[number];
	char name[16];

	snprintf(name, sizeof(name), "h%d", number);
	const struct node_identity identity = { .job = "suite",
						.host = name,
						.boot = { (uint8_t)number, (uint8_t)(number >> 8), 1 },
						.start = 1 + (uint64_t)number };
	host->collectors = collectors;
	host->analysis = analysis_new(false, note_of_host, host);
	if (!host->analysis)
		suite_give_up();
	if (!collectors->judge)
		return;
	host->half = node_half_new(host->analysis, &identity);
	if (!host->half)
		suite_give_up();
}

struct suite_collectors *suite_collectors_new(const struct suite_draw *draw, analysis_emit *emit, void *argument)
{
	struct suite_collectors *collectors = calloc(1, sizeof(*collectors));

	if (!collectors)
		suite_give_up();
	*collectors = (struct suite_collectors){
		.draw = draw, .emit = emit, .argument = argument, .chances = { 0x30000u + draw->seed }
	};
	collectors->host_count = draw->apart ? (draw->ranks + draw->per_host - 1) / draw->per_host : 1;
	collectors->hosts = calloc((size_t)collectors->host_count, sizeof(*collectors->hosts));
	collectors->judge = draw->apart ? job_half_new("suite", emit, argument) : NULL;
	if (!collectors->hosts || (draw->apart && !collectors->judge))
		suite_give_up();
	for (int i = 0; i < collectors->host_count; i++)
		open_host(collectors, i);
	return collectors;
}

struct analysis *suite_collectors_analysis(const struct suite_collectors *collectors, int rank)
{
	return collectors->hosts[collectors->judge ? rank / collectors->draw->per_host : 0].analysis;
}

static void post(void *argument, const void *bytes, size_t length)
{
	struct suite_collectors *collectors = argument;

	if (one_in(&collectors->chances, LOST_ONE_IN))
		return;
	if (collectors->letter_count == collectors->letter_room) {
		collectors->letter_room = collectors->letter_room ? 2 * collectors->letter_room : 64;
		collectors->letters = realloc(collectors->letters, collectors->letter_room * sizeof(*collectors->letters));
	}
	void *copy = malloc(length);
	if (!collectors->letters || !copy)
		suite_give_up();
	memcpy(copy, bytes, length);
	collectors->letters[collectors->letter_count++] = (struct letter){
		copy, length, collectors->now_ns + (one_in(&collectors->chances, LATE_ONE_IN) ? late_ns : 0)
	};
}

static void deliver(struct suite_collectors *collectors)
{
	size_t kept = 0;

	for (size_t i = 0; i < collectors->letter_count; i++) {
		struct letter *letter = &collectors->letters[i];
		if (letter->comes_ns > collectors->now_ns) {
			collectors->letters[kept++] = *letter;
			continue;
		}
		if (job_half_take(collectors->judge, letter->bytes, letter->length, collectors->now_ns, NULL))
			suite_give_up();
		free(letter->bytes);
	}
	collectors->letter_count = kept;
}

static void ask(void *argument, const char *name, const void *bytes, size_t length)
{
	struct suite_collectors *collectors = argument;
	const struct host *host = &collectors->hosts[atoi(name + 1)];

	if (!one_in(&collectors->chances, LOST_ONE_IN) && node_half_ask(host->half, bytes, length, collectors->now_ns, NULL))
		suite_give_up();
}

void suite_collectors_tick(struct suite_collectors *collectors, uint64_t now_ns)
{
	collectors->now_ns = now_ns;
	for (int i = 0; i < collectors->host_count; i++) {
		struct host *host = &collectors->hosts[i];
		analysis_tick(host->analysis, now_ns);
		if (host->half)
			node_half_tick(host->half, now_ns, post, collectors);
	}
	if (!collectors->judge)
		return;
	deliver(collectors);
	job_half_tick(collectors->judge, now_ns);
	job_half_ask_why(collectors->judge, now_ns, ask, collectors);
}

void suite_collectors_free(struct suite_collectors *collectors)
{
	for (int i = 0; i < collectors->host_count; i++) {
		node_half_free(collectors->hosts[i].half);
		analysis_free(collectors->hosts[i].analysis);
	}
	for (size_t i = 0; i < collectors->letter_count; i++)
		free(collectors->letters[i].bytes);
	free(collectors->letters);
	free(collectors->hosts);
	job_half_free(collectors->judge);
	free(collectors);
}
