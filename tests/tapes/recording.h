/* SPDX-License-Identifier: MIT */
/* Writes a tape: files as they change, records of the kernel as they come. Ends the program when it cannot. */
#ifndef TESTS_TAPES_RECORDING_H
#define TESTS_TAPES_RECORDING_H

#include <zlib.h>

#include "kernel_coding.h"
#include "tape.h"

struct recorded_file {
	char path[TAPE_PATH];
	enum tape_file_kind kind;
	char *text; /* as the player has it; of boxes the words */
	size_t size;
	bool there;
	struct buffer runs; /* of a box, in this tick */
	size_t run_count, coded;
	uint64_t time_ns;
};

struct recording {
	gzFile out;
	struct buffer streams[TAPE_STREAMS];
	uint64_t tick_ns;
	struct recorded_file files[TAPE_FILES];
	size_t file_count;
	char (*frames)[40];
	size_t frame_count;
	struct kernel_memory kernel;
};

/* header: one JSON object. */
struct recording *recording_open(const char *path, const char *header);
void recording_tick(struct recording *recording, uint64_t now_ns);
/* A file as it is now. Nothing is written when it is as it was. */
void recording_text(struct recording *recording, const char *path, const char *text, size_t size);
void recording_link(struct recording *recording, const char *path, const char *target);
void recording_gone(struct recording *recording, const char *path);
/* All that begin so. */
void recording_all_gone(struct recording *recording, const char *prefix);
struct recorded_file *recording_box(struct recording *recording, const char *path, size_t size);
/* What is in the box now of words [first, first + count): those that changed. Between begin and end, in any order. */
void recording_box_begin(struct recording *recording, struct recorded_file *box);
void recording_box_words(struct recording *recording, struct recorded_file *box, size_t first, const uint64_t *words,
			 size_t count);
void recording_box_end(struct recording *recording, struct recorded_file *box);
/* Number of a name; made if it is new. */
uint32_t recording_frame(struct recording *recording, const char *name);
/* Something was seen; what it was lies in the streams. */
void recording_note(struct recording *recording, enum tape_record record);
void recording_close(struct recording *recording);

#endif
