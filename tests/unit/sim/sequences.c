/* SPDX-License-Identifier: MIT */
#include "sequences.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/nccl/profiler/profiler_abi.h"
#include "ranks.h"
#include "sequence_table.h"

#define EXPORT      __attribute__((visibility("default")))
#define COMMS       4
#define HANDLES     4096
#define DEADLINE_NS 10000000000ull

struct comm {
	uint64_t number;
	char letter;
	bool live;
	pid_t progress; /* its thread; 0: not seen yet */
	int counts[16]; /* events of each type in this phase */
};

struct handle {
	uint64_t type;
	struct comm *comm;
	char name[64]; /* in its own phase */
	char phase[32];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct comm comms[COMMS];
static struct handle handles[HANDLES];
static int comm_count, handle_count;
static int *nccl_mask, first_mask = 0xFFF;
static char phase[32];
static atomic_int callback_thread;
static struct sequence recorded;

static const char *const types[] = { "Group",    "Coll",      "P2p",      "ProxyOp", "ProxyStep", "ProxyCtrl",
				     "KernelCh", "NetPlugin", "GroupApi", "CollApi", "P2pApi",    "KernelLaunch" };

static int index_of(uint64_t type)
{
	return __builtin_ctzll(type);
}

static const char *state_name(enum profiler_state state)
{
	static const char *const names[32] = {
		[STATE_IDLE] = "Idle",
		[STATE_ACTIVE] = "Active",
		[STATE_SLEEP] = "Sleep",
		[STATE_WAKEUP] = "Wakeup",
		[STATE_APPEND] = "Append",
		[STATE_APPEND_END] = "AppendEnd",
		[STATE_IN_PROGRESS] = "InProgress",
		[STATE_KERNEL_CH_STOP] = "KernelChStop",
		[STATE_GROUP_START_API_STOP] = "GroupStartApiStop",
		[STATE_GROUP_END_API_START] = "GroupEndApiStart",
	};

	return names[state] ? names[state] : "?";
}

/* By who runs, never by what is told: but a communicator's progress thread is the one that its first ProxyCtrl or
 * ProxyOp comes on. */
static const char *thread_name(struct comm *comm, uint64_t type)
{
	if (gettid() == getpid())
		return "caller";
	if (gettid() == atomic_load(&callback_thread))
		return "callback";
	if (!comm->progress && type & (EVENT_PROXY_CTRL | EVENT_PROXY_OP))
		comm->progress = gettid();
	return gettid() == comm->progress ? "progress" : "group";
}

static int live_comms(void)
{
	int live = 0;

	for (int i = 0; i < comm_count; i++)
		live += comms[i].live;
	return live;
}

static void keep(struct comm *comm, uint64_t type, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void keep(struct comm *comm, uint64_t type, const char *format, ...)
{
	struct sequence_line line = { 0 };
	va_list arguments;

	snprintf(line.thread, sizeof(line.thread), "%s%s%.*s", thread_name(comm, type), live_comms() > 1 ? " " : "",
		 live_comms() > 1, &comm->letter);
	va_start(arguments, format);
	vsnprintf(line.text, sizeof(line.text), format, arguments);
	va_end(arguments);
	sequence_add(&recorded, &line);
}

static struct comm *add_comm(uint64_t number)
{
	struct comm *comm = &comms[comm_count];

	CHECK(comm_count < COMMS);
	*comm = (struct comm){ .number = number, .letter = (char)('a' + comm_count++), .live = true };
	return comm;
}

static ncclResult_t init(void **context, uint64_t comm_hash, int *mask, const char *comm_name, int nodes, int nranks,
			 int rank, profiler_log *log)
{
	(void)comm_name, (void)nodes, (void)nranks, (void)rank, (void)log;
	pthread_mutex_lock(&lock);
	struct comm *comm = add_comm(comm_hash);
	*context = comm;
	nccl_mask = mask;
	*mask = first_mask;
	keep(comm, 0, "init");
	pthread_mutex_unlock(&lock);
	return ncclSuccess;
}

/* As seen from a line of that communicator. */
static const char *name_from(const struct comm *comm, const struct handle *handle, char *out, size_t size)
{
	if (!handle)
		return "-";
	bool foreign = handle->comm != comm && live_comms() > 1;
	bool earlier = strcmp(handle->phase, phase) != 0 && handle->type != EVENT_PROXY_CTRL;
	snprintf(out, size, "%.*s%s%s%s%s", foreign, &handle->comm->letter, foreign ? ":" : "",
		 earlier ? handle->phase : "", earlier ? "/" : "", handle->name);
	return out;
}

static void describe_task(const struct event_v7 *event, char *out, size_t size)
{
	switch (event->type) {
	case EVENT_COLL:
		snprintf(out, size, " %s %d %zu %s", event->coll.function, (int)event->coll.sequence, event->coll.count,
			 event->coll.type);
		break;
	case EVENT_P2P:
		snprintf(out, size, " %s %zu %s peer %d", event->p2p.function, event->p2p.count, event->p2p.type,
			 event->p2p.peer);
		break;
	case EVENT_PROXY_OP:
		snprintf(out, size, " %s %d steps of %d", event->proxy_op.is_send ? "sends" : "receives",
			 event->proxy_op.steps, event->proxy_op.chunk_bytes);
		break;
	}
}

static void describe(const struct event_v7 *event, char *out, size_t size)
{
	*out = '\0';
	switch (event->type) {
	case EVENT_GROUP_API:
		snprintf(out, size, " depth %d%s", event->group_api.depth,
			 event->group_api.captured ? " captured" : "");
		break;
	case EVENT_COLL_API:
		snprintf(out, size, " %s %zu %s%s", event->coll_api.function, event->coll_api.count,
			 event->coll_api.type, event->coll_api.captured ? " captured" : "");
		break;
	case EVENT_P2P_API:
		snprintf(out, size, " %s %zu %s%s", event->p2p_api.function, event->p2p_api.count, event->p2p_api.type,
			 event->p2p_api.captured ? " captured" : "");
		break;
	default:
		describe_task(event, out, size);
	}
}

static const struct handle *group_of(const struct event_v7 *event)
{
	if (event->type == EVENT_COLL)
		return event->coll.group;
	return event->type == EVENT_P2P ? event->p2p.group : NULL;
}

static void name_handle(struct handle *made, const struct event_v7 *event, struct comm *comm)
{
	char parent[80];
	int type = index_of(event->type), number = ++comm->counts[type];

	*made = (struct handle){ .type = event->type, .comm = comm };
	strcpy(made->phase, phase);
	if (event->type == EVENT_KERNEL_CH)
		snprintf(made->name, sizeof(made->name), "KernelCh of %s",
			 name_from(comm, event->parent, parent, sizeof(parent)));
	else if (event->type == EVENT_PROXY_CTRL)
		strcpy(made->name, types[type]);
	else
		snprintf(made->name, sizeof(made->name), "%s-%d", types[type], number);
}

static bool has_parent(uint64_t type)
{
	return !(type & (EVENT_GROUP_API | EVENT_KERNEL_CH | EVENT_PROXY_CTRL));
}

static void keep_start(struct comm *comm, const struct handle *made, const struct event_v7 *event)
{
	char details[128], parent[80], group[80];
	const struct handle *in = group_of(event);

	describe(event, details, sizeof(details));
	keep(comm, event->type, "> %s%s%s%s%s%s", made->name, has_parent(event->type) ? " of " : "",
	     has_parent(event->type) ? name_from(comm, event->parent, parent, sizeof(parent)) : "", details,
	     in ? " in " : "", in ? name_from(comm, in, group, sizeof(group)) : "");
}

static ncclResult_t start_event(void *context, void **handle, void *given)
{
	const struct event_v7 *event = given;

	pthread_mutex_lock(&lock);
	CHECK(handle_count < HANDLES);
	struct handle *made = &handles[handle_count++];
	name_handle(made, event, context);
	keep_start(context, made, event);
	*handle = made;
	pthread_mutex_unlock(&lock);
	return ncclSuccess;
}

static ncclResult_t stop_event(void *given)
{
	struct handle *handle = given;
	char name[160];

	pthread_mutex_lock(&lock);
	keep(handle->comm, handle->type, "< %s", name_from(handle->comm, handle, name, sizeof(name)));
	pthread_mutex_unlock(&lock);
	return ncclSuccess;
}

static ncclResult_t record_state(void *given, enum profiler_state state, struct profiler_state_args *args)
{
	struct handle *handle = given;
	char name[160], number[16] = "";

	pthread_mutex_lock(&lock);
	if (state == STATE_APPEND_END)
		snprintf(number, sizeof(number), " %d", args->appended);
	keep(handle->comm, handle->type, ". %s %s%s", name_from(handle->comm, handle, name, sizeof(name)),
	     state_name(state), number);
	pthread_mutex_unlock(&lock);
	return ncclSuccess;
}

static ncclResult_t finalize(void *context)
{
	struct comm *comm = context;

	pthread_mutex_lock(&lock);
	keep(comm, 0, "finalize");
	comm->live = false;
	pthread_mutex_unlock(&lock);
	return ncclSuccess;
}

EXPORT extern struct profiler_table ncclProfiler_v5;
struct profiler_table ncclProfiler_v5 = {
	"sequences", { .v5 = init }, start_event, stop_event, record_state, finalize
};

void sequences_begin(const char *name)
{
	snprintf(phase, sizeof(phase), "%s", name);
	recorded.count = 0;
	for (int i = 0; i < comm_count; i++)
		memset(comms[i].counts, 0, sizeof(comms[i].counts));
}

void sequences_note_callback(void *unused)
{
	(void)unused;
	atomic_store(&callback_thread, gettid());
}

bool sequences_name_by_number(void)
{
	pthread_mutex_lock(&lock);
	bool swaps = comms[1].number < comms[0].number;
	comms[0].letter = swaps ? 'b' : 'a';
	comms[1].letter = swaps ? 'a' : 'b';
	pthread_mutex_unlock(&lock);
	return swaps;
}

void sequences_mask(int mask)
{
	__atomic_store_n(nccl_mask, mask, __ATOMIC_RELAXED);
}

void sequences_first_mask(int mask)
{
	first_mask = mask;
}

/* The other threads go on: what comes late is waited for, and what comes too much is the next phase's, and wrong there.
 */
void sequences_expect(const char *next_phase)
{
	uint64_t until = now_ns() + DEADLINE_NS;
	struct sequence expected;
	bool same = false;

	CHECK(sequence_read(&expected, SEQUENCES, phase));
	while (!same && now_ns() < until) {
		pthread_mutex_lock(&lock);
		same = sequence_is(&recorded, &expected);
		if (same)
			sequences_begin(next_phase);
		pthread_mutex_unlock(&lock);
		usleep(same ? 0 : 1000);
	}
	if (same)
		return;
	pthread_mutex_lock(&lock);
	sequence_show(&recorded, &expected, phase);
	_Exit(1);
}
