/* SPDX-License-Identifier: MIT */
/*
 * Everything that is read from the environment, NAME=VALUE lines. The same lines are the arguments of the process and
 * its torchtitan configuration file, because both tell of the framework's watchdog.
 */
#include "tests/fuzz/box_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "identity/identity.h"
#include "plugin/chain/library.h"
#include "plugin/guest/config.h"
#include "plugin/recording/environment.h"
#include "tests/fuzz/told.h"

enum { TEXT = 4096, LINES = 64, RANKS = 4 };

#define TERMINATED(text) (memchr((text), '\0', sizeof(text)) != NULL)

struct environment {
	char text[TEXT];
	char *lines[LINES + 1];
};

static void split(struct environment *environment, const uint8_t *data, size_t size)
{
	char *rest = environment->text;
	size_t count = 0;

	if (size >= TEXT)
		size = TEXT - 1;
	memcpy(environment->text, data, size);
	environment->text[size] = '\0';
	for (char *line; count < LINES && (line = strsep(&rest, "\n"));)
		environment->lines[count++] = line;
	environment->lines[count] = NULL;
}

static const char *get(void *argument, const char *name)
{
	const struct environment *environment = argument;
	size_t length = strlen(name);

	for (char *const *line = environment->lines; *line; line++)
		if (!strncmp(*line, name, length) && (*line)[length] == '=')
			return *line + length + 1;
	return NULL;
}

static void tell(void *argument, const char *line)
{
	(void)argument;
	if (!*line)
		abort();
	told_text(line);
}

static void tell_config(const struct config *config)
{
	const uint64_t values[] = { config->on,      config->gpu_time,     config->kernelch,     config->quiet,
				    config->preload, config->scan,         config->on_nan,       config->budget_ppm,
				    config->graphs,  config->budget_given, config->history_bytes };

	told(values, sizeof(values));
	told(config->uint8_as, sizeof(config->uint8_as));
	told_text(config->directory);
}

static void read_config(struct environment *environment)
{
	struct config config;

	config_read(&config, get, environment->lines, tell, environment);
	tell_config(&config);
	told_value(chain_library_is_named(get(environment, "RANKWATCH_CHAIN")));
	if (config.on > 1 || config.gpu_time > CONFIG_GPU_TIME_OFF || config.scan > CONFIG_SCAN_OFF ||
	    config.on_nan > CONFIG_ON_NAN_ABORT || config.budget_ppm > 1000000)
		abort();
	for (size_t i = 0; i < RW_FUNCTION_COUNT; i++)
		if (config.uint8_as[i] >= RW_DTYPE_COUNT)
			abort();
}

/* Without the host, which has the machine's name where the environment has none. */
static void tell_identity(const struct identity *identity)
{
	const int64_t values[] = { identity->world_rank,
				   identity->world_size,
				   identity->local_rank,
				   identity->local_size,
				   identity->generation,
				   (int64_t)identity->watchdog_ms,
				   (int64_t)identity->watchdog_init_ms };

	told(values, sizeof(values));
	told_text(identity->rank_from);
	told_text(identity->job);
	told_text(identity->job_from);
	told_text(identity->watchdog_from);
}

/* The input's lines are arguments, too. */
static void read_identity(struct environment *environment)
{
	static const char program[] = "python";
	char command_line[TEXT + sizeof(program)];
	size_t used = sizeof(program);
	struct identity identity;

	memcpy(command_line, program, used);
	memcpy(command_line + used, environment->text, TEXT);
	identity_read(&identity, get, environment, RANKS, command_line, used + strnlen(environment->text, TEXT));
	tell_identity(&identity);
	identity_read(&identity, get, environment, 0, command_line, used);
	tell_identity(&identity);
	if (!TERMINATED(identity.host) || !TERMINATED(identity.job) || !identity.job[0] ||
	    !TERMINATED(identity.rank_from) || !TERMINATED(identity.watchdog_from) || identity.world_rank < -1)
		abort();
}

static void no_finding(void *argument, const struct rw_finding *finding)
{
	(void)argument, (void)finding;
}

static void check_flight(void *argument, const struct analysis_flight *flight)
{
	(void)argument;
	if (!flight->comm_name[0])
		abort();
	told_text(flight->comm_name);
}

/* Every second rank of 2 * RANKS, so that a mesh has something to name. */
static void add_rank(struct analysis *analysis, const struct rw_box_header *kept, int32_t rank)
{
	struct rw_box_header box = *kept;
	const struct analysis_process process = { .id = (analysis_process_id)rank, .pid = 100 + rank, .box = &box };
	const struct rw_communicator communicator = {
		.id = 1, .rank = rank, .nranks = RANKS, .nnodes = 1, .created_ns = 1
	};
	const struct rw_operation operation = {
		.ticket = 1, .function = RW_FUNCTION_ALL_REDUCE, .count = 1, .api_ns = 10,
		.known = RW_KNOWN_IDENT | RW_KNOWN_API
	};

	box.world_rank = rank * 2;
	box.world_size = RANKS * 2;
	analysis_add_process(analysis, &process);
	analysis_add_communicator(analysis, process.id, 0, &communicator);
	analysis_add_operation(analysis, process.id, &operation);
}

static void name_communicator(struct environment *environment)
{
	static struct rw_box_header box;
	struct analysis *analysis = analysis_new(true, no_finding, NULL);

	environment_keep(environment->lines, box.environment, sizeof(box.environment));
	if (!analysis || !TERMINATED(box.environment))
		abort();
	told(box.environment, sizeof(box.environment));
	for (int32_t rank = 0; rank < RANKS; rank++)
		add_rank(analysis, &box, rank);
	analysis_visit_flights(analysis, check_flight, NULL);
	analysis_free(analysis);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct environment environment = { 0 };

	split(&environment, data, size);
	read_config(&environment);
	name_communicator(&environment);
	read_identity(&environment);
	return 0;
}
