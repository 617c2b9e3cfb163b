/* SPDX-License-Identifier: MIT */
#include "tests/unit/analysis/jobs/loose_messages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rankwatch/finding.h>
#include <rankwatch/message.h>
#include <rankwatch/operation.h>

#include "base/numbers/splitmix.h"

enum {
	MOST_HOSTS = 8,
	MOST_PER_HOST = 3,
	MOST_RANKS = MOST_HOSTS * MOST_PER_HOST,
	MOST_COMMUNICATORS = 4,
	MOST_MESSAGES = 256, /* of a batch */
	QUEUE = 64,          /* batches under way */
	TICK_MS = 500,
	TICKS = 130,
	LONG_TICKS = 400, /* who only works longer is named after dozens of rows */
	FEWEST_TICKS = 80, /* of a job that is read from bytes */
	ROW = RW_RESULTS_ROW,
};

#define MS UINT64_C(1000000)
#define START_NS (UINT64_C(5000) * 1000 * MS)

enum wrong {
	WRONG_NOTHING,
	WRONG_SLOW,      /* works longer in each row */
	WRONG_SLOW_HOST, /* all ranks of its host do */
	WRONG_NOW_AND_THEN,
	WRONG_HANG,     /* comes to nothing any more */
	WRONG_ENQUEUED, /* has called what the others wait in, and its GPU does not come to it */
	WRONG_PAIR,     /* does not receive what another one sends */
	WRONG_ENDED,
	WRONG_STOPPED,
	WRONG_SILENT,  /* its host */
	WRONG_CALL,    /* the order of its calls */
	WRONG_BITS,    /* of a result */
	WRONG_CONNECT, /* all have called, and NCCL does not get them connected */
	WRONG_PARTED,  /* has come to another operation than the others */
	WRONG_BEHIND,  /* hangs, and where others have waited the longest most of those who are missing only wait
			  elsewhere */
	WRONGS,
};

struct batch {
	struct rw_batch header;
	struct rw_message messages[MOST_MESSAGES];
};

struct member_rank {
	bool member[MOST_COMMUNICATORS], sends;
	uint32_t own_us, inside_us, unseen_us, host_us, device_us, operations;
	uint32_t watchdog_ms;
	int32_t world_size, exit_status;
};

struct loose {
	unsigned int number;
	uint64_t random;
	const uint8_t *bytes; /* stand for the random numbers; NULL: none do */
	size_t left;
	int hosts, per_host, ranks, communicators, ticks;
	int row_every, silent_from, restart_at, generation;
	double lose, shuffle;
	bool by_host, sizes_known;
	enum wrong wrong;
	int who, peer, where, since, until;
	uint32_t step_us, longer_us;
	struct member_rank rank[MOST_RANKS];
	uint64_t sequence[MOST_COMMUNICATORS];
	uint64_t number_of[MOST_HOSTS], start_of[MOST_HOSTS];
	bool asked[MOST_RANKS];
	struct varied {
		bool on, sends[MOST_COMMUNICATORS], keeps_calls;
		int every[MOST_HOSTS];    /* ticks from one batch to the next */
		int quiet, quiet_from, quiet_until; /* host that pauses */
		int leaves, left_from;    /* communicator that is left; ticks */
		int left_by;              /* rank; -1: by all */
		int reasons_until;
		uint64_t parted_at;       /* so many calls were still the same */
		struct rw_message_ask_calls asked[MOST_RANKS];
	} varied;
	struct turn { /* another fault takes the place of the first; at_tick 0: none does */
		int at_tick;
		enum wrong wrong;
		int who, peer, since, until;
		uint32_t longer_us;
	} turn;
	struct queued {
		int at_tick; /* 0: empty */
		size_t length;
		struct batch batch;
	} queue[QUEUE];
	struct batch now;
	struct job_half *half;
	const struct loose_messages_hooks *hooks;
};

/* Where the job half decides otherwise, and its neighbours; ms. */
static const uint32_t limits_ms[] = { 0,     1,     500,   999,   1000,  1001,  1499,  1500,  1501,  2000,  2999,  3000,
				      3001,  4999,  5000,  5001,  9999,  10000, 10001, 14999, 15000, 15001, 24999, 25000,
				      25001, 29999, 30000, 30001, 59999, 60000, 60001, INT32_MAX };

/* Of more than 256 possible numbers two bytes choose one; behind the last byte all are zeros. */
static uint64_t read_number(struct loose *loose, uint64_t below)
{
	uint64_t number = 0;

	for (int i = 0; i < (below > 256 ? 2 : 1) && loose->left; i++, loose->left--)
		number |= (uint64_t)*loose->bytes++ << (8 * i);
	return number % below;
}

static uint64_t drawn(struct loose *loose, uint64_t below)
{
	if (loose->bytes)
		return read_number(loose, below);
	return splitmix_next(&loose->random) % below;
}

static bool chance(struct loose *loose, double of)
{
	if (loose->bytes)
		return (double)drawn(loose, 256) < of * 256;
	return (double)drawn(loose, 1000000) < of * 1e6;
}

static uint32_t limit_ms(struct loose *loose)
{
	return limits_ms[drawn(loose, sizeof(limits_ms) / sizeof(*limits_ms))];
}

static int host_of(const struct loose *loose, int rank)
{
	return rank / loose->per_host;
}

static bool is_at_fault(const struct loose *loose, int rank)
{
	return loose->wrong == WRONG_SLOW_HOST ? host_of(loose, rank) == host_of(loose, loose->who) : rank == loose->who;
}

static uint64_t id_of(int communicator)
{
	return 0xc0ffee00u + (uint64_t)communicator * 0x1000100010001u;
}

static int rank_in(const struct loose *loose, int communicator, int rank)
{
	int at = 0;

	for (int i = 0; i < rank; i++)
		at += loose->rank[i].member[communicator];
	return loose->rank[rank].member[communicator] ? at : -1;
}

static int size_of(const struct loose *loose, int communicator)
{
	return rank_in(loose, communicator, loose->ranks - 1) + (loose->rank[loose->ranks - 1].member[communicator] ? 1 : 0);
}

static uint8_t function_of(int communicator)
{
	static const uint8_t functions[] = { RW_FUNCTION_ALL_REDUCE, RW_FUNCTION_ALL_GATHER, RW_FUNCTION_REDUCE_SCATTER,
					     RW_FUNCTION_BROADCAST };

	return functions[communicator % 4];
}

static struct rw_message *add(struct loose *loose, enum rw_message_type type, int rank, uint8_t function)
{
	struct rw_message *message = &loose->now.messages[loose->now.header.count];

	if (loose->now.header.count < MOST_MESSAGES - 1)
		loose->now.header.count++;
	*message = (struct rw_message){
		.type = type, .function = function, .generation = (uint16_t)loose->generation, .rank = rank
	};
	return message;
}

static bool does_send(const struct loose *loose, int number, int communicator)
{
	return loose->rank[number].sends || loose->varied.sends[communicator];
}

static bool has_left(const struct loose *loose, int number, int communicator, int tick)
{
	const struct varied *varied = &loose->varied;

	return varied->on && communicator == varied->leaves && tick >= varied->left_from &&
	       (varied->left_by < 0 || varied->left_by == number);
}

static void add_rank(struct loose *loose, int number, int tick)
{
	const struct member_rank *rank = &loose->rank[number];
	bool ended = loose->wrong == WRONG_ENDED && number == loose->who && tick >= loose->since;
	bool stopped = loose->wrong == WRONG_STOPPED && number == loose->who && tick >= loose->since && tick < loose->until;
	int sending = 0;

	for (int i = 0; i < loose->communicators; i++)
		sending += rank->member[i] && does_send(loose, number, i);
	add(loose, RW_MESSAGE_RANK, number, 0)->of_rank = (struct rw_message_rank){
		.pid = 1000 + number,
		.world_size = rank->world_size,
		.watchdog_ms = rank->watchdog_ms,
		.exit_status = ended ? rank->exit_status : -1,
		.age_ms = ended || stopped ? (uint32_t)(tick - loose->since) * TICK_MS : 0,
		.life = ended     ? (rank->exit_status < 0 ? RW_MESSAGE_KILLED : RW_MESSAGE_EXITED)
			: stopped ? RW_MESSAGE_STOPPED
				  : RW_MESSAGE_ALIVE,
		.sending = (uint8_t)sending,
		.local_rank = (int16_t)(number % loose->per_host),
	};
}

static void add_members(struct loose *loose, int number, int tick)
{
	for (int i = 0; i < loose->communicators; i++) {
		if (!loose->rank[number].member[i])
			continue;
		struct rw_message *message = add(loose, RW_MESSAGE_MEMBER, number, 0);
		message->member = (struct rw_message_member){
			.comm = id_of(i),
			.size = loose->sizes_known ? size_of(loose, i) : 0,
			.comm_rank = rank_in(loose, i, number),
			.hosts = loose->sizes_known ? loose->hosts : 0,
			.flags = (uint8_t)((does_send(loose, number, i) ? RW_MESSAGE_SENDS : 0) |
					   (has_left(loose, number, i, tick) ? RW_MESSAGE_LEFT : 0)),
		};
		if (i == 1)
			memcpy(message->member.name, "mesh_fsdp:1", sizeof("mesh_fsdp:1"));
	}
}

/* Nobody gets on in a communicator of the rank that hangs. */
static bool is_stuck(const struct loose *loose, int communicator, int tick)
{
	static const bool sticks[WRONGS] = { [WRONG_HANG] = true, [WRONG_ENQUEUED] = true, [WRONG_PAIR] = true,
					     [WRONG_ENDED] = true, [WRONG_STOPPED] = true, [WRONG_SILENT] = true,
					     [WRONG_CONNECT] = true, [WRONG_PARTED] = true, [WRONG_BEHIND] = true };
	int until = loose->wrong == WRONG_STOPPED ? loose->until : loose->ticks;

	return sticks[loose->wrong] && tick >= loose->since && tick < until && loose->rank[loose->who].member[communicator];
}

static bool is_slow_now(const struct loose *loose, int rank, int tick)
{
	bool slow = loose->wrong == WRONG_SLOW || loose->wrong == WRONG_SLOW_HOST ||
		    (loose->wrong == WRONG_NOW_AND_THEN && tick / loose->row_every % 3 == 0);

	return slow && tick >= loose->since && tick < loose->until && is_at_fault(loose, rank);
}

/* The step takes as long as the slowest works, and an eighth more for transfers. */
static void spend(struct loose *loose, int tick)
{
	uint32_t longest_us = 0, own_us[MOST_RANKS];

	for (int i = 0; i < loose->ranks; i++) {
		own_us[i] = loose->step_us + (uint32_t)drawn(loose, loose->step_us / 64 + 1) +
			    (is_slow_now(loose, i, tick) ? loose->longer_us : 0);
		longest_us = own_us[i] > longest_us ? own_us[i] : longest_us;
	}
	for (int i = 0; i < loose->ranks; i++) {
		struct member_rank *rank = &loose->rank[i];
		uint32_t unseen_us = chance(loose, 0.02) ? loose->step_us / 8 : 0;
		rank->own_us += own_us[i] - unseen_us;
		rank->unseen_us += unseen_us;
		rank->inside_us += longest_us - own_us[i] + loose->step_us / 8;
		rank->host_us += loose->number % 2 ? own_us[i] / 2 : 0;
		rank->device_us += loose->number % 2 ? 0 : own_us[i] / 2;
		rank->operations += 8;
	}
}

static void add_row(struct loose *loose, int number, int communicator)
{
	const struct member_rank *rank = &loose->rank[number];

	add(loose, RW_MESSAGE_ROW, number, function_of(communicator))->row = (struct rw_message_row){
		.comm = id_of(communicator),
		.row = (uint32_t)(loose->sequence[communicator] / ROW),
		.calls = ROW,
		.own_us = rank->own_us,
		.inside_us = rank->inside_us,
		.unseen_us = rank->unseen_us,
		.host_us = rank->host_us,
		.device_us = rank->device_us,
		.operations = (uint16_t)rank->operations,
		.steps = 1,
	};
}

static void add_order(struct loose *loose, int number, int communicator, int tick)
{
	bool other =
	    loose->wrong == WRONG_CALL && number == loose->who && communicator == loose->where && tick >= loose->since;
	struct rw_message *message = add(loose, RW_MESSAGE_CALLS, number, 0);

	message->calls = (struct rw_message_calls){
		.comm = id_of(communicator),
		.calls = chance(loose, 0.02) ? UINT64_MAX : loose->sequence[communicator],
		.hash = loose->sequence[communicator] * 0x9e3779b97f4a7c15u + 1 + other,
	};
}

static void add_results(struct loose *loose, int number, int communicator, int tick)
{
	bool other =
	    loose->wrong == WRONG_BITS && number == loose->who && communicator == loose->where && tick >= loose->since;
	uint64_t row = loose->sequence[communicator] / ROW;

	add(loose, RW_MESSAGE_RESULTS, number, function_of(communicator))->results = (struct rw_message_results){
		.comm = id_of(communicator),
		.row = row,
		.set = row * 77 + (chance(loose, 0.05) ? 1 : 0),
		.digests = row * 0x9e3779b97f4a7c15u + other,
		.operations = ROW,
	};
}

static void add_progress(struct loose *loose, int number, int tick)
{
	for (int i = 0; i < loose->communicators; i++) {
		if (!loose->rank[number].member[i] || has_left(loose, number, i, tick) || is_stuck(loose, i, tick) ||
		    tick % loose->row_every)
			continue;
		if (!chance(loose, 0.03))
			add_row(loose, number, i);
		if (tick % (4 * loose->row_every) == 0)
			add_order(loose, number, i, tick);
		if (function_of(i) == RW_FUNCTION_ALL_REDUCE)
			add_results(loose, number, i, tick);
	}
}

/* Who waits first on the second communicator: its first member that is not at fault. */
static int first_of_second(const struct loose *loose)
{
	for (int i = 0; i < loose->ranks; i++)
		if (loose->rank[i].member[1] && i != loose->who)
			return i;
	return -1;
}

static bool does_wait(const struct loose *loose, int number, int communicator)
{
	static const bool too[WRONGS] = { [WRONG_ENQUEUED] = true, [WRONG_CONNECT] = true, [WRONG_PARTED] = true };

	if (loose->wrong == WRONG_PAIR)
		return number == loose->peer;
	if (loose->wrong == WRONG_BEHIND && communicator == 1)
		return number == first_of_second(loose);
	return number != loose->who || too[loose->wrong];
}

/* One that stands, in its oldest unfinished operation. */
static void add_flight(struct loose *loose, int number, int communicator, int tick)
{
	bool pair = loose->wrong == WRONG_PAIR, faulty = number == loose->who;
	uint32_t age_ms = (uint32_t)(tick - loose->since) * TICK_MS + limit_ms(loose) % 1000 +
			  (loose->wrong == WRONG_BEHIND && communicator == 1 ? 1000 : 0);
	bool connects = loose->wrong == WRONG_CONNECT, parted = faulty && loose->wrong == WRONG_PARTED;
	bool arrived = !connects && (!faulty || parted);
	uint8_t flags = (uint8_t)((pair ? 0 : RW_MESSAGE_HOLDS) | (loose->by_host ? RW_MESSAGE_BY_HOST : 0) |
				  (arrived ? RW_MESSAGE_ARRIVED : 0));

	if (age_ms < 1000)
		return;
	add(loose, RW_MESSAGE_FLIGHT, number, pair ? RW_FUNCTION_SEND : function_of(communicator + parted))->flight =
	    (struct rw_message_flight){
		    .comm = id_of(communicator),
		    .sequence = loose->sequence[communicator],
		    .count = 4096u << communicator,
		    .age_ms = age_ms,
		    .peer_or_root = pair ? rank_in(loose, communicator, loose->who) : -1,
		    .dtype = RW_DTYPE_BFLOAT16,
		    .phase = connects            ? RW_PHASE_CONNECT
			     : faulty && !parted ? RW_PHASE_ENQUEUED
			     : loose->by_host    ? RW_PHASE_LAUNCHED
						 : RW_PHASE_RUNNING,
		    .flags = flags,
	    };
}

static void add_idle(struct loose *loose, int number, int communicator, int tick)
{
	bool called =
	    loose->wrong == WRONG_ENQUEUED || loose->wrong == WRONG_CONNECT || does_wait(loose, number, communicator);

	add(loose, RW_MESSAGE_CALLS, number, function_of(communicator))->calls = (struct rw_message_calls){
		.comm = id_of(communicator),
		.next = loose->sequence[communicator] + called,
		.calls = loose->sequence[communicator] + called,
		.idle_ms = (uint32_t)(tick - loose->since) * TICK_MS,
	};
}

static void add_why(struct loose *loose, int number, int tick)
{
	struct rw_message *message = add(loose, RW_MESSAGE_WHY, number, 0);

	message->why = (struct rw_message_why){
		.idle_ms = (uint32_t)(tick - loose->since) * TICK_MS,
		.progress = (uint8_t)(loose->number / 3 % 3),
		.level = RW_LEVEL_PROC,
		.class_ = loose->number % 2 ? RW_CAUSE_IO : RW_CAUSE_LOCK,
	};
	strcpy(message->why.text, loose->number % 2 ? "fsync(2)" : "futex(2)");
}

static void add_standing(struct loose *loose, int number, int tick)
{
	bool dead = number == loose->who && (loose->wrong == WRONG_ENDED || loose->wrong == WRONG_STOPPED);

	for (int i = 0; i < loose->communicators && !dead; i++) {
		if (!loose->rank[number].member[i] || !is_stuck(loose, i, tick) || tick % 2)
			continue;
		if (does_wait(loose, number, i))
			add_flight(loose, number, i, tick);
		add_idle(loose, number, i, tick);
	}
	if (number == loose->who && !dead && tick % 4 == 0 && tick >= loose->since && is_stuck(loose, loose->where, tick))
		add_why(loose, number, tick);
}

/* Its node has found something, for a while. */
static void add_found(struct loose *loose, int number, int tick)
{
	static const uint8_t kinds[] = { RW_KIND_STRAGGLER,  RW_KIND_NAN,    RW_KIND_HANG,
					 RW_KIND_CORRUPTION, RW_KIND_DESYNC, RW_KIND_GONE };

	if (loose->number % 5 || number != (loose->who + 1) % loose->ranks || tick % 4 || tick < loose->since - 4)
		return;
	struct rw_message *message = add(loose, RW_MESSAGE_FINDING, number, 0);
	message->finding = (struct rw_message_finding){
		.kind = kinds[loose->number / 5 % (sizeof(kinds) / sizeof(*kinds))],
		.state = (uint8_t)(tick < loose->until ? RW_FINDING_UPDATE : RW_FINDING_CLOSED),
		.severity = (uint8_t)drawn(loose, 3),
		.confidence = (uint8_t)drawn(loose, 3),
		.scope = loose->number % 3 ? RW_SCOPE_RANK : RW_SCOPE_HOST,
		.class_ = RW_CAUSE_CPU,
		.late_kind = RW_LATE_HOST,
		.lost_ppm = (uint32_t)drawn(loose, 400000),
		.age_ms = limit_ms(loose),
	};
	strcpy(message->finding.cause, "waiting for a CPU");
}

static void add_reason(struct loose *loose, int number)
{
	static const char lines[] = "write(2) on log\nrank's GPU: 1980 MHz\n";
	enum { PIECES = (sizeof(lines) - 1 + RW_REASON_PIECE - 1) / RW_REASON_PIECE };

	if (!loose->asked[number])
		return;
	for (uint8_t piece = 0; piece < PIECES; piece++) {
		struct rw_message *message = add(loose, RW_MESSAGE_REASON, number, 0);
		message->reason = (struct rw_message_reason){ .class_ = RW_CAUSE_IO,
							      .level = RW_LEVEL_EBPF,
							      .late_kind = RW_LATE_HOST,
							      .pieces = PIECES,
							      .piece = piece };
		size_t at = (size_t)piece * RW_REASON_PIECE, left = sizeof(lines) - 1 - at;
		memcpy(message->reason.text, lines + at, left < RW_REASON_PIECE ? left : RW_REASON_PIECE);
	}
}

/* The calls after the first `from`, up to the last of each stretch, as far as they were made. */
static void add_called(struct loose *loose, int number)
{
	struct rw_message_ask_calls *ask = &loose->varied.asked[number];
	uint64_t made = loose->sequence[loose->where], parted_at = loose->varied.parted_at;
	bool other = loose->wrong == WRONG_CALL && number == loose->who;

	for (uint8_t index = 0; ask->comm == id_of(loose->where) && index < RW_CALLED_MAX; index++) {
		uint64_t call = ask->from + ((uint64_t)(index + 1) << ask->shift);
		bool differs = other && call == parted_at + 1;
		if (call > made && index)
			break;
		add(loose, RW_MESSAGE_CALLED, number,
		    loose->varied.keeps_calls ? differs ? RW_FUNCTION_BROADCAST : function_of(loose->where) : 0)
		    ->called = (struct rw_message_called){
			.comm = ask->comm,
			.count = differs && loose->number % 2 ? 12 : 4096,
			.hash = call * 0x9e3779b97f4a7c15u + ask->from * 77 + (other && call > parted_at),
			.from = (uint32_t)ask->from,
			.sequence = (uint32_t)call - 1,
			.root = differs ? 0 : -1,
			.shift = ask->shift,
			.index = index,
			.dtype = RW_DTYPE_BFLOAT16,
		};
		if (!loose->varied.keeps_calls)
			break;
	}
	*ask = (struct rw_message_ask_calls){ 0 };
}

static void begin_batch(struct loose *loose, int host, int tick)
{
	struct rw_batch *header = &loose->now.header;

	if (host == 0 && tick == loose->restart_at) {
		loose->start_of[0] += 1000;
		loose->number_of[0] = 0;
	}
	*header = (struct rw_batch){
		.magic = RW_BATCH_MAGIC,
		.version = RW_BATCH_VERSION,
		.number = loose->number_of[host]++,
		.start = loose->start_of[host],
		.flags = tick == loose->ticks - 1 && loose->number % 3 == 0 ? RW_BATCH_LAST : 0,
	};
	snprintf(header->host, sizeof(header->host), "h%d", host);
	snprintf(header->job, sizeof(header->job), "loose");
	header->boot[0] = (uint8_t)(host + 1);
}

static void queue(struct loose *loose, int tick)
{
	size_t length = sizeof(loose->now.header) + loose->now.header.count * sizeof(loose->now.messages[0]);
	int late = chance(loose, loose->shuffle) ? (int)drawn(loose, 8) : 0;

	for (int i = 0; i < QUEUE && !chance(loose, loose->lose); i++) {
		if (loose->queue[i].at_tick)
			continue;
		loose->queue[i] = (struct queued){ .at_tick = tick + late + 1, .length = length, .batch = loose->now };
		return;
	}
}

static void send_all(struct loose *loose, int tick)
{
	bool whole = tick < 4 || tick % 8 == 0 || tick == loose->since || tick == loose->until;

	for (int host = 0; host < loose->hosts; host++) {
		if (loose->wrong == WRONG_SILENT && host == host_of(loose, loose->who) && tick >= loose->since)
			continue;
		if (loose->varied.on && (tick % loose->varied.every[host] ||
					 (host == loose->varied.quiet && tick >= loose->varied.quiet_from &&
					  tick < loose->varied.quiet_until)))
			continue;
		begin_batch(loose, host, tick);
		for (int i = host * loose->per_host; i < (host + 1) * loose->per_host; i++) {
			if (whole) {
				add_rank(loose, i, tick);
				add_members(loose, i, tick);
			}
			add_progress(loose, i, tick);
			add_standing(loose, i, tick);
			add_found(loose, i, tick);
			if (loose->varied.on ? tick % 4 == 0 && tick < loose->varied.reasons_until : tick % 4 == 1)
				add_reason(loose, i);
			if (loose->varied.asked[i].comm)
				add_called(loose, i);
		}
		queue(loose, tick);
	}
}

static void receive(struct loose *loose, int tick, uint64_t now_ns)
{
	const char *why = "";

	for (int i = 0; i < QUEUE; i++) {
		struct queued *queued = &loose->queue[i];
		if (!queued->at_tick || queued->at_tick > tick + 1)
			continue;
		queued->at_tick = 0;
		if (job_half_take(loose->half, &queued->batch, queued->length, now_ns, &why)) {
			fprintf(stderr, "a batch was refused: %s\n", why);
			abort();
		}
	}
}

static void on_ask(void *argument, const char *host, const void *bytes, size_t length)
{
	struct loose *loose = argument;
	const struct rw_batch *header = bytes;
	const struct rw_message *messages = (const void *)(header + 1);

	for (uint32_t i = 0; i < header->count; i++) {
		if (messages[i].rank < 0 || messages[i].rank >= loose->ranks)
			continue;
		if (messages[i].type == RW_MESSAGE_ASK)
			loose->asked[messages[i].rank] = loose->number % 4 != 3; /* else its host never answers */
		if (messages[i].type == RW_MESSAGE_ASK_CALLS && loose->varied.on)
			loose->varied.asked[messages[i].rank] = messages[i].ask_calls;
	}
	loose->hooks->asked(loose->hooks->argument, host, bytes, length);
}

static void show(struct loose *loose)
{
	struct job_half_summary summary;
	struct job_view view;

	job_half_look(loose->half, &view);
	job_half_summarise(loose->half, &summary);
	loose->hooks->viewed(loose->hooks->argument, &view, &summary);
}

static void draw_ranks(struct loose *loose)
{
	static const uint32_t watchdogs_ms[] = { 0, 100000, 600000, 12000 };
	static const int32_t statuses[] = { 0, 1 << 8, 9, 11, -1, 143 << 8 };

	for (int i = 0; i < loose->ranks; i++) {
		struct member_rank *rank = &loose->rank[i];
		for (int k = 0; k < loose->communicators; k++)
			rank->member[k] = k == 0 || chance(loose, 0.7);
		rank->sends = loose->wrong == WRONG_PAIR;
		rank->watchdog_ms = watchdogs_ms[drawn(loose, 4)];
		rank->world_size = loose->number % 6 ? loose->ranks : -1;
		rank->exit_status = statuses[drawn(loose, 6)];
		rank->own_us = loose->number % 9 ? 0 : UINT32_MAX - 700000; /* totals wrap */
	}
}

static void draw_job(struct loose *loose)
{
	static const uint32_t longer_percent[] = { 2, 4, 5, 8, 12, 25, 60, 200 };

	loose->hosts = 2 + (int)drawn(loose, MOST_HOSTS - 1);
	loose->per_host = 1 + (int)drawn(loose, MOST_PER_HOST);
	loose->ranks = loose->hosts * loose->per_host;
	loose->communicators = 1 + (int)drawn(loose, MOST_COMMUNICATORS);
	loose->wrong = loose->number % WRONGS;
	loose->who = (int)drawn(loose, (uint64_t)loose->ranks);
	loose->peer = (loose->who + 1 + (int)drawn(loose, (uint64_t)loose->ranks - 1)) % loose->ranks;
	loose->where = 0;
	loose->ticks =
	    loose->wrong == WRONG_SLOW || loose->wrong == WRONG_SLOW_HOST || loose->wrong == WRONG_NOW_AND_THEN
		? LONG_TICKS
		: TICKS;
	loose->since = 30 + (int)drawn(loose, 20);
	loose->until = loose->since + 20 + (int)drawn(loose, (uint64_t)loose->ticks - 70);
	loose->row_every = loose->number % 4 == 2 ? 8 : 4; /* of 2 or 4 s */
	loose->step_us = (uint32_t)loose->row_every * TICK_MS * 1000 * 8 / 9;
	loose->longer_us = loose->step_us / 100 * longer_percent[drawn(loose, 8)];
	loose->lose = loose->number % 3 == 1 ? 0.1 : 0;
	loose->shuffle = loose->number % 3 == 2 ? 0.3 : 0;
	loose->restart_at = loose->number % 7 == 3 ? 60 : -1;
	loose->generation = (int)(loose->number % 3);
	loose->by_host = loose->number % 4 == 1;
	loose->sizes_known = loose->number % 5 != 4;
	for (int i = 0; i < MOST_HOSTS; i++)
		loose->start_of[i] = 17 + (uint64_t)i;
	draw_ranks(loose);
}

static void draw_variety(struct loose *loose)
{
	static const int paces[] = { 1, 1, 2, 2, 4 }, pauses[] = { 8, 11, 12, 13, 20, 40, 59, 60, 61, 80 };
	struct varied *varied = &loose->varied;

	varied->on = true;
	for (int i = 0; i < loose->hosts; i++)
		varied->every[i] = paces[drawn(loose, 5)];
	for (int i = 0; i < loose->communicators; i++)
		varied->sends[i] = chance(loose, 0.3);
	varied->quiet = chance(loose, 0.6) ? (int)drawn(loose, (uint64_t)loose->hosts) : -1;
	varied->quiet_from = 10 + (int)drawn(loose, (uint64_t)loose->ticks - 20);
	varied->quiet_until = varied->quiet_from + pauses[drawn(loose, 10)];
	varied->leaves = loose->communicators > 1 ? 1 + (int)drawn(loose, (uint64_t)loose->communicators - 1) : -1;
	varied->left_from = 10 + (int)drawn(loose, (uint64_t)loose->ticks - 20);
	varied->left_by = chance(loose, 0.5) ? -1 : (int)drawn(loose, (uint64_t)loose->ranks);
	varied->reasons_until = loose->since + 10 + (int)drawn(loose, 60);
	varied->keeps_calls = chance(loose, 0.9);
}

static void take_turn(struct loose *loose)
{
	const struct turn *turn = &loose->turn;

	loose->wrong = turn->wrong;
	loose->who = turn->who;
	loose->peer = turn->peer;
	loose->since = turn->since;
	loose->until = turn->until;
	loose->longer_us = turn->longer_us;
	for (int i = 0; i < loose->ranks; i++)
		loose->rank[i].sends = turn->wrong == WRONG_PAIR;
}

static void play_tick(struct loose *loose, int tick)
{
	uint64_t now_ns = START_NS + (uint64_t)tick * TICK_MS * MS;

	if (tick && tick == loose->turn.at_tick)
		take_turn(loose);
	if (tick % loose->row_every == 0) {
		spend(loose, tick);
		for (int i = 0; i < loose->communicators; i++)
			loose->sequence[i] += is_stuck(loose, i, tick) ? 0 : ROW;
	}
	if (tick == loose->since)
		loose->varied.parted_at = loose->sequence[loose->where] - 1 - loose->number % 200;
	if (loose->number % 11 == 10 && tick == 90)
		loose->generation++; /* its launcher has begun anew */
	send_all(loose, tick);
	receive(loose, tick, now_ns);
	job_half_tick(loose->half, now_ns);
	job_half_ask_why(loose->half, now_ns, on_ask, loose);
	if (tick % 16 == 15)
		show(loose);
}

static void play_all(struct loose *loose)
{
	job_half_keep_course(loose->half);
	for (int tick = 0; tick < loose->ticks; tick++)
		play_tick(loose, tick);
	loose->hooks->ended(loose->hooks->argument);
	job_half_replay_open(loose->half, START_NS + (uint64_t)loose->ticks * TICK_MS * MS);
	show(loose);
	job_half_free(loose->half);
	free(loose);
}

static struct loose *new_job(unsigned int number, const struct loose_messages_hooks *hooks)
{
	struct loose *loose = calloc(1, sizeof(*loose));

	if (!loose || !(loose->half = job_half_new(number % 2 ? "loose" : NULL, hooks->finding, hooks->argument)))
		abort();
	loose->number = number;
	loose->random = number * UINT64_C(7919) + 1;
	loose->hooks = hooks;
	return loose;
}

void loose_messages_play(unsigned int number, const struct loose_messages_hooks *hooks)
{
	struct loose *loose = new_job(number, hooks);

	draw_job(loose);
	if (number >= LOOSE_VARIED)
		draw_variety(loose);
	play_all(loose);
}

static void read_turn(struct loose *loose)
{
	struct turn *turn = &loose->turn;

	turn->at_tick = chance(loose, 0.5) ? (int)drawn(loose, (uint64_t)loose->ticks) : 0;
	turn->wrong = (enum wrong)drawn(loose, WRONGS);
	turn->who = (int)drawn(loose, (uint64_t)loose->ranks);
	turn->peer = (turn->who + 1 + (int)drawn(loose, (uint64_t)loose->ranks - 1)) % loose->ranks;
	turn->since = turn->at_tick + (int)drawn(loose, 40);
	turn->until = turn->since + (int)drawn(loose, 256);
	turn->longer_us = loose->step_us / 1000 * (uint32_t)drawn(loose, 1000);
}

static void describe(FILE *out, const struct loose *loose)
{
	fprintf(out,
		"job %u: %d hosts of %d ranks, %d communicators, %d ticks, a row every %d of %u us, wrong %d with rank "
		"%d (peer %d) from tick %d to %d by %u us\n",
		loose->number, loose->hosts, loose->per_host, loose->communicators, loose->ticks, loose->row_every,
		loose->step_us, (int)loose->wrong, loose->who, loose->peer, loose->since, loose->until,
		loose->longer_us);
	if (loose->turn.at_tick)
		fprintf(out, "  then at tick %d wrong %d with rank %d (peer %d) from tick %d to %d by %u us\n",
			loose->turn.at_tick, (int)loose->turn.wrong, loose->turn.who, loose->turn.peer,
			loose->turn.since, loose->turn.until, loose->turn.longer_us);
	if (loose->varied.on)
		fprintf(out, "  host %d pauses from tick %d to %d; rank %d leaves communicator %d at tick %d\n",
			loose->varied.quiet, loose->varied.quiet_from, loose->varied.quiet_until, loose->varied.left_by,
			loose->varied.leaves, loose->varied.left_from);
}

void loose_messages_play_bytes(const uint8_t *bytes, size_t size, const struct loose_messages_hooks *hooks, FILE *words)
{
	struct loose reader = { .bytes = bytes, .left = size };
	struct loose *loose = new_job((unsigned int)drawn(&reader, 2 * LOOSE_VARIED), hooks);

	loose->bytes = reader.bytes;
	loose->left = reader.left;
	draw_job(loose);
	loose->since = (int)drawn(loose, 50);
	loose->until = loose->since + (int)drawn(loose, 256);
	loose->longer_us = loose->step_us / 1000 * (uint32_t)drawn(loose, 1000);
	loose->ticks = FEWEST_TICKS + (int)drawn(loose, (uint64_t)(loose->ticks - FEWEST_TICKS));
	if (loose->number >= LOOSE_VARIED)
		draw_variety(loose);
	read_turn(loose);
	loose->bytes = NULL;
	if (words)
		describe(words, loose);
	play_all(loose);
}
