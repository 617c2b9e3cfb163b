/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "box_process.h"
#include "collector/room.h"

static char places[2][BOX_PLACE_PATH];
static char why[BOX_WHY];

TestSuite(room, .fini = box_process_cleanup);

Test(room, the_matter_with_the_first_place_is_told)
{
	strcpy(places[0], "/proc/rankwatch-0/j");
	strcpy(places[1], "/sys/rankwatch-0/j");
	cr_expect_not(room_for_boxes(places, 2, NULL, why));
	cr_expect(strstr(why, "/proc/rankwatch-0"), "%s", why);
}

Test(room, any_place_will_do)
{
	strcpy(places[0], "/proc/rankwatch-0/j");
	snprintf(places[1], sizeof(places[1]), "%s/rankwatch-0/j", box_process_directory());
	cr_expect(room_for_boxes(places, 2, NULL, why), "%s", why);
}
