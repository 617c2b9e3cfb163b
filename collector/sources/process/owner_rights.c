/* SPDX-License-Identifier: MIT */
#include "collector/sources/process/owner_rights.h"

#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	SETS = 2, /* words in the kernel's version 3 */
	/* With them the kernel lets a reader look at any process, and at any file. */
	OVERRULING = 1 << CAP_SYS_PTRACE | 1 << CAP_DAC_OVERRIDE | 1 << CAP_DAC_READ_SEARCH,
};

static _Thread_local struct {
	uid_t uid, own_uid;
	gid_t gid, own_gid;
	bool chosen, taken;
	struct __user_cap_data_struct own[SETS];
} rights;

void owner_rights_choose(uid_t uid, gid_t gid)
{
	rights.uid = uid;
	rights.gid = gid;
	rights.chosen = uid != 0;
}

void owner_rights_choose_own(void)
{
	rights.chosen = false;
}

/* glibc's capset() would be libcap's: the system call is enough, and is this thread's only. */
static bool set_effective(const struct __user_cap_data_struct sets[SETS])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return !syscall(SYS_capset, &header, sets);
}

static bool lay_down(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[SETS];

	if (syscall(SYS_capget, &header, rights.own))
		return false;
	sets[0] = rights.own[0];
	sets[1] = rights.own[1];
	sets[0].effective &= ~(unsigned)OVERRULING;
	return set_effective(sets);
}

/* setfsuid() reports no error: asked again with an impossible uid, it answers with the present one. */
static bool become(uid_t uid, gid_t gid)
{
	setfsgid(gid);
	setfsuid(uid);
	return (uid_t)setfsuid((uid_t)-1) == uid && (gid_t)setfsgid((gid_t)-1) == gid;
}

bool owner_rights_take(void)
{
	if (!rights.chosen)
		return true;
	rights.own_uid = geteuid();
	rights.own_gid = getegid();
	rights.taken = lay_down();
	bool became = rights.taken && (rights.own_uid == rights.uid || become(rights.uid, rights.gid));

	if (!became)
		owner_rights_give_back();
	return became;
}

void owner_rights_give_back(void)
{
	if (!rights.taken)
		return;
	if (rights.own_uid != rights.uid)
		become(rights.own_uid, rights.own_gid);
	set_effective(rights.own);
	rights.taken = false;
}
