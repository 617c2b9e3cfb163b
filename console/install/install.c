/* SPDX-License-Identifier: MIT */
#include "console/install/install.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "drill/delay.h"

/* Cuts the last component. false when there is none. */
static bool to_parent(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash || slash == path)
		return false;
	*slash = '\0';
	return true;
}

static bool __attribute__((format(printf, 3, 4))) join(char *path, size_t size, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	int length = vsnprintf(path, size, format, arguments);
	va_end(arguments);
	return length >= 0 && (size_t)length < size;
}

static bool fill_build_tree(struct install *install, const char *build)
{
	install->build_tree = true;
	return join(install->plugin_directory, INSTALL_PATH, "%s/plugin", build) &&
	       join(install->drill, INSTALL_PATH, "%s/drill/" DRILL_LIBRARY, build) &&
	       join(install->sim_libraries, INSTALL_PATH, "%s/sim", build) &&
	       join(install->workload_directory, INSTALL_PATH, "%s/sim/workload", build) &&
	       join(install->terminals, INSTALL_PATH, "%s/console/terminfo", build);
}

static bool fill_installed(struct install *install, const char *prefix)
{
	return join(install->plugin_directory, INSTALL_PATH, "%s/" RANKWATCH_LIBDIR, prefix) &&
	       join(install->drill, INSTALL_PATH, "%s/" RANKWATCH_LIBDIR "/" DRILL_LIBRARY, prefix) &&
	       join(install->sim_libraries, INSTALL_PATH, "%s/" RANKWATCH_LIBDIR "/rankwatch/sim", prefix) &&
	       join(install->workload_directory, INSTALL_PATH, "%s/" RANKWATCH_LIBEXECDIR "/rankwatch", prefix) &&
	       join(install->terminals, INSTALL_PATH, "%s/share/rankwatch/terminfo", prefix);
}

/* The prefix is what remains of the program's directory without the configured bindir. */
static void find_prefix(char *directory)
{
	size_t length = strlen(directory), bindir = strlen("/" RANKWATCH_BINDIR);

	if (length > bindir && !strcmp(directory + length - bindir, "/" RANKWATCH_BINDIR))
		directory[length - bindir] = '\0';
	else
		strcpy(directory, RANKWATCH_PREFIX);
}

int install_find_from(struct install *install, const char *program)
{
	char directory[INSTALL_PATH], ninja[INSTALL_PATH + 16];
	bool fits;

	*install = (struct install){ 0 };
	if (!join(install->program, INSTALL_PATH, "%s", program))
		return -ENAMETOOLONG;
	strcpy(directory, program);
	if (!to_parent(directory))
		return -EINVAL;
	snprintf(ninja, sizeof(ninja), "%s/../build.ninja", directory);
	if (access(ninja, F_OK) == 0) {
		to_parent(directory);
		fits = fill_build_tree(install, directory);
	} else {
		find_prefix(directory);
		fits = fill_installed(install, directory);
	}
	if (!fits || !join(install->plugin, INSTALL_PATH, "%s/" INSTALL_PLUGIN_NAME, install->plugin_directory))
		return -ENAMETOOLONG;
	return 0;
}

const char *install_no_preload_because(const struct install *install)
{
	return strpbrk(install->plugin, " :\t\n") ? "its path has a space or a colon, which LD_PRELOAD takes for an end"
						  : NULL;
}

int install_find(struct install *install)
{
	char program[INSTALL_PATH];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);

	if (length < 0)
		return -errno;
	program[length] = '\0';
	return install_find_from(install, program);
}
