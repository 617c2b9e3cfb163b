/* SPDX-License-Identifier: MIT */
/* What doctor loads and runs has no rights of doctor's. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <linux/capability.h>
#include <unistd.h>

#include "console/cli/privileges.h"
#include "console/doctor/check.h"
#include "console/doctor/child.h"
#include "console/doctor/libraries.h"
#include "console/doctor/python.h"
#include "crafted_box.h"

enum { SECONDS = 10, SOMEBODY = 4242 };

static const char *directory;
static char witness_file[256], library[512];

static void copy_file(const char *from, const char *to, mode_t mode)
{
	char buffer[65536];
	int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ssize_t length;

	cr_assert(in >= 0 && out >= 0, "%s, %s", from, to);
	while ((length = read(in, buffer, sizeof(buffer))) > 0)
		cr_assert_eq(write(out, buffer, (size_t)length), length);
	close(in);
	close(out);
	cr_assert_eq(chmod(to, mode), 0);
}

/* A copy of the witness in a directory of the test's own, which everybody may enter. */
static void set_up(void)
{
	directory = crafted_directory();
	chmod(directory, 0755);
	snprintf(witness_file, sizeof(witness_file), "%s/status", directory);
	snprintf(library, sizeof(library), "%s/libnccl.so.2", directory);
	close(open(witness_file, O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
	chmod(witness_file, 0666);
	copy_file(getenv("TEST_WITNESS"), library, 0755);
	setenv("WITNESS_FILE", witness_file, 1);
}

TestSuite(privileges, .init = set_up);

/* The line's value as the witness wrote it down. */
static const char *witnessed(const char *key)
{
	static char line[256];
	size_t length = strlen(key);
	FILE *file = fopen(witness_file, "re");
	bool found = false;

	cr_assert(file);
	while (!found && fgets(line, sizeof(line), file))
		found = !strncmp(line, key, length) && line[length] == ':';
	fclose(file);
	cr_assert(found, "the witness was there and wrote down %s", key);
	line[strcspn(line, "\n")] = '\0';
	return line + length + 1 + strspn(line + length + 1, " \t");
}

static void expect_no_rights(void)
{
	static const char *const sets[] = { "CapEff", "CapPrm", "CapInh", "CapAmb" };

	for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++)
		cr_expect_eq(strtoull(witnessed(sets[i]), NULL, 16), 0, "%s is %s", sets[i], witnessed(sets[i]));
	if (getuid() == 0)
		cr_expect_eq(strtoull(witnessed("CapBnd"), NULL, 16), 0, "CapBnd is %s", witnessed("CapBnd"));
	cr_expect_str_eq(witnessed("NoNewPrivs"), "1");
}

static void skip_unless_root(void)
{
	if (getuid() != 0)
		cr_skip_test("only root has rights to give up");
}

Test(privileges, a_library_that_doctor_loads_sees_no_capability)
{
	struct library_answer answer;

	skip_unless_root();
	cr_assert_eq(child_try(library, library_ask_nccl_version, library, &answer, sizeof(answer), SECONDS), 0);
	cr_expect_eq(answer.value, 22809, "%s", answer.error);
	expect_no_rights();
	cr_expect_eq(atoi(witnessed("Uid")), 0, "root's own file, in root's own directory");
}

static const char *from_table(void *argument, const char *name)
{
	for (const char **entry = argument; *entry; entry += 2)
		if (!strcmp(entry[0], name))
			return entry[1];
	return NULL;
}

Test(privileges, the_check_of_nccl_takes_that_way)
{
	const char *environment[] = { "LD_LIBRARY_PATH", directory, NULL };
	struct check_context context = { .root = "", .get = from_table, .get_argument = environment };
	struct check_result result = { 0 };

	skip_unless_root();
	nccl_check.run(&context, &result);
	cr_assert(strstr(result.text, "2.28.9"), "%s", result.text);
	expect_no_rights();
}

Test(privileges, an_interpreter_has_none_either_and_exec_brings_none_back)
{
	char bin[512], script[768];
	const char *environment[] = { "PATH", bin, NULL };
	struct check_context context = { .root = "", .get = from_table, .get_argument = environment };
	char packages[1024];

	skip_unless_root();
	snprintf(bin, sizeof(bin), "%s/bin", directory);
	mkdir(bin, 0755);
	snprintf(script, sizeof(script), "%s/python3", bin);
	FILE *file = fopen(script, "w");
	fprintf(file, "#!/bin/sh\ncat /proc/self/status > %s\necho /packages\n", witness_file);
	fclose(file);
	chmod(script, 0755);
	python_packages(&context, packages, sizeof(packages));
	cr_expect_str_eq(packages, "/packages\n");
	expect_no_rights();
}

Test(privileges, what_another_user_could_have_written_runs_as_that_user)
{
	struct library_answer answer;
	int uids[4] = { 0 };

	skip_unless_root();
	cr_assert_eq(chown(library, SOMEBODY, SOMEBODY), 0);
	cr_assert_eq(child_try(library, library_ask_nccl_version, library, &answer, sizeof(answer), SECONDS), 0);
	cr_assert_eq(sscanf(witnessed("Uid"), "%d %d %d %d", &uids[0], &uids[1], &uids[2], &uids[3]), 4);
	for (int i = 0; i < 4; i++)
		cr_expect_eq(uids[i], SOMEBODY, "%s", witnessed("Uid"));
	cr_expect_eq(atoi(witnessed("Gid")), SOMEBODY);
	cr_expect_str_empty(witnessed("Groups"));
	expect_no_rights();
}

Test(privileges, every_directory_on_the_way_counts_and_the_links_target_does)
{
	char inner[512], file[768], link[768], cwd[512];
	gid_t gid;

	skip_unless_root();
	snprintf(inner, sizeof(inner), "%s/inner", directory);
	snprintf(file, sizeof(file), "%s/python3", inner);
	snprintf(link, sizeof(link), "%s/python", directory);
	mkdir(inner, 0755);
	copy_file("/proc/self/exe", file, 0755);
	cr_assert_eq(symlink(file, link), 0);
	cr_expect_eq(privileges_owner_of(file, &gid), 0);
	cr_expect_eq(privileges_owner_of(link, &gid), 0);
	cr_assert_eq(chown(inner, SOMEBODY, SOMEBODY + 1), 0);
	cr_expect_eq(privileges_owner_of(file, &gid), SOMEBODY);
	cr_expect_eq(gid, SOMEBODY + 1);
	cr_expect_eq(privileges_owner_of(link, &gid), SOMEBODY);
	cr_assert(getcwd(cwd, sizeof(cwd)) && chdir(inner) == 0);
	cr_expect_eq(privileges_owner_of("./python3", &gid), SOMEBODY);
	cr_assert_eq(chdir(cwd), 0);
	cr_assert_eq(chown(inner, 0, 0), 0);
	cr_assert_eq(chmod(inner, 0777), 0);
	cr_expect_eq(privileges_owner_of(file, &gid), 65534, "who wrote it is not known");
	cr_expect_eq(privileges_owner_of("libcuda.so.1", &gid), 0);
}

static void try_to_write(const void *argument, void *result, size_t size)
{
	int fd = open(argument, O_WRONLY | O_CLOEXEC);

	(void)size;
	*(int *)result = fd >= 0 ? 1 : -1;
}

Test(privileges, root_without_capabilities_writes_no_file_of_another_user)
{
	int result;

	skip_unless_root();
	cr_assert_eq(chown(witness_file, SOMEBODY, SOMEBODY), 0);
	cr_assert_eq(chmod(witness_file, 0600), 0);
	cr_assert_eq(child_call(try_to_write, witness_file, &result, sizeof(result), SECONDS), 0);
	cr_expect_eq(result, 1, "a call that tries nothing foreign keeps them");
	cr_assert_eq(child_try(NULL, try_to_write, witness_file, &result, sizeof(result), SECONDS), 0);
	cr_expect_eq(result, -1);
}

Test(privileges, an_ordinary_program_has_none_of_its_files)
{
	cr_expect_not(privileges_of_file());
}

/* What setcap cap_bpf,cap_perfmon,cap_syslog+ep writes. */
static int give_capabilities(const char *path)
{
	struct vfs_cap_data data = { .magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE };

	data.data[1].permitted = 1u << (38 - 32) | 1u << (39 - 32);
	data.data[1].permitted |= 1u << (34 - 32);
	return setxattr(path, "security.capability", &data, sizeof(data), 0);
}

/* The program with capabilities, started by an ordinary user: its exit status, and what it printed. */
static int run_as_somebody(const char *program, const char *command, char *text, size_t size)
{
	int ends[2], status = 0;
	size_t length = 0;
	ssize_t got;

	cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
	pid_t child = fork();

	if (child == 0) {
		dup2(ends[1], STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO);
		if (setresgid(SOMEBODY, SOMEBODY, SOMEBODY) || setresuid(SOMEBODY, SOMEBODY, SOMEBODY))
			_exit(126);
		setenv("LD_LIBRARY_PATH", directory, 1);
		execl(program, "rankwatch", command, strcmp(command, "version") ? "--" : NULL, "/bin/true", NULL);
		_exit(127);
	}
	close(ends[1]);
	while ((got = read(ends[0], text + length, size - 1 - length)) > 0)
		length += (size_t)got;
	text[length] = '\0';
	close(ends[0]);
	cr_assert_eq(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Test(privileges, a_command_with_file_capabilities_says_so_and_loads_nothing)
{
	static const char *const commands[] = { "doctor", "run" };
	char program[512], text[8192];
	struct statvfs fs;

	skip_unless_root();
	snprintf(program, sizeof(program), "%s/rankwatch", directory);
	copy_file(getenv("TEST_RANKWATCH"), program, 0755);
	if (statvfs(directory, &fs) || fs.f_flag & ST_NOSUID || give_capabilities(program))
		cr_skip_test("%s: files there cannot have capabilities", directory);
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		cr_expect_eq(run_as_somebody(program, commands[i], text, sizeof(text)), 1, "%s", text);
		cr_expect(strstr(text, "its file has capabilities") && strstr(text, "not done"), "%s", text);
	}
	cr_expect_eq(run_as_somebody(program, "version", text, sizeof(text)), 0, "%s", text);
	cr_expect(strstr(text, "its file has capabilities") && strstr(text, "black box layout"), "%s", text);
	struct stat status;
	cr_expect(stat(witness_file, &status) == 0 && status.st_size == 0, "the library was not loaded");
}
