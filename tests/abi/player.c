/* SPDX-License-Identifier: MIT */
#include "tests/abi/player.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "plugin/nccl/profiler_v2.h"

/* As large as version 7's; what a version does not define is garbage, which the plugin must not read. */
union event {
	struct profiler_v5_event v5;
	struct profiler_v4_event v4;
	struct profiler_v2_event v2; /* and 3 */
	struct profiler_v1_event v1;
	unsigned char bytes[136];
};

static char directory[64];

/* In MiB; below 0: the truth. */
static long shared_memory = -1, shared_memory_later;

_Noreturn static void fail(const char *what, const char *detail)
{
	fprintf(stderr, "player: %s: %s\n", what, detail);
	exit(1);
}

void player_shared_memory(long first_mib, long later_mib)
{
	shared_memory = first_mib;
	shared_memory_later = later_mib;
}

/* In place of libc's: the programs export it. */
int statfs(const char *path, struct statfs *system)
{
	int (*libc_s)(const char *, struct statfs *) = (int (*)(const char *, struct statfs *))dlsym(RTLD_NEXT, "statfs64");
	int result = libc_s(path, system);

	if (shared_memory < 0 || strcmp(path, "/dev/shm") != 0)
		return result;
	*system = (struct statfs){ .f_bsize = 1 << 20, .f_blocks = 1 << 20, .f_bavail = (fsblkcnt_t)shared_memory };
	shared_memory = shared_memory_later;
	return 0;
}

void *player_load(void)
{
	void *library = dlopen(PLUGIN_PATH, RTLD_NOW | RTLD_LOCAL); /* NCCL's flags */

	if (!library)
		fail("dlopen", dlerror());
	return library;
}

static void logger(int level, unsigned long flags, const char *file, int line, const char *format, ...)
{
	(void)level, (void)flags, (void)file, (void)line, (void)format;
}

void player_init(struct player *player, void *library, int abi, uint64_t id, int rank, int nranks)
{
	char symbol[32];

	*player = (struct player){ .abi = abi, .rank = rank, .nranks = nranks, .id = id };
	snprintf(symbol, sizeof(symbol), "ncclProfiler_v%d", abi);
	const void *table = dlsym(library, symbol);
	if (!table)
		fail("dlsym", symbol);
	if (abi < 4) {
		player->v1 = table;
		player->result = player->v1->init(&player->context, &player->mask);
	} else if (abi == 4) {
		player->v4 = table;
		player->result =
		    player->v4->init(&player->context, &player->mask, "world", id, 1, nranks, rank, logger);
	} else {
		player->v5 = table;
		player->result =
		    player->v5->init(&player->context, id, &player->mask, "world", 1, nranks, rank, logger);
	}
}

void player_finalize(struct player *player)
{
	if (player->abi < 4)
		player->v1->finalize(player->context);
	else if (player->abi == 4)
		player->v4->finalize(player->context);
	else
		player->v5->finalize(player->context);
}

static void *start(struct player *player, union event *event)
{
	void *handle = (void *)0x5a5a;

	if (player->abi < 4)
		player->v1->start_event(player->context, &handle, event);
	else if (player->abi == 4)
		player->v4->start_event(player->context, &handle, &event->v4);
	else
		player->v5->start_event(player->context, &handle, &event->v5);
	return handle;
}

static union event new_event(uint64_t type, void *parent)
{
	union event event;

	memset(&event, 0xa5, sizeof(event));
	event.v5.type = type;
	event.v5.parent = parent;
	event.v5.rank = 0;
	return event;
}

void *player_api_group(struct player *player)
{
	union event event = new_event(PROFILER_GROUP_API, NULL);

	event.v5.group_api.captured = false;
	event.v5.group_api.depth = 1;
	void *handle = start(player, &event);
	if (handle)
		player->v5->record_event_state(handle, 23, NULL);
	return handle;
}

void *player_call(struct player *player, void *group, const char *function, size_t count, const char *dtype,
		  bool captured)
{
	union event event = new_event(PROFILER_COLL_API, group);

	event.v5.coll_api.function = function;
	event.v5.coll_api.count = count;
	event.v5.coll_api.dtype = dtype;
	event.v5.coll_api.root = 0;
	event.v5.coll_api.stream = player->stream ? player->stream : (void *)0x1000;
	event.v5.coll_api.captured = captured;
	if (player->abi >= 7)
		event.v5.coll_api_v7.user_tag = player->tag;
	return start(player, &event);
}

static void *p2p_call(struct player *player, void *group, const char *function, size_t count, bool captured)
{
	union event event = new_event(PROFILER_P2P_API, group);

	event.v5.p2p_api.function = function;
	event.v5.p2p_api.count = count;
	event.v5.p2p_api.dtype = "ncclFloat32";
	event.v5.p2p_api.stream = player->stream ? player->stream : (void *)0x1000;
	event.v5.p2p_api.captured = captured;
	if (player->abi >= 7)
		event.v5.p2p_api_v7.user_tag = player->tag;
	return start(player, &event);
}

void *player_p2p_call(struct player *player, void *group, const char *function, size_t count)
{
	return p2p_call(player, group, function, count, false);
}

void *player_captured_p2p_call(struct player *player, void *group, const char *function, size_t count)
{
	return p2p_call(player, group, function, count, true);
}

void *player_launch(struct player *player, void *stream)
{
	union event event = new_event(PROFILER_KERNEL_LAUNCH, NULL);

	event.v5.launch.stream = stream;
	return start(player, &event);
}

void *player_plan(struct player *player)
{
	union event event = new_event(PROFILER_GROUP, NULL);

	player->plan = start(player, &event);
	return player->plan;
}

void *player_task_run_by(struct player *player, void *call, const char *function, size_t count, const char *algorithm,
			 const char *protocol)
{
	union event event = new_event(PROFILER_COLL, call);

	event.v5.coll.sequence = player->sequence++;
	event.v5.coll.function = function;
	event.v5.coll.send = player->send ? player->send : (void *)0x10000;
	event.v5.coll.recv = player->recv ? (void *)player->recv : (void *)0x20000;
	event.v5.coll.count = count;
	event.v5.coll.root = 0;
	event.v5.coll.dtype = "ncclInt8";
	event.v5.coll.channels = 4;
	event.v5.coll.warps = 16;
	event.v5.coll.algorithm = algorithm;
	event.v5.coll.protocol = protocol;
	event.v5.coll.group = player->plan;
	return start(player, &event);
}

void *player_task(struct player *player, void *call, const char *function, size_t count)
{
	return player_task_run_by(player, call, function, count, "RING", "SIMPLE");
}

void *player_p2p_task(struct player *player, void *call, const char *function, size_t count, int peer)
{
	union event event = new_event(PROFILER_P2P, call);

	event.v5.p2p.function = function;
	const void *buffer = player->send ? player->send : player->recv;

	event.v5.p2p.buffer = buffer ? (void *)buffer : (void *)0x30000;
	event.v5.p2p.dtype = "ncclFloat32";
	event.v5.p2p.count = count;
	event.v5.p2p.peer = peer;
	event.v5.p2p.channels = 2;
	event.v5.p2p.group = player->plan;
	return start(player, &event);
}

void player_stop(struct player *player, void *handle)
{
	if (!handle)
		return;
	if (player->abi < 4)
		player->v1->stop_event(handle);
	else if (player->abi == 4)
		player->v4->stop_event(handle);
	else
		player->v5->stop_event(handle);
}

void player_state(struct player *player, void *handle, int state, void *arguments)
{
	if (player->abi < 4)
		player->v1->record_event_state(handle, state, arguments);
	else if (player->abi == 4)
		player->v4->record_event_state(handle, state, arguments);
	else
		player->v5->record_event_state(handle, state, arguments);
}

void *player_channel(struct player *player, void *task, uint8_t channel, uint64_t timer)
{
	union event event = new_event(PROFILER_KERNEL_CH, task);
	struct profiler_kernel_ch *kernel_ch = player->abi == 4 ? &event.v4.kernel_ch : &event.v5.kernel_ch;

	if (player->abi == 4) /* one byte: the others are garbage */
		memset(event.bytes + 1, 0xa5, 7);
	kernel_ch->channel = channel;
	kernel_ch->timer = timer;
	return start(player, &event);
}

void *player_copy(struct player *player, void *call, const char *function, uint64_t sequence, void *stream)
{
	union event event = new_event(PROFILER_CE_COLL, call);

	event.v5.ce_coll = (struct profiler_v6_ce_coll){
		.sequence = sequence,
		.function = function,
		.send = (void *)0x10000,
		.recv = (void *)0x20000,
		.count = 16,
		.dtype = "ncclFloat32",
		.synchronisation = "UC",
		.stream = stream,
	};
	return start(player, &event);
}

bool player_raw(struct player *player, void *context, uint64_t type, void *parent, void **handle)
{
	union event event = { .v5 = { .type = type, .parent = parent } };

	*handle = (void *)0x5a5a;
	if (player->abi < 4)
		return player->v1->start_event(context, handle, &event) == 0;
	if (player->abi == 4)
		return player->v4->start_event(context, handle, &event.v4) == 0;
	return player->v5->start_event(context, handle, &event.v5) == 0;
}

/* From the union on, these are the same in all versions. */
static void *start_proxy(struct player *player, uint64_t type, void *parent, int first)
{
	union event event = new_event(type, parent);

	if (player->abi < 5)
		memset(event.bytes + 1, 0xa5, 7);
	memcpy(event.bytes + 24, &first, sizeof(first));
	return start(player, &event);
}

void *player_proxy_op(struct player *player, void *task, int pid)
{
	return start_proxy(player, PROFILER_PROXY_OP, task, pid);
}

void *player_proxy_step(struct player *player, void *proxy_op, int step)
{
	return start_proxy(player, PROFILER_PROXY_STEP, proxy_op, step);
}

void *player_transfer(struct player *player, void *task, int peer, uint8_t channel, bool sends)
{
	struct profiler_proxy_op operation = {
		.pid = getpid(), .channel = channel, .peer = peer, .steps = 64, .step_bytes = 1 << 17, .is_send = sends,
	};
	union event event = new_event(PROFILER_PROXY_OP, task);

	if (player->abi < 5)
		memset(event.bytes + 1, 0xa5, 7);
	memcpy(event.bytes + offsetof(struct profiler_head, proxy_op), &operation, sizeof(operation));
	return start(player, &event);
}

void player_step_state(struct player *player, void *step, int state, uint64_t bytes)
{
	uint64_t arguments[2] = { bytes, 0 };

	if (step)
		player_state(player, step, state, arguments);
}

void player_channel_stop(struct player *player, void *handle, uint64_t timer)
{
	if (!handle)
		return;
	player_state(player, handle, PROFILER_KERNEL_CH_STOP, &timer);
	player_stop(player, handle);
}

static union event new_old_event(struct player *player, uint8_t type)
{
	union event event = new_event(0, NULL);

	memset(event.bytes + 1, 0xa5, 7); /* the type is one byte: the others are garbage */
	event.v4.type = type;
	event.v4.rank = player->rank;
	return event;
}

/* Plan, task, and both stops, as all versions before 5 have them. */
static void *bare_task(struct player *player, union event *event)
{
	void *plan = player_plan(player);
	void *task = start(player, event);

	player_stop(player, task);
	player_stop(player, plan);
	return task;
}

/* Place of a word in a list: NCCL 2.23's numbers. */
static uint8_t number_of(const char *word, const char *const *words)
{
	uint8_t number = 0;

	while (words[number] && strcmp(words[number], word) != 0)
		number++;
	return number;
}

static uint8_t v1_function(const char *name)
{
	static const char *const names[] = { "Broadcast",     "Reduce",    "AllGather",
					     "ReduceScatter", "AllReduce", "SendRecv",
					     "Send",          "Recv",      NULL };

	return number_of(name, names);
}

static uint8_t v1_dtype(const char *name)
{
	static const char *const names[] = { "ncclInt8",    "ncclUint8",    "ncclInt32",   "ncclUint32",
					     "ncclInt64",   "ncclUint64",   "ncclFloat16", "ncclFloat32",
					     "ncclFloat64", "ncclBfloat16", NULL };

	return number_of(name, names);
}

static void fill_coll_v1(struct profiler_v1_coll *coll, struct player *player, const char *function, size_t count,
			 const char *dtype)
{
	*coll = (struct profiler_v1_coll){
		.name = "world",
		.comm_hash = player->id,
		.sequence = player->sequence++,
		.function = v1_function(function),
		.send = (void *)0x10000,
		.recv = (void *)0x20000,
		.count = count,
		.dtype = v1_dtype(dtype),
		.channels = 4,
		.algorithm = 0, /* TREE */
		.protocol = 0,  /* LL */
	};
}

static void fill_coll_v2(struct profiler_v2_event *event, struct player *player, const char *function, size_t count,
			 const char *dtype)
{
	struct profiler_v2_run run = { .channels = 4, .warps = 16, .algorithm = "TREE", .protocol = "LL" };

	event->coll = (struct profiler_v2_coll){
		.name = "world",
		.comm_hash = player->id,
		.sequence = player->sequence++,
		.function = function,
		.send = (void *)0x10000,
		.recv = (void *)0x20000,
		.count = count,
		.dtype = dtype,
	};
	if (player->abi == 2)
		event->v2.run = run;
	else
		event->v3 = run;
}

static void *bare_collective(struct player *player, const char *function, size_t count, const char *dtype)
{
	union event event = new_old_event(player, PROFILER_COLL);

	if (player->abi == 1)
		fill_coll_v1(&event.v1.coll, player, function, count, dtype);
	else if (player->abi < 4)
		fill_coll_v2(&event.v2, player, function, count, dtype);
	else
		event.v4.coll = (struct profiler_v4_coll){
			.sequence = player->sequence++,
			.function = function,
			.send = (void *)0x10000,
			.recv = (void *)0x20000,
			.count = count,
			.dtype = dtype,
			.channels = 4,
			.algorithm = "TREE",
			.protocol = "LL",
		};
	return bare_task(player, &event);
}

static void *bare_p2p(struct player *player, const char *function, size_t count, int peer)
{
	union event event = new_old_event(player, PROFILER_P2P);

	if (player->abi == 1)
		event.v1.p2p = (struct profiler_v1_p2p){
			"world", player->id, v1_function(function), (void *)0x30000, v1_dtype("ncclFloat32"),
			count,   peer
		};
	else if (player->abi < 4)
		event.v2.p2p = (struct profiler_v2_p2p){ "world",       player->id, function, (void *)0x30000,
							 "ncclFloat32", count,      peer };
	else
		event.v4.p2p = (struct profiler_v4_p2p){
			.function = function,
			.buffer = (void *)0x30000,
			.dtype = "ncclFloat32",
			.count = count,
			.peer = peer,
		};
	return bare_task(player, &event);
}

void *player_collective(struct player *player, const char *function, size_t count, const char *dtype)
{
	if (player->abi < 5)
		return bare_collective(player, function, count, dtype);
	void *group = player_api_group(player);
	void *call = player_call(player, group, function, count, dtype, false);
	player_stop(player, call);
	if (group)
		player->v5->record_event_state(group, 24, NULL);
	void *launch = player_launch(player, (void *)0x2000);
	player_stop(player, launch);
	void *plan = player_plan(player);
	void *task = player_task(player, call, function, count);
	player_stop(player, task);
	player_stop(player, plan);
	player_stop(player, group);
	return task;
}

void *player_p2p(struct player *player, const char *function, size_t count, int peer)
{
	if (player->abi < 5)
		return bare_p2p(player, function, count, peer);
	void *group = player_api_group(player);
	void *call = player_p2p_call(player, group, function, count);

	player_stop(player, call);
	void *launch = player_launch(player, (void *)0x2000);
	player_stop(player, launch);
	void *plan = player_plan(player);
	void *task = player_p2p_task(player, call, function, count, peer);
	player_stop(player, task);
	player_stop(player, plan);
	player_stop(player, group);
	return task;
}

static int each_file(void (*with)(int, const char *), char *found, size_t size)
{
	DIR *entries = opendir(directory);
	int count = 0;

	if (!entries)
		return 0;
	for (const struct dirent *entry; (entry = readdir(entries));) {
		if (entry->d_name[0] == '.')
			continue;
		if (found && strstr(entry->d_name, RW_BOX_SUFFIX)) {
			snprintf(found, size, "%s", entry->d_name);
			count++;
		}
		if (with)
			with(dirfd(entries), entry->d_name);
	}
	closedir(entries);
	return count;
}

static void remove_file(int folder, const char *name)
{
	unlinkat(folder, name, 0);
}

static void remove_directory(void)
{
	each_file(remove_file, NULL, 0);
	rmdir(directory);
}

const char *player_directory(void)
{
	snprintf(directory, sizeof(directory), "/dev/shm/rankwatch-test-XXXXXX");
	if (!mkdtemp(directory))
		fail("mkdtemp", directory);
	atexit(remove_directory);
	setenv("RANKWATCH_DIR", directory, 1);
	setenv("RANKWATCH_QUIET", "1", 1);
	setenv("RANKWATCH_HISTORY", "2M", 1);
	return directory;
}

void player_read(struct box_reader *reader, const char *folder)
{
	char name[256], path[384], why[160];

	if (each_file(NULL, name, sizeof(name)) != 1)
		fail("there must be one box in", folder);
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (box_reader_open(reader, AT_FDCWD, path, (uid_t)-1, why) != 0)
		fail("box_reader_open", why);
}

void player_await_drain(struct box_reader *reader)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	uint64_t since_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;

	for (int tries = 0; tries < 10000; tries++) {
		if (box_reader_refresh(reader) != 0)
			fail("box_reader_refresh", "the box is not whole");
		if (reader->header.drain_ns > since_ns)
			return;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	fail("the plugin's thread", "does not read the ring");
}

bool player_operation(struct box_reader *reader, uint64_t number, struct rw_operation *operation)
{
	enum box_slot state;

	return box_reader_operations(reader, number, 1, operation, &state) == 1 && state == BOX_SLOT_OK;
}

bool player_wait_finished(struct box_reader *reader, uint64_t number, struct rw_operation *operation)
{
	for (int tries = 0; tries < 10000; tries++) {
		if (!player_operation(reader, number, operation))
			return false;
		if (!(operation->owner & RW_OWNER_PENDING))
			return true;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	return false;
}
