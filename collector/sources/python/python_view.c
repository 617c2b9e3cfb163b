/* SPDX-License-Identifier: MIT */
#include "collector/sources/python/python_view.h"

#include <errno.h>
#include <string.h>

#include "collector/sources/python/python_layout.h"
#include "collector/sources/python/python_lines.h"
#include "collector/sources/python/python_text.h"

enum {
	INTERPRETERS = 4,
	THREADS = 512,     /* of one interpreter that are walked through */
	DEPTH = 96,        /* frames of a thread */
	LINE_TABLE = 32768, /* bytes; of longer ones no line is reported */
	UNIT = 2,          /* bytes of an instruction unit */
	OBJECT_SIZE = 16,  /* of an object of variable size: Include/object.h */
	BYTES = 32,        /* of a bytes object: where they begin */
	CODE = 144,        /* bytes of a code object that are read: no more than each has */
	FRAME = PYTHON_LAYOUT_FRAME,
};

/* enum _frameowner, Include/internal/pycore_frame.h: of a thread, a generator, a frame object; others are the C
 * stack's. */
enum { PYTHON_OWNERS = 2 };

struct walk {
	struct remote_memory *memory;
	const struct python_layout *layout;
	uint64_t code_type, bytes_type;
};

/* A field of a structure that was read as a whole; 0 beyond it. */
static uint64_t word_in(const unsigned char *bytes, size_t size, uint32_t offset)
{
	uint64_t word = 0;

	if (offset <= size - sizeof(word))
		memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

static const char *const libraries[] = { "/lib/python3", "/site-packages/", "/dist-packages/", "<frozen " };

static bool is_own(const char *file)
{
	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++)
		if (strstr(file, libraries[i]))
			return false;
	return *file;
}

static int32_t line_of(struct walk *walk, uint64_t table, uint64_t code, const unsigned char *fields,
		       uint64_t instruction)
{
	unsigned char bytes[LINE_TABLE];
	uint64_t begin = code + walk->layout->instructions;
	int32_t first_line = (int32_t)word_in(fields, CODE, walk->layout->first_line);

	if (instruction < begin)
		return first_line; /* it has not begun */
	if (!python_text_is_type(walk->memory, table, "bytes", &walk->bytes_type))
		return 0;
	uint64_t size = remote_memory_word(walk->memory, table + OBJECT_SIZE);

	if (!size || size > sizeof(bytes) || !remote_memory_read(walk->memory, table + BYTES, bytes, size))
		return 0;
	return python_lines_find(bytes, size, first_line, (uint32_t)((instruction - begin) / UNIT));
}

static bool is_inside(const struct walk *walk, const unsigned char *fields, uint64_t code, uint64_t instruction)
{
	uint64_t begin = code + walk->layout->instructions, units = word_in(fields, CODE, OBJECT_SIZE);

	return units && units < 1 << 24 && instruction + UNIT >= begin && instruction < begin + units * UNIT;
}

/* Fills `place` with the function of the frame; false: it is not sound. */
static bool read_place(struct walk *walk, const unsigned char *frame, struct python_place *place)
{
	const struct python_layout *layout = walk->layout;
	uint64_t code = word_in(frame, FRAME, layout->code) & ~(uint64_t)layout->code_tag;
	uint64_t instruction = word_in(frame, FRAME, layout->instruction);
	unsigned char fields[CODE];

	*place = (struct python_place){ 0 };
	if (!python_text_is_type(walk->memory, code, "code", &walk->code_type) ||
	    !remote_memory_read(walk->memory, code, fields, sizeof(fields)) ||
	    !is_inside(walk, fields, code, instruction))
		return false;
	if (!python_text_read(walk->memory, layout, word_in(fields, CODE, layout->file), PYTHON_TEXT_TAIL, place->file,
			      sizeof(place->file)) ||
	    !python_text_read(walk->memory, layout, word_in(fields, CODE, layout->name), PYTHON_TEXT_HEAD,
			      place->function, sizeof(place->function)))
		return false;
	place->line = line_of(walk, word_in(fields, CODE, layout->lines), code, fields, instruction);
	return true;
}

static uint64_t first_frame(struct walk *walk, uint64_t thread)
{
	const struct python_layout *layout = walk->layout;

	if (layout->cframe == PYTHON_LAYOUT_NONE)
		return remote_memory_word(walk->memory, thread + layout->frame);
	uint64_t cframe = remote_memory_word(walk->memory, thread + layout->cframe);

	return cframe ? remote_memory_word(walk->memory, cframe + layout->frame) : 0;
}

/* A thread whose frames are not sound has no place at all. */
static void read_frames(struct walk *walk, uint64_t state, struct python_thread *thread)
{
	const struct python_layout *layout = walk->layout;
	uint64_t at = first_frame(walk, state);
	struct python_place place;

	thread->frame = at;
	for (unsigned depth = 0; at && depth < DEPTH && !*thread->own.function; depth++) {
		unsigned char frame[FRAME] = { 0 };

		if (at % 8 || !remote_memory_read(walk->memory, at, frame, layout->frame_size))
			break;
		at = word_in(frame, FRAME, layout->previous);
		if (frame[layout->owner] > PYTHON_OWNERS)
			continue;
		if (!read_place(walk, frame, &place)) {
			thread->inner = thread->own = (struct python_place){ 0 };
			break;
		}
		if (!*thread->inner.function) {
			thread->inner = place;
			thread->instruction = word_in(frame, FRAME, layout->instruction);
		}
		if (is_own(place.file))
			thread->own = place;
	}
}

/* One more, or in the place of one that nobody asked for: `tid` and the one that has the lock are always there. */
static void add_thread(struct python_view *view, uint32_t tid, const struct python_thread *thread)
{
	uint32_t at = view->thread_count < PYTHON_VIEW_THREADS ? view->thread_count++ : PYTHON_VIEW_THREADS - 1;

	while (at && (view->threads[at].tid == tid || (view->holder && view->threads[at].tid == view->holder)))
		at--;
	view->threads[at] = *thread;
}

/* False: the list is not sound. */
static bool read_threads(struct walk *walk, uint64_t interpreter, uint64_t holder, uint32_t tid,
			 struct python_view *view)
{
	const struct python_layout *layout = walk->layout;
	uint64_t state = remote_memory_word(walk->memory, interpreter + layout->threads);

	for (unsigned i = 0; state && i < THREADS; i++) {
		struct python_thread thread = { 0 };

		if (state % 8 ||
		    remote_memory_word(walk->memory, state + layout->interpreter_of_thread) != interpreter)
			return false;
		uint64_t id = remote_memory_word(walk->memory, state + layout->native_id);

		if (id > INT32_MAX)
			return false;
		thread.tid = (uint32_t)id;
		if (state == holder)
			view->holder = thread.tid;
		if (thread.tid && (i < PYTHON_VIEW_THREADS || thread.tid == tid || state == holder)) {
			read_frames(walk, state, &thread);
			add_thread(view, tid, &thread);
		}
		state = remote_memory_word(walk->memory, state + layout->next_thread);
	}
	return !state && walk->memory->reads_left;
}

static uint64_t find_gil(const struct walk *walk, const struct python_image *image, uint64_t interpreter)
{
	const struct python_layout *layout = walk->layout;

	return layout->runtime_gil != PYTHON_LAYOUT_NONE
		   ? image->runtime + layout->runtime_gil
		   : remote_memory_word(walk->memory, interpreter + layout->gil_pointer);
}

static bool is_collecting(const struct walk *walk, uint64_t interpreter)
{
	const struct python_layout *layout = walk->layout;

	if (layout->youngest != PYTHON_LAYOUT_NONE &&
	    remote_memory_word(walk->memory, interpreter + layout->youngest) != interpreter + layout->generation)
		return false;
	return remote_memory_half(walk->memory, interpreter + layout->collecting) == 1;
}

int python_view_read(struct remote_memory *memory, const struct python_image *image, uint32_t tid,
		     struct python_view *view)
{
	struct python_layout layout;
	struct walk walk = { .memory = memory, .layout = &layout };
	int err = python_layout_find(memory, image, &layout);

	*view = (struct python_view){ .version = image->version };
	if (err)
		return err;
	uint64_t first = remote_memory_word(memory, image->runtime + layout.interpreters), at = first;

	if (!first)
		return -ENOENT;
	bool is_alone = !remote_memory_word(memory, first + layout.next_interpreter);
	uint64_t gil = is_alone ? find_gil(&walk, image, first) : 0, holder = 0;

	if (gil && remote_memory_half(memory, gil + layout.gil_locked) == 1)
		holder = remote_memory_word(memory, gil + layout.gil_holder);
	for (unsigned i = 0; at && i < INTERPRETERS; i++) {
		if (at % 8 || !read_threads(&walk, at, holder, tid, view))
			return -EAGAIN;
		at = remote_memory_word(memory, at + layout.next_interpreter);
	}
	view->gil = gil;
	view->collecting = is_alone && is_collecting(&walk, first);
	return view->thread_count ? 0 : -EAGAIN;
}

const struct python_thread *python_view_thread(const struct python_view *view, uint32_t tid)
{
	for (uint32_t i = 0; tid && i < view->thread_count; i++)
		if (view->threads[i].tid == tid)
			return &view->threads[i];
	return NULL;
}

static bool is_same_place(const struct python_place *one, const struct python_place *other)
{
	return !strcmp(one->function, other->function) && !strcmp(one->file, other->file) && one->line == other->line;
}

static bool is_same(const struct python_thread *thread, const struct python_thread *other)
{
	return other && thread->frame == other->frame && thread->instruction == other->instruction &&
	       is_same_place(&thread->inner, &other->inner) && is_same_place(&thread->own, &other->own);
}

void python_view_agree(struct python_view *view, const struct python_view *again)
{
	if (view->holder != again->holder || view->gil != again->gil)
		view->holder = 0;
	if (view->gil != again->gil)
		view->gil = 0;
	view->collecting &= again->collecting;
	for (uint32_t i = 0; i < view->thread_count; i++) {
		struct python_thread *thread = &view->threads[i];

		if (!is_same(thread, python_view_thread(again, thread->tid)))
			*thread = (struct python_thread){ .tid = thread->tid };
	}
}
