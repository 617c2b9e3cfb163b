/* SPDX-License-Identifier: MIT */
/* What a person looks at: which view, which moment, which row. Keys change it; drawing reads it. */
#ifndef CONSOLE_TOP_VIEW_H
#define CONSOLE_TOP_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "console/top/canvas.h"
#include "console/top/model.h"

enum view_kind { VIEW_OVERVIEW, VIEW_RANKS, VIEW_COMMUNICATORS, VIEW_RANK, VIEW_VALUES, VIEW_FINDINGS, VIEW_HOSTS,
	VIEW_COUNT };
enum view_sort { SORT_LOST, SORT_RANK, SORT_WAIT, SORT_STATE, SORT_COUNT };
enum view_fold { FOLD_AUTO, FOLD_ALWAYS, FOLD_NEVER };

/* Keys beyond characters. */
enum view_key {
	KEY_VIEW_UP = 0x110000,
	KEY_VIEW_DOWN,
	KEY_VIEW_LEFT,
	KEY_VIEW_RIGHT,
	KEY_VIEW_PAGE_UP,
	KEY_VIEW_PAGE_DOWN,
	KEY_VIEW_HOME,
	KEY_VIEW_END,
	KEY_VIEW_ENTER,
	KEY_VIEW_BACK,
	KEY_VIEW_ESCAPE,
};

struct view {
	enum view_kind kind;
	enum view_sort sort;
	enum view_fold fold;
	double at_ms;  /* Unix: start of the column that is looked at; 0: now */
	size_t cursor; /* row of the list */
	int32_t rank;  /* that the view of one rank shows; -1: the worst */
	bool follow;   /* the cursor stays on the worst */
	bool help, searching, quit;
	char search[32]; /* "" everything is shown */
	int page;        /* rows that the last drawing had for its list */
	size_t rows;     /* and how many there were */
	int32_t under_cursor; /* rank in the row of the cursor; -1 none */
	char under_host[32];  /* host there; "" none */
};

struct view_drawing {
	const struct model *model;
	struct view *view;
	struct canvas *canvas;
	double now_ms; /* Unix */
	long at;       /* column that is looked at; -1: now */
	int top, bottom; /* rows for the view: first, and behind the last */
};

/* Draws the whole screen. now_ms: Unix. Notes in `view` what keys need to know: page, rows, under_cursor. */
void view_draw(const struct model *model, struct view *view, struct canvas *canvas, double now_ms);
void view_key(struct view *view, const struct model *model, int key);

/* The column at that time; -1: now, or there is none. */
long view_column(const struct view *view, const struct model *model);

/* The parts; each draws between top and bottom. */
void overview_draw(struct view_drawing *drawing);
void ranks_draw(struct view_drawing *drawing);
void communicators_draw(struct view_drawing *drawing);
void rank_draw(struct view_drawing *drawing);
void values_draw(struct view_drawing *drawing);
void findings_draw(struct view_drawing *drawing);
void hosts_draw(struct view_drawing *drawing);
void help_draw(struct view_drawing *drawing);

/* First row of the list that is shown, so that the cursor is among `page` rows; notes page and rows. */
size_t view_scroll(struct view *view, size_t rows, int page);
/* "1.3 s", "840 ms", "2 m 05 s". Returns text. */
char *view_duration(char *text, size_t size, double ms);

#endif
