/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <elf.h>
#include <stdio.h>
#include <sys/stat.h>

#include "console/install/install.h"
#include "console/install/library_fault.h"
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

/* The first `size` bytes of this program, with that machine in its header. */
static const char *fault_of(const char *directory, size_t size, unsigned machine)
{
	static char path[512], bytes[1 << 16];
	FILE *self = fopen("/proc/self/exe", "r"), *file;
	size_t length, written = 0;

	snprintf(path, sizeof(path), "%s/library.so", directory);
	file = fopen(path, "w");
	cr_assert(self && file);
	while (written < size && (length = fread(bytes, 1, sizeof(bytes), self)) > 0) {
		if (written == 0 && machine)
			((Elf64_Ehdr *)bytes)->e_machine = (Elf64_Half)machine;
		written += fwrite(bytes, 1, length < size - written ? length : size - written, file);
	}
	fclose(self);
	fclose(file);
	return library_fault(path);
}

Test(library_fault, a_file_that_would_end_every_program_is_not_preloaded)
{
	const char *directory = crafted_directory();
	struct stat self;

	cr_assert_eq(stat("/proc/self/exe", &self), 0);
	size_t whole = (size_t)self.st_size;

	cr_expect_null(fault_of(directory, whole, 0));
	size_t cuts[] = { 0, 1, sizeof(Elf64_Ehdr) - 1, sizeof(Elf64_Ehdr), whole / 2, whole - 1 };

	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++)
		cr_expect_str_eq(fault_of(directory, cuts[i], 0), "it is cut off: it was not copied to its end",
				 "%zu bytes", cuts[i]);
	cr_expect_str_eq(fault_of(directory, whole, EM_S390), "it is for another kind of machine");
	cr_expect_str_eq(library_fault("/proc/self/status"), "it is no library of a 64-bit machine");
	cr_expect_str_eq(library_fault("/nowhere"), "No such file or directory");
	cr_expect_not_null(library_fault("/proc"));
}
