/* SPDX-License-Identifier: MIT */
#include "console/doctor/check.h"

#include <stdio.h>
#include <string.h>

/* Functions that the interposer replaces and NCCL has had since then: the headers of its releases. */
static const struct {
	uint32_t since; /* as ncclGetVersion counts */
	const char *name;
} functions[] = {
	{ 23100, "ncclAllReduceConfig and seven more collectives with a configuration" },
	{ 22907, "ncclCommSuspend" }, { 22907, "ncclCommResume" },
	{ 22902, "ncclCommGrow" },    { 22902, "ncclPutSignal" },
	{ 22902, "ncclSignal" },      { 22902, "ncclWaitSignal" },
	{ 22807, "ncclCommRevoke" },
	{ 22800, "ncclAlltoAll" },    { 22800, "ncclGather" },
	{ 22800, "ncclScatter" },     { 22700, "ncclCommShrink" },
	{ 22300, "ncclCommInitRankScalable" }, { 22200, "ncclGroupSimulateEnd" },
};

/* A preloaded symbol hides that NCCL has none. */
static void report_lacking(const struct check_context *context, struct check_result *result)
{
	size_t used = strlen(result->text), before = used;

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions) && used < sizeof(result->text); i++)
		if (context->nccl_version && context->nccl_version < functions[i].since)
			used += (size_t)snprintf(result->text + used, sizeof(result->text) - used, "%s%s",
						 used == before ? "; this NCCL lacks " : ", ", functions[i].name);
	if (used != before)
		check_advise(result,
			     "a program that looks for them by a weak reference or dlsym(RTLD_DEFAULT) finds the "
			     "interposer's, which fail: run such a program with --no-preload");
}

static void interposer_run(struct check_context *context, struct check_result *result)
{
	const char *preload = check_get(context, "LD_PRELOAD"), *wish = check_get(context, "RANKWATCH_PRELOAD");
	const char *obstacle = install_no_preload_because(&context->install);

	if (obstacle) {
		check_say(result, VERDICT_WARNING, "%s cannot be preloaded: %s", context->install.plugin, obstacle);
		check_advise(result, "install rankwatch where the path has neither");
	} else if (wish && !strcmp(wish, "0")) {
		check_say(result, VERDICT_WARNING,
			  "RANKWATCH_PRELOAD=0: what NCCL does not show to plugins stays unseen");
	} else if (context->nccl_is_hidden) {
		check_say(result, VERDICT_WARNING, "not possible: NCCL hides its functions, as said above");
	} else if (preload && strstr(preload, INSTALL_PLUGIN_NAME)) {
		check_say(result, VERDICT_OK, "active here: LD_PRELOAD is %s", preload);
		report_lacking(context, result);
	} else {
		check_say(result, VERDICT_OK, "not active here; \"rankwatch run\" and \"rankwatch env\" preload it");
		report_lacking(context, result);
	}
}

const struct check interposer_check = { .name = "interposer", .run = interposer_run };
