/* SPDX-License-Identifier: MIT */
/*
 * A tape: what a machine showed of one job, as bytes, tick by tick. A gzip file (`zcat NAME.tape | head -2` shows what
 * it is): "rankwatch tape 1", a line of JSON that says of what it was recorded, and streams: a number, a length, that
 * many bytes. The first stream is the order of what was seen, a letter each; what belongs to it lies in streams of its
 * kind, because like packs well beside like. Foreign input for whoever plays it.
 */
#ifndef TESTS_TAPES_TAPE_H
#define TESTS_TAPES_TAPE_H

#include <jansson.h>

#include "coding.h"

#define TAPE_FIRST_LINE "rankwatch tape 1\n"

/* What was seen, and what of it lies in the stream of the same number. */
enum tape_record {
	TAPE_TICK = 't',   /* ns since the last one (the first: since 0): what follows was seen in this tick */
	TAPE_NAME = 'n',   /* a tape_file_kind and the path of a file, both ended; they are numbered from 0 */
	TAPE_TEXT = 'x',   /* number, length of the old text's head and tail that stay, what stands between them now */
	TAPE_BOX = 'b',	   /* number, size, number of runs of words: how far from the last one's end, how many */
	TAPE_GONE = 'g',   /* number of a file that is no more */
	TAPE_FRAME = 'f',  /* name of a kernel function; numbered from 0 */
	TAPE_KERNEL = 'k', /* a record of the BPF programs (kernel_coding.h) */
	TAPE_LOOK = 'l',   /* what the task iterator showed of one process (kernel_coding.h) */
	TAPE_END = 'e',
};

enum {
	TAPE_ORDER = 'o',
	TAPE_TIMES = 'y',         /* TAPE_TEXT of schedstat */
	TAPE_OTHER_WORDS = 'w',   /* of boxes; and by their place: */
	TAPE_RING_WORDS = 128,    /* 32 an operation */
	TAPE_SAMPLE_WORDS = 160,  /* 8 a sample */
	TAPE_KERNEL_WORDS = 168,  /* 23 a record: of waits, of looks */
	TAPE_LOOK_WORDS = 192,
	TAPE_STREAMS = 256,
};

enum tape_file_kind { TAPE_FILE_TEXT = 'x', TAPE_FILE_LINK = 'l', TAPE_FILE_BOX = 'b' };

enum {
	TAPE_FILES = 8192,
	TAPE_BOXES = 64,
	TAPE_PATH = 256,
	TAPE_TEXT_MAX = 1 << 20,
	TAPE_BOX_MAX = 64 << 20,
	TAPE_MAX = 256 << 20, /* unpacked */
};

struct tape {
	uint8_t *bytes;
	json_t *header;
	struct span streams[TAPE_STREAMS];
};

/* 0, or -errno and a sentence in `why`. Everything is unpacked and its checksum compared before a record is
 * believed. */
int tape_open(struct tape *tape, const char *path, char why[256]);
/* False at the end. -EINVAL in *err: there is none. */
bool tape_next(struct tape *tape, enum tape_record *record, int *err);
void tape_close(struct tape *tape);

/* The streams of a file's texts and of a box's words. words: the box so far, its header first. */
int tape_text_stream(const char *path);
int tape_word_stream(const uint64_t *words, uint64_t index);

#endif
