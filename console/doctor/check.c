/* SPDX-License-Identifier: MIT */
#include "console/doctor/check.h"

#include <stdarg.h>
#include <stdio.h>

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
