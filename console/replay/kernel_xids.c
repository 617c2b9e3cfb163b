/* SPDX-License-Identifier: MIT */
#include "console/replay/kernel_xids.h"

#include <string.h>

#include "base/foreign_text.h"
#include "blackbox/process.h"
#include "kernel_log/kernel_log.h"

static void on_event(void *argument, const struct analysis_gpu_event *event)
{
	analysis_add_gpu_event(argument, event);
}

static void on_oom(void *argument, int32_t pid, uint64_t at_ns)
{
	analysis_add_oom_kill(argument, pid, at_ns);
}

static bool are_of_this_boot(const struct box_entry *entries, size_t count)
{
	char boot_id[40];

	process_boot_id(boot_id);
	for (size_t i = 0; i < count; i++)
		if (!*boot_id || strcmp(entries[i].reader.header.boot_id, boot_id) != 0)
			return false;
	return true;
}

void kernel_xids_add(struct kernel_xids *xids, struct analysis *analysis, const char *path,
		     const struct box_entry *entries, size_t count)
{
	struct kernel_log *log;

	*xids = (struct kernel_xids){ 0 };
	if (!are_of_this_boot(entries, count)) {
		snprintf(xids->why, sizeof(xids->why),
			 "not all boxes were recorded here since this machine was started");
		return;
	}
	if (kernel_log_open_chosen(&log, path, xids->why, sizeof(xids->why)))
		return;
	kernel_log_hear_oom(log, on_oom, analysis);
	int err = kernel_log_read_all(log, on_event, analysis);

	if (err)
		snprintf(xids->why, sizeof(xids->why), "the kernel log: %s", strerror(-err));
	xids->begins_ns = kernel_log_begins(log);
	kernel_log_close(log);
}

void kernel_xids_print(FILE *out, const struct kernel_xids *xids, const struct analysis *analysis, uint64_t first_ns)
{
	struct analysis_summary summary;

	if (*xids->why) {
		foreign_line(out, "Xids      not looked for in the kernel log: %s", xids->why);
		return;
	}
	analysis_summarise(analysis, &summary);
	if (summary.xids)
		fprintf(out, "Xids      %u in the kernel log, of this run's GPUs", summary.xids);
	else
		fputs("Xids      none in the kernel log, of this run's GPUs", out);
	if (xids->begins_ns > first_ns)
		fprintf(out, "; it has lost the first %.0f s of the run", (double)(xids->begins_ns - first_ns) / 1e9);
	fputc('\n', out);
}
