/* SPDX-License-Identifier: MIT */
#include "collector/sources/python_layout.h"

#include <errno.h>
#include <string.h>

enum { CANDIDATE = 0xc0 /* Py_Version's last byte: release candidates and releases; earlier ones may differ */ };

static const struct {
	uint32_t version; /* major and minor */
	struct python_layout layout;
} fixed[] = {
	{ 0x030b,
	  { .interpreters = 40, .runtime_gil = 360, .gil_pointer = PYTHON_LAYOUT_NONE, .gil_holder = 8, .gil_locked = 16,
	    .next_interpreter = 0, .threads = 16, .collecting = 848,
	    .next_thread = 8, .interpreter_of_thread = 16, .native_id = 160, .cframe = 56, .frame = 8,
	    .code = 32, .previous = 48, .instruction = 56, .owner = 69,
	    .file = 112, .name = 128, .lines = 136, .first_line = 72, .instructions = 184,
	    .ascii_text = 48, .compact_text = 72 } },
	{ 0x030c,
	  { .interpreters = 40, .runtime_gil = PYTHON_LAYOUT_NONE, .gil_pointer = 384, .gil_holder = 8, .gil_locked = 16,
	    .next_interpreter = 0, .threads = 72, .collecting = PYTHON_LAYOUT_NONE,
	    .next_thread = 8, .interpreter_of_thread = 16, .native_id = 144, .cframe = 56, .frame = 0,
	    .code = 0, .previous = 8, .instruction = 56, .owner = 70,
	    .file = 112, .name = 128, .lines = 136, .first_line = 68, .instructions = 192,
	    .ascii_text = 40, .compact_text = 56 } },
};

/* _Py_DebugOffsets of 3.13, in words. */
enum offsets_313 {
	COOKIE, VERSION, FREE_THREADED,
	RUNTIME_SIZE, FINALIZING, INTERPRETERS,
	INTERPRETER_SIZE, ID, NEXT_INTERPRETER, THREADS, GC, MODULES, SYS, BUILTINS, GIL_POINTER, GIL, GIL_ENABLED, GIL_LOCKED,
	GIL_HOLDER,
	THREAD_SIZE, PREVIOUS_THREAD, NEXT_THREAD, INTERPRETER_OF_THREAD, FRAME, THREAD_ID, NATIVE_ID, STACK_CHUNK, STATUS,
	FRAME_SIZE, PREVIOUS, EXECUTABLE, INSTRUCTION, LOCALS, OWNER,
	CODE_SIZE, FILE_NAME, NAME, QUALIFIED_NAME, LINE_TABLE, FIRST_LINE, ARGUMENTS, LOCAL_NAMES, LOCAL_KINDS, INSTRUCTIONS,
	WORDS,
};
static const uint64_t largest = 1 << 20; /* the interpreter's state is some 300 KB */

static int read_313(struct remote_memory *memory, const struct python_image *image, struct python_layout *layout)
{
	uint64_t words[WORDS];

	if (!remote_memory_read(memory, image->runtime, words, sizeof(words)) || memcmp(words, "xdebugpy", 8) ||
	    words[VERSION] != image->version || words[FREE_THREADED] || words[GIL_HOLDER] < words[GIL] ||
	    words[GIL_LOCKED] < words[GIL])
		return -ENOTSUP;
	for (unsigned i = RUNTIME_SIZE; i < WORDS; i++)
		if (words[i] > largest)
			return -ENOTSUP;
	*layout = (struct python_layout){
		.interpreters = (uint32_t)words[INTERPRETERS],
		.runtime_gil = PYTHON_LAYOUT_NONE,
		.gil_pointer = (uint32_t)words[GIL_POINTER],
		.gil_holder = (uint32_t)(words[GIL_HOLDER] - words[GIL]),
		.gil_locked = (uint32_t)(words[GIL_LOCKED] - words[GIL]),
		.next_interpreter = (uint32_t)words[NEXT_INTERPRETER],
		.threads = (uint32_t)words[THREADS],
		.collecting = PYTHON_LAYOUT_NONE,
		.next_thread = (uint32_t)words[NEXT_THREAD],
		.interpreter_of_thread = (uint32_t)words[INTERPRETER_OF_THREAD],
		.native_id = (uint32_t)words[NATIVE_ID],
		.cframe = PYTHON_LAYOUT_NONE,
		.frame = (uint32_t)words[FRAME],
		.code = (uint32_t)words[EXECUTABLE],
		.previous = (uint32_t)words[PREVIOUS],
		.instruction = (uint32_t)words[INSTRUCTION],
		.owner = (uint32_t)words[OWNER],
		.file = (uint32_t)words[FILE_NAME],
		.name = (uint32_t)words[QUALIFIED_NAME],
		.lines = (uint32_t)words[LINE_TABLE],
		.first_line = (uint32_t)words[FIRST_LINE],
		.instructions = (uint32_t)words[INSTRUCTIONS],
		.ascii_text = 40,
		.compact_text = 56,
	};
	return 0;
}

int python_layout_find(struct remote_memory *memory, const struct python_image *image, struct python_layout *layout)
{
	*layout = (struct python_layout){ 0 };
#ifdef __x86_64__ /* elsewhere nobody has tried */
	if ((image->version & 0xff) < CANDIDATE)
		return -ENOTSUP;
	for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++) {
		if (image->version >> 16 != fixed[i].version)
			continue;
		*layout = fixed[i].layout;
		return 0;
	}
	if (image->version >> 16 == 0x030d)
		return read_313(memory, image, layout);
#else
	(void)memory, (void)image, (void)fixed, (void)read_313;
#endif
	return -ENOTSUP;
}
