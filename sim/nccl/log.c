/* SPDX-License-Identifier: MIT */
#include "sim/nccl/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

static const char *const names[] = { "NONE", "VERSION", "WARN", "INFO", "ABORT", "TRACE" };
static _Thread_local char last_warning[512];

static enum log_level enabled_level(void)
{
	const char *text = getenv("NCCL_DEBUG");

	for (int level = LOG_NONE; text && level <= LOG_TRACE; level++) {
		if (strcasecmp(text, names[level]) == 0)
			return (enum log_level)level;
	}
	return LOG_NONE;
}

static void log_text(enum log_level level, const char *text)
{
	char host[64] = "";

	if (level == LOG_WARN)
		snprintf(last_warning, sizeof(last_warning), "%s", text);
	if (level > enabled_level())
		return;
	gethostname(host, sizeof(host) - 1);
	printf("%s:%d:%d NCCL %s %s\n", host, (int)getpid(), (int)gettid(), names[level], text);
	fflush(stdout);
}

void log_line(enum log_level level, const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	log_text(level, text);
}

void log_for_plugin(int level, unsigned long flags, const char *file, int line, const char *format, ...)
{
	char text[512];
	va_list arguments;

	(void)flags, (void)file, (void)line;
	if (level <= LOG_NONE || level > LOG_TRACE)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	log_text((enum log_level)level, text);
}

const char *log_last_warning(void)
{
	return last_warning;
}
