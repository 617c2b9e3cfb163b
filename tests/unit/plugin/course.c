/* SPDX-License-Identifier: MIT */
#include "course.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/drain/drain.h"
#include "plugin/guest/clock.h"
#include "tests/abi/player.h"
#include "tests/kept_text.h"

enum { SHOWN = RW_BOX_RING_MIN };

struct course course;

static uint64_t state;
static uint32_t own_tid;

/* The linker leads the plugin's own calls here. */
uint64_t __wrap_clock_ns(void);
int __wrap_driver_open(struct driver *driver);
int __wrap_drain_start(struct recording *recording);

uint64_t __wrap_clock_ns(void)
{
	return course.now_ns;
}

int __wrap_drain_start(struct recording *recording)
{
	(void)recording; /* what it sees depends on when it looks */
	return 0;
}

static int context_current(driver_context *context)
{
	*context = course.context;
	return 0;
}

static int context_push(driver_context context)
{
	course.pushed += context == (driver_context)0x10;
	return 0;
}

static int context_pop(driver_context *context)
{
	*context = NULL;
	course.popped++;
	return 0;
}

static int retain(driver_context *context, int device)
{
	(void)device;
	return context_current(context);
}

static int number(int *value)
{
	*value = 0;
	return 0;
}

static int version(int *value)
{
	*value = 12080;
	return 0;
}

static int attribute(int *value, int what, int device)
{
	(void)what, (void)device;
	*value = 1;
	return 0;
}

static int uuid(void *bytes, int device)
{
	memset(bytes, 0xd0 + device, 16);
	return 0;
}

static int pci(char *text, int size, int device)
{
	snprintf(text, (size_t)size, "0000:%02x:00.0", device);
	return 0;
}

static int host_register(void *address, size_t size, unsigned int flags)
{
	(void)address, (void)size, (void)flags;
	return 0;
}

static int host_device_pointer(uint64_t *pointer, void *address, unsigned int flags)
{
	(void)flags;
	*pointer = (uintptr_t)address;
	return 0;
}

static int stream_capturing(driver_stream stream, int *status)
{
	(void)stream;
	*status = course.capturing;
	return 0;
}

static int stream_write(driver_stream stream, uint64_t address, uint64_t value, unsigned int flags)
{
	(void)stream, (void)flags;
	if (!course.write_error)
		*(uint64_t *)(uintptr_t)address = value;
	return course.write_error;
}

int __wrap_driver_open(struct driver *driver)
{
	*driver = (struct driver){
		.version = version, .context_current = context_current, .context_device = number, .context_push = context_push,
		.context_pop = context_pop, .primary_retain = retain,
		.device_attribute = attribute, .device_uuid = uuid, .device_pci = pci, .host_register = host_register,
		.host_device_pointer = host_device_pointer, .stream_capturing = stream_capturing, .capture_mode = number,
		.stream_write = stream_write,
	};
	return 0;
}

int ncclGetVersion(int *value);
int ncclGetVersion(int *value)
{
	*value = 22809;
	return 0;
}

uint32_t course_draw(uint32_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % below;
}

/* Threads have numbers of their own in each run. */
static uint32_t who(uint32_t tid)
{
	return tid == own_tid ? 1 : tid ? 2 : 0;
}

static void show_slot(FILE *out, const struct rw_operation *slot)
{
	fprintf(out,
		"%lu %x/%x/%x c%u f%u t%u n%lu s%lx/%lx on %lx by %u in %x at %lu, %lu-%lu on %lx by %u plan %u, %lu; "
		"%d a%u p%u ch%u g%u #%lu %lx-%lx %lx>%lx\n",
		slot->ticket, slot->known, slot->owner & RW_OWNER_PENDING, slot->flags, slot->comm, slot->function,
		slot->dtype, slot->count, slot->sequence, slot->nccl_sequence, slot->stream, who(slot->api_tid),
		slot->group / RECORDING_GROUP_STEP, slot->api_ns, slot->launch_begin_ns, slot->launch_end_ns,
		slot->launch_stream, who(slot->launch_tid), slot->plan, slot->return_ns, slot->root_or_peer,
		slot->algorithm, slot->protocol, slot->channels, slot->gpu_source, slot->progress, slot->gpu_start_raw,
		slot->gpu_end_raw, slot->send_address, slot->recv_address);
}

/* Operations as they were shown last; later only those that have changed. */
static struct rw_operation shown[SHOWN];

void course_show(FILE *out)
{
	struct recording *recording = recording_get();

	cr_assert(recording, "nothing is recorded");
	recording_sum_costs(recording);
	const struct rw_box_header *header = recording->box.header;

	fprintf(out, "abi %u nccl %u driver %u interposed %u %s; scan %s\n", header->profiler_abi, header->nccl_version,
		header->cuda_driver_version, header->interposed, header->gpu_progress_state, header->scan_state);
	fprintf(out, "head %lu dropped %lu untracked", header->head, header->dropped);
	for (int i = 0; i < RW_UNTRACKED_COUNT; i++)
		fprintf(out, " %lu", header->untracked[i]);
	fprintf(out,
		" callbacks %lu comms %lu refused %lu scans left out %lu progress left out %lu; contexts pushed %u "
		"popped %u\n",
		header->callbacks, header->comms_used, header->comms_refused, header->scan_sampled_out,
		header->progress_sampled_out, course.pushed, course.popped);
	for (uint64_t i = 0; i < header->comms_used; i++) {
		const struct rw_communicator *entry = &recording->box.communicators[i];

		fprintf(out,
			"communicator %lx %s device %u rank %d of %d on %d, %lu-%lu: %lu calls, %lu launched, %lu "
			"captured; gpu %lu-%lu\n",
			entry->id, entry->name, entry->device, entry->rank, entry->nranks, entry->nnodes,
			entry->created_ns, entry->ended_ns, entry->api_count, entry->launched, entry->captured,
			recording->box.gpu[i].gpu_started, recording->box.gpu[i].gpu_done);
	}
	for (uint64_t i = 0; i < SHOWN && i < header->head; i++)
		if (memcmp(&shown[i], &recording->box.ring[i], sizeof(shown[i])))
			show_slot(out, &recording->box.ring[i]);
	memcpy(shown, recording->box.ring, sizeof(shown));
}

static void show_waits(FILE *out)
{
	struct recording *recording = recording_get();

	fprintf(out, "leased until %lu, refused %u\n", recording->box.header->leased_until_ns,
		recording->box.header->waits_refused);
	for (int i = 0; i < RW_BOX_WAITS; i++) {
		const struct rw_wait *wait = &recording->box.waits[i];

		if (wait->key)
			fprintf(out, "%lx %lu-%lu %lu bytes, gpu %lu peer %lu network %lu, %u steps, flush %u\n",
				wait->key, wait->first_ns, wait->last_ns, wait->bytes, wait->gpu_ns, wait->peer_ns,
				wait->network_ns, wait->steps, wait->flush_us);
	}
}

void course_number(FILE *out)
{
	const char *path = getenv("COURSES_SHOWN");
	FILE *whole = path ? fopen(path, "ae") : NULL, *all;
	uint64_t number = 14695981039346656037u;
	char *text;
	size_t size;

	all = open_memstream(&text, &size);
	cr_assert(all);
	course_show(all);
	show_waits(all);
	fclose(all);
	for (size_t i = 0; i < size; i++)
		number = (number ^ (unsigned char)text[i]) * 1099511628211u;
	fprintf(out, "%lu: head %lu: %016lx\n", course.now_ns, recording_get()->box.header->head, number);
	if (whole) {
		fputs(text, whole);
		fclose(whole);
	}
	free(text);
}

void course_begin(uint64_t seed)
{
	state = seed;
	own_tid = (uint32_t)gettid();
	course = (struct course){ .now_ns = 1000, .context = (driver_context)0x10 };
	course.out = open_memstream(&course.text, &course.size);
	cr_assert(course.out);
	player_directory();
}

void course_pass(void)
{
	course.now_ns += 1000 * (1 + course_draw(9));
}

void course_compare(const char *name)
{
	fclose(course.out);
	kept_text_compare(COURSES, name, course.text, "ninja -C build plugin-courses");
	free(course.text);
}
