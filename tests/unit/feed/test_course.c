/* SPDX-License-Identifier: MIT */
/*
 * Everything that a feed tells the analysis of boxes that are drawn from numbers: polled while they are written, at
 * times that meet each of its limits to the nanosecond, and replayed. One line for each poll: when, what it answered,
 * how many records of each kind it told, and a number that is made of all of them. Other tests say what must be so;
 * this one that nothing changes unnoticed. A change that is meant: `ninja -C build feed-courses`. With
 * COURSES_SHOWN=FILE what was told lies there in full.
 */
#include <criterion/criterion.h>
#include <sys/sysmacros.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blackbox/gpu_memory.h"
#include "feed/feed.h"
#include "tests/kept_text.h"
#include "tests/unit/blackbox/fixture.h"
#include "tests/unit/feed/recording.h"

#define MS UINT64_C(1000000)
#define S  UINT64_C(1000000000)

enum { LIVE = 32, REPLAYED = 24, POLLS = 20, COMMUNICATORS = 70, IN_THE_MAKING = 8 };

static struct analysis analysis;
static struct box_writer writer;
static uint64_t state, now_ns;
static bool is_damaged; /* times that nothing has lie among the others */
static FILE *out, *told; /* what is kept; what was told since the last line */
static char *text, *words;
static size_t text_size, words_size;

/* Claims that are not published yet. */
static struct {
	struct rw_operation *slot;
	uint64_t ticket;
} making[IN_THE_MAKING];

static void finish(void)
{
	recording_free(&analysis);
	fixture_remove();
}

TestSuite(feed_course, .fini = finish);

static uint32_t draw(uint32_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % below;
}

/* Limits are a tenth of a second and whole seconds: times lie on them, a nanosecond beside them, or anywhere. */
static uint64_t drawn_span(void)
{
	static const uint64_t spans[] = { 0, 1, MS, 50 * MS, 100 * MS - 1, 100 * MS, 100 * MS + 1, 500 * MS, S - 1, S, S + 1 };

	return spans[draw(sizeof(spans) / sizeof(*spans))];
}

/* Around now; now and then not at all, or so late that it is damage. */
static uint64_t drawn_time(void)
{
	uint64_t span = drawn_span();

	if (is_damaged && draw(200) == 0)
		return (uint64_t)INT64_MAX + draw(2);
	switch (draw(40)) {
	case 0: return 0;
	case 1: return now_ns + span;
	default: return now_ns > span ? now_ns - span : now_ns;
	}
}

/* Mostly one of a few, now and then one that no other has. */
static uint32_t drawn_communicator(void)
{
	return draw(draw(3) ? 6 : COMMUNICATORS);
}

static void fill(struct rw_operation *slot, uint32_t number)
{
	uint32_t known = RW_KNOWN_IDENT | RW_KNOWN_API;

	slot->comm = (uint16_t)(draw(30) ? drawn_communicator() : RW_BOX_COMMS - 1 + draw(2));
	slot->function = (uint8_t)draw(RW_FUNCTION_COUNT);
	slot->count = number;
	slot->sequence = draw(100);
	slot->api_ns = drawn_time();
	if (draw(25) == 0)
		known = RW_KNOWN_STEP;
	else if (draw(25) == 0)
		known = RW_KNOWN_IDENT;
	box_known(slot, known);
	if (draw(12) == 0)
		slot->flags |= RW_FLAG_CAPTURED;
}

/* One more thing that is known of an operation, as one of its writers leaves it. */
static void go_on(uint64_t ticket)
{
	struct rw_operation *slot = box_slot(&writer, ticket);
	uint32_t what = draw(8);

	if (!slot)
		return;
	switch (what) {
	case 0: slot->launch_end_ns = drawn_time(); slot->progress = draw(50); box_known(slot, RW_KNOWN_LAUNCH); break;
	case 1: slot->return_ns = drawn_time(); box_known(slot, RW_KNOWN_RETURN); break;
	case 2: slot->started_seen_ns = drawn_time(); slot->progress = draw(50); box_known(slot, RW_KNOWN_STARTED); break;
	case 3: slot->done_seen_ns = drawn_time(); slot->progress = draw(50); box_known(slot, RW_KNOWN_DONE); break;
	case 4: box_known(slot, RW_KNOWN_STAMP); break;
	case 5: slot->flags |= RW_FLAG_IN_PROGRESS; break;
	default: box_release(slot, ticket, what == 6 ? RW_OWNER_HOST : RW_OWNER_GPU | RW_OWNER_HOST);
	}
}

static void claim(uint32_t number)
{
	uint64_t ticket;
	struct rw_operation *slot = box_claim(&writer, RW_OWNER_HOST | (draw(2) ? RW_OWNER_GPU : 0), &ticket);
	uint32_t at = draw(IN_THE_MAKING);

	if (!slot)
		return;
	fill(slot, number);
	if (draw(16) == 0 && !making[at].slot) {
		making[at].slot = slot;
		making[at].ticket = ticket;
		return;
	}
	box_publish(slot, ticket);
	for (uint32_t steps = draw(7); steps; steps--)
		go_on(ticket);
}

static void claims(void)
{
	/* Also a whole turn of the ring, and more. */
	static const uint32_t bursts[] = {
		1, 2, 3, 5, 63, 64, 65, 200, RW_BOX_RING_MIN - 1, RW_BOX_RING_MIN, RW_BOX_RING_MIN + 1, 1500
	};
	uint32_t count = bursts[draw(draw(5) ? 8 : 12)];

	for (uint32_t i = 0; i < count; i++)
		claim(i);
}

static void publish(void)
{
	uint32_t at = draw(IN_THE_MAKING);

	if (making[at].slot)
		box_publish(making[at].slot, making[at].ticket);
	making[at].slot = NULL;
}

static void go_on_with_some(void)
{
	uint64_t head = writer.header->head;

	for (uint32_t count = draw(300); count && head; count--)
		go_on(head - draw(head < RW_BOX_RING_MIN ? (uint32_t)head : RW_BOX_RING_MIN));
}

static void communicate(void)
{
	uint32_t at = drawn_communicator();
	struct rw_communicator *entry = &writer.communicators[at];

	entry->id = 100 + draw(1000);
	entry->created_ns = draw(20) ? drawn_time() : 0;
	entry->ended_ns = draw(3) ? 0 : drawn_time();
	entry->nranks = (int32_t)draw(9);
	entry->rank = (int32_t)draw(9) - 1;
	int letter = 'a' + (int)draw(26);
	memset(entry->name, letter, draw(sizeof(entry->name) + 1));
	if (at >= writer.header->comms_used)
		writer.header->comms_used = at + 1;
}

static void progress(void)
{
	struct rw_gpu_progress *page = &writer.gpu[drawn_communicator()];

	page->gpu_done += draw(20);
	page->gpu_started = page->gpu_done + draw(3);
}

static void sample(void)
{
	static const uint32_t bursts[] = { 1, 5, 64, 65, 300, RW_BOX_SAMPLES - 1, RW_BOX_SAMPLES, RW_BOX_SAMPLES + 1 };
	uint32_t count = bursts[draw(draw(6) ? 5 : 8)];

	for (uint32_t i = 0; i < count; i++) {
		struct rw_host_sample one = { .monotonic_ns = drawn_time() };
		int letter = 'a' + (int)draw(26);

		one.tid = draw(40);
		one.kind = (uint8_t)(1 + draw(4));
		one.fd = (int32_t)draw(6) - 1;
		one.system_call = (int16_t)draw(300);
		one.detail = draw(1000);
		one.run_delay_ns = draw(1000000);
		one.state = one.kind == RW_SAMPLE_FILE ? (char)draw(12) : "RSDTZ"[draw(5)];
		memset(one.text, letter, draw(3) ? sizeof(one.text) : draw(sizeof(one.text)));
		box_writer_sample(&writer, &one);
	}
	if (draw(8) == 0) /* the newest is being written */
		writer.samples[(writer.header->samples_head - 1) % RW_BOX_SAMPLES].ticket = 0;
}

static void wait_for_network(void)
{
	for (uint32_t count = draw(6); count; count--) {
		struct rw_wait *wait = &writer.waits[draw(3) ? draw(80) : draw(RW_BOX_WAITS)];
		uint64_t comm = draw(20) ? drawn_communicator() : RW_BOX_COMMS - 1 + draw(2);
		uint64_t peer = draw(20) ? draw(16) : UINT32_C(0x7fffffff) + draw(2), channel = draw(8),
			 sends = draw(2) ? RW_WAIT_SENDS : 0;

		if (!wait->key || draw(8) == 0)
			*wait = (struct rw_wait){ .key = (draw(20) ? RW_WAIT_USED : 0) | sends | channel << 48 | comm << 32 | peer };
		if (!wait->first_ns)
			wait->first_ns = drawn_time();
		wait->gpu_ns += draw(10) ? draw(1000) : 0u - (uint64_t)draw(2);
		wait->peer_ns += draw(10) ? draw(1000) : 0u - (uint64_t)draw(2);
		wait->network_ns += draw(10) ? draw(1000) : 0u - (uint64_t)draw(2);
		wait->last_ns = draw(4) ? now_ns : drawn_time();
	}
	if (draw(3))
		writer.header->leased_until_ns = drawn_time();
}

static void head(void)
{
	static const char *const marks[] = { "",
					     "watermark",
					     "cuMemHostRegister has not returned",
					     "cuDeviceGetAttribute has not returned",
					     "cuMemHostGetDevicePointer has not returned",
					     "cuThreadExchangeStreamCaptureMode has not returned",
					     "cuInit has not returned",
					     " has not returned",
					     "a driver call whose name has exactly 47 letters,,,, has not returned",
					     "a driver call whose name has exactly 48 letters,,,,, has not returned" };
	struct rw_box_header *header = writer.header;

	switch (draw(6)) {
	case 0: snprintf(header->gpu_progress_state, sizeof(header->gpu_progress_state), "%s", marks[draw(10)]); break;
	case 1: snprintf(header->scan_state, sizeof(header->scan_state), "%s", marks[draw(10)]); break;
	case 2:
		header->init.id = draw(9);
		header->init.nranks = (int32_t)draw(9);
		header->init.rank = (int32_t)draw(9);
		header->init.since_ns = draw(3) ? drawn_time() : 0;
		break;
	case 3:
		header->scan_buffers += draw(9);
		header->scan_sampled_out += draw(9);
		header->scan_host_ns += draw(9);
		header->scan_gpu_ns += draw(9);
		header->own_ns += draw(9);
		break;
	default: header->drain_ns = drawn_time();
	}
}

/* What a collector notes in a box. */
static void note(void)
{
	struct rw_gpu_memory memory = { .version = RW_GPU_MEMORY_VERSION, .number = 7, .number_again = 7, .count = draw(3) };

	memory.since_ns = drawn_time();
	memcpy((char *)writer.map + writer.header->control_offset + RW_GPU_MEMORY_OFFSET, &memory, sizeof(memory));
}

/* What a process does between two polls. */
static void act(void)
{
	static void (*const acts[])(void) = { claims,      claims,   publish, go_on_with_some,  communicate,
					      communicate, progress, sample,  wait_for_network, wait_for_network,
					      head,        head,     note };

	for (uint32_t count = 1 + draw(6); count; count--)
		acts[draw(sizeof(acts) / sizeof(*acts))]();
}

static void name_mount(void *argument, uint64_t device, char file_system[16], char device_name[32])
{
	(void)argument;
	snprintf(file_system, 16, "fs%u", minor(device) % 8);
	snprintf(device_name, 32, "disk%lu", (unsigned long)device % 100);
}

static void tell_operation(const struct rw_operation *slot)
{
	fprintf(told, "%lu %x/%x/%x c%u f%u n%lu s%lu %lu %lu %lu %lu %lu #%lu", slot->ticket, slot->known, slot->owner,
		slot->flags, slot->comm, slot->function, slot->count, slot->sequence, slot->api_ns, slot->launch_end_ns,
		slot->return_ns, slot->started_seen_ns, slot->done_seen_ns, slot->progress);
}

static void tell_wait(const struct analysis_wait *wait)
{
	fprintf(told, "%d %d t%u %s %lu-%lu %lu %lu %d %d fd%d %lu %s %s %s %d %s", wait->kind, wait->level, wait->tid,
		wait->thread, wait->start_ns, wait->end_ns, wait->run_queue_ns, wait->cpu_ns, wait->state,
		wait->system_call, wait->fd, wait->device, wait->path, wait->file_system, wait->device_name,
		wait->io_wait, wait->wait_channel);
}

static void tell(const struct recorded *record)
{
	const struct rw_communicator *communicator = &record->communicator;
	const struct analysis_network *network = &record->network;
	const struct analysis_scanning *scanning = &record->scanning;

	fprintf(told, "%d of %u: ", record->kind, record->process);
	switch (record->kind) {
	case RECORDED_PROCESS: fprintf(told, "%d", record->process_told.pid_unproven); break;
	case RECORDED_COMMUNICATOR:
		fprintf(told, "%u %lx %s %d of %d, %lu-%lu", record->index, communicator->id, communicator->name,
			communicator->rank, communicator->nranks, communicator->created_ns, communicator->ended_ns);
		break;
	case RECORDED_OPERATION: tell_operation(&record->operation); break;
	case RECORDED_PROGRESS:
		fprintf(told, "%u %lu %lu at %lu", record->index, record->started, record->done, record->at_ns);
		break;
	case RECORDED_WAIT: tell_wait(&record->wait); break;
	case RECORDED_LIFE: fprintf(told, "%d %d at %lu", record->life, record->exit_status, record->at_ns); break;
	case RECORDED_NETWORK:
		fprintf(told, "%u %d %u %d %lu %lu %lu, %lu-%lu", network->index, network->peer, network->channel,
			network->sends, network->gpu_ns, network->peer_ns, network->network_ns, network->from_ns,
			network->to_ns);
		break;
	case RECORDED_SCANNING:
		fprintf(told, "%lu %lu %lu %lu %lu", scanning->buffers, scanning->left_out, scanning->host_ns,
			scanning->gpu_ns, scanning->callback_ns);
		break;
	case RECORDED_GAPS: fprintf(told, "%lu", record->untracked); break;
	case RECORDED_HELD:
		fprintf(told, "%s, %s, at %lu", record->call, record->remedy ? record->remedy : "-", record->at_ns);
		break;
	case RECORDED_INIT:
		fprintf(told, "%lx %d of %d, %lu", record->init.id, record->init.rank, record->init.nranks,
			record->init.since_ns);
		break;
	default: fprintf(told, "at %lu", record->at_ns);
	}
	fprintf(told, "\n");
}

/* One line of what is kept: how many of each kind, and all of it as a number. */
static void show_told(void)
{
	static const char *const kinds[] = { "processes", "communicators", "operations", "progress", "waits", "lives",
					     "ticks",     "network",       "heartbeats", "scanning", "held",  "inits",
					     "boxes",     "ports",         "gpu memory", "gaps" };
	FILE *shown = getenv("COURSES_SHOWN") ? fopen(getenv("COURSES_SHOWN"), "ae") : NULL;
	uint64_t number = 14695981039346656037u;

	told = open_memstream(&words, &words_size);
	cr_assert(told);
	for (size_t i = 0; i < analysis.count; i++)
		tell(&analysis.records[i]);
	fclose(told);
	for (size_t i = 0; i < words_size; i++)
		number = (number ^ (unsigned char)words[i]) * 1099511628211u;
	for (size_t kind = 0; kind < sizeof(kinds) / sizeof(*kinds); kind++)
		if (recording_count(&analysis, (enum recorded_kind)kind))
			fprintf(out, ", %zu %s", recording_count(&analysis, (enum recorded_kind)kind), kinds[kind]);
	fprintf(out, ": %016lx\n", number);
	if (shown) {
		fputs(words, shown);
		fclose(shown);
	}
	free(words);
	recording_free(&analysis);
}

static void begin(uint64_t seed)
{
	state = seed;
	is_damaged = seed % 4 == 3;
	now_ns = 10 * S;
	fixture_create(&writer);
	memset(making, 0, sizeof(making));
	writer.header->created_ns = 10 * S;
	writer.header->drain_ns = 0;
}

static void play_live(uint32_t number)
{
	begin(number + 1);
	struct box_reader reader;

	fixture_open(&reader, &writer);
	struct feed *feed = feed_new(&analysis, 7, &reader);

	if (draw(2))
		feed_set_mount(feed, name_mount, NULL);
	if (draw(2))
		feed_set_writer(feed, (pid_t)draw(2) * 4321);
	analysis.answer = 0;
	fprintf(out, "live %u\n", number);
	for (int i = 0; i < POLLS; i++) {
		act();
		now_ns += drawn_span();
		if (draw(30) == 0) /* clocks do not go back, but who says so */
			now_ns -= MS;
		analysis.answer = draw(12) ? 0 : draw(30) ? -EINVAL : -ENOMEM;
		if (i == POLLS - 5 && draw(2))
			writer.header->boot_id[0] ^= 1; /* its process is gone: this one's own lock is not seen here */
		if (i == POLLS - 3)
			writer.header->end = draw(3);
		int passed = feed_poll(feed, now_ns);

		fprintf(out, "%lu: %d passed, %lu rejected, error %d, last %lu, life %d", now_ns, passed,
			feed_rejected(feed), feed_error(feed), feed_last_ns(feed), feed_life(feed));
		show_told();
	}
	feed_free(feed);
	box_writer_close(&writer);
}

static void note_replay(void *argument, uint64_t passed, uint64_t all)
{
	uint64_t *sum = argument;

	*sum = *sum * 31 + passed * 7 + all;
}

static void play_replay(uint32_t number)
{
	struct feed *feeds[3];
	uint32_t count = 1 + number % 3;
	uint64_t shown = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct box_reader reader;

		begin(1000 + 10 * number + i);
		for (uint32_t acts = 2 + draw(8); acts; acts--) {
			act();
			/* Silence, too, that is passed over. */
			now_ns += draw(4) ? drawn_span() : (9 + draw(3)) * S;
			now_ns += draw(2) * MS;
		}
		writer.header->end = draw(3);
		if (draw(4))
			writer.header->boot_id[0] ^= 1;
		fixture_open(&reader, &writer);
		feeds[i] = feed_new(&analysis, i + 1, &reader);
		box_writer_close(&writer);
	}
	feed_replay(feeds, count, &analysis, note_replay, &shown);
	fprintf(out, "replay %u, shown %016lx", number, shown);
	for (uint32_t i = 0; i < count; i++) {
		fprintf(out, "; %lu rejected, error %d, last %lu, life %d", feed_rejected(feeds[i]),
			feed_error(feeds[i]), feed_last_ns(feeds[i]), feed_life(feeds[i]));
		feed_free(feeds[i]);
	}
	show_told();
}

static void compare(const char *name)
{
	fclose(out);
	kept_text_compare(COURSES, name, text, "ninja -C build feed-courses");
	free(text);
}

Test(feed_course, of_boxes_that_are_polled, .timeout = 60)
{
	out = open_memstream(&text, &text_size);
	for (uint32_t number = 0; number < LIVE; number++)
		play_live(number);
	compare("live");
}

Test(feed_course, of_boxes_that_are_replayed, .timeout = 60)
{
	out = open_memstream(&text, &text_size);
	for (uint32_t number = 0; number < REPLAYED; number++)
		play_replay(number);
	compare("replay");
}
