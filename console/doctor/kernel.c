/* SPDX-License-Identifier: MIT */
#include "console/doctor/check.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ebpf/probes.h"

enum { THRESHOLD_NS = 1000000 };

static void ignore(void *argument, const struct rw_kernel_wait *wait)
{
	(void)argument;
	(void)wait;
}

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

static void kernel_run(struct check_context *context, struct check_result *result)
{
	struct probes *probes = NULL;
	char why[256] = "";
	int error = probes_open(&probes, THRESHOLD_NS, ignore, NULL, why);

	if (error)
		say_without_bpf(context, result, *why ? why : strerror(-error));
	else
		check_say(result, VERDICT_OK,
			  "level ebpf: every wait of a watched process is seen, with its kernel stack");
	probes_close(probes);
}

const struct check kernel_check = { .name = "kernel", .run = kernel_run };
