/* SPDX-License-Identifier: MIT */
#include "tests/unit/analysis/jobs/many_hosts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/node/node_half.h"

enum { GROUP = 0, DATA = 1, CHAIN = 2, COMMUNICATORS = 3 };

static const double base_ms = 1000, transfer_ms = 0.5, tick_ms = 100, ahead_ms = 20;
static void (*watching)(const void *bytes, size_t length);
static void (*hearing)(const struct rw_finding *finding, bool of_node);
static void (*looking)(const struct job_half *half);

enum state { RUNS, WAITS, GONE };

struct rank {
	double gpu_ms, poll_ms, difference, level;
	uint64_t tickets, progress[COMMUNICATORS], sequence[COMMUNICATORS][RW_FUNCTION_COUNT], unannounced;
	struct rw_communicator communicators[COMMUNICATORS]; /* id 0: not in it */
	enum state state;
	bool dead, erred;
};

struct host {
	struct many *many;
	struct analysis *analysis;
	struct node_half *half;
	double shift_ms; /* of its clock */
	uint64_t start;
	bool lost, silent;
};

/* A batch on its way. */
struct letter {
	double at_ms;
	size_t length;
	void *bytes;
};

struct many {
	const struct many_hosts_job *job;
	struct many_hosts_result *result;
	struct job_half *half;
	struct host *hosts;
	struct rank *ranks;
	struct letter *letters;
	size_t letter_count, letter_room;
	uint64_t random, network;
	double ticked_ms;
	bool struck, paused, restarted;
	uint64_t steps;
};

void many_hosts_watch(void (*watch)(const void *bytes, size_t length))
{
	watching = watch;
}

void many_hosts_listen(void (*hear)(const struct rw_finding *finding, bool of_node))
{
	hearing = hear;
}

/* xorshift64*, Vigna 2016. In (0, 1). */
static double draw(uint64_t *random)
{
	*random ^= *random >> 12;
	*random ^= *random << 25;
	*random ^= *random >> 27;
	return ((double)(*random * 0x2545f4914f6cdd1du >> 11) + 0.5) / 9007199254740992.0;
}

static double uniform(struct many *many)
{
	return draw(&many->random);
}

static double normal(struct many *many)
{
	return sqrt(-2 * log(uniform(many))) * cos(2 * M_PI * uniform(many));
}

static int ranks_of(const struct many_hosts_job *job)
{
	return job->hosts * job->per_host;
}

static int width_of(const struct many_hosts_job *job)
{
	return job->width ? job->width : job->per_host;
}

static int groups_of(const struct many_hosts_job *job)
{
	return ranks_of(job) / width_of(job);
}

static int stages_of(const struct many_hosts_job *job)
{
	bool pipelined = job->shape == MANY_PIPELINE || job->shape == MANY_CUBE;

	return pipelined && job->stages ? job->stages : 1;
}

static struct host *host_of(struct many *many, int rank)
{
	return &many->hosts[rank / many->job->per_host];
}

static uint64_t ns_at(const struct host *host, double ms)
{
	return (uint64_t)((ms + host->shift_ms) * 1e6);
}

static analysis_process_id id_of(const struct many *many, int rank)
{
	return (analysis_process_id)(rank % many->job->per_host);
}

static void post(struct many *many, const void *bytes, size_t length)
{
	if (many->letter_count == many->letter_room) {
		many->letter_room = many->letter_room ? many->letter_room * 2 : 64;
		many->letters = realloc(many->letters, many->letter_room * sizeof(*many->letters));
		if (!many->letters)
			abort();
	}
	struct letter *letter = &many->letters[many->letter_count++];
	*letter = (struct letter){ .at_ms = many->ticked_ms + draw(&many->network) * many->job->delay_ms,
				   .length = length,
				   .bytes = malloc(length) };
	if (!letter->bytes)
		abort();
	memcpy(letter->bytes, bytes, length);
}

static void send(void *argument, const void *bytes, size_t length)
{
	struct host *host = argument;
	struct many *many = host->many;

	if (host->silent)
		return;
	if (watching)
		watching(bytes, length);
	many->result->sent_bytes += length;
	many->result->longest = length > many->result->longest ? length : many->result->longest;
	for (size_t at = sizeof(struct rw_batch); at < length; at += RW_MESSAGE_SIZE)
		many->result->answered += ((const struct rw_message *)((const char *)bytes + at))->type == RW_MESSAGE_REASON;
	many->result->sent_messages += (length - sizeof(struct rw_batch)) / RW_MESSAGE_SIZE;
	if (draw(&many->network) < many->job->lose)
		return;
	post(many, bytes, length);
	if (many->job->twice > 0 && draw(&many->network) < many->job->twice)
		post(many, bytes, length);
}

/* The job half's clock is one of its own, too. */
static uint64_t reader_ns(const struct many *many)
{
	return (uint64_t)((many->ticked_ms + 77777) * 1e6);
}

/* Of asks some are lost, too. */
static void ask(void *argument, const char *name, const void *bytes, size_t length)
{
	struct many *many = argument;
	const char *why = "nothing";
	int number = atoi(name + 1);
	struct host *host = &many->hosts[number];

	many->result->asked++;
	if (many->job->deaf || host->lost || host->silent || draw(&many->network) < many->job->lose)
		return;
	if (node_half_ask(host->half, bytes, length, ns_at(host, many->ticked_ms), &why)) {
		fprintf(stderr, "an ask was refused: %s\n", why);
		abort();
	}
}

/* Fisher and Yates. */
static void mix(struct many *many, struct letter *letter)
{
	struct rw_message *messages = (struct rw_message *)((char *)letter->bytes + sizeof(struct rw_batch));

	for (size_t left = (letter->length - sizeof(struct rw_batch)) / RW_MESSAGE_SIZE; left > 1; left--) {
		size_t chosen = (size_t)(draw(&many->network) * (double)left);
		struct rw_message moved = messages[chosen];
		messages[chosen] = messages[left - 1];
		messages[left - 1] = moved;
	}
}

static void deliver(struct many *many)
{
	size_t kept = 0;

	for (size_t i = 0; i < many->letter_count; i++) {
		const char *why = "nothing";
		struct letter *letter = &many->letters[i];
		if (letter->at_ms > many->ticked_ms) {
			many->letters[kept++] = *letter;
			continue;
		}
		if (many->job->mixed)
			mix(many, letter);
		if (job_half_take(many->half, letter->bytes, letter->length, reader_ns(many), &why)) {
			fprintf(stderr, "a batch was refused: %s\n", why);
			abort();
		}
		free(letter->bytes);
	}
	many->letter_count = kept;
	job_half_tick(many->half, reader_ns(many));
	job_half_ask_why(many->half, reader_ns(many), ask, many);
}

static void keep(const struct many *many, const struct rw_finding *finding, struct many_hosts_finding *found)
{
	*found = (struct many_hosts_finding){
		.state = finding->state,
		.kind = finding->kind,
		.scope = finding->scope,
		.standing = finding->standing,
		.severity = finding->severity,
		.confidence = finding->confidence,
		.late_kind = finding->late.kind,
		.class_ = finding->cause.class_,
		.rank_count = finding->rank_count,
		.waiting_count = finding->late.waiting_count,
		.at_s = (many->ticked_ms - base_ms) / 1000,
		.share = finding->late.lost_share,
	};
	for (size_t i = 0; i < finding->rank_count && i < MANY_RANKS; i++)
		found->ranks[i] = finding->ranks[i];
	if (finding->where_count)
		snprintf(found->host, sizeof(found->host), "%s", finding->where[0].host);
	snprintf(found->text, sizeof(found->text), "%s", finding->text);
	for (size_t i = 0; i < finding->evidence_count; i++) {
		size_t used = strlen(found->evidence);
		snprintf(found->evidence + used, sizeof(found->evidence) - used, "%s\n", finding->evidence[i].what);
	}
	snprintf(found->cause, sizeof(found->cause), "%s", finding->cause.text ? finding->cause.text : "");
}

static void emit_node(void *argument, const struct rw_finding *finding)
{
	struct host *host = argument;
	struct many_hosts_result *result = host->many->result;

	if (hearing)
		hearing(finding, true);
	if (finding->state == RW_FINDING_OPEN && finding->severity >= RW_WARNING && finding->confidence != RW_INCONCLUSIVE &&
	    result->node_count < MANY_FINDINGS)
		keep(host->many, finding, &result->of_nodes[result->node_count++]);
	if (!host->many->job->mute)
		node_half_note_finding(host->half, finding);
}

static void emit(void *argument, const struct rw_finding *finding)
{
	struct many *many = argument;

	if (hearing)
		hearing(finding, false);
	if (many->result->count < MANY_FINDINGS)
		keep(many, finding, &many->result->findings[many->result->count++]);
}

/* Of the ranks first, first + by … */
static void add_communicator(struct many *many, int rank, int index, uint64_t id, int first, int by, int count)
{
	struct rw_communicator *communicator = &many->ranks[rank].communicators[index];
	int hosts = 1, per_host = many->job->per_host;

	for (int i = 1; i < count; i++)
		hosts += (first + i * by) / per_host != (first + (i - 1) * by) / per_host;
	*communicator = (struct rw_communicator){ .id = id, .rank = (rank - first) / by, .nranks = count,
						  .nnodes = hosts, .created_ns = 1 };
	if (analysis_add_communicator(host_of(many, rank)->analysis, id_of(many, rank), (uint32_t)index, communicator))
		abort();
}

/* As the box says it: how many calls there were, seen or not. */
static void count_calls(struct many *many, int rank)
{
	for (uint32_t i = 0; i < COMMUNICATORS; i++) {
		struct rw_communicator *communicator = &many->ranks[rank].communicators[i];
		if (communicator->id && analysis_add_communicator(host_of(many, rank)->analysis, id_of(many, rank), i, communicator))
			abort();
	}
}

static void add_communicators(struct many *many, int rank)
{
	const struct many_hosts_job *job = many->job;
	int width = width_of(job), local = rank % width, group = rank / width, all = ranks_of(job), stages = stages_of(job);
	int stage = group % stages, replica = group / stages, replicas = groups_of(job) / stages;

	if (job->shape == MANY_FLAT || job->shape == MANY_TWICE)
		add_communicator(many, rank, DATA, 0x5eed, 0, 1, all);
	if (job->shape == MANY_TWICE)
		add_communicator(many, rank, CHAIN, 0x6eed, 0, 1, all);
	if (job->shape == MANY_MESH || job->shape == MANY_HYBRID || job->shape == MANY_CUBE)
		add_communicator(many, rank, GROUP, 0x1000u + (uint64_t)group, group * width, 1, width);
	if (job->shape == MANY_MESH || job->shape == MANY_HYBRID)
		add_communicator(many, rank, DATA, 0x2000u + (uint64_t)local, local, width, all / width);
	if (job->shape != MANY_PIPELINE && job->shape != MANY_CUBE)
		return;
	add_communicator(many, rank, CHAIN, 0x3000u + (uint64_t)(replica * width + local),
			 replica * stages * width + local, width, stages);
	if (replicas > 1)
		add_communicator(many, rank, DATA, 0x4000u + (uint64_t)(stage * width + local), stage * width + local, stages * width,
				 replicas);
}

static void announce(struct many *many, int rank)
{
	static struct rw_box_header box;
	const struct many_hosts_job *job = many->job;
	int local = rank % job->per_host, host = rank / job->per_host;

	memset(&box, 0, sizeof(box));
	snprintf(box.host, sizeof(box.host), "h%d", host);
	snprintf(box.job, sizeof(box.job), "many");
	snprintf(box.rank_from, sizeof(box.rank_from), "RANK");
	box.created_ns = 1;
	box.world_rank = rank;
	box.world_size = ranks_of(job);
	box.local_rank = local;
	box.generation = job->generation;
	box.watchdog_ms = job->watchdog_ms && rank != job->rank ? job->watchdog_ms : 600000;
	box.devices[0].used = 1;
	box.devices[0].uuid[0] = (uint8_t)(rank + 1);
	snprintf(box.devices[0].pci, sizeof(box.devices[0].pci), "0000:%02x:00.0", (0x10 + (unsigned)local) & 0xff);
	box.interposed = host < job->interposed;
	box.profiler_abi = 5;
	box.pid_namespace = 0xEFFFFFFC;
	const struct analysis_process process = { .id = id_of(many, rank), .pid = 1000 + local, .box = &box };
	if (analysis_add_process(host_of(many, rank)->analysis, &process))
		abort();
	add_communicators(many, rank);
}

struct call {
	int communicator;
	uint8_t function;
	uint64_t count;
	int32_t peer;
	bool unannounced;
	uint64_t ticket; /* 0: the next one */
};

/* Of one call. */
struct times {
	double begun_ms;   /* its stream was free from here on */
	double arrived_ms; /* the stream came to it */
	double kernel_ms;  /* its kernel began */
	double done_ms;    /* 0: it does not end */
};

/* By the next poll of this rank's plugin, of which one follows the other by 3 to 4 ms, or by `least_ms` if that is
 * more. */
static double seen_ms(struct many *many, struct rank *rank, double ms, double least_ms)
{
	while (rank->poll_ms < ms)
		rank->poll_ms += fmax(3, least_ms) + uniform(many);
	return rank->poll_ms;
}

/* When the plugin sees that the stream has come to the operation. While the rank waits, its threads may take the CPU
 * that the plugin needs. */
static double seen_to_come_ms(struct many *many, int number, const struct times *times)
{
	bool starved = many->job->starved_ms > 0 && number == many->job->rank && times->done_ms > times->arrived_ms;

	return seen_ms(many, &many->ranks[number], times->arrived_ms, starved ? many->job->starved_ms * uniform(many) : 0);
}

static double now_s(const struct many *many, double ms)
{
	(void)many;
	return (ms - base_ms) / 1000;
}

static bool is_faulty(const struct many_hosts_job *job, int rank)
{
	int host = rank / job->per_host;

	switch (job->fault) {
	case MANY_SLOW_RANK:
	case MANY_FULL_GPU:
		return rank == job->rank;
	case MANY_TWO_SLOW:
		return rank == job->rank || rank == job->other_rank;
	case MANY_SLOW_HOST:
		return host == job->rank / job->per_host;
	case MANY_ALL_SLOWER:
		return true;
	case MANY_HALF_SLOWER:
		return host % 2;
	default:
		return false;
	}
}

/* What all members have as the result of this operation, but for the one at fault. */
static void scan(struct many *many, int number, struct call call, double done_ms, struct rw_operation *slot)
{
	const struct many_hosts_job *job = many->job;
	const struct rw_communicator *communicator = &many->ranks[number].communicators[call.communicator];
	bool altered = job->fault == MANY_OTHER_BITS && number == job->rank && communicator->nnodes > 1 &&
		       now_s(many, done_ms) >= job->at_s;

	if (!job->scanned || done_ms <= 0 || slot->sequence * 5 % (uint64_t)job->scanned)
		return;
	slot->known |= RW_KNOWN_SCAN_OUT;
	slot->scan_out.first_bad = RW_NO_INDEX;
	slot->scan_out.absmax = 1;
	slot->scan_out.digest =
	    (communicator->id + slot->sequence) * 0x9e3779b97f4a7c15u + call.function + 16 * call.count + altered;
}

/* The GPU has a clock of its own. */
static uint64_t raw_ns(int number, double ms)
{
	return (uint64_t)(ms * 1e6) + (uint64_t)(number + 1) * 123456789012345u;
}

static void add_kernel(const struct many *many, int number, const struct times *times, struct rw_operation *slot)
{
	if (!many->job->kernel_times || times->kernel_ms <= 0)
		return;
	slot->known |= RW_KNOWN_BEGAN;
	if (times->done_ms <= 0)
		return;
	slot->known |= RW_KNOWN_STAMP;
	slot->gpu_start_raw = raw_ns(number, times->kernel_ms);
	slot->gpu_end_raw = raw_ns(number, times->done_ms);
}

static void tell(struct many *many, int number, struct call call, struct times times)
{
	struct rank *rank = &many->ranks[number];
	struct host *host = host_of(many, number);
	uint64_t sequence = call.unannounced ? rank->unannounced++ : rank->sequence[call.communicator][call.function]++;
	bool followed = !many->job->sampled || sequence * 7 % (uint64_t)many->job->sampled == 0;
	double launched_ms =
	    many->job->in_fsync && is_faulty(many->job, number) ? times.arrived_ms - 0.5 : times.begun_ms - ahead_ms;
	bool by_second = many->job->second_thread && rank->tickets > 8;
	struct rw_operation slot = {
		.ticket = call.ticket ? call.ticket : ++rank->tickets,
		.known = RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_LAUNCH | RW_KNOWN_RETURN | RW_KNOWN_TASK,
		.comm = (uint16_t)call.communicator,
		.function = call.function,
		.dtype = RW_DTYPE_BFLOAT16,
		.count = call.count,
		.sequence = sequence,
		.api_tid = (uint32_t)(1000 + number % many->job->per_host + (by_second ? 500 : 0)),
		.api_ns = ns_at(host, launched_ms - 0.03),
		.launch_begin_ns = ns_at(host, launched_ms),
		.launch_end_ns = ns_at(host, launched_ms + 0.02),
		.return_ns = ns_at(host, launched_ms + 0.03),
		.root_or_peer = call.peer,
		.gpu_source = followed ? RW_GPU_SOURCE_WATERMARK : RW_GPU_SOURCE_NONE,
	};

	if (followed) {
		slot.progress = ++rank->progress[call.communicator];
		slot.known |= RW_KNOWN_STARTED | (times.done_ms > 0 ? RW_KNOWN_DONE : 0);
		slot.started_seen_ns = ns_at(host, seen_to_come_ms(many, number, &times));
		slot.done_seen_ns = times.done_ms > 0 ? ns_at(host, seen_ms(many, rank, times.done_ms, 0)) : 0;
		add_kernel(many, number, &times, &slot);
	} else {
		slot.flags = RW_FLAG_PROGRESS_SAMPLED_OUT;
	}
	if (call.unannounced)
		slot.flags |= RW_FLAG_UNANNOUNCED;
	scan(many, number, call, times.done_ms, &slot);
	rank->communicators[call.communicator].api_count++;
	bool absent = host == many->hosts && many->job->join_s > 0 && now_s(many, times.begun_ms) < many->job->join_s;
	if (absent || host->lost || (many->job->drop > 0 && draw(&many->network) < many->job->drop))
		return;
	if (analysis_add_operation(host->analysis, id_of(many, number), &slot))
		abort();
}

/* How long it computes before its next operation. */
static double work_ms(struct many *many, int rank)
{
	const struct many_hosts_job *job = many->job;
	struct rank *state = &many->ranks[rank];
	double each_ms = job->step_ms / job->operations;
	double share = 1 + state->difference + state->level + job->jitter * uniform(many);

	if (stages_of(job) > 1)
		share += job->uneven * (rank / width_of(job) % stages_of(job)) / (stages_of(job) - 1);
	bool since = now_s(many, state->gpu_ms) >= job->at_s;
	if (since && job->fault != MANY_FULL_GPU && is_faulty(job, rank) && job->place == MANY_ALL_OVER)
		share += job->slow;
	if (since && job->fault == MANY_PAUSE && rank == job->rank && !many->paused) {
		many->paused = true;
		return job->pause_s * 1000;
	}
	return fmax(share, 0.1) * each_ms;
}

/* What it works longer at this place, of which there are `places` in a step. */
static double longer_ms(const struct many *many, int rank, enum many_hosts_place place, int places)
{
	const struct many_hosts_job *job = many->job;

	if (job->place != place || job->fault == MANY_FULL_GPU || !is_faulty(job, rank) ||
	    now_s(many, many->ranks[rank].gpu_ms) < job->at_s)
		return 0;
	return job->slow * job->step_ms / places;
}

/* How long NCCL's kernel waits for room on the rank's GPU, at an operation of which there are `places` in a step. */
static double full_ms(const struct many *many, int rank, enum many_hosts_place place, int places)
{
	const struct many_hosts_job *job = many->job;

	if (job->fault != MANY_FULL_GPU || job->place != place || !is_faulty(job, rank) ||
	    now_s(many, many->ranks[rank].gpu_ms) < job->at_s)
		return 0;
	return job->slow * job->step_ms / places;
}

/* The faults that end things. */
static void strike(struct many *many)
{
	const struct many_hosts_job *job = many->job;
	struct host *host = host_of(many, job->rank);
	int first = job->rank / job->per_host * job->per_host;

	if (many->struck || now_s(many, many->ticked_ms) < job->at_s)
		return;
	many->struck = true;
	switch (job->fault) {
	case MANY_HUNG:
		many->ranks[job->rank].state = GONE;
		break;
	case MANY_STOPPED:
	case MANY_KILLED:
		many->ranks[job->rank].state = GONE;
		many->ranks[job->rank].dead = true;
		analysis_set_life(host->analysis, id_of(many, job->rank),
				  job->fault == MANY_KILLED ? ANALYSIS_KILLED : ANALYSIS_STOPPED,
				  job->fault == MANY_KILLED ? 9 : -1, ns_at(host, many->ticked_ms));
		break;
	case MANY_HOST_LOST:
		for (int i = 0; i < job->per_host; i++)
			many->ranks[first + i].state = GONE;
		host->lost = host->silent = true;
		break;
	case MANY_COLLECTOR_LOST:
		host->silent = true;
		break;
	default:
		break;
	}
}

/* Of who stands: it sleeps of its own will, seen by its samples. */
static void look_at_threads(struct many *many, int number)
{
	struct rank *rank = &many->ranks[number];
	struct host *host = host_of(many, number);
	const struct analysis_wait wait = {
		.process = id_of(many, number),
		.kind = ANALYSIS_WAIT_SAMPLE,
		.level = RW_LEVEL_PROC,
		.tid = (uint32_t)(1000 + number % many->job->per_host),
		.thread = "python",
		.start_ns = ns_at(host, many->ticked_ms),
		.end_ns = ns_at(host, many->ticked_ms),
		.state = 'S',
		.system_call = 230, /* clock_nanosleep(2) of x86-64 */
		.fd = -1,
	};

	if (rank->state == GONE && !rank->dead && !host->lost)
		analysis_add_wait(host->analysis, &wait);
}

/* Only of a rank that its host suspects. */
static void look_at_suspects(struct many *many, int number)
{
	struct host *host = host_of(many, number);
	struct analysis_suspect suspects[MANY_RANKS];
	size_t count = node_half_suspects(host->half, suspects, MANY_RANKS);
	bool sleeps = many->job->some_sleep && number % 2;
	struct analysis_wait wait = {
		.process = id_of(many, number),
		.kind = ANALYSIS_WAIT_SAMPLE,
		.level = RW_LEVEL_PROC,
		.tid = (uint32_t)(1000 + number % many->job->per_host),
		.thread = "python",
		.start_ns = ns_at(host, many->ticked_ms),
		.end_ns = ns_at(host, many->ticked_ms),
		.state = sleeps ? 'S' : 'D',
		.system_call = 74, /* fsync(2) of x86-64 */
		.fd = 3,
		.path = "/data/step.pt",
	};

	if (sleeps) {
		wait.system_call = 230; /* clock_nanosleep(2) */
		wait.fd = -1;
		wait.path[0] = '\0';
	}
	for (size_t i = 0; i < count; i++)
		if (suspects[i].process == wait.process && is_faulty(many->job, number) && many->ranks[number].state == RUNS &&
		    !host->lost)
			analysis_add_wait(host->analysis, &wait);
}

static void read_gpu(struct many *many, int number)
{
	struct host *host = host_of(many, number);
	bool cool = many->job->one_throttled && number % many->job->per_host;
	bool hot = !cool && is_faulty(many->job, number) && now_s(many, many->ticked_ms) >= many->job->at_s;
	struct analysis_gpu_state state = {
		.at_ns = ns_at(host, many->ticked_ms), .sm_mhz = hot ? 1100 : 1980, .sm_mhz_max = 1980,
		.clock_reasons = hot ? ANALYSIS_CLOCK_SW_THERMAL : 0, .remap_pending = -1, .remap_failure = -1, .memory_used = -1,
		.memory_total = -1, .nvlink_errors = -1,
	};

	snprintf(state.pci, sizeof(state.pci), "0000:%02x:00.0", (0x10 + (unsigned)(number % many->job->per_host)) & 0xff);
	if (!host->lost && analysis_add_gpu_state(host->analysis, &state))
		abort();
}

static void restart(struct many *many, struct host *host)
{
	struct node_identity identity = { .job = "many", .host = "h0", .start = ++host->start };

	many->restarted = true;
	node_half_free(host->half);
	host->half = node_half_new(host->analysis, &identity);
	if (!host->half)
		abort();
}

static void let_time_pass(struct many *many, double until_ms)
{
	for (; many->ticked_ms <= until_ms; many->ticked_ms += tick_ms) {
		strike(many);
		for (int i = 0; many->job->evidence && i < ranks_of(many->job); i++)
			look_at_threads(many, i);
		for (int i = 0; many->job->in_fsync && i < ranks_of(many->job); i++)
			look_at_suspects(many, i);
		for (int i = 0; many->job->throttled && i < ranks_of(many->job); i++)
			read_gpu(many, i);
		if (many->job->restart_s > 0 && !many->restarted && now_s(many, many->ticked_ms) > many->job->restart_s)
			restart(many, &many->hosts[0]);
		for (int i = 0; i < many->job->hosts; i++) {
			struct host *host = &many->hosts[i];
			if (host->lost)
				continue;
			for (int k = 0; k < many->job->per_host; k++)
				count_calls(many, i * many->job->per_host + k);
			analysis_tick(host->analysis, ns_at(host, many->ticked_ms));
			node_half_tick(host->half, ns_at(host, many->ticked_ms), send, host);
		}
		deliver(many);
	}
}

/* Its members run, and what they come to ends. */
static bool is_whole(const struct many *many, int first, int by, int count)
{
	const struct many_hosts_job *job = many->job;
	bool whole = true;

	for (int i = 0; i < count; i++)
		whole &= many->ranks[first + i * by].state == RUNS;
	return whole && !(job->fault == MANY_LINK && many->struck && job->rank >= first && (job->rank - first) % by == 0 &&
			  (job->rank - first) / by < count);
}

/* Once it calls for another size, which NCCL does not notice. */
static bool errs(struct many *many, int number, const struct call *call)
{
	const struct many_hosts_job *job = many->job;
	bool is_it = (job->fault == MANY_OTHER_CALL && number == job->rank) ||
		     (job->fault == MANY_HALF_OTHER && number / job->per_host % 2);
	struct rank *rank = &many->ranks[number];

	if (!is_it || rank->erred || call->communicator != DATA || now_s(many, rank->gpu_ms) < job->at_s)
		return false;
	rank->erred = true;
	many->result->erred = rank->sequence[call->communicator][call->function];
	return true;
}

/* How long it takes after all have come. */
static double transfer_of(const struct many *many, const struct call *call, double last_ms, int first, int by)
{
	const struct many_hosts_job *job = many->job;
	bool slow = job->fault == MANY_SLOW_LINK && call->communicator == DATA && now_s(many, last_ms) >= job->at_s &&
		    job->rank >= first && (job->rank - first) % by == 0;

	return transfer_ms + (slow ? job->slow * job->step_ms : 0);
}

/* A member comes to its operation. Returns when its kernel has begun. */
static double come(struct many *many, int number, const struct call *call, bool works)
{
	struct rank *rank = &many->ranks[number];
	bool data = call->communicator == DATA;

	rank->gpu_ms += works ? work_ms(many, number) : 0;
	rank->gpu_ms += data ? longer_ms(many, number, MANY_BEFORE_DATA, 1) : 0;
	return rank->gpu_ms + (works ? full_ms(many, number, MANY_ALL_OVER, many->job->operations) : 0) +
	       (data ? full_ms(many, number, MANY_BEFORE_DATA, 1) : 0);
}

/* Ranks first, first + by … together. */
static void collective(struct many *many, struct call call, int first, int by, int count, bool works)
{
	const struct many_hosts_job *job = many->job;
	bool whole = is_whole(many, first, by, count);
	double last_ms = 0, each_ms = works ? job->step_ms / job->operations : 0, kernels_ms[MANY_RANKS];
	bool parts = job->fault == MANY_DESYNC && many->struck && whole && call.communicator == DATA && job->rank >= first &&
		     (job->rank - first) % by == 0;

	for (int i = 0; i < count; i++) {
		if (many->ranks[first + i * by].state != RUNS)
			continue;
		kernels_ms[i] = come(many, first + i * by, &call, works);
		last_ms = fmax(last_ms, kernels_ms[i]);
	}
	last_ms += transfer_of(many, &call, last_ms, first, by);
	for (int i = 0; i < count; i++) {
		struct rank *rank = &many->ranks[first + i * by];
		struct call own = call;
		if (rank->state != RUNS)
			continue;
		if (parts && first + i * by == job->rank)
			own.function = call.function == RW_FUNCTION_ALL_GATHER ? RW_FUNCTION_ALL_REDUCE : RW_FUNCTION_ALL_GATHER;
		if (errs(many, first + i * by, &call))
			own.count++;
		tell(many, first + i * by, own,
		     (struct times){ rank->gpu_ms - each_ms, rank->gpu_ms, kernels_ms[i], whole && !parts ? last_ms : 0 });
		if (whole && !parts)
			rank->gpu_ms = last_ms;
		else
			rank->state = WAITS;
	}
}

/* One sends to the other; both end when both have come. */
static void transfer(struct many *many, int from, int to, int from_stage, int to_stage)
{
	struct rank *sender = &many->ranks[from], *receiver = &many->ranks[to];
	sender->gpu_ms += longer_ms(many, from, MANY_BEFORE_SEND, many->job->operations);
	bool whole = sender->state == RUNS && receiver->state == RUNS;
	double done_ms = whole ? fmax(sender->gpu_ms, receiver->gpu_ms) + transfer_ms : 0;

	if (sender->state == RUNS)
		tell(many, from, (struct call){ CHAIN, RW_FUNCTION_SEND, 4096, to_stage },
		     (struct times){ sender->gpu_ms, sender->gpu_ms, sender->gpu_ms, done_ms });
	if (receiver->state == RUNS)
		tell(many, to, (struct call){ CHAIN, RW_FUNCTION_RECV, 4096, from_stage },
		     (struct times){ receiver->gpu_ms, receiver->gpu_ms, receiver->gpu_ms, done_ms });
	if (whole) {
		sender->gpu_ms = receiver->gpu_ms = done_ms;
		return;
	}
	sender->state = sender->state == RUNS ? WAITS : sender->state;
	receiver->state = receiver->state == RUNS ? WAITS : receiver->state;
}

/* A micro-batch through all stages of a replica. */
static void forward(struct many *many, int replica, int local)
{
	const struct many_hosts_job *job = many->job;

	for (int stage = 0; stage < job->stages; stage++) {
		int number = (replica * job->stages + stage) * width_of(job) + local;
		struct rank *rank = &many->ranks[number];
		if (rank->state == RUNS)
			rank->gpu_ms += work_ms(many, number);
		if (stage + 1 < job->stages)
			transfer(many, number, number + width_of(job), stage, stage + 1);
	}
}

static double furthest_ms(const struct many *many)
{
	double ms = 0;

	for (int i = 0; i < ranks_of(many->job); i++)
		if (many->ranks[i].state == RUNS)
			ms = fmax(ms, many->ranks[i].gpu_ms);
	return ms;
}

/* From the first of these ranks, which does not wait; each other ends its own when that has come. */
static void broadcast(struct many *many, int first, int by, int count)
{
	double root_ms = many->ranks[first].gpu_ms;

	for (int i = 0; i < count && is_whole(many, first, by, count); i++) {
		struct rank *rank = &many->ranks[first + i * by];
		double begun_ms = rank->gpu_ms;

		rank->gpu_ms = fmax(begun_ms, root_ms) + transfer_ms;
		tell(many, first + i * by, (struct call){ DATA, RW_FUNCTION_BROADCAST, 64, 0, false },
		     (struct times){ begun_ms, begun_ms, begun_ms, rank->gpu_ms });
	}
}

/* In each communicator of ranks that hold the same parameters. */
static void broadcast_all(struct many *many)
{
	const struct many_hosts_job *job = many->job;
	bool flat = job->shape == MANY_FLAT || job->shape == MANY_TWICE;
	int by = flat ? 1 : stages_of(job) * width_of(job), count = flat ? ranks_of(job) : ranks_of(job) / by;

	for (int first = 0; job->broadcasts && count > 1 && first < (flat ? 1 : by); first++)
		broadcast(many, first, by, count);
}

static bool evaluates(const struct many *many)
{
	const struct many_hosts_job *job = many->job;

	return job->evaluate && many->steps % (uint64_t)(job->train + job->evaluate) >= (uint64_t)job->train;
}

static void play_flat(struct many *many)
{
	const struct many_hosts_job *job = many->job;
	int all = ranks_of(job);

	for (int i = 0; i < job->operations && !(evaluates(many) && i * 2 >= job->operations); i++) {
		bool back = i * 2 >= job->operations;
		collective(many, (struct call){ DATA, back ? RW_FUNCTION_REDUCE_SCATTER : RW_FUNCTION_ALL_GATHER, 1 << 20, -1 }, 0, 1,
			   all, true);
		let_time_pass(many, furthest_ms(many) - tick_ms);
	}
	collective(many, (struct call){ DATA, RW_FUNCTION_ALL_REDUCE, 1, -1 }, 0, 1, all, false);
}

/* All groups, each for itself. */
static void in_groups(struct many *many, uint8_t function, uint64_t count)
{
	int width = width_of(many->job);

	for (int group = 0; group < groups_of(many->job); group++)
		collective(many, (struct call){ GROUP, function, count, -1 }, group * width, 1, width, true);
}

/* Replicas, group by group or stage by stage. */
static void reduce(struct many *many, uint64_t count)
{
	int by = stages_of(many->job) * width_of(many->job), replicas = ranks_of(many->job) / by;

	for (int i = 0; i < by && replicas > 1; i++)
		collective(many, (struct call){ DATA, RW_FUNCTION_ALL_REDUCE, count, -1 }, i, by, replicas, false);
}

/* When the last of the group has come, and its operation is over. */
static double group_done_ms(const struct many *many, int group)
{
	int width = width_of(many->job);
	double last_ms = 0;

	for (int i = 0; i < width; i++)
		last_ms = fmax(last_ms, many->ranks[group * width + i].gpu_ms);
	return last_ms + transfer_ms;
}

/* What replicas share is called first, and ends last: its kernel waits for room until the rank has waited for its
 * group. */
static void reduce_beside(struct many *many)
{
	const struct many_hosts_job *job = many->job;
	int width = width_of(job), all = ranks_of(job);
	struct call data = { DATA, RW_FUNCTION_ALL_REDUCE, 1 << 20, -1, false, 0 };
	const struct call own = { GROUP, RW_FUNCTION_ALL_REDUCE, 1 << 16, -1, false, 0 };
	double groups_ms[MANY_RANKS];

	for (int i = 0; i < all; i++)
		many->ranks[i].gpu_ms += longer_ms(many, i, MANY_BEFORE_DATA, 1);
	for (int group = 0; group < groups_of(job); group++)
		groups_ms[group] = group_done_ms(many, group);
	for (int local = 0; local < width; local++) {
		double last_ms = 0;
		for (int group = 0; group < groups_of(job); group++)
			last_ms = fmax(last_ms, groups_ms[group] + transfer_ms);
		for (int group = 0; group < groups_of(job); group++) {
			struct rank *rank = &many->ranks[group * width + local];
			double came_ms = rank->gpu_ms, polled_ms = rank->poll_ms;
			uint64_t first = ++rank->tickets;
			tell(many, group * width + local, own, (struct times){ came_ms, came_ms, came_ms, groups_ms[group] });
			rank->poll_ms = polled_ms; /* the other one has come at the same time */
			data.ticket = first;
			tell(many, group * width + local, data, (struct times){ came_ms, came_ms, groups_ms[group], last_ms });
			rank->gpu_ms = last_ms;
		}
	}
}

static void play_mesh(struct many *many)
{
	for (int i = 0; i < many->job->operations; i++) {
		in_groups(many, RW_FUNCTION_ALL_REDUCE, 1 << 16);
		let_time_pass(many, furthest_ms(many) - tick_ms);
	}
	if (many->job->beside)
		reduce_beside(many);
	else
		reduce(many, 1 << 20);
}

static void play_hybrid(struct many *many)
{
	const struct many_hosts_job *job = many->job;

	for (int i = 0; i < job->operations; i++) {
		bool back = i * 2 >= job->operations;
		in_groups(many, back ? RW_FUNCTION_REDUCE_SCATTER : RW_FUNCTION_ALL_GATHER, 1 << 20);
		if (back)
			reduce(many, 1 << 18);
		let_time_pass(many, furthest_ms(many) - tick_ms);
	}
}

/* A micro-batch through all stages of a replica, whose ranks work together in each. */
static void forward_together(struct many *many, int replica)
{
	const struct many_hosts_job *job = many->job;
	int width = width_of(job);

	for (int stage = 0; stage < job->stages; stage++) {
		int first = (replica * job->stages + stage) * width;
		collective(many, (struct call){ GROUP, RW_FUNCTION_ALL_REDUCE, 1 << 16, -1 }, first, 1, width, true);
		for (int local = 0; local < width && stage + 1 < job->stages; local++)
			transfer(many, first + local, first + local + width, stage, stage + 1);
	}
}

static void play_pipeline(struct many *many)
{
	const struct many_hosts_job *job = many->job;

	for (int i = 0; i < job->operations; i++) {
		for (int replica = 0; replica < groups_of(job) / stages_of(job); replica++)
			for (int local = 0; local < (job->shape == MANY_CUBE ? 1 : width_of(job)); local++)
				job->shape == MANY_CUBE ? forward_together(many, replica) : forward(many, replica, local);
		let_time_pass(many, furthest_ms(many) - job->step_ms);
	}
	reduce(many, 1 << 20);
}

static void play_twice(struct many *many)
{
	const struct many_hosts_job *job = many->job;

	for (int i = 0; i < job->operations; i++) {
		int communicator = i % 2 ? CHAIN : DATA;
		collective(many, (struct call){ communicator, RW_FUNCTION_ALL_REDUCE, 1 << 16, -1 }, 0, 1, ranks_of(job), true);
		let_time_pass(many, furthest_ms(many) - tick_ms);
	}
}

/* Each rank waits, and each is awaited: in the mesh rank 0 for 1, 1 for 3, 3 for 2 and 2 for 0. */
static void close_circle(struct many *many)
{
	const struct many_hosts_job *job = many->job;

	for (int i = 0; i < ranks_of(job); i++) {
		struct rank *rank = &many->ranks[i];
		bool second = job->shape == MANY_TWICE ? i % 2 : (i / width_of(job) + i % width_of(job)) % 2;
		int other = job->shape == MANY_TWICE ? CHAIN : GROUP;
		struct call call = { second == (job->shape == MANY_TWICE) ? other : DATA, RW_FUNCTION_ALL_REDUCE, 1 << 16, -1 };
		tell(many, i, call, (struct times){ rank->gpu_ms, rank->gpu_ms, 0, 0 });
		rank->state = WAITS;
	}
}

static void only_send(struct many *many)
{
	const struct many_hosts_job *job = many->job;

	for (int i = 0; i < ranks_of(job); i++) {
		struct rank *rank = &many->ranks[i];
		int stage = i / width_of(job) % stages_of(job);
		tell(many, i, (struct call){ CHAIN, RW_FUNCTION_SEND, 4096, (stage + 1) % stages_of(job) },
		     (struct times){ rank->gpu_ms, rank->gpu_ms, 0, 0 });
		rank->state = WAITS;
	}
}

static void play_step(struct many *many)
{
	const struct many_hosts_job *job = many->job;

	for (int i = 0; i < ranks_of(job); i++)
		many->ranks[i].level =
		    job->lasts * many->ranks[i].level + sqrt(1 - job->lasts * job->lasts) * job->noise * normal(many);
	broadcast_all(many);
	if (job->fault == MANY_CIRCLE && many->struck)
		close_circle(many);
	else if (job->fault == MANY_SENDS && many->struck)
		only_send(many);
	else if (job->shape == MANY_FLAT)
		play_flat(many);
	else if (job->shape == MANY_TWICE)
		play_twice(many);
	else if (job->shape == MANY_MESH)
		play_mesh(many);
	else if (job->shape == MANY_HYBRID)
		play_hybrid(many);
	else
		play_pipeline(many);
	for (int i = 0; i < job->interposed * job->per_host && job->shape <= MANY_MESH; i++)
		if (many->ranks[i].state == RUNS)
			tell(many, i, (struct call){ DATA, RW_FUNCTION_BROADCAST, 64, 0, true },
			     (struct times){ many->ranks[i].gpu_ms, many->ranks[i].gpu_ms, 0, many->ranks[i].gpu_ms + 0.1 });
}

static void begin(struct many *many)
{
	const struct many_hosts_job *job = many->job;

	for (int i = 0; i < 8; i++)
		uniform(many);
	for (int i = 0; i < job->hosts; i++) {
		struct host *host = &many->hosts[i];
		char name[16];
		snprintf(name, sizeof(name), "h%d", i);
		*host = (struct host){ .many = many, .shift_ms = 1e6 * uniform(many), .start = 1000000u * (uint64_t)(i + 1) };
		host->analysis = analysis_new(false, emit_node, host);
		const struct node_identity identity = {
			.job = "many", .host = name, .boot = { (uint8_t)(i + 1) }, .start = host->start
		};
		host->half = host->analysis ? node_half_new(host->analysis, &identity) : NULL;
		if (!host->half)
			abort();
	}
	for (int i = 0; i < ranks_of(job); i++) {
		many->ranks[i] = (struct rank){ .gpu_ms = base_ms,
						.poll_ms = 4 * uniform(many),
						.difference = job->differences * (2 * uniform(many) - 1),
						.level = job->noise * normal(many) };
		announce(many, i);
	}
	for (int i = 0; i < job->hosts && job->host_differences > 0; i++) {
		double difference = job->host_differences * (2 * uniform(many) - 1);
		for (int k = 0; k < job->per_host; k++)
			many->ranks[i * job->per_host + k].difference += difference;
	}
}

static bool anybody_runs(const struct many *many)
{
	for (int i = 0; i < ranks_of(many->job); i++)
		if (many->ranks[i].state == RUNS)
			return true;
	return false;
}

void many_hosts_look(void (*look)(const struct job_half *half))
{
	looking = look;
}

void many_hosts_play(const struct many_hosts_job *job, struct many_hosts_result *result)
{
	struct many many = { .job = job, .result = result, .random = 0x9e3779b97f4a7c15u * (job->seed + 1ul),
			     .network = 0xbf58476d1ce4e5b9u * (job->seed + 1ul), .ticked_ms = base_ms };
	double end_ms = base_ms + job->seconds * 1000;

	memset(result, 0, sizeof(*result));
	many.half = job_half_new("many", emit, &many);
	if (many.half && looking)
		job_half_keep_course(many.half);
	many.hosts = calloc((size_t)job->hosts, sizeof(*many.hosts));
	many.ranks = calloc((size_t)ranks_of(job), sizeof(*many.ranks));
	if (!many.half || !many.hosts || !many.ranks)
		abort();
	begin(&many);
	for (; anybody_runs(&many) && furthest_ms(&many) < end_ms; many.steps++)
		play_step(&many);
	let_time_pass(&many, end_ms + 2000);
	job_half_summarise(many.half, &result->summary);
	result->bytes = job_half_bytes(many.half);
	if (looking)
		looking(many.half);
	for (int i = 0; i < job->hosts; i++) {
		node_half_free(many.hosts[i].half);
		analysis_free(many.hosts[i].analysis);
	}
	for (size_t i = 0; i < many.letter_count; i++)
		free(many.letters[i].bytes);
	job_half_free(many.half);
	free(many.letters);
	free(many.hosts);
	free(many.ranks);
}

const struct many_hosts_finding *many_hosts_find(const struct many_hosts_result *result, enum rw_kind kind, bool told)
{
	for (size_t i = 0; i < result->count; i++) {
		const struct many_hosts_finding *found = &result->findings[i];
		if (found->kind == kind && found->state != RW_FINDING_CLOSED && (!told || found->severity >= RW_WARNING))
			return found;
	}
	return NULL;
}

size_t many_hosts_accused(const struct many_hosts_result *result)
{
	size_t count = 0;

	for (size_t i = 0; i < result->count; i++) {
		const struct many_hosts_finding *found = &result->findings[i];
		count += found->state != RW_FINDING_CLOSED && found->severity >= RW_WARNING &&
			 found->confidence != RW_INCONCLUSIVE && found->rank_count;
	}
	return count;
}
