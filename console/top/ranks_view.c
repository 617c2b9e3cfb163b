/* SPDX-License-Identifier: MIT */
#include "console/top/rank_row.h"
#include "console/top/view.h"

void ranks_draw(struct view_drawing *drawing)
{
	struct view *view = drawing->view;
	struct ranking ranking;

	if (ranking_make(&ranking, drawing->model, view, drawing->at, drawing->now_ms) == 0) {
		int page = drawing->bottom - drawing->top - 1;
		size_t first = view_scroll(view, ranking.count, page);

		rank_row_head(drawing, drawing->top, &ranking);
		for (size_t i = first; i < ranking.count && i < first + (size_t)(page > 0 ? page : 0); i++)
			rank_row_draw(drawing, drawing->top + 1 + (int)(i - first), &ranking.rows[i],
				      i == view->cursor);
		if (view->cursor < ranking.count)
			view->under_cursor = drawing->model->ranks[ranking.rows[view->cursor].index].rank;
		if (!ranking.count)
			canvas_text(drawing->canvas, drawing->top + 2, 2, STYLE_DIM,
				    *view->search ? "no rank matches; Esc shows all" : "no rank has been seen yet");
	}
	ranking_free(&ranking);
}
