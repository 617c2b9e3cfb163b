/* SPDX-License-Identifier: MIT */
#include "recording.h"

#include <dlfcn.h>
#include <string.h>

#include "ranks.h"
#include "recording_plugin.h"

static void *recording;

/* Opening it again gives the same instance. */
void recording_attach(void)
{
	recording = dlopen(getenv("NCCL_PROFILER_PLUGIN"), RTLD_NOW | RTLD_NOLOAD);
	CHECK(recording);
}

const char *recording_read(void)
{
	return ((recording_text_function *)dlsym(recording, "recording_text"))();
}

void recording_drop(void)
{
	((recording_clear_function *)dlsym(recording, "recording_clear"))();
}

void recording_mask(int mask)
{
	((recording_set_mask_function *)dlsym(recording, "recording_set_mask"))(mask);
}

void recording_expect(const char *what, const char *expected)
{
	if (strcmp(recording_read(), expected) == 0) {
		recording_drop();
		return;
	}
	fprintf(stderr, "%s: expected\n%s\nbut NCCL called\n%s\n", what, expected, recording_read());
	_Exit(1);
}
