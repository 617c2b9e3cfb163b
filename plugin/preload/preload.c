/* SPDX-License-Identifier: MIT */
#include "plugin/preload/preload.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "plugin/recording/recording.h"

enum { UNDECIDED, ON, OFF };

static _Atomic int state;

static bool is(const char *name, const char *value)
{
	const char *found = getenv(name);

	return found && strcasecmp(found, value) == 0;
}

static __attribute__((noinline)) bool decide(void)
{
	bool off = is("RANKWATCH", "off") || is("RANKWATCH_PRELOAD", "0");

	if (!off)
		recording_interpose();
	atomic_store_explicit(&state, off ? OFF : ON, memory_order_relaxed);
	return !off;
}

bool preload_is_on(void)
{
	int now = atomic_load_explicit(&state, memory_order_relaxed);

	if (now == UNDECIDED)
		return decide();
	return now == ON && !recording_is_foreign();
}
