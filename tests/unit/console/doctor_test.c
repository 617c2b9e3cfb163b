/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "console/doctor/check.h"
#include "console/doctor/child.h"
#include "console/doctor/libraries.h"
#include "console/doctor/python.h"
#include "crafted_box.h"

/* NAME, VALUE, …, NULL. */
static const char *from_table(void *argument, const char *name)
{
	for (const char **entry = argument; *entry; entry += 2) {
		if (!strcmp(entry[0], name))
			return entry[1];
	}
	return NULL;
}

static struct check_context context_of(const char **environment, const char *root)
{
	return (struct check_context){ .root = root, .get = from_table, .get_argument = environment };
}

static void write_file(const char *root, const char *name, const char *text, mode_t mode)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *slash = strchr(path + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	FILE *file = fopen(path, "w");

	cr_assert(file, "%s", path);
	fputs(text, file);
	fclose(file);
	chmod(path, mode);
}

static void expect_variable(const char **environment, const char *root, enum verdict verdict, const char *part)
{
	struct check_context context = context_of(environment, root);
	struct check_result result = { 0 };

	variable_check.run(&context, &result);
	cr_expect_eq(result.verdict, verdict, "%s", result.text);
	cr_expect(strstr(result.text, part), "\"%s\" in \"%s\"", part, result.text);
}

Test(doctor, says_who_set_the_profiler_plugin_and_the_environment_wins)
{
	const char *root = crafted_directory();
	const char *none[] = { NULL };
	const char *foreign[] = { "NCCL_PROFILER_PLUGIN", "/opt/other/libnccl-profiler-other.so", NULL };
	const char *home[] = { "HOME", "/home/u", NULL };

	expect_variable(none, root, VERDICT_OK, "nobody");
	write_file(root, "etc/nccl.conf", "NCCL_DEBUG=INFO\nNCCL_PROFILER_PLUGIN=fleet # by the fleet\n", 0600);
	expect_variable(none, root, VERDICT_WARNING, "fleet, set by");
	expect_variable(none, root, VERDICT_WARNING, "etc/nccl.conf");
	write_file(root, "home/u/.nccl.conf", "NCCL_PROFILER_PLUGIN=" INSTALL_PLUGIN_NAME "\n", 0600);
	expect_variable(home, root, VERDICT_OK, ".nccl.conf");
	expect_variable(foreign, root, VERDICT_WARNING, "set by environment");
}

static void add_port(const char *root, const char *name, const char *state, bool counts)
{
	static const char *const files[][2] = { { "rate", "400 Gb/sec (4X NDR)\n" }, { "counters/link_downed", "0\n" } };
	char path[256];

	for (size_t i = 0; i < (counts ? 2 : 1); i++) {
		snprintf(path, sizeof(path), "sys/class/infiniband/%s/ports/1/%s", name, files[i][0]);
		write_file(root, path, files[i][1], 0600);
	}
	snprintf(path, sizeof(path), "sys/class/infiniband/%s/ports/1/state", name);
	write_file(root, path, state, 0600);
}

Test(doctor, lists_the_network_ports_that_can_be_read)
{
	const char *root = crafted_directory(), *none[] = { NULL };
	struct check_context context = context_of(none, root);
	struct check_result result = { 0 };

	ports_check.run(&context, &result);
	cr_expect_eq(result.verdict, VERDICT_NONE, "%s", result.text);
	add_port(root, "mlx5_10", "4: ACTIVE\n", true);
	add_port(root, "mlx5_2", "1: DOWN\n", true);
	ports_check.run(&context, &result);
	cr_expect_eq(result.verdict, VERDICT_OK);
	cr_expect_str_eq(result.text, "2 ports: mlx5_2 port 1 400 Gb/s not active, mlx5_10 port 1 400 Gb/s");
	cr_expect_str_empty(result.advice);
	add_port(root, "mlx5_3", "4: ACTIVE\n", false);
	ports_check.run(&context, &result);
	cr_expect_eq(result.verdict, VERDICT_WARNING);
	cr_expect(strstr(result.text, "mlx5_3 port 1 400 Gb/s without counters"), "%s", result.text);
}

Test(doctor, a_spelling_that_not_all_releases_load_is_a_warning)
{
	const char *path[] = { "NCCL_PROFILER_PLUGIN", "/usr/lib/libnccl-profiler-rankwatch.so", NULL };

	expect_variable(path, "/nonexistent", VERDICT_WARNING, "libnccl-profiler-rankwatch.so");
}

static enum verdict interposer_verdict(const char **environment, const char *plugin)
{
	struct check_context context = context_of(environment, "");
	struct check_result result = { 0 };

	snprintf(context.install.plugin, sizeof(context.install.plugin), "%s", plugin);
	interposer_check.run(&context, &result);
	return result.verdict;
}

Test(doctor, says_when_the_interposer_stays_out)
{
	const char *none[] = { NULL };
	const char *off[] = { "RANKWATCH_PRELOAD", "0", NULL };
	const char *active[] = { "LD_PRELOAD", "/usr/lib/" INSTALL_PLUGIN_NAME, NULL };

	cr_expect_eq(interposer_verdict(none, "/usr/lib/" INSTALL_PLUGIN_NAME), VERDICT_OK);
	cr_expect_eq(interposer_verdict(active, "/usr/lib/" INSTALL_PLUGIN_NAME), VERDICT_OK);
	cr_expect_eq(interposer_verdict(off, "/usr/lib/" INSTALL_PLUGIN_NAME), VERDICT_WARNING);
	cr_expect_eq(interposer_verdict(none, "/my files/" INSTALL_PLUGIN_NAME), VERDICT_WARNING);
	cr_expect_eq(interposer_verdict(none, "/opt/a:b/" INSTALL_PLUGIN_NAME), VERDICT_WARNING);
}

static enum verdict abi_verdict(uint32_t nccl_version, struct check_result *result)
{
	struct check_context context = { .nccl_version = nccl_version };

	*result = (struct check_result){ 0 };
	abi_check.run(&context, result);
	return result->verdict;
}

Test(doctor, profiler_abi_follows_from_the_release)
{
	struct check_result result;

	cr_expect_eq(abi_verdict(22809, &result), VERDICT_OK);
	cr_expect(strstr(result.text, "v5"));
	cr_expect_eq(abi_verdict(23007, &result), VERDICT_OK);
	cr_expect(strstr(result.text, "v6"));
	cr_expect_eq(abi_verdict(22705, &result), VERDICT_WARNING);
	cr_expect(strstr(result.text, "v4"));
	cr_expect_eq(abi_verdict(22602, &result), VERDICT_NO);
	cr_expect_eq(abi_verdict(21805, &result), VERDICT_WARNING);
	cr_expect(strstr(result.text, "interposer"));
	cr_expect_eq(abi_verdict(23102, &result), VERDICT_OK);
	cr_expect(strstr(result.text, "v7"));
	cr_expect_eq(abi_verdict(23203, &result), VERDICT_WARNING);
	cr_expect(strstr(result.text, "NCCL 2.32.3 is newer than 2.31"));
	cr_expect_eq(abi_verdict(0, &result), VERDICT_WARNING);
}

Test(doctor, finds_nccl_in_the_library_path_and_in_the_system_under_a_root)
{
	const char *root = crafted_directory();
	const char *environment[] = { "LD_LIBRARY_PATH", "/opt/a:/opt/b", NULL };
	struct check_context context = context_of(environment, root);
	static struct library_copies copies;

	library_find_nccl(&context, &copies);
	cr_expect_eq(copies.count, 0);
	write_file(root, "usr/lib/x86_64-linux-gnu/libnccl.so.2", "", 0600);
	write_file(root, "opt/b/libnccl.so.2", "", 0600);
	library_find_nccl(&context, &copies);
	cr_assert_eq(copies.count, 2);
	cr_expect(strstr(copies.paths[0], "/opt/b/libnccl.so.2"));
	cr_expect(strstr(copies.paths[1], "/usr/lib/"));
}

Test(doctor, a_file_that_is_no_library_is_a_warning_and_not_a_crash)
{
	const char *root = crafted_directory();
	const char *environment[] = { "LD_LIBRARY_PATH", "/opt", NULL };
	struct check_context context = context_of(environment, root);
	struct check_result result = { 0 };

	write_file(root, "opt/libnccl.so.2", "not a library", 0600);
	nccl_check.run(&context, &result);
	cr_expect_eq(result.verdict, VERDICT_WARNING, "%s", result.text);
	cr_expect(strstr(result.text, "does not load"), "%s", result.text);
	cr_expect_eq(context.nccl_version, 0);
}

/* The check of a NCCL that is found as `name` in the library path: it is the file that the environment names. */
static struct check_context look_at_hidden(const char *root, const char **environment, const char *name,
					   struct check_result *result)
{
	struct check_context context = context_of(environment, root);
	char path[512];

	write_file(root, name, "", 0600); /* the folder */
	snprintf(path, sizeof(path), "%s/%s", root, name);
	unlink(path);
	cr_assert_eq(symlink(getenv("TEST_HIDDEN_NCCL"), path), 0);
	nccl_check.run(&context, result);
	return context;
}

static void expect_hidden(const char *name)
{
	const char *environment[] = { "LD_LIBRARY_PATH", "/opt", NULL };
	struct check_result result = { 0 }, of_interposer = { 0 };
	struct check_context context = look_at_hidden(crafted_directory(), environment, name, &result);

	cr_expect_eq(result.verdict, VERDICT_WARNING, "%s", result.text);
	cr_expect(strstr(result.text, "hides its functions: the profiler plugin sees it"), "%s", result.text);
	cr_expect(strstr(result.advice, "libnccl.so.2"), "%s", result.advice);
	snprintf(context.install.plugin, sizeof(context.install.plugin), "/usr/lib/" INSTALL_PLUGIN_NAME);
	interposer_check.run(&context, &of_interposer);
	cr_expect_eq(of_interposer.verdict, VERDICT_WARNING);
	cr_expect(strstr(of_interposer.text, "hides its functions"), "%s", of_interposer.text);
}

Test(doctor, a_nccl_that_hides_its_functions_is_named_with_what_is_not_seen_of_it)
{
	expect_hidden("opt/libnccl.so.2");
}

Test(doctor, a_nccl_that_is_linked_into_pytorch_is_found_there)
{
	expect_hidden("opt/libtorch_cuda.so");
}

/* As PyTorch's library is where NCCL lies beside it. */
Test(doctor, a_library_without_nccl_s_code_is_not_taken_for_one)
{
	const char *root = crafted_directory();
	const char *environment[] = { "LD_LIBRARY_PATH", "/opt", NULL };
	struct check_context context = context_of(environment, root);
	struct check_result result = { 0 };

	write_file(root, "opt/libtorch_cuda.so", "calls ncclAllReduce of libnccl.so.2", 0600);
	nccl_check.run(&context, &result);
	cr_expect_eq(result.verdict, VERDICT_NO, "%s", result.text);
	cr_expect(strstr(result.text, "no libnccl.so.2"), "%s", result.text);
	cr_expect_not(context.nccl_is_hidden);
}

Test(doctor, a_missing_plugin_is_named)
{
	struct check_context context = { .install.plugin = "/nonexistent/" INSTALL_PLUGIN_NAME };
	struct check_result result = { 0 };

	plugin_check.run(&context, &result);
	cr_expect_eq(result.verdict, VERDICT_NO);
	cr_expect(strstr(result.text, "/nonexistent/"));
	cr_expect_gt(strlen(result.advice), 0);
}

Test(doctor, the_commands_interpreter_is_that_of_its_script)
{
	const char *root = crafted_directory();
	const char *environment[] = { "PATH", "/none:/bin", NULL };
	struct check_context context = context_of(environment, root);
	char *torchrun[] = { "torchrun", "train.py", NULL };
	char path[INSTALL_PATH];

	write_file(root, "bin/torchrun", "#!/venv/bin/python3 -u\n", 0700);
	write_file(root, "bin/python3", "", 0700);
	context.command = torchrun;
	python_interpreter(&context, path, sizeof(path));
	cr_expect_str_eq(path, "/venv/bin/python3");
	context.command = NULL;
	python_interpreter(&context, path, sizeof(path));
	cr_expect(strstr(path, "/bin/python3"), "%s", path);
}

Test(doctor, watchdog_is_read_from_the_commands_arguments)
{
	const char *environment[] = { NULL };
	struct check_context context = context_of(environment, "");
	char *command[] = { "torchrun", "train.py", "--comm.train_timeout_seconds", "60", NULL };
	struct check_result result = { 0 };

	watchdog_check.run(&context, &result);
	cr_expect_eq(result.verdict, VERDICT_WARNING);
	context.command = command;
	watchdog_check.run(&context, &result);
	cr_expect_eq(result.verdict, VERDICT_OK);
	cr_expect(strstr(result.text, "60 s"), "%s", result.text);
}

static struct check_result interposer_of(const char **environment, uint32_t version)
{
	struct check_context context = context_of(environment, "");
	struct check_result result = { 0 };

	context.nccl_version = version;
	interposer_check.run(&context, &result);
	return result;
}

Test(doctor, names_the_functions_that_a_preloaded_interposer_seems_to_add_to_an_old_NCCL)
{
	const char *nothing[] = { NULL }, *off[] = { "RANKWATCH_PRELOAD", "0", NULL };
	struct check_result result = interposer_of(nothing, 22703);

	cr_expect_eq(result.verdict, VERDICT_OK);
	cr_expect(strstr(result.text, "this NCCL lacks ncclAllReduceConfig"), "%s", result.text);
	cr_expect(strstr(result.text, ", ncclAlltoAll, ncclGather, ncclScatter"), "%s", result.text);
	cr_expect_null(strstr(result.text, "ncclCommShrink"));
	cr_expect(strstr(result.advice, "--no-preload"));
	cr_expect(strstr(interposer_of(nothing, 22105).text, "ncclGroupSimulateEnd"));
	cr_expect_null(strstr(interposer_of(nothing, 22809).text, "ncclCommRevoke"));
	cr_expect(strstr(interposer_of(nothing, 22809).text, "ncclCommGrow"));
	cr_expect(strstr(interposer_of(nothing, 23007).text, "lacks ncclAllReduceConfig and seven more"));
	cr_expect_null(strstr(interposer_of(nothing, 23007).text, "ncclCommSuspend"));
	cr_expect_null(strstr(interposer_of(nothing, 23102).text, "lacks"));
	cr_expect_str_empty(interposer_of(nothing, 23102).advice);
	cr_expect_null(strstr(interposer_of(nothing, 0).text, "lacks"));
	cr_expect_null(strstr(interposer_of(off, 22703).text, "lacks"));
}

static struct check_result defects_of(uint32_t version)
{
	struct check_context context = { .root = "", .nccl_version = version };
	struct check_result result = { 0 };

	defects_check.run(&context, &result);
	return result;
}

Test(doctor, known_defects_of_an_NCCL_are_named_with_their_source_and_others_are_not)
{
	struct check_result result = defects_of(22707);

	cr_expect_eq(result.verdict, VERDICT_WARNING);
	cr_expect(strstr(result.text, "NCCL_RAS_ENABLE=0") && strstr(result.text, "#1996"), "%s", result.text);
	cr_expect(*result.advice);
	cr_expect_null(strstr(defects_of(22708).text, "#1996"));
	result = defects_of(21903);
	cr_expect_eq(result.verdict, VERDICT_OK, "%s", result.text);
	cr_expect_str_empty(result.advice);
	cr_expect_eq(defects_of(0).verdict, VERDICT_WARNING);
}

Test(doctor, says_whether_the_kernel_log_can_be_read)
{
	const char *root = crafted_directory();
	struct check_context context = { .root = root };
	struct check_result result = { 0 };

	kernel_log_check.run(&context, &result);
	cr_expect_eq(result.verdict, VERDICT_WARNING);
	cr_expect(strstr(result.advice, "CAP_SYSLOG"), "%s", result.advice);
	write_file(root, "dev/kmsg", "", 0600);
	result = (struct check_result){ 0 };
	kernel_log_check.run(&context, &result);
	cr_expect_eq(result.verdict, VERDICT_OK, "%s", result.text);
}

Test(doctor, a_black_box_is_tried_and_leaves_nothing_behind)
{
	const char *root = crafted_directory();
	const char *environment[] = { "RANKWATCH_DIR", root, NULL };
	struct check_context context = context_of(environment, "");
	struct check_result result = { 0 };

	box_check.run(&context, &result);
	cr_expect_neq(result.verdict, VERDICT_NO, "%s", result.text);
	cr_expect(strstr(result.text, root), "%s", result.text);
	cr_expect_eq(rmdir(root), 0, "the directory is the user's, and empty as before");
}

struct answer {
	int value;
};

static void answer_42(const void *argument, void *result, size_t size)
{
	(void)argument;
	(void)size;
	((struct answer *)result)->value = 42;
}

static void crash(const void *argument, void *result, size_t size)
{
	(void)argument;
	(void)size;
	((struct answer *)result)->value = 1;
	raise(SIGSEGV);
}

static void never_end(const void *argument, void *result, size_t size)
{
	(void)argument;
	(void)result;
	(void)size;
	for (;;)
		pause();
}

Test(child, hands_its_result_back_and_its_death_is_an_error)
{
	struct answer answer;

	cr_expect_eq(child_call(answer_42, NULL, &answer, sizeof(answer), 10), 0);
	cr_expect_eq(answer.value, 42);
	cr_expect_eq(child_call(crash, NULL, &answer, sizeof(answer), 10), -ECHILD);
	cr_expect_eq(answer.value, 0);
	cr_expect_eq(child_call(never_end, NULL, &answer, sizeof(answer), 1), -ETIMEDOUT);
}

static bool finds_gpu(const char *vendor, const char *class_)
{
	char root[] = "/tmp/rankwatch-pci-XXXXXX", command[64];
	struct check_context context = context_of((const char *[]){ NULL }, root);

	cr_assert(mkdtemp(root));
	write_file(root, "sys/bus/pci/devices/0000:00:00.0/vendor", "0x8086\n", 0644);
	write_file(root, "sys/bus/pci/devices/0000:00:00.0/class", "0x030000\n", 0644);
	write_file(root, "sys/bus/pci/devices/0000:3b:00.0/vendor", vendor, 0644);
	write_file(root, "sys/bus/pci/devices/0000:3b:00.0/class", class_, 0644);
	bool found = check_has_gpu(&context);

	snprintf(command, sizeof(command), "rm -r %s", root);
	cr_assert_eq(system(command), 0);
	return found;
}

Test(doctor, knows_a_machine_without_nvidia_gpu_by_its_pci_bus)
{
	struct check_context no_sysfs = context_of((const char *[]){ NULL }, "/nonexistent");

	cr_expect(finds_gpu("0x10de\n", "0x030200\n"));     /* a data centre's: 3D controller */
	cr_expect_not(finds_gpu("0x10de\n", "0x068000\n")); /* NVSwitch: a bridge */
	cr_expect_not(finds_gpu("0x1002\n", "0x030000\n"));
	cr_expect(check_has_gpu(&no_sysfs));
}
