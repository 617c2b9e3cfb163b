/* SPDX-License-Identifier: MIT */
/*
 * The steps of one process as its program numbers them: the step marks of its box (rankwatch/operation.h). While the
 * marks are trusted they, and not what repeats, say where steps begin and which number each has. An operation has its
 * place in the step by comparison with a step that came twice among the last few.
 *
 * Numbers may begin anywhere, leave some out and go back. They are not trusted while they do not advance, when they go
 * back too often to be steps, when the program has stopped to mark its steps, and those of NCCL's tags only after many.
 */
#ifndef ANALYSIS_STEPS_STEP_MARKS_H
#define ANALYSIS_STEPS_STEP_MARKS_H

#include <stdbool.h>
#include <stdint.h>

enum {
	STEP_MARKS_MAX = 1024,    /* kept of a process */
	STEP_MARKS_ALIKE = 8,     /* steps among which one that comes twice is looked for */
	STEP_MARKS_OPERATIONS = 65536, /* longest step of which the places are compared */
	/* numbers go back once, and once more for each so many steps; else they are no steps */
	STEP_MARKS_PER_BACK = 16,
	STEP_MARKS_TAGS = 16,     /* a process's tags are steps when so many advanced, and none went back */
	/* no step is so many times as long as the longest so far: the program has stopped to mark them */
	STEP_MARKS_SILENT = 64,
};

struct step_mark {
	uint64_t ticket; /* the step's operations have later ones */
	uint64_t number; /* the program's */
	uint64_t step;   /* ours: one more than that of the mark before */
};

struct step_marks {
	struct step_mark *kept; /* STEP_MARKS_MAX; mark i at i % STEP_MARKS_MAX; NULL none */
	uint64_t count;         /* marks that came */
	uint64_t first_step;
	/* From this step on each has a number that is `stride` above that of the one before; 0: no second one is
	 * known. */
	uint64_t run_step, run_number, stride;
	uint32_t advances, backs;
	/* who numbers them; they went back too often, or the tags were taken back: they are no steps */
	bool by_tag, refused;
	bool irregular;       /* some number was not one more than the one before */
	uint32_t operations, most; /* in the current step, and in the longest that is over */
	/* Signatures of a step that came twice, where in it the current step is, and those of the current one so
	 * far. */
	uint32_t *pattern, *current;
	uint32_t length, at, current_count, current_room;
	uint32_t ended[STEP_MARKS_ALIKE], ended_count; /* hashes of the last steps */
	uint32_t pattern_hash;
};

/* A mark, in order of tickets. next_step: which one of our steps the first mark begins. Returns
 * whether the step that has ended brought a new pattern. Without memory the mark is lost. */
bool step_marks_add(struct step_marks *marks, uint64_t number, uint64_t ticket, bool by_tag, uint64_t next_step);
bool step_marks_are_trusted(const struct step_marks *marks);
/* Whether they may come to be trusted: they advance, and nothing speaks against them yet. Steps that are numbered
 * otherwise meanwhile would have two numbers. */
bool step_marks_are_promising(const struct step_marks *marks);
/* The current step; there is a mark. */
const struct step_mark *step_marks_newest(const struct step_marks *marks);
/* The mark of the operation with this ticket; NULL: it is from before the marks that are kept. */
const struct step_mark *step_marks_of(const struct step_marks *marks, uint64_t ticket);
/* The number of one of our steps, also of one to come if numbers go on as they do; -1: not known. */
int64_t step_marks_number(const struct step_marks *marks, uint64_t step);
/* The next operation after the newest mark: its place in the step, UINT32_MAX none. */
uint32_t step_marks_place(struct step_marks *marks, uint32_t signature);
void step_marks_free(struct step_marks *marks);

#endif
