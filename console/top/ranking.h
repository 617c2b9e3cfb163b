/* SPDX-License-Identifier: MIT */
/* The ranks as a list: who is worst, and the healthy of one host in one row. */
#ifndef CONSOLE_TOP_RANKING_H
#define CONSOLE_TOP_RANKING_H

#include "console/top/canvas.h"
#include "console/top/model.h"
#include "console/top/view.h"

/* What a rank does, as a letter; every letter has a style. */
struct standing {
	char letter;
	enum canvas_style style;
	bool sick; /* worth a row of its own */
};

struct ranking_row {
	size_t index; /* of the rank in the model; of folded ones, the first */
	size_t count; /* 1, or how many healthy ranks of its host */
	struct standing standing;
	bool named; /* by an open finding that accuses it */
	/* Over the last MODEL_LATELY columns: */
	double step_ms;    /* a step of this rank; 0 not known */
	double lost_ms;    /* the others waited for it in each step, on average over them; folded: the largest */
	double lost_share; /* of their time */
	double own_share, wait_share, transfer_share, unseen_share;
	uint32_t bad;
};

struct ranking {
	struct ranking_row *rows;
	size_t count, ranks, sick;
	bool folded;
};

/* fold: healthy ranks into one row a host, as the view says. 0 or -ENOMEM; free in both cases. at: column, -1 now. */
int ranking_make(struct ranking *ranking, const struct model *model, const struct view *view, long at, double now_ms);
void ranking_free(struct ranking *ranking);
/* The open finding of this moment that is worst; NULL: none from warning up. */
const struct model_finding *ranking_worst_finding(const struct model *model, double at_ms);
bool ranking_is_open(const struct model_finding *finding, double at_ms);

#endif
