/* SPDX-License-Identifier: MIT */
#include "console/flight_recorder/left_dumps.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/foreign_text.h"
#include "base/in_time.h"
#include "console/replay/host_clocks.h"
#include "finding/rank_list.h"

enum {
	POLL_MS = 2000,
	LOOKED_AT = IN_TIME_RESULT, /* ranks at most: one byte each comes back */
	ENVIRONMENT_VALUE = 198,    /* a longer one may have been cut when it was recorded */
	RANKS = 256
};

static const uint64_t after_ns =
    UINT64_C(60000000000); /* a process writes nothing so long after its last sign of life */

/* By the number that says where a rank's dump was found; 0 nowhere. */
enum place { PLACE_NONE, PLACE_NAMED, PLACE_CACHE, PLACE_TMP, PLACES };

/* Value of the variable in the box's list; NULL it is not there. */
static const char *recorded(const struct rw_box_header *header, const char *name)
{
	const char *at = header->environment, *end = at + sizeof(header->environment);
	size_t length = strlen(name);

	for (; at < end && *at; at += strnlen(at, (size_t)(end - at)) + 1)
		if ((size_t)(end - at) > length && !strncmp(at, name, length) && at[length] == '=' &&
		    memchr(at, '\0', (size_t)(end - at)))
			return at + length + 1;
	return NULL;
}

static const char *named_prefix(const struct rw_box_header *header)
{
	const char *prefix = recorded(header, "TORCH_FR_DUMP_TEMP_FILE");

	return prefix ? prefix : recorded(header, "TORCH_NCCL_DEBUG_INFO_TEMP_FILE");
}

/* false: PyTorch would not write there, or nobody can say where that is. */
static bool prefix_of(const struct rw_box_header *header, enum place place, char prefix[PATH_MAX])
{
	const char *named = named_prefix(header), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	bool is_ours = header->uid == geteuid();
	int length = -1;

	if (named && place == PLACE_NAMED && strlen(named) <= ENVIRONMENT_VALUE)
		length = snprintf(prefix, PATH_MAX, "%s", named);
	else if (!named && place == PLACE_CACHE && is_ours && (cache || home))
		length = snprintf(prefix, PATH_MAX, "%s%s/torch/comm_lib_trace_rank_", cache ? cache : home,
				  cache ? "" : "/.cache");
	else if (!named && place == PLACE_TMP)
		length = snprintf(prefix, PATH_MAX, "/tmp/nccl_trace_rank_");
	return length > 0 && length < PATH_MAX && *prefix == '/';
}

static uint64_t realtime_ns(const struct timespec *time)
{
	return time->tv_sec < 0 ? 0 : (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec;
}

/* When the process was last seen to live, CLOCK_REALTIME. */
static uint64_t last_sign_ns(const struct replay_process *process)
{
	const struct rw_box_header *header = replay_header(process);
	const uint64_t signs[] = { header->created_ns, header->drain_ns, feed_last_ns(process->feed) };
	uint64_t last_ns = 0;

	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		if (signs[i] > last_ns)
			last_ns = signs[i];
	return last_ns + (uint64_t)host_clocks_sane(box_realtime_offset(header));
}

/* The same name is written again by every run, also by one that came later. */
static bool is_of_run(const struct replay_process *process, const struct stat *file)
{
	const struct rw_box_header *header = replay_header(process);
	uint64_t written_ns = realtime_ns(&file->st_mtim);

	return S_ISREG(file->st_mode) && file->st_uid == header->uid && written_ns >= header->created_realtime_ns &&
	       (process->life == BOX_ALIVE || written_ns <= last_sign_ns(process) + after_ns);
}

static enum place find_one(const struct replay_process *process)
{
	char prefix[PATH_MAX], path[PATH_MAX + 16];
	struct stat file;

	for (int place = PLACE_NAMED; process->rank >= 0 && place < PLACES; place++) {
		if (!prefix_of(replay_header(process), (enum place)place, prefix))
			continue;
		snprintf(path, sizeof(path), "%s%" PRId32, prefix, process->rank);
		if (lstat(path, &file) == 0 && is_of_run(process, &file))
			return (enum place)place;
	}
	return PLACE_NONE;
}

/* In a process of its own: a home directory may be on a server that does not answer. */
static void find_all(const void *argument, void *result)
{
	const struct replay *replay = argument;
	unsigned char *found = result;

	for (size_t i = 0; i < replay->count && i < LOOKED_AT; i++)
		found[i] = (unsigned char)find_one(&replay->processes[i]);
}

static json_t *group_of(json_t *dumps, const char *prefix)
{
	const char *name = strrchr(prefix, '/') + 1;
	size_t length = name - 1 > prefix ? (size_t)(name - 1 - prefix) : 1, i;
	json_t *group;

	json_array_foreach(dumps, i, group)
	{
		const char *directory = json_string_value(json_object_get(group, "directory"));

		if (strlen(directory) == length && !strncmp(directory, prefix, length) &&
		    !strcmp(json_string_value(json_object_get(group, "prefix")), name))
			return group;
	}
	group = json_pack("{s:s%, s:s, s:[]}", "directory", prefix, length, "prefix", name, "ranks");
	json_array_append_new(dumps, group); /* fails for text that is no UTF-8: then nothing is said of it */
	return group;
}

json_t *left_dumps_find(const struct replay *replay)
{
	static unsigned char found[LOOKED_AT];
	json_t *dumps = json_array();
	char prefix[PATH_MAX];

	in_time_call(find_all, replay, found, sizeof(found), POLL_MS);
	for (size_t i = 0; dumps && i < replay->count && i < LOOKED_AT; i++)
		if (found[i] && prefix_of(replay_header(&replay->processes[i]), (enum place)found[i], prefix))
			json_array_append_new(json_object_get(group_of(dumps, prefix), "ranks"),
					      json_integer(replay->processes[i].rank));
	return dumps;
}

static void print_group(FILE *out, const json_t *group)
{
	const json_t *list = json_object_get(group, "ranks");
	size_t count = json_array_size(list);
	int32_t *ranks = calloc(count + 1, sizeof(*ranks));
	char text[RANKS];

	for (size_t i = 0; ranks && i < count; i++)
		ranks[i] = (int32_t)json_integer_value(json_array_get(list, i));
	if (ranks)
		foreign_line(
		    out,
		    "PyTorch   Flight Recorder dumps of rank%s %s, written while it ran: torchfrtrace --prefix %s %s",
		    count == 1 ? "" : "s", rank_list_text(text, sizeof(text), ranks, count),
		    json_string_value(json_object_get(group, "prefix")),
		    json_string_value(json_object_get(group, "directory")));
	free(ranks);
}

void left_dumps_print(FILE *out, const json_t *dumps)
{
	const json_t *group;
	size_t i;

	json_array_foreach(dumps, i, group) print_group(out, group);
}
