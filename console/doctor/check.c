/* SPDX-License-Identifier: MIT */
#include "console/doctor/check.h"

#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const char *check_get(const struct check_context *context, const char *name)
{
	const char *value = context->get(context->get_argument, name);

	return value && *value ? value : NULL;
}

void check_say(struct check_result *result, enum verdict verdict, const char *format, ...)
{
	va_list arguments;

	result->verdict = verdict;
	va_start(arguments, format);
	vsnprintf(result->text, sizeof(result->text), format, arguments);
	va_end(arguments);
}

void check_advise(struct check_result *result, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(result->advice, sizeof(result->advice), format, arguments);
	va_end(arguments);
}

/* A number in hexadecimal, as files of sysfs have it; 0: not to be read. */
static unsigned long read_hex(const char *device, const char *name)
{
	char path[INSTALL_PATH], text[32] = "";

	snprintf(path, sizeof(path), "%s/%s", device, name);
	FILE *file = fopen(path, "re");

	if (!file)
		return 0;
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	return strtoul(text, NULL, 16);
}

/* PCI Code and ID Assignment Specification: vendor 10de; base class 03, display controllers, those without a display
 * (02) among them. */
static bool is_nvidia_gpu(const char *device)
{
	return read_hex(device, "vendor") == 0x10de && read_hex(device, "class") >> 16 == 0x03;
}

bool check_has_gpu(const struct check_context *context)
{
	char pattern[INSTALL_PATH];
	glob_t devices;
	bool found = false;

	snprintf(pattern, sizeof(pattern), "%s/sys/bus/pci/devices/*", context->root);
	if (glob(pattern, GLOB_NOSORT, NULL, &devices))
		return true;
	for (size_t i = 0; !found && i < devices.gl_pathc; i++)
		found = is_nvidia_gpu(devices.gl_pathv[i]);
	globfree(&devices);
	return found;
}
