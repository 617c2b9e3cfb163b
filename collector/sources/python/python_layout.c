/* SPDX-License-Identifier: MIT */
#include "collector/sources/python/python_layout.h"

#include <errno.h>
#include <string.h>

enum { CANDIDATE = 0xc0 /* Py_Version's last byte: release candidates and releases; earlier ones may differ */ };

static const struct {
	uint32_t version; /* major and minor */
	struct python_layout layout;
} fixed[] = {
	{ 0x030b,
	  { .interpreters = 40, .runtime_gil = 360, .gil_pointer = PYTHON_LAYOUT_NONE, .gil_holder = 8,
	    .gil_locked = 16,
	    .next_interpreter = 0, .threads = 16, .collecting = 848, .youngest = 744, .generation = 672,
	    .next_thread = 8, .interpreter_of_thread = 16, .native_id = 160, .cframe = 56, .frame = 8,
	    .frame_size = 72, .code = 32, .previous = 48, .instruction = 56, .owner = 69,
	    .file = 112, .name = 128, .lines = 136, .first_line = 72, .instructions = 184,
	    .ascii_text = 48, .compact_text = 72 } },
	{ 0x030c,
	  { .interpreters = 40, .runtime_gil = PYTHON_LAYOUT_NONE, .gil_pointer = 384, .gil_holder = 8,
	    .gil_locked = 16,
	    .next_interpreter = 0, .threads = 72, .collecting = 312, .youngest = 208, .generation = 136,
	    .next_thread = 8, .interpreter_of_thread = 16, .native_id = 144, .cframe = 56, .frame = 0,
	    .frame_size = 72, .code = 0, .previous = 8, .instruction = 56, .owner = 70,
	    .file = 112, .name = 128, .lines = 136, .first_line = 68, .instructions = 192,
	    .ascii_text = 40, .compact_text = 56 } },
};

/* _Py_DebugOffsets begins alike in all versions that have it … */
enum { COOKIE, VERSION, FREE_THREADED, INTERPRETERS = 5, NEXT_INTERPRETER = 8, THREADS = 9, WORDS = 96 };

/* … and has these further on, in words: */
enum field {
	GC, GIL_POINTER, GIL, GIL_LOCKED, GIL_HOLDER,
	NEXT_THREAD, INTERPRETER_OF_THREAD, FRAME, NATIVE_ID,
	PREVIOUS, EXECUTABLE, INSTRUCTION, OWNER,
	FILE_NAME, QUALIFIED_NAME, LINE_TABLE, FIRST_LINE, INSTRUCTIONS,
	OBJECT_TYPE, TYPE_NAME, BYTES_TEXT, TEXT_STATE, TEXT_LENGTH, TEXT_SIZE,
	GC_SIZE, COLLECTING,
	FIELDS,
};

static const struct table {
	uint32_t version;
	uint8_t words[FIELDS];
	uint32_t tag; /* bits of the code object's address in a frame that are none of it */
} tables[] = {
	{ 0x030d,
	  { [GC] = 10, [GIL_POINTER] = 14, [GIL] = 15, [GIL_LOCKED] = 17, [GIL_HOLDER] = 18,
	    [NEXT_THREAD] = 21, [INTERPRETER_OF_THREAD] = 22, [FRAME] = 23, [NATIVE_ID] = 25,
	    [PREVIOUS] = 29, [EXECUTABLE] = 30, [INSTRUCTION] = 31, [OWNER] = 33,
	    [FILE_NAME] = 35, [QUALIFIED_NAME] = 37, [LINE_TABLE] = 38, [FIRST_LINE] = 39, [INSTRUCTIONS] = 43,
	    [OBJECT_TYPE] = 45, [TYPE_NAME] = 47, [BYTES_TEXT] = 66, [TEXT_STATE] = 68, [TEXT_LENGTH] = 69,
	    [TEXT_SIZE] = 70,
	    [GC_SIZE] = 71, [COLLECTING] = 72 },
	  0 },
	{ 0x030e,
	  { [GC] = 11, [GIL_POINTER] = 15, [GIL] = 16, [GIL_LOCKED] = 18, [GIL_HOLDER] = 19,
	    [NEXT_THREAD] = 24, [INTERPRETER_OF_THREAD] = 25, [FRAME] = 26, [NATIVE_ID] = 28,
	    [PREVIOUS] = 32, [EXECUTABLE] = 33, [INSTRUCTION] = 34, [OWNER] = 36,
	    [FILE_NAME] = 40, [QUALIFIED_NAME] = 42, [LINE_TABLE] = 43, [FIRST_LINE] = 44, [INSTRUCTIONS] = 48,
	    [OBJECT_TYPE] = 51, [TYPE_NAME] = 53, [BYTES_TEXT] = 76, [TEXT_STATE] = 78, [TEXT_LENGTH] = 79,
	    [TEXT_SIZE] = 80,
	    [GC_SIZE] = 81, [COLLECTING] = 82 },
	  1 },
	{ 0x030f,
	  { [GC] = 11, [GIL_POINTER] = 15, [GIL] = 16, [GIL_LOCKED] = 18, [GIL_HOLDER] = 19,
	    [NEXT_THREAD] = 24, [INTERPRETER_OF_THREAD] = 25, [FRAME] = 26, [NATIVE_ID] = 31,
	    [PREVIOUS] = 40, [EXECUTABLE] = 41, [INSTRUCTION] = 42, [OWNER] = 44,
	    [FILE_NAME] = 48, [QUALIFIED_NAME] = 50, [LINE_TABLE] = 51, [FIRST_LINE] = 52, [INSTRUCTIONS] = 56,
	    [OBJECT_TYPE] = 59, [TYPE_NAME] = 61, [BYTES_TEXT] = 88, [TEXT_STATE] = 90, [TEXT_LENGTH] = 91,
	    [TEXT_SIZE] = 92,
	    [GC_SIZE] = 94, [COLLECTING] = 95 },
	  1 },
};

/* What no version has changed, and python_text.c goes by: a table that says something else has another form. */
static const struct {
	enum field field;
	uint32_t value;
} known[] = {
	{ OBJECT_TYPE, 8 }, { TYPE_NAME, 24 },   { BYTES_TEXT, 32 },
	{ TEXT_STATE, 32 }, { TEXT_LENGTH, 16 }, { TEXT_SIZE, 40 },
};
static const uint64_t largest = 1 << 20; /* the interpreter's state is some 300 KB */

static bool has_known_form(const struct table *table, const uint64_t *words)
{
	for (unsigned i = 0; i < FIELDS; i++)
		if (words[table->words[i]] > largest)
			return false;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (words[table->words[known[i].field]] != known[i].value)
			return false;
	return words[INTERPRETERS] <= largest && words[NEXT_INTERPRETER] <= largest && words[THREADS] <= largest;
}

static int read_table(struct remote_memory *memory, const struct python_image *image, const struct table *table,
		      struct python_layout *layout)
{
	uint64_t words[WORDS];
	uint32_t at[FIELDS];

	if (!remote_memory_read(memory, image->runtime, words, sizeof(words)) || memcmp(words, "xdebugpy", 8) ||
	    words[VERSION] != image->version || words[FREE_THREADED] || !has_known_form(table, words))
		return -ENOTSUP;
	for (unsigned i = 0; i < FIELDS; i++)
		at[i] = (uint32_t)words[table->words[i]];
	if (at[GIL_HOLDER] < at[GIL] || at[GIL_LOCKED] < at[GIL] || at[COLLECTING] >= at[GC_SIZE] ||
	    at[OWNER] >= PYTHON_LAYOUT_FRAME)
		return -ENOTSUP;
	*layout = (struct python_layout){
		.interpreters = (uint32_t)words[INTERPRETERS],
		.runtime_gil = PYTHON_LAYOUT_NONE,
		.gil_pointer = at[GIL_POINTER],
		.gil_holder = at[GIL_HOLDER] - at[GIL],
		.gil_locked = at[GIL_LOCKED] - at[GIL],
		.next_interpreter = (uint32_t)words[NEXT_INTERPRETER],
		.threads = (uint32_t)words[THREADS],
		.collecting = at[GC] + at[COLLECTING],
		.youngest = PYTHON_LAYOUT_NONE,
		.next_thread = at[NEXT_THREAD],
		.interpreter_of_thread = at[INTERPRETER_OF_THREAD],
		.native_id = at[NATIVE_ID],
		.cframe = PYTHON_LAYOUT_NONE,
		.frame = at[FRAME],
		.frame_size = (at[OWNER] + 8) / 8 * 8,
		.code = at[EXECUTABLE],
		.code_tag = table->tag,
		.previous = at[PREVIOUS],
		.instruction = at[INSTRUCTION],
		.owner = at[OWNER],
		.file = at[FILE_NAME],
		.name = at[QUALIFIED_NAME],
		.lines = at[LINE_TABLE],
		.first_line = at[FIRST_LINE],
		.instructions = at[INSTRUCTIONS],
		.ascii_text = 40,
		.compact_text = 56,
	};
	return 0;
}

static int find(struct remote_memory *memory, const struct python_image *image, struct python_layout *layout)
{
	for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++) {
		if (image->version >> 16 != fixed[i].version)
			continue;
		*layout = fixed[i].layout;
		return 0;
	}
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		if (image->version >> 16 == tables[i].version)
			return read_table(memory, image, &tables[i], layout);
	return -ENOTSUP;
}

int python_layout_find(struct remote_memory *memory, const struct python_image *image, struct python_layout *layout)
{
	*layout = (struct python_layout){ 0 };
#ifdef __x86_64__ /* elsewhere nobody has tried */
	if ((image->version & 0xff) >= CANDIDATE)
		return find(memory, image, layout);
#else
	(void)memory, (void)image, (void)find;
#endif
	return -ENOTSUP;
}
