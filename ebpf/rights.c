/* SPDX-License-Identifier: MIT */
#include "ebpf/rights.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

enum {
	CAPABILITY_SYS_ADMIN = 21, /* linux/capability.h; its header has 38 and 39 only from 5.8 on */
	CAPABILITY_PERFMON = 38,
	CAPABILITY_BPF = 39,
	INIT_PID_NAMESPACE = 0xEFFFFFFC, /* inode of the first one, fixed in the kernel (PROC_PID_INIT_INO) */
};

#define BTF_PATH      "/sys/kernel/btf/vmlinux"
#define LOCKDOWN_PATH "/sys/kernel/security/lockdown"

static uint64_t capabilities(void)
{
	unsigned long long bits = 0;
	char line[256];
	FILE *status = fopen("/proc/self/status", "re");

	while (status && fgets(line, sizeof(line), status)) {
		if (sscanf(line, "CapEff: %llx", &bits) == 1)
			break;
	}
	if (status)
		fclose(status);
	return bits;
}

static bool may_trace(void)
{
	uint64_t bits = capabilities();
	uint64_t both = 1ull << CAPABILITY_BPF | 1ull << CAPABILITY_PERFMON;

	return bits & 1ull << CAPABILITY_SYS_ADMIN || (bits & both) == both;
}

static bool kernel_locked(void)
{
	char text[64] = "";
	FILE *file = fopen(LOCKDOWN_PATH, "re");

	if (!file)
		return false;
	bool locked = fgets(text, sizeof(text), file) && strstr(text, "[confidentiality]");
	fclose(file);
	return locked;
}

static bool in_first_pid_namespace(void)
{
	struct stat status;

	/* Without /proc there is no telling; nothing else of ours would work either. */
	return stat("/proc/self/ns/pid", &status) || status.st_ino == INIT_PID_NAMESPACE;
}

int rights_check(char *why, size_t room)
{
	if (access(BTF_PATH, R_OK)) {
		snprintf(why, room, "%s: %s; eBPF needs a kernel built with CONFIG_DEBUG_INFO_BTF", BTF_PATH,
			 strerror(errno));
		return -EOPNOTSUPP;
	}
	if (!may_trace()) {
		snprintf(why, room,
			 "eBPF needs CAP_BPF and CAP_PERFMON; start rankwatchd on this machine (docs/operating.md), or "
			 "run the collector "
			 "as root");
		return -EPERM;
	}
	if (!in_first_pid_namespace()) {
		snprintf(
		    why, room,
		    "the collector runs in a pid namespace of its own, and eBPF sees the host's pids; start it with "
		    "the host's (Kubernetes: hostPID: true, docker: --pid=host)");
		return -EOPNOTSUPP;
	}
	return 0;
}

/* "5.10.0-32-cloud-amd64" */
static bool is_too_old(const char *release)
{
	int major, minor;

	return sscanf(release, "%d.%d", &major, &minor) == 2 && (major < 5 || (major == 5 && minor < 15));
}

static void explain_refusal(int err, const char *detail, char *why, size_t room)
{
	struct utsname system = { 0 };

	uname(&system);
	if (is_too_old(system.release))
		snprintf(why, room,
			 "Linux %.60s is too old for the eBPF programs, which need 5.15; start a newer kernel",
			 system.release);
	else
		snprintf(why, room, "Linux %.60s refused the eBPF programs: %s (%.100s)", system.release,
			 strerror(-err), detail[0] ? detail : "no message");
}

void rights_explain(int err, const char *detail, char *why, size_t room)
{
	if (err == -EPERM && kernel_locked())
		snprintf(why, room, "the kernel is locked down (%s says confidentiality): eBPF cannot read its memory",
			 LOCKDOWN_PATH);
	else if (err == -EPERM)
		snprintf(why, room,
			 "the kernel refused eBPF in spite of the capabilities; in a container allow bpf(2) "
			 "in the seccomp profile");
	else
		explain_refusal(err, detail, why, room);
}
