/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdio.h>
#include <string.h>

#include "box_process.h"
#include "collector/boxes/room.h"

static char places[2][BOX_PLACE_PATH];
static struct room room;

TestSuite(room, .init = cr_redirect_stderr, .fini = box_process_cleanup);

static unsigned lines_said(void)
{
	FILE *said = cr_get_redirected_stderr();
	unsigned lines = 0;

	fflush(stderr);
	fclose(stderr);
	for (int byte; (byte = fgetc(said)) != EOF;)
		lines += byte == '\n';
	return lines;
}

Test(room, the_matter_with_the_first_place_is_told_once)
{
	strcpy(places[0], "/proc/rankwatch-0/j");
	strcpy(places[1], "/sys/rankwatch-0/j");
	room_poll(&room, places, 2);
	cr_expect(strstr(room.why, "/proc/rankwatch-0"), "%s", room.why);
	strcpy(places[0], "/sys/another/j");
	room_poll(&room, places, 2);
	cr_expect(strstr(room.why, "/proc/rankwatch-0"), "%s", room.why);
	cr_expect_eq(lines_said(), 1);
}

Test(room, any_place_will_do)
{
	strcpy(places[0], "/proc/rankwatch-0/j");
	snprintf(places[1], sizeof(places[1]), "%s/rankwatch-0/j", box_process_directory());
	room_poll(&room, places, 2);
	cr_expect_str_eq(room.why, "");
}
