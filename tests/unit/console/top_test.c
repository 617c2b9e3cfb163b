/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/top/canvas.h"
#include "console/top/finding_time.h"
#include "console/top/model.h"
#include "console/top/ranking.h"
#include "console/top/view.h"

#define NOW_MS 1795382302800.0 /* 2026-11-22T21:18:22.800Z */

static struct model model;
static struct view view;
static struct canvas canvas;

static void setup(void)
{
	model = (struct model){ 0 };
	view = (struct view){ .rank = -1 };
	canvas = (struct canvas){ 0 };
	setenv("TZ", "UTC", 1);
}

static void teardown(void)
{
	model_free(&model);
	canvas_free(&canvas);
}

TestSuite(top, .init = setup, .fini = teardown);

static void take(const char *line)
{
	json_error_t error;
	json_t *message = json_loads(line, 0, &error);

	cr_assert(message, "%s: %s", error.text, line);
	model_take(&model, message, NOW_MS);
	json_decref(message);
}

/* `late` of `ranks` is waited for 300 ms in each step from 20 on; 8 ranks a host. */
static void take_job(int ranks, int steps, int late)
{
	json_t *rows = json_array(), *columns = json_array(), *numbers = json_array();

	for (int i = 0; i < ranks; i++) {
		char host[16];

		snprintf(host, sizeof(host), "node%d", i / 8);
		json_array_append_new(rows, json_pack("{s:i, s:s, s:i, s:s, s:s, s:f, s:f, s:f}", "rank", i, "host",
						      host, "pid", 100 + i, "life", "alive", "doing", "works", "own_ms",
						      700.0 * steps, "wait_ms", 100.0, "lost_ms",
						      i == late ? 300.0 * (steps - 19) * (ranks - 1) : 0.0));
		json_array_append_new(numbers, json_integer(i));
	}
	for (int step = 1; step <= steps; step++) {
		json_t *own = json_array(), *wait = json_array(), *lost = json_array();
		bool slow = step >= 20;

		for (int i = 0; i < ranks; i++) {
			json_array_append_new(own, json_real(slow && i == late ? 1000 : 700));
			json_array_append_new(wait, json_real(slow && i != late ? 300 : 0));
			json_array_append_new(lost, json_real(slow && i == late ? 300.0 * (ranks - 1) : 0));
		}
		json_array_append_new(columns, json_pack("{s:i, s:i, s:f, s:f, s:o, s:o, s:o}", "step", step, "last_step", step,
							 "from_unix_ms", NOW_MS - (steps - step + 1) * 1000.0, "until_unix_ms",
							 NOW_MS - (steps - step) * 1000.0, "own_ms", own, "wait_ms", wait, "lost_ms",
							 lost));
	}
	json_t *message =
	    json_pack("{s:{s:f, s:{s:s, s:i, s:i, s:i, s:f, s:f}, s:{s:i, s:s, s:f, s:f}, s:o, s:{s:i, s:o, s:o}}}",
		      "snapshot", "unix_ms", NOW_MS, "job", "id", "j", "processes", ranks, "ranks_total", ranks,
		      "steps", steps, "step_ms", 1000.0, "first_step_ms", 700.0, "watchdog", "timeout_ms", 100000,
		      "from", "cmdline", "since_unix_ms", NOW_MS - 1500, "deadline_unix_ms", NOW_MS + 98500, "ranks",
		      rows, "cells", "changes", 1, "ranks", numbers, "columns", columns);

	cr_assert(message);
	model_take(&model, message, NOW_MS);
	json_decref(message);
}

static void take_straggler(const char *state)
{
	char line[1024];

	snprintf(line, sizeof(line),
		 "{\"schema\":1,\"id\":\"a-3\",\"state\":\"%s\",\"severity\":\"warning\",\"confidence\":\"certain\","
		 "\"kind\":\"straggler\","
		 "\"ranks\":[3],\"where\":[{\"rank\":3,\"host\":\"node0\",\"pid\":103}],\"time\":\"2026-11-22T21:18:20."
		 "000Z\","
		 "\"first_seen\":\"2026-11-22T21:18:04.000Z\",\"text\":\"rank 3 makes every step 300 ms longer\","
		 "\"evidence\":[{\"source\":\"bpf\",\"ms\":1209.0,\"what\":\"fsync \\u001b[2J\"}]}",
		 state);
	take(line);
}

static void draw(int width, int height)
{
	cr_assert(canvas_reset(&canvas, width, height, false));
	view_draw(&model, &view, &canvas, NOW_MS);
}

/* The whole screen as text, with "\n" behind each row. */
static char *screen(void)
{
	static char text[65536];
	size_t used = 0;

	for (int row = 0; row < canvas.height; row++) {
		canvas_row_text(&canvas, row, text + used, sizeof(text) - used - 2);
		used += strlen(text + used);
		text[used++] = '\n';
	}
	text[used] = '\0';
	return text;
}

static const char *row_text(int row)
{
	static char text[1024];

	return canvas_row_text(&canvas, row, text, sizeof(text));
}

static bool shows(const char *text)
{
	return strstr(screen(), text) != NULL;
}

static void keys(const char *text)
{
	for (; *text; text++)
		view_key(&view, &model, *text);
}

Test(top, the_first_screen_says_who_why_and_how_long)
{
	take_job(8, 39, 3);
	take_straggler("open");
	draw(80, 24);
	cr_expect_str_eq(row_text(0), " rankwatch · j · 8 of 8 ranks · step 39                          LIVE  21:18:22");
	cr_expect_str_eq(row_text(1), " STRAGGLER  rank 3 (host node0, pid 103) makes every step 300 ms longer");
	cr_expect_str_eq(row_text(2), "   watchdog 98.5 s left of 100 s (cmdline)");
	cr_expect(shows("▸    3  L ██▍      300 ms     0 % 100 %"), "%s", screen());
	cr_expect(shows("1.00 s (700 ms at first)"));
	cr_expect(shows(" 1 overview  2 ranks"));
	/* Rank 3 waits for nobody, the others for it; the strip begins to burn at step 20. */
	cr_expect(shows("     0  R                    30 %  70 %"), "%s", screen());
	for (int row = 0; row < 24; row++)
		cr_expect_leq(strlen(row_text(row)), 80u * 4);
}

Test(top, a_healthy_job_says_so_and_names_nobody)
{
	take_job(8, 10, -1);
	draw(80, 24);
	cr_expect_str_eq(row_text(1), " HEALTHY    no rank stands out");
	cr_expect_not(shows(" L "));
	take_straggler("closed");
	draw(80, 24);
	cr_expect_str_eq(row_text(1), " HEALTHY    no rank stands out; 1 finding before, over by now");
}

Test(top, a_job_that_has_ended_is_not_called_healthy)
{
	take_job(2, 39, 1);
	take_straggler("open");
	take("{\"snapshot\":{\"unix_ms\":1795382302800,\"findings\":[],\"ranks\":[{\"rank\":0,\"doing\":\"gone\",\"life\":"
	     "\"killed\"},{\"rank\":1,\"doing\":\"gone\",\"life\":\"exited\"}]}}");
	draw(80, 24);
	cr_expect_str_eq(row_text(1), " ENDED      all 2 ranks have ended; before that:");
	cr_expect(strstr(row_text(2), "makes every step 300 ms longer"), "%s", row_text(2));
	cr_expect_not(shows("HEALTHY"));
	cr_expect_not(shows("left of"));
	cr_expect(shows("    0  X"), "%s", screen());
	cr_expect(shows("    1  E"), "%s", screen());
}

Test(top, before_anything_has_come_nothing_is_claimed)
{
	draw(80, 24);
	cr_expect(shows("NO RANK    has been seen yet"));
	cr_expect_not(shows("HEALTHY"));
	for (int kind = 0; kind < VIEW_COUNT; kind++) {
		view.kind = (enum view_kind)kind;
		draw(80, 24);
		draw(20, 3);
		draw(1, 1);
	}
}

Test(top, the_arrows_go_back_to_when_all_was_well)
{
	take_job(8, 39, 3);
	take_straggler("open");
	draw(80, 24);
	for (int i = 0; i < 25; i++)
		view_key(&view, &model, KEY_VIEW_LEFT);
	draw(80, 24);
	cr_expect(strstr(row_text(0), "PAST step 14 of 39  21:17:57"), "%s", row_text(0));
	cr_expect_str_eq(row_text(1), " HEALTHY    no rank stands out");
	cr_expect_not(shows("300 ms"));
	for (int i = 0; i < 10; i++)
		view_key(&view, &model, KEY_VIEW_RIGHT);
	draw(80, 24);
	cr_expect(strstr(row_text(0), "PAST step 24"), "%s", row_text(0));
	cr_expect(strstr(row_text(1), "STRAGGLER"), "%s", row_text(1));
	view_key(&view, &model, KEY_VIEW_ESCAPE);
	draw(80, 24);
	cr_expect(strstr(row_text(0), "LIVE"), "%s", row_text(0));
}

static void go_back(int steps)
{
	for (int i = 0; i < steps; i++)
		view_key(&view, &model, KEY_VIEW_LEFT);
	draw(80, 24);
}

Test(top, lost_time_and_shares_are_those_of_the_step_that_is_shown)
{
	take_job(8, 39, 3);
	draw(80, 24);
	cr_expect(shows("42.0 s of GPU time, "), "%s", screen());
	go_back(25);
	cr_expect(strstr(row_text(0), "PAST step 14 of 39"), "%s", row_text(0));
	cr_expect(shows("0 ms in this step, 0 %"), "%s", screen());
	cr_expect(shows("own 100 wait 0 transfer 0 %"), "%s", screen());
	/* In step 24 seven ranks wait 300 of 1000 ms. */
	for (int i = 0; i < 10; i++)
		view_key(&view, &model, KEY_VIEW_RIGHT);
	draw(80, 24);
	cr_expect(shows("2.10 s in this step, 26 %"), "%s", screen());
	cr_expect(shows("own 74 wait 26 transfer 0 %"), "%s", screen());
}

Test(top, merged_columns_say_how_many_steps_they_hold)
{
	take("{\"snapshot\":{\"job\":{\"steps\":9},\"ranks\":[{\"rank\":0},{\"rank\":1}],\"cells\":{\"ranks\":[0,1],"
	     "\"columns\":["
	     "{\"step\":1,\"last_step\":8,\"from_unix_ms\":1795382290000,\"until_unix_ms\":1795382298000,\"own_ms\":["
	     "8000,4000],"
	     "\"wait_ms\":[0,4000],\"lost_ms\":[4000,0]},"
	     "{\"step\":9,\"last_step\":9,\"from_unix_ms\":1795382298000,\"until_unix_ms\":1795382299000,\"own_ms\":["
	     "1000,1000]}]}}}");
	go_back(1);
	cr_expect(shows("4.00 s in 8 steps, 25 %"), "%s", screen());
}

Test(top, a_straggler_is_there_from_the_step_since_which_it_is_late)
{
	take_job(8, 39, 3);
	/* It was found in step 24. */
	take("{\"schema\":1,\"id\":\"a-3\",\"state\":\"open\",\"severity\":\"warning\",\"kind\":\"straggler\","
	     "\"ranks\":[3],"
	     "\"time\":\"2026-11-22T21:18:20.000Z\",\"first_seen\":\"2026-11-22T21:18:07.500Z\",\"late\":{\"since_"
	     "step\":20},\"text\":\"late\"}");
	draw(80, 24);
	go_back(19);
	cr_expect(strstr(row_text(0), "PAST step 20"), "%s", row_text(0));
	cr_expect(strstr(row_text(1), "STRAGGLER"), "%s", row_text(1));
	go_back(1);
	cr_expect(strstr(row_text(1), "HEALTHY"), "%s", row_text(1));
}

Test(top, what_is_held_stays_while_more_comes)
{
	take_job(8, 30, 3);
	keys("p");
	take("{\"snapshot\":{\"cells\":{\"ranks\":[0,1,2,3,4,5,6,7],\"columns\":[{\"step\":31,\"last_step\":31,"
	     "\"from_unix_ms\":1795382302900,\"until_unix_ms\":1795382303800}]}}}");
	cr_assert_eq(model.column_count, 31);
	draw(80, 24);
	cr_expect(strstr(row_text(0), "PAST step 30"), "%s", row_text(0));
	keys("p");
	draw(80, 24);
	cr_expect(strstr(row_text(0), "LIVE"), "%s", row_text(0));
}

Test(top, columns_that_come_again_replace_what_they_cover)
{
	take_job(2, 5, -1);
	cr_expect_eq(model.column_count, 5);
	take("{\"snapshot\":{\"cells\":{\"ranks\":[0,1],\"columns\":[{\"step\":5,\"last_step\":5,\"from_unix_ms\":"
	     "1795382301800,"
	     "\"until_unix_ms\":1795382302900,\"own_ms\":[900,1]}]}}}");
	cr_expect_eq(model.column_count, 5);
	cr_expect_float_eq(model.columns[4].cells[0].own_ms, 900, 0.1);
	take("{\"snapshot\":{\"cells\":{\"ranks\":[0,1],\"columns\":[{\"step\":1,\"last_step\":4,\"from_unix_ms\":"
	     "1795382297800,"
	     "\"until_unix_ms\":1795382301800,\"own_ms\":[2800,2800]}]}}}");
	cr_expect_eq(model.column_count, 2);
	cr_expect_eq(model.columns[0].last_step, 4);
}

Test(top, the_healthy_of_a_host_are_one_row_so_that_the_sick_one_is_seen)
{
	take_job(128, 39, 77);
	take_straggler("open");
	view.kind = VIEW_RANKS;
	draw(120, 24);
	cr_expect(shows("   77 "), "%s", screen());
	cr_expect(shows("    8x"), "%s", screen());
	cr_expect_eq(view.rows, 16u + 2, "%zu", view.rows);
	cr_expect(strstr(row_text(2), "▸    3  L"), "%s", row_text(2));
	cr_expect(strstr(row_text(3), "    77  R"), "%s", row_text(3));
	keys("z");
	draw(120, 24);
	cr_expect_eq(view.rows, 128u);
	cr_expect(strstr(row_text(2), "▸    3  L"), "%s", row_text(2));
	cr_expect(strstr(row_text(3), "    77  R"), "%s", row_text(3));
}

Test(top, sorts_searches_and_follows)
{
	take_job(16, 39, 7);
	view.kind = VIEW_RANKS;
	draw(80, 24);
	cr_expect(strstr(row_text(2), "▸    7"), "%s", row_text(2));
	keys("s");
	draw(80, 24);
	cr_expect(strstr(row_text(2), "▸    0"), "%s", row_text(2));
	keys("/node1");
	view_key(&view, &model, KEY_VIEW_ENTER);
	draw(80, 24);
	cr_expect_eq(view.rows, 8u);
	cr_expect(strstr(row_text(2), "▸    8"), "%s", row_text(2));
	view_key(&view, &model, KEY_VIEW_DOWN);
	draw(80, 24);
	cr_expect_eq(view.under_cursor, 9);
	view_key(&view, &model, KEY_VIEW_ENTER);
	cr_expect_eq(view.kind, (unsigned)VIEW_RANK);
	cr_expect_eq(view.rank, 9);
	view_key(&view, &model, KEY_VIEW_ESCAPE);
	keys("2sssf");
	draw(80, 24);
	cr_expect_eq(view.under_cursor, 7);
	keys("q");
	cr_expect(view.quit);
}

static void take_magnitudes(int step, const char *lines, const char *magnitudes)
{
	char line[1024];

	snprintf(line, sizeof(line),
		 "{\"snapshot\":{\"cells\":{\"ranks\":[0,1],\"lines\":[%s],\"columns\":[{\"step\":%d,\"last_step\":%d,"
		 "\"from_unix_ms\":%d,\"until_unix_ms\":%d,\"magnitudes\":%s}]}}}",
		 lines, step, step, step * 1000, step * 1000 + 999, magnitudes);
	take(line);
}

Test(top, the_communicator_whose_magnitudes_grew_most_comes_first_with_the_rank_that_brought_them)
{
	const char *lines = "{\"comm\":\"0x1\",\"name\":\"tp\"},{\"comm\":\"0x2\",\"name\":\"~fsdp\"}";

	take_magnitudes(1, lines, "{\"brought\":[3,2],\"by\":[0,1],\"result\":[24,null]}");
	take_magnitudes(2, lines, "{\"brought\":[3,2e5],\"by\":[0,1],\"result\":[24,null]}");
	take_magnitudes(3, lines, "{\"brought\":[null,2.5e5],\"by\":[null,1],\"result\":[25,null]}");
	view.kind = VIEW_VALUES;
	draw(80, 24);
	cr_expect(strstr(row_text(1), "LARGEST IN         MAGNITUDE  RANK  AT FIRST"), "%s", row_text(1));
	cr_expect(strstr(row_text(2), " ~fsdp                2.5e+05     1         2 "), "%s", row_text(2));
	cr_expect(strstr(row_text(2), "▁▇█") || strstr(row_text(2), "▁██"), "%s", row_text(2));
	/* What was brought is gone: what came of it is no rank's. */
	cr_expect(strstr(row_text(3), " tp                        25               3 "), "%s", row_text(3));
	cr_expect(strstr(row_text(4), "RANK   CLEAN SCANS"), "%s", row_text(4));
	view_key(&view, &model, KEY_VIEW_LEFT);
	view_key(&view, &model, KEY_VIEW_LEFT);
	draw(80, 24);
	cr_expect(strstr(row_text(3), " ~fsdp                      2     1         2 "), "%s", row_text(3));
}

Test(top, another_collector_may_have_the_communicators_in_another_order)
{
	take_magnitudes(1, "{\"comm\":\"0x1\",\"name\":\"tp\"},{\"comm\":\"0x2\",\"name\":\"~fsdp\"}",
			"{\"brought\":[3,2],\"by\":[0,1],\"result\":[null,null]}");
	take_magnitudes(2, "{\"comm\":\"0x2\",\"name\":\"~fsdp\"},{\"comm\":\"0x1\",\"name\":\"tp\"}",
			"{\"brought\":[8,6],\"by\":[1,0],\"result\":[null,null]}");
	view.kind = VIEW_VALUES;
	draw(80, 24);
	cr_expect(strstr(row_text(2), " ~fsdp                      8     1         2 "), "%s", row_text(2));
	cr_expect(strstr(row_text(3), " tp                         6     0         3 "), "%s", row_text(3));
}

Test(top, magnitudes_leave_two_thirds_of_the_screen_to_many_ranks_and_say_how_many_are_shown)
{
	char lines[4096] = "", brought[1024] = "";

	for (int i = 0; i < 40; i++) {
		snprintf(lines + strlen(lines), sizeof(lines) - strlen(lines), "%s{\"comm\":\"0x%x\",\"name\":\"g%d\"}",
			 i ? "," : "", i + 1, i);
		snprintf(brought + strlen(brought), sizeof(brought) - strlen(brought), "%s%d", i ? "," : "", i + 1);
	}
	char message[8192];

	take_job(64, 5, -1);
	snprintf(
	    message, sizeof(message),
	    "{\"snapshot\":{\"cells\":{\"ranks\":[0],\"lines\":[%s],\"more_lines\":true,\"columns\":[{\"step\":6,"
	    "\"last_step\":6,"
	    "\"from_unix_ms\":1795382302900,\"until_unix_ms\":1795382303800,\"magnitudes\":{\"brought\":[%s]}}]}}}",
	    lines, brought);
	take(message);
	view.kind = VIEW_VALUES;
	draw(80, 24);
	cr_expect(strstr(row_text(1), "LARGEST IN 6/40+"), "%s", row_text(1));
	cr_expect(strstr(row_text(8), "RANK   CLEAN SCANS"), "%s", row_text(8));
}

Test(top, communicators_of_one_name_are_told_apart_by_their_ranks)
{
	take("{\"snapshot\":{\"unix_ms\":1795382302800,\"ranks\":[{\"rank\":1},{\"rank\":0}],\"communicators\":["
	     "{\"comm\":\"0x1\",\"name\":\"~tp\",\"size\":2,\"members\":[{\"rank\":3,\"calls\":1},{\"rank\":1,"
	     "\"calls\":1}]},"
	     "{\"comm\":\"0x2\",\"name\":\"~tp\",\"size\":2,\"members\":[{\"rank\":0,\"calls\":1},{\"rank\":2,"
	     "\"calls\":1}]},"
	     "{\"comm\":\"0x3\",\"name\":\"~fsdp\",\"size\":2,\"members\":[{\"rank\":0,\"calls\":1},{\"rank\":2,"
	     "\"calls\":1}]}]}}");
	take_magnitudes(1, "{\"comm\":\"0x2\",\"name\":\"~tp\"},{\"comm\":\"0x3\",\"name\":\"~fsdp\"}",
			"{\"brought\":[3,2],\"by\":[0,1]}");
	view.kind = VIEW_COMMUNICATORS;
	draw(80, 24);
	cr_expect(shows("~tp (1,3) "), "%s", screen());
	cr_expect(shows(" ~tp (0,2) "), "%s", screen());
	cr_expect(shows(" ~fsdp "), "%s", screen());
	cr_expect(shows(" 1,3: 1\n"), "%s", screen());
	view.kind = VIEW_VALUES;
	draw(80, 24);
	cr_expect(strstr(row_text(2), " ~tp (0,2) "), "%s", row_text(2));
	cr_expect(strstr(row_text(3), " ~fsdp  "), "%s", row_text(3));
	/* In the order of the ranks, not of their appearance. */
	cr_expect(strstr(row_text(5), "     0"), "%s", row_text(5));
	cr_expect(strstr(row_text(6), "     1"), "%s", row_text(6));
}

/* Of 3000 calls rank r has `behind(r)` fewer. */
static void take_large_communicator(int ranks, int (*behind)(int rank))
{
	json_t *members = json_array();

	for (int i = 0; i < ranks; i++)
		json_array_append_new(members, json_pack("{s:i, s:i}", "rank", i, "calls", 3000 - behind(i)));
	json_t *message =
	    json_pack("{s:{s:f, s:[{s:i}], s:[{s:s, s:s, s:i, s:o}]}}", "snapshot", "unix_ms", NOW_MS, "ranks", "rank",
		      0, "communicators", "comm", "0x1", "name", "fsdp", "size", ranks, "members", members);

	cr_assert(message);
	model_take(&model, message, NOW_MS);
	json_decref(message);
}

static int one_behind(int rank)
{
	return rank == 142 ? 10 : 0;
}

static int each_behind(int rank)
{
	return rank;
}

Test(top, of_a_large_communicator_its_size_is_whole_and_who_is_behind_stands_first)
{
	take_large_communicator(256, one_behind);
	view.kind = VIEW_COMMUNICATORS;
	draw(80, 24);
	cr_expect(shows(" 256 of 256 2990 to 3000 "), "%s", screen());
	cr_expect(shows("\n 142: 2990 (10 behind)\n 0-141,143-255: 3000\n"), "%s", screen());
	model_free(&model);
	take_large_communicator(256, each_behind);
	draw(80, 24);
	cr_expect(shows("\n 255: 2745 (255 behind)\n 254: 2746 (254 behind)\n"), "%s", screen());
	cr_expect(shows("\n and 240 more ranks\n"), "how many are left out is said: %s", screen());
}

Test(top, of_a_rank_without_a_known_step_none_is_shown)
{
	take("{\"snapshot\":{\"unix_ms\":1795382302800,\"ranks\":[{\"rank\":0,\"host\":\"a\",\"pid\":7,\"step\":-1,"
	     "\"operations\":12}]}}");
	view.kind = VIEW_RANK;
	draw(80, 24);
	cr_expect(shows(" host a, pid 7, 12 operations"), "%s", screen());
}

Test(top, where_the_time_of_the_watchdog_came_from_is_left_out_when_it_is_not_known)
{
	take("{\"snapshot\":{\"unix_ms\":1795382302800,\"ranks\":[{\"rank\":0}],\"watchdog\":{\"timeout_ms\":600000,"
	     "\"from\":\"\"}}}");
	draw(80, 24);
	cr_expect(shows("watchdog 10 m 00 s; nothing"), "%s", screen());
}

Test(top, text_from_a_job_never_reaches_the_screen_as_it_is)
{
	take("{\"hello\":{\"job\":\"a\\u001b[31m\\u202eb\"}}");
	take("{\"snapshot\":{\"unix_ms\":1795382302800,\"ranks\":[{\"rank\":0,\"host\":\"h\\u009b2J\",\"doing\":"
	     "\"waits\","
	     "\"operation\":{\"comm_name\":\"c\\n\\u001b]0;x\\u0007\",\"function\":\"AllGather\",\"sequence\":1},"
	     "\"thread\":{\"thread\":\"t\\u001b\",\"system_call\":\"read\",\"path\":\"/"
	     "\\u202e\",\"seen_unix_ms\":1795382302800}}],"
	     "\"communicators\":[{\"comm\":\"0x1\",\"name\":\"n\\u001b[2J\",\"size\":2,\"members\":[{\"rank\":0,"
	     "\"calls\":1}]}]}}");
	take("{\"id\":2,\"rank\":{\"rank\":0,\"threads\":[{\"thread\":\"x\\u001b[2J\",\"state\":\"S\",\"stack\":["
	     "\"f\\u009b\"]}],"
	     "\"last_operations\":[{\"function\":\"\\u001b\",\"comm_name\":\"\\u202e\"}]}}");
	take_straggler("open");
	for (int kind = 0; kind < VIEW_COUNT; kind++) {
		view.kind = (enum view_kind)kind;
		draw(160, 40);
		for (size_t i = 0; i < 160u * 40; i++) {
			wchar_t glyph = canvas.cells[i].glyph;

			cr_assert(glyph >= L' ' || !glyph, "view %d", kind);
			cr_assert(glyph < 0x7f || glyph >= 0xa0, "view %d", kind);
			cr_assert(glyph < 0x202a || glyph > 0x202e, "view %d", kind);
		}
	}
}

Test(top, whatever_a_collector_sends_is_survived)
{
	static const char *const lines[] = {
		"[]",
		"{\"snapshot\":7}",
		"{\"snapshot\":{}}",
		"{\"snapshot\":{\"ranks\":{},\"cells\":[],\"gpus\":3}}",
		"{\"snapshot\":{\"ranks\":[7,null,{\"rank\":\"x\",\"own_ms\":1e308}],\"gpus\":[1,{\"rank\":-1,\"clock_"
		"reasons\":[7]}]}}",
		"{\"snapshot\":{\"communicators\":[{},3],\"flights\":[{\"comm\":3,\"missing\":\"x\"},{}]}}",
		"{\"snapshot\":{\"cells\":{\"ranks\":[1,2],\"columns\":[3,{\"own_ms\":[-1,1e300,3],\"bad\":\"x\","
		"\"step\":-4}]}}}",
		"{\"snapshot\":{\"cells\":{\"lines\":[1,{\"comm\":7,\"name\":\"\\u001b\"},{}],\"columns\":[{"
		"\"magnitudes\":{\"brought\":[-1,1e300,\"x\",4],\"by\":[-7,1e9,99999999999,\"x\"],\"result\":7}},{"
		"\"magnitudes\":[1]}]}}}",
		"{\"schema\":1,\"id\":7}",
		"{\"schema\":1,\"id\":\"x\",\"ranks\":[99999999999,-1,\"x\"],\"severity\":3}",
		"{\"rank\":{\"threads\":3,\"last_operations\":[7]}}",
		"{\"summary\":{\"last\":3}}",
		"{\"hello\":[]}",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		take(lines[i]);
		for (int kind = 0; kind < VIEW_COUNT; kind++) {
			view.kind = (enum view_kind)kind;
			draw(80, 24);
		}
	}
}

Test(top, a_collector_that_is_gone_is_said_to_be_so)
{
	take_job(8, 10, -1);
	model_lose(&model, NOW_MS - 3000);
	draw(80, 24);
	cr_expect(strstr(row_text(0), "collector gone, waiting 3.00 s"), "%s", row_text(0));
	take("{\"hello\":{\"job\":\"j\"}}");
	draw(80, 24);
	cr_expect(strstr(row_text(0), "LIVE"), "%s", row_text(0));
}

Test(top, findings_that_nobody_told_of_any_more_are_over)
{
	take_job(8, 39, 3);
	take_straggler("open");
	take("{\"snapshot\":{\"unix_ms\":1795382302800,\"findings\":[\"other\"]}}");
	cr_expect_gt(model.findings[0].closed_ms, 0);
	draw(80, 24);
	cr_expect(shows("HEALTHY"));
}

static void take_nan(const char *state, int step, const char *first_seen)
{
	char line[512];

	snprintf(
	    line, sizeof(line),
	    "{\"schema\":1,\"id\":\"5a-0\",\"kind\":\"nan\",\"ranks\":[5],\"severity\":\"critical\",\"state\":\"%s\","
	    "\"values\":{\"nan\":1},\"first_seen\":\"%s\",\"time\":\"%s\",\"text\":\"rank 5 brought 1 NaN in step "
	    "%d\"}",
	    state, first_seen, first_seen, step);
	take(line);
}

Test(top, values_that_are_bad_again_after_they_were_clean_are_another_finding)
{
	take_job(8, 39, 3);
	take_nan("open", 8, "2026-11-20T19:03:01.000Z");
	take_nan("update", 8, "2026-11-20T19:03:01.000Z");
	take_nan("closed", 8, "2026-11-20T19:03:01.000Z");
	take_nan("open", 12, "2026-11-20T19:03:05.000Z");
	cr_assert_eq(model.finding_count, 2);
	cr_expect_gt(model.findings[0].closed_ms, 0);
	cr_expect_eq(model.findings[1].closed_ms, 0);
	take("{\"snapshot\":{\"unix_ms\":1795382302800,\"findings\":[]}}");
	cr_expect_gt(model.findings[1].closed_ms, 0);
	for (int second = 6; second < 60; second++) {
		char first_seen[32];

		snprintf(first_seen, sizeof(first_seen), "2026-11-20T19:03:%02d.000Z", second);
		take_nan("open", second, first_seen);
		take_nan("closed", second, first_seen);
	}
	cr_expect_eq(model.finding_count, MODEL_TIMES, "memory has an end");
	cr_expect(strstr(json_string_value(json_object_get(model.findings[MODEL_TIMES - 1].json, "text")), "step 59"),
		  "the last is there");
}

Test(top, ascii_is_ascii)
{
	take_job(64, 39, 3);
	take_straggler("open");
	for (int kind = 0; kind < VIEW_COUNT; kind++) {
		view.kind = (enum view_kind)kind;
		cr_assert(canvas_reset(&canvas, 200, 60, true));
		view_draw(&model, &view, &canvas, NOW_MS);
		for (size_t i = 0; i < 200u * 60; i++)
			cr_assert_lt(canvas.cells[i].glyph, 0x7f, "view %d", kind);
	}
}

Test(top, wide_characters_take_two_columns_and_are_not_cut_in_half)
{
	char text[64];

	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		cr_skip_test("no UTF-8 locale");
	cr_assert(canvas_reset(&canvas, 7, 1, false));
	cr_expect_eq(canvas_cut(&canvas, 0, 0, 7, STYLE_PLAIN, "日本語文字"), 7);
	cr_expect_str_eq(canvas_row_text(&canvas, 0, text, sizeof(text)), "日本語…");
}

Test(top, durations_and_times)
{
	char text[24];
	json_t *time = json_string("2026-11-22T21:18:22.800Z"), *none = json_string("yesterday");

	cr_expect_str_eq(view_duration(text, sizeof(text), 0.4), "0 ms");
	cr_expect_str_eq(view_duration(text, sizeof(text), 999.4), "999 ms");
	cr_expect_str_eq(view_duration(text, sizeof(text), 1310), "1.31 s");
	cr_expect_str_eq(view_duration(text, sizeof(text), 100000), "100 s");
	cr_expect_str_eq(view_duration(text, sizeof(text), 125000), "2 m 05 s");
	cr_expect_str_eq(view_duration(text, sizeof(text), 7260000), "2 h 01 m");
	cr_expect_float_eq(finding_time_ms(time), NOW_MS, 0.5);
	cr_expect_eq(finding_time_ms(none), 0);
	cr_expect_eq(finding_time_ms(NULL), 0);
	json_decref(time);
	json_decref(none);
}

/* Three hosts, of which one is silent; rank 2 of host b is late for the three others that it is compared with. */
static void take_all_nodes(void)
{
	char line[4096];
	int used = snprintf(
	    line, sizeof(line),
	    "{\"snapshot\":{\"unix_ms\":%.1f,\"job\":{\"id\":\"j\",\"all_nodes\":true,\"processes\":6,"
	    "\"ranks_total\":6,\"communicators\":1,\"operations\":9},\"watchdog\":null,\"sight\":null,\"ranks\":[",
	    NOW_MS);

	for (int i = 0; i < 6; i++)
		used += snprintf(
		    line + used, sizeof(line) - (size_t)used,
		    "%s{\"rank\":%d,\"host\":\"host-%c\",\"pid\":%d,\"life\":\"alive\",\"doing\":\"%s\",\"why\":%s,"
		    "\"seen_unix_ms\":%.1f,"
		    "\"own_ms\":%d,\"inside_ms\":%d,\"unseen_ms\":0,\"lost_ms\":%s,\"compared\":%s,\"operations\":3}",
		    i ? "," : "", i, 'a' + i / 2, 100 + i, i > 3 ? "unknown" : "works",
		    i == 2 ? "\"fsync(2)\"" : "null", NOW_MS - 100, i == 2 ? 1000 : 500, i == 2 ? 0 : 500,
		    i == 2  ? "900"
		    : i > 3 ? "null"
			    : "0",
		    i > 3 ? "null" : "4");
	used += snprintf(line + used, sizeof(line) - (size_t)used,
			 "],\"hosts\":[{\"host\":\"host-a\",\"state\":\"heard\",\"level\":\"ebpf\",\"heard_unix_ms\":%.1f,\"ranks\":2},"
			 "{\"host\":\"host-b\",\"state\":\"heard\",\"level\":\"proc\",\"heard_unix_ms\":%.1f,\"ranks\":2},"
			 "{\"host\":\"host-c\",\"state\":\"silent\",\"level\":\"ebpf\",\"heard_unix_ms\":%.1f,\"ranks\":2}],",
			 NOW_MS, NOW_MS, NOW_MS - 42000);
	snprintf(line + used, sizeof(line) - (size_t)used,
		 "\"communicators\":[{\"comm\":\"0x1\",\"name\":\"world\",\"size\":6,\"members\":[{\"rank\":0,"
		 "\"calls\":null},{\"rank\":1,\"calls\":null}]}],"
		 "\"cells\":{\"changes\":1,\"ranks\":[0,1,2,3,4,5],\"columns\":[{\"step\":null,\"last_step\":null,"
		 "\"from_unix_ms\":%.1f,"
		 "\"until_unix_ms\":%.1f,\"own_ms\":[500,500,1000,500,0,0],\"inside_ms\":[500,500,0,500,0,0],\"lost_"
		 "ms\":[0,0,900,0,0,0]}]}}}",
		 NOW_MS - 1000, NOW_MS - 1000);
	take("{\"hello\":{\"protocol\":1,\"job\":\"j\",\"pid\":1,\"open\":0,\"all_nodes\":true,\"hosts\":3,\"silent\":"
	     "1,\"ranks\":6}}");
	take(line);
}

Test(top, all_nodes_are_shown_with_their_hosts)
{
	take_all_nodes();
	draw(80, 24);
	cr_expect(shows("all nodes · 6 of 6 ranks · /proc to eBPF "), "%s", screen());
	cr_expect(shows("3, of which 1 is silent: host-c for 42.0 s"), "%s", screen());
	cr_expect(shows("by the messages of hosts: 2 at level ebpf, 1 at level proc"), "%s", screen());
	cr_expect(shows("LOST A SECOND"), "%s", screen());
	cr_expect(shows("host-b fsync(2)"), "%s", screen());
	cr_expect(shows("300 ms"), "what the three others lost, on average: %s", screen());
	cr_expect(shows("its host is silent") || shows("host-c its host is"), "%s", screen());
	cr_expect(shows("7 hosts"), "%s", screen());
	cr_expect_not(shows("no step is known"));
}

Test(top, hosts_are_listed_by_what_they_cost)
{
	take_all_nodes();
	keys("7");
	draw(120, 24);
	const char *text = screen(), *a = strstr(text, "host-a"), *b = strstr(text, "host-b"), *c = strstr(text, "host-c");
	cr_assert(a && b && c, "%s", text);
	cr_expect(b < a && b < c, "%s", text);
	cr_expect(strstr(text, "SILENT for 42.0 s"), "%s", text);
	cr_expect(strstr(text, "heard (proc): rank 2"), "%s", text);
	view_key(&view, &model, KEY_VIEW_ENTER);
	draw(120, 24);
	cr_expect(shows("/host-b"), "Enter shows that host's ranks: %s", screen());
	cr_expect_not(shows("host-a"));
}

Test(top, what_all_nodes_do_not_tell_is_said)
{
	take_all_nodes();
	keys("5");
	draw(80, 24);
	cr_expect(shows("not known here"), "%s", screen());
	keys("3");
	draw(80, 24);
	cr_expect(shows("0,1: not known here"), "%s", screen());
	keys("4");
	take("{\"id\":2,\"rank\":{\"rank\":2,\"host\":\"host-b\",\"answer\":\"fsync(2) of /a\\nnvml: 1980 MHz\"}}");
	draw(80, 24);
	cr_expect(shows("fsync(2) of /a"), "%s", screen());
	cr_expect(shows("nvml: 1980 MHz"), "%s", screen());
	cr_expect(shows("\"rankwatch top\" on host host-b"), "%s", screen());
}

Test(top, every_view_says_how_deep_and_how_many_of_the_ranks_are_seen)
{
	take_job(8, 10, -1);
	take("{\"watching\":{\"level\":\"ebpf\",\"below\":\"proc\",\"processes\":8,\"with_ebpf\":8}}");
	for (int kind = 0; kind < VIEW_HOSTS; kind++) {
		view.kind = (enum view_kind)kind;
		draw(80, 24);
		cr_expect(strstr(row_text(0), " · 8 of 8 ranks · step 10 · eBPF "), "%s", row_text(0));
	}
	take("{\"watching\":{\"level\":\"ebpf\",\"below\":\"proc\",\"processes\":8,\"with_ebpf\":6}}");
	draw(80, 24);
	cr_expect(strstr(row_text(0), " · eBPF 6 of 8 "), "%s", row_text(0));
	take("{\"watching\":{\"level\":\"proc\",\"below\":\"proc\",\"processes\":8,\"with_ebpf\":0}}");
	model.ranks_total = -1;
	draw(48, 24);
	cr_expect_str_eq(row_text(0), " j · 8 of ? ranks · step 10 · /… LIVE  21:18:22");
	model.dead = true;
	draw(80, 24);
	cr_expect(strstr(row_text(0), " · black boxes "), "%s", row_text(0));
}

Test(top, what_is_scanned_of_each_rank_and_its_memory_are_told_beside_an_xid)
{
	take_job(2, 10, -1);
	take("{\"snapshot\":{\"ranks\":[{\"rank\":0,\"clean_scans\":9,\"scanning\":{\"buffers\":9,\"left_out\":0,"
	     "\"host_ms\":1.2,\"gpu_ms\":3}},"
	     "{\"rank\":1,\"clean_scans\":9,\"scanning\":{\"buffers\":9,\"left_out\":135,\"host_ms\":1.2,\"gpu_ms\":3}}"
	     "],"
	     "\"gpus\":[{\"rank\":0,\"sm_mhz\":1980,\"celsius\":45,\"memory_used\":60,\"memory_total\":80,\"xid\":79}]}"
	     "}");
	view.kind = VIEW_RANKS;
	draw(120, 24);
	cr_expect(shows("1980 MHz 45 C 75 % Xid 79"), "%s", screen());
	draw(160, 24);
	cr_expect(shows("Xid 79      on"), "%s", screen());
	cr_expect(strstr(row_text(3), " part "), "%s", row_text(3));
	view.kind = VIEW_RANK;
	view.rank = 1;
	draw(100, 24);
	cr_expect(shows("scans: 9 buffers, 135 operations left out; took 1 ms of host, 3 ms of GPU time"), "%s", screen());
	view.kind = VIEW_VALUES;
	draw(80, 24);
	cr_expect(shows("none; part is scanned"), "%s", screen());
}

Test(top, what_a_rank_was_blocked_in_before_stands_below_its_threads)
{
	take_job(2, 10, -1);
	view.kind = VIEW_RANK;
	view.rank = 0;
	take("{\"id\":2,\"rank\":{\"rank\":0,\"threads\":[{\"tid\":7,\"thread\":\"main\",\"state\":\"D\",\"system_"
	     "call\":\"fsync\",\"from_unix_ms\":1795382302750,\"until_unix_ms\":1795382302800}],"
	     "\"blocked\":[{\"tid\":7,\"thread\":\"main\",\"state\":\"D\",\"system_call\":\"fsync\",\"from_unix_ms\":"
	     "1795382298800,\"until_unix_ms\":1795382302800},"
	     "{\"tid\":8,\"thread\":\"idle\",\"state\":\"S\",\"system_call\":\"futex\",\"from_unix_ms\":1795382292500,"
	     "\"until_unix_ms\":1795382302700},"
	     "{\"tid\":7,\"thread\":\"main\",\"state\":\"D\",\"system_call\":\"fsync\",\"path\":\"/"
	     "a\",\"from_unix_ms\":1795382301600,\"until_unix_ms\":1795382301800},"
	     "{\"tid\":7,\"thread\":\"main\",\"state\":\"D\",\"system_call\":\"write\",\"path\":\"/"
	     "b\",\"from_unix_ms\":1795382300400,\"until_unix_ms\":1795382300800}],"
	     "\"last_operations\":[]}}");
	draw(80, 24);
	const char *text = screen(), *longest = strstr(text, "  400 ms    2.00 s ago  main             D write(2) on /b"),
		   *other = strstr(text, "  200 ms    1.00 s ago  main             D fsync(2) on /a");

	cr_expect(longest && other && longest < other, "%s", text);
	cr_expect(strstr(text, "  4.00 s  main             D fsync(2)"), "seen last for 50 ms, and in it for 4 s: %s", text);
	cr_expect_not(strstr(text, "idle"), "it has stood there all the time: %s", text);
	for (int height = 3; height < 24; height++)
		draw(80, height);
}

Test(top, a_finding_that_has_no_room_says_that_there_is_more)
{
	take_job(8, 10, -1);
	take("{\"schema\":1,\"id\":\"a-3\",\"state\":\"open\",\"severity\":\"warning\",\"kind\":\"straggler\","
	     "\"ranks\":[3],"
	     "\"time\":\"2026-11-22T21:18:20.000Z\",\"text\":\"rank 3 is late; one two three four five six seven eight "
	     "nine ten eleven twelve thirteen "
	     "fourteen fifteen sixteen seventeen eighteen nineteen twenty\"}");
	draw(80, 24);
	cr_expect_not(shows("…"), "%s", screen());
	draw(80, 4);
	cr_expect(shows("…"), "%s", screen());
}

Test(top, the_step_time_is_that_of_the_steps_in_the_chart)
{
	take_job(8, 39, 3);
	model.step_ms = 536; /* of a collector that has lost count of them */
	draw(80, 24);
	cr_expect(shows("1.00 s (700 ms at first)"), "%s", screen());
}

Test(top, who_named_no_job_is_told_that_there_are_others)
{
	take_job(8, 10, -1);
	model.jobs_here = 1;
	draw(80, 24);
	cr_expect_not(strstr(row_text(0), "jobs here"), "%s", row_text(0));
	model.jobs_here = 3;
	draw(80, 24);
	cr_expect(strstr(row_text(0), " j (1 of 3 jobs here) · 8 of 8 ranks · step 10 "), "%s", row_text(0));
}

Test(top, one_host_has_no_list_of_hosts)
{
	take_job(8, 5, 3);
	keys("7");
	draw(80, 24);
	cr_expect_not(shows("7 hosts"));
	cr_expect_eq(view.kind, VIEW_OVERVIEW);
}
