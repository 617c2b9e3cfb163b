/* SPDX-License-Identifier: MIT */
/*
 * Perfetto's protobuf. A trace is a Trace message, which is nothing but its packets one after another, each with the
 * tag of its field and its length before it: so one is packed at a time. Names and numbers: perfetto_trace.proto.
 */
#include "console/trace/event.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/numbers/intern.h"
#include "perfetto_trace.pb-c.h"

enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3, COUNTER = 4 };             /* TrackEvent.Type */
enum { STATE_CLEARED = 1, NEEDS_STATE = 2 };                                   /* TracePacket.SequenceFlags */
enum { CLOCK_REALTIME_ID = 1, CLOCK_MONOTONIC_ID = 3, CLOCK_BOOTTIME_ID = 6 }; /* BuiltinClock */
enum { UNIT_COUNT = 2 };                                                       /* CounterDescriptor.Unit */
enum { ORDER_EXPLICIT = 3, PROCESS_ORDER_EXPLICIT = 1 };                       /* TrackDescriptor */
enum {
	SEQUENCE = 1,
	PACKET_TAG = 1 << 3 | 2 /* Trace.packet, length-delimited */,
	NAME = 2048 /* a file name, escaped */
};

static const char *const category_names[TRACE_CATEGORIES] = { "call", "kernel", "queue", "thread", "finding", "step" };

struct perfetto {
	uint8_t *bytes; /* a packet as it is packed */
	size_t room;
	uint64_t track; /* uuid of the track whose slices come */
	uint64_t *ends; /* of its open slices, the innermost last */
	size_t depth, depth_room;
	struct intern names, texts; /* of slices, and of their arguments, that the trace has given numbers */
};

/* What a packet gives numbers for the first time: it stands in front of its own event. */
struct introduction {
	Perfetto__InternedData data;
	Perfetto__InternedName name, *name_list[1];
	Perfetto__InternedString texts[TRACE_ARGUMENTS], *text_list[TRACE_ARGUMENTS];
};

static uint64_t uuid(uint32_t process, uint32_t track)
{
	return (uint64_t)process << 32 | track;
}

static void put_varint(FILE *out, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		putc((int)(value & 0x7f) | 0x80, out);
	putc((int)value, out);
}

static void put_packet(struct trace_sink *sink, Perfetto__TracePacket *packet)
{
	struct perfetto *own = sink->own;

	packet->has_trusted_packet_sequence_id = 1;
	packet->trusted_packet_sequence_id = SEQUENCE;
	size_t size = perfetto__trace_packet__get_packed_size(packet);

	if (size > own->room) {
		uint8_t *bytes = realloc(own->bytes, 2 * size);

		if (!bytes) {
			sink->no_memory = true;
			return;
		}
		own->bytes = bytes;
		own->room = 2 * size;
	}
	perfetto__trace_packet__pack(packet, own->bytes);
	putc(PACKET_TAG, sink->out);
	put_varint(sink->out, size);
	fwrite(own->bytes, 1, size, sink->out);
}

static void put_clocks(struct trace_sink *sink, const struct trace_head *head)
{
	/* The viewer's own clock is BOOTTIME; on the trace's first host it is taken to be MONOTONIC. */
	static const uint32_t ids[] = { CLOCK_BOOTTIME_ID, CLOCK_MONOTONIC_ID, CLOCK_REALTIME_ID };
	enum { CLOCKS = sizeof(ids) / sizeof(*ids) };
	Perfetto__ClockSnapshot__Clock clocks[CLOCKS], *list[CLOCKS];
	Perfetto__ClockSnapshot snapshot = PERFETTO__CLOCK_SNAPSHOT__INIT;
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	for (size_t i = 0; i < CLOCKS; i++) {
		clocks[i] = (Perfetto__ClockSnapshot__Clock)PERFETTO__CLOCK_SNAPSHOT__CLOCK__INIT;
		clocks[i].has_clock_id = clocks[i].has_timestamp = 1;
		clocks[i].clock_id = ids[i];
		clocks[i].timestamp = head->begin_ns;
		list[i] = &clocks[i];
	}
	clocks[CLOCKS - 1].timestamp += (uint64_t)head->realtime_offset_ns;
	snapshot.n_clocks = CLOCKS;
	snapshot.clocks = list;
	packet.clock_snapshot = &snapshot;
	put_packet(sink, &packet);
}

static void name_all(Perfetto__InternedName *names, Perfetto__InternedName **list, const char *const *texts,
		     size_t count)
{
	for (size_t i = 0; i < count; i++) {
		names[i] = (Perfetto__InternedName)PERFETTO__INTERNED_NAME__INIT;
		names[i].has_iid = 1;
		names[i].iid = i + 1;
		names[i].name = (char *)texts[i];
		list[i] = &names[i];
	}
}

/* All names of arguments and categories, once: events give their numbers. */
static void put_names(struct trace_sink *sink)
{
	Perfetto__InternedName keys[TRACE_KEYS], *key_list[TRACE_KEYS];
	Perfetto__InternedName categories[TRACE_CATEGORIES], *category_list[TRACE_CATEGORIES];
	Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	name_all(keys, key_list, trace_key_names, TRACE_KEYS);
	name_all(categories, category_list, category_names, TRACE_CATEGORIES);
	data.n_debug_annotation_names = TRACE_KEYS;
	data.debug_annotation_names = key_list;
	data.n_event_categories = TRACE_CATEGORIES;
	data.event_categories = category_list;
	packet.interned_data = &data;
	packet.has_sequence_flags = 1;
	packet.sequence_flags = STATE_CLEARED;
	put_packet(sink, &packet);
}

static void put_descriptor(struct trace_sink *sink, Perfetto__TrackDescriptor *descriptor)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	descriptor->has_uuid = 1;
	packet.track_descriptor = descriptor;
	put_packet(sink, &packet);
}

static int open_trace(struct trace_sink *sink, const struct trace_head *head)
{
	Perfetto__TrackDescriptor root = PERFETTO__TRACK_DESCRIPTOR__INIT;

	sink->own = calloc(1, sizeof(struct perfetto));
	if (!sink->own)
		return -ENOMEM;
	put_clocks(sink, head);
	put_names(sink);
	root.has_process_ordering = 1;
	root.process_ordering = PROCESS_ORDER_EXPLICIT;
	put_descriptor(sink, &root);
	return 0;
}

static void put_process(struct trace_sink *sink, const struct trace_process *process)
{
	Perfetto__TrackDescriptor descriptor = PERFETTO__TRACK_DESCRIPTOR__INIT;
	Perfetto__ProcessDescriptor itself = PERFETTO__PROCESS_DESCRIPTOR__INIT;

	/* Not the pid: on several hosts, and in containers, several ranks have the same. */
	itself.has_pid = 1;
	itself.pid = (int32_t)process->number;
	itself.process_name = (char *)process->name;
	descriptor.uuid = uuid(process->number, 0);
	descriptor.process = &itself;
	descriptor.has_child_ordering = 1;
	descriptor.child_ordering = ORDER_EXPLICIT;
	descriptor.has_sibling_order_rank = 1;
	descriptor.sibling_order_rank = (int32_t)process->number;
	put_descriptor(sink, &descriptor);
}

static void put_track(struct trace_sink *sink, const struct trace_track *track)
{
	Perfetto__TrackDescriptor descriptor = PERFETTO__TRACK_DESCRIPTOR__INIT;
	Perfetto__CounterDescriptor counter = PERFETTO__COUNTER_DESCRIPTOR__INIT;

	counter.has_unit = 1;
	counter.unit = UNIT_COUNT;
	descriptor.uuid = uuid(track->process, track->number);
	descriptor.has_parent_uuid = 1;
	descriptor.parent_uuid = uuid(track->process, 0);
	descriptor.name = (char *)track->name;
	descriptor.has_sibling_order_rank = 1;
	descriptor.sibling_order_rank = (int32_t)track->number;
	if (track->counter)
		descriptor.counter = &counter;
	put_descriptor(sink, &descriptor);
}

/* new: NULL: it gives nothing a number. */
static void put_event(struct trace_sink *sink, Perfetto__TrackEvent *event, struct introduction *new, int type,
		      uint64_t track, uint64_t at_ns)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	if (new && (new->data.n_event_names || new->data.n_debug_annotation_string_values))
		packet.interned_data = &new->data;
	event->has_type = event->has_track_uuid = 1;
	event->type = type;
	event->track_uuid = track;
	packet.has_timestamp = 1;
	packet.timestamp = at_ns;
	packet.has_sequence_flags = 1;
	packet.sequence_flags = NEEDS_STATE;
	packet.track_event = event;
	put_packet(sink, &packet);
}

/* Ends the open slices of the track that do not reach beyond until_ns. */
static void put_ends(struct trace_sink *sink, uint64_t until_ns)
{
	struct perfetto *own = sink->own;

	while (own->depth && own->ends[own->depth - 1] <= until_ns) {
		Perfetto__TrackEvent end = PERFETTO__TRACK_EVENT__INIT;

		put_event(sink, &end, NULL, SLICE_END, own->track, own->ends[--own->depth]);
	}
}

static void push_end(struct trace_sink *sink, uint64_t end_ns)
{
	struct perfetto *own = sink->own;

	if (own->depth == own->depth_room) {
		size_t room = own->depth_room ? 2 * own->depth_room : 64;
		uint64_t *ends = reallocarray(own->ends, room, sizeof(*ends));

		if (!ends) {
			sink->no_memory = true;
			return;
		}
		own->ends = ends;
		own->depth_room = room;
	}
	own->ends[own->depth++] = end_ns;
}

/* The number of a text, and whether it is new. 0: there is no room for it, so it is written as it is. */
static uint64_t number_of(struct intern *intern, const char *text, bool *is_new)
{
	size_t before = intern->string_count;
	uint64_t iid = intern_add(intern, text, SIZE_MAX);

	*is_new = intern->string_count > before;
	return iid;
}

static void set_name(struct perfetto *own, struct introduction *new, Perfetto__TrackEvent *event, char *name)
{
	bool is_new;
	uint64_t iid = number_of(&own->names, name, &is_new);

	event->name = iid ? NULL : name;
	event->has_name_iid = iid != 0;
	event->name_iid = iid;
	if (!is_new)
		return;
	new->name = (Perfetto__InternedName)PERFETTO__INTERNED_NAME__INIT;
	new->name.has_iid = 1;
	new->name.iid = iid;
	new->name.name = name;
	new->name_list[0] = &new->name;
	new->data.n_event_names = 1;
	new->data.event_names = new->name_list;
}

static void set_text(struct perfetto *own, struct introduction *new, Perfetto__DebugAnnotation *annotation,
		     const char *text)
{
	bool is_new;
	uint64_t iid = number_of(&own->texts, text, &is_new);
	size_t at = new->data.n_debug_annotation_string_values;

	annotation->string_value = iid ? NULL : (char *)text;
	annotation->has_string_value_iid = iid != 0;
	annotation->string_value_iid = iid;
	if (!is_new)
		return;
	new->texts[at] = (Perfetto__InternedString)PERFETTO__INTERNED_STRING__INIT;
	new->texts[at].has_iid = new->texts[at].has_str = 1;
	new->texts[at].iid = iid;
	new->texts[at].str = (ProtobufCBinaryData){ strlen(text), (uint8_t *)text };
	new->text_list[at] = &new->texts[at];
	new->data.n_debug_annotation_string_values = at + 1;
	new->data.debug_annotation_string_values = new->text_list;
}

static void put_named(struct trace_sink *sink, const struct trace_slice *slice, int type)
{
	Perfetto__DebugAnnotation annotations[TRACE_ARGUMENTS], *list[TRACE_ARGUMENTS];
	Perfetto__TrackEvent event = PERFETTO__TRACK_EVENT__INIT;
	struct introduction new = { .data = PERFETTO__INTERNED_DATA__INIT };
	size_t count = slice->arguments ? slice->arguments->count : 0;
	uint64_t category = slice->category + 1, flow = slice->flow;
	char name[NAME], number[32] = "";

	for (size_t i = 0; i < count; i++) {
		const struct trace_argument *argument = &slice->arguments->list[i];

		annotations[i] = (Perfetto__DebugAnnotation)PERFETTO__DEBUG_ANNOTATION__INIT;
		annotations[i].has_name_iid = 1;
		annotations[i].name_iid = argument->key + 1;
		annotations[i].has_int_value = !argument->text;
		annotations[i].int_value = argument->number;
		if (argument->text)
			set_text(sink->own, &new, &annotations[i], argument->text);
		list[i] = &annotations[i];
	}
	if (slice->has_sequence)
		snprintf(number, sizeof(number), " #%" PRIu64, slice->sequence);
	snprintf(name, sizeof(name), "%s%s%s", slice->name, number, slice->open ? " (in flight)" : "");
	set_name(sink->own, &new, &event, name);
	event.n_debug_annotations = count;
	event.debug_annotations = list;
	event.n_category_iids = 1;
	event.category_iids = &category;
	event.n_flow_ids = flow != 0;
	event.flow_ids = &flow;
	put_event(sink, &event, &new, type, uuid(slice->track->process, slice->track->number), slice->begin_ns);
}

static void put_slice(struct trace_sink *sink, const struct trace_slice *slice)
{
	struct perfetto *own = sink->own;
	uint64_t track = uuid(slice->track->process, slice->track->number);

	put_ends(sink, track == own->track ? slice->begin_ns : UINT64_MAX);
	own->track = track;
	put_named(sink, slice, SLICE_BEGIN);
	/* Open ones, too: the viewer would draw those to the end of the trace, and this record may have ended before.
	 */
	push_end(sink, slice->end_ns);
}

static void put_instant(struct trace_sink *sink, const struct trace_slice *instant)
{
	put_named(sink, instant, INSTANT);
}

static void put_counter(struct trace_sink *sink, const struct trace_track *track, uint64_t at_ns, int64_t value)
{
	Perfetto__TrackEvent event = PERFETTO__TRACK_EVENT__INIT;

	event.has_counter_value = 1;
	event.counter_value = value;
	put_event(sink, &event, NULL, COUNTER, uuid(track->process, track->number), at_ns);
}

static void close_trace(struct trace_sink *sink)
{
	struct perfetto *own = sink->own;

	put_ends(sink, UINT64_MAX);
	free(own->bytes);
	free(own->ends);
	intern_free(&own->names);
	intern_free(&own->texts);
	free(own);
	sink->own = NULL;
}

const struct trace_format trace_perfetto = {
	.name = "perfetto",
	.open = open_trace,
	.process = put_process,
	.track = put_track,
	.slice = put_slice,
	.instant = put_instant,
	.counter = put_counter,
	.close = close_trace,
};
