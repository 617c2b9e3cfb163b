/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>
#include <sys/stat.h>

#include "console/install.h"
#include "crafted_box.h"

static struct install install;

Test(install, parts_lie_beside_the_program_in_a_build_tree)
{
	char program[512], expected[512];
	const char *build = crafted_directory();

	snprintf(program, sizeof(program), "%s/console", build);
	cr_assert_eq(mkdir(program, 0700), 0);
	snprintf(program, sizeof(program), "%s/build.ninja", build);
	fclose(fopen(program, "w"));
	snprintf(program, sizeof(program), "%s/console/rankwatch", build);
	cr_assert_eq(install_find_from(&install, program), 0);
	cr_expect(install.build_tree);
	snprintf(expected, sizeof(expected), "%s/plugin/" INSTALL_PLUGIN_NAME, build);
	cr_expect_str_eq(install.plugin, expected);
	snprintf(expected, sizeof(expected), "%s/sim/workload", build);
	cr_expect_str_eq(install.workload_directory, expected);
}

Test(install, a_moved_prefix_still_finds_its_library)
{
	cr_assert_eq(install_find_from(&install, "/opt/moved/bin/rankwatch"), 0);
	cr_expect_not(install.build_tree);
	cr_expect_eq(strncmp(install.plugin, "/opt/moved/lib", strlen("/opt/moved/lib")), 0, "%s", install.plugin);
	cr_expect_eq(strncmp(install.sim_libraries, "/opt/moved/lib", strlen("/opt/moved/lib")), 0);
}

Test(install, a_path_with_a_separator_of_LD_PRELOAD_is_not_preloaded)
{
	cr_assert_eq(install_find_from(&install, "/opt/moved/bin/rankwatch"), 0);
	cr_expect_null(install_no_preload_because(&install));
	cr_assert_eq(install_find_from(&install, "/opt/my tools/bin/rankwatch"), 0);
	cr_expect_not_null(install_no_preload_because(&install));
	cr_assert_eq(install_find_from(&install, "/opt/a:b/bin/rankwatch"), 0);
	cr_expect_not_null(install_no_preload_because(&install));
}

Test(install, a_path_that_does_not_fit_is_refused)
{
	static char program[2 * INSTALL_PATH];

	memset(program, 'a', sizeof(program) - 1);
	program[0] = '/';
	cr_expect_lt(install_find_from(&install, program), 0);
}
