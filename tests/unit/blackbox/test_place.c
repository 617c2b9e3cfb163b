/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include "blackbox/place.h"

Test(place, a_job_name_becomes_one_path_component)
{
	static const char *const cases[][2] = {
		{ "slurm-81123_4.0", "slurm-81123_4.0" }, { "../etc", ".._etc" }, { "a b/c\n", "a_b_c_" },
		{ "", "_" }, { ".", "_" }, { "..", "_" }, { "caf\xc3\xa9", "caf__" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char component[BOX_JOB_COMPONENT];

		box_job_component(cases[i][0], component);
		cr_expect_str_eq(component, cases[i][1]);
	}
}

Test(place, a_long_job_name_is_cut)
{
	char job[200], component[BOX_JOB_COMPONENT];

	memset(job, 'j', sizeof(job) - 1);
	job[sizeof(job) - 1] = '\0';
	box_job_component(job, component);
	cr_expect_eq(strlen(component), BOX_JOB_COMPONENT - 1);
}

Test(place, all_places_come_in_the_order_of_the_contract)
{
	char paths[BOX_PLACES][BOX_PLACE_PATH];

	cr_assert_eq(box_places("/mine", "/run/user/7", 7, "job 1", paths), 4);
	cr_expect_str_eq(paths[0], "/mine");
	cr_expect_str_eq(paths[1], "/dev/shm/rankwatch-7/job_1");
	cr_expect_str_eq(paths[2], "/run/user/7/rankwatch/job_1");
	cr_expect_str_eq(paths[3], "/tmp/rankwatch-7/job_1");
}

Test(place, what_is_not_set_is_left_out)
{
	char paths[BOX_PLACES][BOX_PLACE_PATH];

	cr_assert_eq(box_places(NULL, NULL, 0, NULL, paths), 2);
	cr_expect_str_eq(paths[0], "/dev/shm/rankwatch-0/_");
	cr_expect_str_eq(paths[1], "/tmp/rankwatch-0/_");
}

Test(place, a_directory_too_long_for_a_file_below_it_is_left_out)
{
	char paths[BOX_PLACES][BOX_PLACE_PATH], directory[3000];

	memset(directory, '/', sizeof(directory) - 1);
	directory[sizeof(directory) - 1] = '\0';
	cr_expect_eq(box_places(directory, directory, 0, "j", paths), 2);
	directory[BOX_PLACE_PATH - 20] = '\0';
	cr_expect_eq(box_places(directory, NULL, 0, "j", paths), 2);
}
