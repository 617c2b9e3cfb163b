/* SPDX-License-Identifier: MIT */
/* What was read of real interpreters of every version that is known, kept as inputs of the fuzzer
 * (tests/fuzz/corpus/python): it is understood on machines without any of them. And the interpreter's own table
 * (_Py_DebugOffsets), believed only in the forms that are known. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "collector/sources/python/python_layout.h"
#include "collector/sources/python/python_view.h"
#include "tests/fuzz/python_input.h"

struct recording {
	unsigned char bytes[8192];
	size_t size, maps; /* how long the text of its maps is, which stands behind its length */
};

static void load(const char *name, struct recording *recording)
{
	char path[512];
	uint32_t maps = 0;

	snprintf(path, sizeof(path), "%s/%s", CORPUS, name);
	FILE *file = fopen(path, "re");

	cr_assert_neq(file, NULL, "%s", path);
	recording->size = fread(recording->bytes, 1, sizeof(recording->bytes), file);
	fclose(file);
	cr_assert_lt(recording->size, sizeof(recording->bytes), "%s is larger", name);
	memcpy(&maps, recording->bytes, sizeof(maps));
	recording->maps = maps;
	cr_assert_lt(sizeof(maps) + recording->maps, recording->size, "%s", name);
}

static bool one_line(void *argument, char *line, size_t room)
{
	struct recording *recording = argument;

	snprintf(line, room, "%.*s", (int)recording->maps, (const char *)recording->bytes + sizeof(uint32_t));
	return true;
}

/* Where these bytes stand in the recording, NULL: nowhere as a whole. The first counts: threads went on while they were
 * read. */
static unsigned char *bytes_at(struct recording *recording, uint64_t address, size_t size)
{
	size_t at = sizeof(uint32_t) + recording->maps;
	struct python_input_piece piece;

	for (; at + sizeof(piece) <= recording->size; at += piece.size) {
		memcpy(&piece, recording->bytes + at, sizeof(piece));
		at += sizeof(piece);
		if (address >= piece.address && address + size <= piece.address + piece.size)
			return recording->bytes + at + (address - piece.address);
	}
	return NULL;
}

static bool read_recorded(void *argument, uint64_t address, void *to, size_t size)
{
	const unsigned char *from = bytes_at(argument, address, size);

	if (from)
		memcpy(to, from, size);
	return from != NULL;
}

static struct remote_memory memory_of(struct recording *recording)
{
	return (struct remote_memory){ .read = read_recorded, .argument = recording, .reads_left = PYTHON_VIEW_READS };
}

static struct python_image image_of(struct recording *recording)
{
	struct remote_memory memory = memory_of(recording);
	struct python_image image;

	cr_assert_eq(python_image_find(&memory, one_line, recording, &image), 0);
	return image;
}

static int view_of(struct recording *recording, struct python_view *view)
{
	struct remote_memory memory = memory_of(recording);
	const struct python_image image = image_of(recording);

	/* all threads have room: it does not matter which is asked for */
	return python_view_read(&memory, &image, 1, view);
}

static const struct {
	const char *name;
	uint32_t version;
} versions[] = { { "3.11", 0x030b }, { "3.12", 0x030c }, { "3.13", 0x030d }, { "3.14", 0x030e }, { "3.15", 0x030f } };
enum { VERSIONS = sizeof(versions) / sizeof(*versions) };

static void load_version(const char *what, size_t version, struct recording *recording)
{
	char name[32];

	snprintf(name, sizeof(name), "%s-%s", what, versions[version].name);
	load(name, recording);
	cr_assert_eq(image_of(recording).version >> 16, versions[version].version, "%s", name);
}

Test(python_recorded, function_line_and_holder_of_the_lock_in_every_version)
{
	static struct recording recording;
	static struct python_view view;

	for (size_t i = 0; i < VERSIONS; i++) {
		load_version("held", i, &recording);
		cr_assert_eq(view_of(&recording, &view), 0, "%s", versions[i].name);
		cr_assert_eq(view.thread_count, 2, "%s", versions[i].name);
		const struct python_thread *holder = python_view_thread(&view, view.holder);

		cr_assert_neq(holder, NULL, "%s", versions[i].name);
		const struct python_thread *other = &view.threads[holder == &view.threads[0]];

		cr_expect_str_eq(holder->own.function, "prefetch");
		cr_expect_str_eq(other->own.function, "crunch");
		cr_expect_str_eq(other->own.file, "/srv/job/python_rank.py");
		cr_expect_gt(holder->own.line, 0);
		cr_expect_gt(other->own.line, 0);
		cr_expect_not(view.collecting, "%s", versions[i].name);
	}
}

Test(python_recorded, garbage_is_collected_in_every_version)
{
	static struct recording recording;
	static struct python_view view;

	for (size_t i = 0; i < VERSIONS; i++) {
		load_version("gc", i, &recording);
		cr_assert_eq(view_of(&recording, &view), 0, "%s", versions[i].name);
		cr_expect(view.collecting, "%s", versions[i].name);
		cr_expect_str_eq(view.threads[0].own.function, "Slow.__del__");
	}
}

static void put_word(struct recording *recording, uint64_t address, uint64_t word)
{
	unsigned char *bytes = bytes_at(recording, address, sizeof(word));

	cr_assert_neq(bytes, NULL);
	memcpy(bytes, &word, sizeof(word));
}

/* 3.11 and 3.12 have no table. Where the pointer to the youngest generation leads elsewhere, the collector's state has
 * another place. */
Test(python_recorded, a_collector_in_another_place_is_not_believed)
{
	static struct recording recording;
	static struct python_view view;

	for (size_t i = 0; i < 2; i++) {
		struct python_layout layout;

		load_version("gc", i, &recording);
		struct remote_memory memory = memory_of(&recording);
		const struct python_image image = image_of(&recording);

		cr_assert_eq(python_layout_find(&memory, &image, &layout), 0);
		uint64_t interpreter = remote_memory_word(&memory, image.runtime + layout.interpreters);

		put_word(&recording, interpreter + layout.youngest, interpreter + layout.generation + 8);
		cr_assert_eq(view_of(&recording, &view), 0);
		cr_expect_not(view.collecting, "%s", versions[i].name);
		cr_expect_str_eq(view.threads[0].own.function, "Slow.__del__", "all else stays");
	}
}

/* The places in the table are those of the three versions' headers (Include/internal/pycore_debug_offsets.h; 3.13:
 * pycore_runtime.h). */
static const struct damage {
	const char *what;
	unsigned word[3]; /* of 3.13, 3.14, 3.15 */
	uint64_t value;
} damages[] = {
	{ "cookie", { 0, 0, 0 }, 0 },
	{ "version", { 1, 1, 1 }, 0x030d63f0 },
	{ "free-threaded", { 2, 2, 2 }, 1 },
	{ "interpreters_head", { 5, 5, 5 }, UINT64_MAX },
	{ "gc", { 10, 11, 11 }, UINT64_C(1) << 40 },
	{ "gil_runtime_state_locked", { 17, 18, 18 }, 0 },
	{ "gil_runtime_state_holder", { 18, 19, 19 }, 0 },
	{ "owner beyond what is read of a frame", { 33, 36, 44 }, 128 },
	{ "ob_type", { 45, 51, 59 }, 16 },
	{ "tp_name", { 47, 53, 61 }, 16 },
	{ "ob_sval", { 66, 76, 88 }, 40 },
	{ "unicode state", { 68, 78, 90 }, 40 },
	{ "unicode length", { 69, 79, 91 }, 24 },
	{ "size of an ASCII text", { 70, 80, 92 }, 48 },
	{ "collecting beyond its state", { 72, 82, 95 }, 100000 },
};

Test(python_recorded, a_table_of_another_form_is_not_believed)
{
	static struct recording recording;
	static struct python_view view;

	for (size_t i = 0; i < 3; i++)
		for (size_t k = 0; k < sizeof(damages) / sizeof(*damages); k++) {
			load_version("gc", i + 2, &recording);
			put_word(&recording, image_of(&recording).runtime + 8 * damages[k].word[i], damages[k].value);
			cr_expect_eq(view_of(&recording, &view), -ENOTSUP, "%s: %s", versions[i + 2].name, damages[k].what);
			cr_expect_eq(view.thread_count, 0);
			cr_expect_not(view.collecting);
		}
}

Test(python_recorded, versions_before_their_release_and_later_ones_are_not_known)
{
	static const uint32_t unknown[] = { 0x030a0cf0, 0x030b00b1, 0x030f00a7, 0x031000f0, 0x040000f0 };
	static struct recording recording;
	struct python_layout layout;

	load("gc-3.15", &recording);
	struct remote_memory memory = memory_of(&recording);
	struct python_image image = image_of(&recording);

	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++) {
		image.version = unknown[i];
		cr_expect_eq(python_layout_find(&memory, &image, &layout), -ENOTSUP, "0x%08x", unknown[i]);
	}
}
