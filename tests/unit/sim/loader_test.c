/* SPDX-License-Identifier: MIT */
/* What each release makes of NCCL_PROFILER_PLUGIN, and which version of the interface it takes. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "sim/nccl/profiler/profiler_abi.h"
#include "ranks.h"

#define RELEASES 9

static const char *const releases[RELEASES] = { "2.23.4", "2.24.3", "2.26.2", "2.27.3", "2.27.5",
						"2.28.9", "2.29.7", "2.30.7", "2.31.2" };
static const int versions[RELEASES] = { 1, 2, 3, 4, 4, 5, 6, 6, 7 };

/* This program and the plugins have tables of the same name, which AddressSanitizer takes for a mistake. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "detect_odr_violation=0";
}

/* For STATIC_PLUGIN: this program is a plugin, too, of the version that all releases know. */
static bool static_plugin_called;

static ncclResult_t static_init(void **context, int *mask)
{
	static_plugin_called = true;
	*context = NULL;
	*mask = 0;
	return ncclSuccess;
}

static ncclResult_t static_finalize(void *context)
{
	(void)context;
	return ncclSuccess;
}

extern struct profiler_table ncclProfiler_v1;
struct profiler_table ncclProfiler_v1 = { .name = "static", .init.v1 = static_init, .finalize = static_finalize };

/* 0: not loaded. */
static int version_of(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
	int (*version)(void) = library ? (int (*)(void))dlsym(library, "every_plugin_version") : NULL;

	return version ? version() : 0;
}

static void version_main(struct rank *rank)
{
	(void)rank;
	int got = version_of(getenv("EXPECTED_PLUGIN"));
	if (got != atoi(getenv("EXPECTED_VERSION"))) {
		fprintf(stderr, "NCCL %s, %s: version %d is called\n", getenv("SIM_NCCL_VERSION"),
			getenv("NCCL_PROFILER_PLUGIN"), got);
		_Exit(1);
	}
}

/* loads: one letter per release, + or -. */
static void try_value(const char *value, const char *plugin, const char *loads)
{
	char expected[16];

	setenv("NCCL_PROFILER_PLUGIN", value, 1);
	setenv("EXPECTED_PLUGIN", plugin, 1);
	for (int i = 0; i < RELEASES; i++) {
		snprintf(expected, sizeof(expected), "%d", loads[i] == '+' ? versions[i] : 0);
		setenv("EXPECTED_VERSION", expected, 1);
		setenv("SIM_NCCL_VERSION", releases[i], 1);
		ranks_run(1, version_main);
	}
}

/* The plugins' directory is on LD_LIBRARY_PATH (meson.build). */
Test(loader, each_spelling_of_the_plugin_loads_on_the_releases_that_load_it)
{
	static const struct {
		const char *value, *plugin, *loads;
	} table[] = {
		{ "every", EVERY_PLUGIN, "--+++++++" },
		{ EVERY_PLUGIN, EVERY_PLUGIN, "+++-+++++" },
		{ "libnccl-profiler-every.so", EVERY_PLUGIN, "+++++++++" },
		{ "nccl-profiler-every", EVERY_PLUGIN, "---------" },
		{ "none", NONE_PLUGIN, "--+++----" },
		{ "NONE", NONE_PLUGIN, "---------" },
		{ "", EVERY_PLUGIN, "---------" },
		{ "/nonexistent/libnccl-profiler-every.so", EVERY_PLUGIN, "---------" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		try_value(table[i].value, table[i].plugin, table[i].loads);
}

/* As many slashes as it takes: 254 characters are left of it from 2.26 on. */
Test(loader, a_long_path_is_cut)
{
	char value[600] = "";

	memset(value, '/', 300);
	strcat(value, EVERY_PLUGIN);
	try_value(value, EVERY_PLUGIN, "++-------");
}

static void static_main(struct rank *rank)
{
	(void)rank;
	CHECK(static_plugin_called == (getenv("EXPECTED_STATIC")[0] == '+'));
}

Test(loader, any_beginning_of_STATIC_PLUGIN_means_the_program_itself)
{
	static const char *const loads = "+++-+++++";
	static const char *const values[] = { "STATIC_PLUGIN", "static", "s" };

	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		setenv("NCCL_PROFILER_PLUGIN", values[i], 1);
		for (int release = 0; release < RELEASES; release++) {
			setenv("SIM_NCCL_VERSION", releases[release], 1);
			setenv("EXPECTED_STATIC", (char[]){ loads[release], '\0' }, 1);
			ranks_run(1, static_main);
		}
	}
}

Test(loader, the_network_plugins_library_is_searched_from_2_28_on)
{
	setenv("NCCL_NET_PLUGIN", "/nonexistent.so," EVERY_PLUGIN, 1);
	try_value("/nonexistent/plugin.so", EVERY_PLUGIN, "-----++++");
	setenv("NCCL_NET_PLUGIN", RECORDING_PLUGIN_V5 "," EVERY_PLUGIN, 1);
	try_value("/nonexistent/plugin.so", EVERY_PLUGIN, "-----++++");
	setenv("NCCL_NET_PLUGIN", "none", 1);
	try_value("/nonexistent/plugin.so", EVERY_PLUGIN, "---------");
}

static void no_abi_main(struct rank *rank)
{
	(void)rank;
	CHECK(version_of(EVERY_PLUGIN) == 0);
}

Test(loader, a_release_without_the_interface_loads_nothing)
{
	setenv("SIM_NCCL_VERSION", "2.21.5", 1);
	setenv("NCCL_PROFILER_PLUGIN", EVERY_PLUGIN, 1);
	ranks_run(1, no_abi_main);
}

static void nothing_main(struct rank *rank)
{
	(void)rank;
}

/* What one rank of the release writes to its log. */
static bool log_has(const char *release, const char *wanted)
{
	char path[] = "/tmp/rankwatch-loader-XXXXXX", text[8192] = "";
	int file = mkstemp(path), output = dup(STDOUT_FILENO);

	cr_assert_geq(file, 0);
	unlink(path);
	fflush(stdout);
	dup2(file, STDOUT_FILENO);
	setenv("SIM_NCCL_VERSION", release, 1);
	ranks_run(1, nothing_main);
	dup2(output, STDOUT_FILENO);
	cr_assert_gt(pread(file, text, sizeof(text) - 1, 0), 0);
	close(file);
	close(output);
	return strstr(text, wanted);
}

Test(loader, from_2_29_on_the_mask_is_in_the_log)
{
	setenv("NCCL_DEBUG", "INFO", 1);
	setenv("NCCL_PROFILER_PLUGIN", RECORDING_PLUGIN_V5, 1);
	cr_assert(log_has("2.28.9", "Loaded recording (v5)"));
	cr_assert_not(log_has("2.28.9", "Profiler event mask"));
	cr_assert(log_has("2.29.7", "Profiler event mask: 0xe06 (3590)"));
	cr_assert(log_has("2.31.2", "Profiler event mask: 0xe06 (3590)"));
}
