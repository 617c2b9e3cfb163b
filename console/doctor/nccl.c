/* SPDX-License-Identifier: MIT */
#include "console/doctor/check.h"

#include <stdio.h>
#include <string.h>

#include "console/doctor/child.h"
#include "console/doctor/libraries.h"

enum { SECONDS = 10, OLDEST_ABI = 4 };
/* First release whose profiler interface nobody has compared with the plugin's. */
enum { UNKNOWN_NCCL = 23200 };

/* ncclGetVersion counts 2.28.9 as 22809. */
static void version_text(char *text, size_t size, uint32_t version)
{
	snprintf(text, size, "%u.%u.%u", version / 10000, version / 100 % 100, version % 100);
}

static void nccl_say_found(struct check_result *result, const struct library_copies *copies, uint32_t version)
{
	char text[32];

	version_text(text, sizeof(text), version);
	check_say(result, VERDICT_OK, "%s, %s", text, copies->paths[0]);
	if (copies->count > 1)
		check_advise(result,
			     "another copy lies at %s; the loaded one counts, and is named in the job's start line",
			     copies->paths[1]);
}

/* What the plugin alone shows of it, docs/nccl-versions.md. */
static void nccl_say_hidden(struct check_result *result, const char *path)
{
	check_say(
	    result, VERDICT_WARNING,
	    "the NCCL in %s hides its functions: the profiler plugin sees it, if that build loads profiler plugins, "
	    "and the interposer does not: who waits in inits and one-sided calls is not seen, and inputs are not "
	    "scanned before their operation",
	    path);
	check_advise(result, "a NCCL that exports its functions (a libnccl.so.2 that PyTorch is linked to) shows them; "
			     "with this one RANKWATCH_SCAN=all scans behind operations");
}

/* Where no libnccl.so.2 is: a library that NCCL is linked into. */
static void find_inside(struct check_context *context, struct library_copies *copies)
{
	static struct library_copies candidates;

	library_find_torch(context, &candidates);
	if (candidates.count && child_call(library_ask_inside, &candidates, copies, sizeof(*copies), SECONDS))
		copies->count = 0;
}

static void nccl_run(struct check_context *context, struct check_result *result)
{
	static struct library_copies copies;
	static struct library_answer answer;

	library_find_nccl(context, &copies);
	if (!copies.count)
		find_inside(context, &copies);
	if (!copies.count) {
		check_say(result, VERDICT_NO, "no libnccl.so.2 in Python's packages, LD_LIBRARY_PATH or the system");
		check_advise(result, "run this inside the job's environment: rankwatch doctor -- torchrun train.py");
		return;
	}
	int error =
	    child_try(copies.paths[0], library_ask_nccl_version, copies.paths[0], &answer, sizeof(answer), SECONDS);

	if (error || *answer.error) {
		check_say(result, VERDICT_WARNING, "%s does not load here: %s", copies.paths[0],
			  error ? child_error_text(error) : answer.error);
		check_advise(result, "run this where the job runs: its libraries may be set there");
		return;
	}
	context->nccl_version = (uint32_t)answer.value;
	context->nccl_is_hidden = *answer.text;
	if (context->nccl_is_hidden)
		nccl_say_hidden(result, copies.paths[0]);
	else
		nccl_say_found(result, &copies, context->nccl_version);
}

const struct check nccl_check = { .name = "NCCL", .run = nccl_run };

/* First release that looks for each ABI; newest first. */
static const struct {
	uint32_t version;
	int abi;
} abi_releases[] = {
	{ 23102, 7 }, { 22902, 6 }, { 22803, 5 }, { 22703, 4 }, { 22602, 3 }, { 22403, 2 }, { 22304, 1 },
};

static int abi_of(uint32_t version)
{
	for (size_t i = 0; i < sizeof(abi_releases) / sizeof(*abi_releases); i++) {
		if (version >= abi_releases[i].version)
			return abi_releases[i].abi;
	}
	return 0;
}

static void abi_run(struct check_context *context, struct check_result *result)
{
	int abi = abi_of(context->nccl_version);
	char text[32];

	version_text(text, sizeof(text), context->nccl_version);
	if (!context->nccl_version)
		check_say(result, VERDICT_WARNING, "not known without NCCL's version");
	else if (abi == 0)
		check_say(result, VERDICT_WARNING, "NCCL %s has none: it is recorded by the interposer alone", text);
	else if (abi < OLDEST_ABI)
		check_say(result, VERDICT_NO, "NCCL %s speaks v%d, which this plugin does not", text, abi);
	else if (context->nccl_version >= UNKNOWN_NCCL)
		check_say(result, VERDICT_WARNING, "NCCL %s is newer than 2.31, the newest that rankwatch was made for",
			  text);
	else if (abi == OLDEST_ABI)
		check_say(result, VERDICT_WARNING, "v%d: no stream: GPU progress comes from the interposer", abi);
	else
		check_say(result, VERDICT_OK, "v%d", abi);
	if (context->nccl_version && abi && abi < OLDEST_ABI)
		check_advise(result, "NCCL 2.27.3 or newer records; 2.28.3 or newer with GPU progress");
	else if (context->nccl_version >= UNKNOWN_NCCL)
		check_advise(result,
			     "the job's start line says which interface it took: v%d, or none and the "
			     "interposer alone",
			     abi);
	else if (abi == OLDEST_ABI)
		check_advise(
		    result,
		    "without it (--no-preload) lateness is measured on the host; NCCL 2.28.3 or newer does without");
}

const struct check abi_check = { .name = "profiler ABI", .run = abi_run };
