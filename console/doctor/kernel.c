/* SPDX-License-Identifier: MIT */
#include "console/doctor/check.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rankwatch/helper.h>

#include "ebpf/trial.h"

/* First line of a file under the root; "not readable" when it is not. */
static void read_line(const struct check_context *context, const char *path, char *line, size_t size)
{
	char full[INSTALL_PATH];
	FILE *file;

	snprintf(full, sizeof(full), "%s%s", context->root, path);
	snprintf(line, size, "not readable");
	file = fopen(full, "re");
	if (!file)
		return;
	if (fgets(line, (int)size, file))
		line[strcspn(line, "\n")] = '\0';
	fclose(file);
}

/* why: "what is missing; what would help". */
static void say_without_bpf(const struct check_context *context, struct check_result *result, const char *why)
{
	char unprivileged[64], paranoid[64], lockdown[64];
	const char *semicolon = strstr(why, "; ");
	int missing = semicolon ? (int)(semicolon - why) : (int)strlen(why);

	read_line(context, "/proc/sys/kernel/unprivileged_bpf_disabled", unprivileged, sizeof(unprivileged));
	read_line(context, "/proc/sys/kernel/perf_event_paranoid", paranoid, sizeof(paranoid));
	read_line(context, "/sys/kernel/security/lockdown", lockdown, sizeof(lockdown));
	check_say(result, VERDICT_WARNING,
		  "level %s: %.*s (unprivileged_bpf_disabled %s, perf_event_paranoid %s, lockdown %s)",
		  geteuid() == 0 ? "root without BPF" : "proc", missing, why, unprivileged, paranoid, lockdown);
	check_advise(result, "%s%scauses come from samples of /proc, 20 a second", semicolon ? semicolon + 2 : "",
		     semicolon ? "; without it " : "");
}

/* "the wait", "the wait, the thread that ended it": what should have been seen and was not. */
static void list_unseen(const struct trial *trial, char *text, size_t size)
{
	const struct {
		bool seen;
		const char *name;
	} parts[] = { { trial->wait, "a wait for a lock" },
		      { trial->waker, "the thread that ended it" },
		      { trial->file, "the pipe that a write waited for" } };

	*text = '\0';
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (!parts[i].seen)
			snprintf(text + strlen(text), size - strlen(text), "%s%s", *text ? ", " : "", parts[i].name);
}

static void say_with_bpf(const struct trial *trial, struct check_result *result)
{
	char unseen[160];
	const char *through = trial->by_helper ? " through rankwatchd" : "";

	list_unseen(trial, unseen, sizeof(unseen));
	if (*unseen) {
		check_say(result, VERDICT_WARNING, "level ebpf%s, but of a try here it did not see: %s", through,
			  unseen);
		check_advise(result, "causes will be missing, or less certain; try again on a host that is less busy");
	} else {
		check_say(
		    result, VERDICT_OK,
		    "level ebpf%s: tried here, it saw a thread wait %.1f ms for a lock (%.1f by its own clock), the "
		    "thread that ended it, and the pipe that a write waited for",
		    through, trial->reported_ms, trial->true_ms);
	}
}

static void kernel_run(struct check_context *context, struct check_result *result)
{
	struct trial trial;
	char why[TRIAL_WHY];
	int error = trial_run(&trial, *context->root ? NULL : RW_HELPER_SOCKET, why);

	if (error)
		say_without_bpf(context, result, *why ? why : strerror(-error));
	else
		say_with_bpf(&trial, result);
}

const struct check kernel_check = { .name = "kernel", .run = kernel_run };
