/* SPDX-License-Identifier: MIT */
#include "console/doctor/check.h"

#include <string.h>

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
	} else if (preload && strstr(preload, INSTALL_PLUGIN_NAME)) {
		check_say(result, VERDICT_OK, "active here: LD_PRELOAD is %s", preload);
	} else {
		check_say(result, VERDICT_OK, "not active here; \"rankwatch run\" and \"rankwatch env\" preload it");
	}
}

const struct check interposer_check = { .name = "interposer", .run = interposer_run };
