/* SPDX-License-Identifier: MIT */
#include "console/cli/privileges.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NOBODY = 65534, CAPABILITIES = 64 /* bits in a set */, SETS = 2 /* words in the kernel's version 3 */ };

/* May others than root change what lies here? In a directory with the sticky bit they change their own files only. */
static bool is_open_to_all(const struct stat *status)
{
	bool sticky_directory = S_ISDIR(status->st_mode) && status->st_mode & S_ISVTX;
	bool by_group = status->st_mode & S_IWGRP && status->st_gid != 0;

	return !S_ISLNK(status->st_mode) && !sticky_directory && (by_group || status->st_mode & S_IWOTH);
}

/* Each directory on the way and the last part: links are not followed, their targets have a path of their own. */
static uid_t owner_on_the_way(const char *path, gid_t *gid)
{
	char part[PATH_MAX];
	size_t length = strlen(path);

	if (length >= sizeof(part))
		return NOBODY;
	for (size_t end = 1; end <= length; end++) {
		struct stat status;

		if (path[end] != '/' && path[end] != '\0')
			continue;
		memcpy(part, path, end);
		part[end] = '\0';
		if (lstat(part, &status))
			return 0; /* not there: cannot be loaded either */
		*gid = status.st_uid ? status.st_gid : NOBODY;
		if (status.st_uid || is_open_to_all(&status))
			return status.st_uid ? status.st_uid : NOBODY;
	}
	return 0;
}

uid_t privileges_owner_of(const char *file, gid_t *gid)
{
	char here[PATH_MAX] = "", whole[2 * PATH_MAX], target[PATH_MAX];

	*gid = 0;
	if (!file || !strchr(file, '/'))
		return 0;
	if (*file != '/' && !getcwd(here, sizeof(here)))
		return NOBODY;
	snprintf(whole, sizeof(whole), "%s%s%s", here, *file == '/' ? "" : "/", file);

	uid_t owner = owner_on_the_way(whole, gid);

	return owner || !realpath(file, target) ? owner : owner_on_the_way(target, gid);
}

static int become(uid_t uid, gid_t gid)
{
	return setresgid(gid, gid, gid) || setresuid(uid, uid, uid) ? -errno : 0;
}

/* The bounding set and the habit of giving root everything at exec can be given up only while CAP_SETPCAP is there. */
static void close_the_ways_back(void)
{
	prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
				     SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
				     SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED);
	for (int capability = 0; capability < CAPABILITIES; capability++)
		prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
}

static bool has_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[SETS] = { 0 };

	return !syscall(SYS_capget, &header, sets) && (sets[0].permitted || sets[1].permitted);
}

bool privileges_of_file(void)
{
	bool other_id = geteuid() != getuid() || getegid() != getgid();

	return getauxval(AT_SECURE) && (other_id || (getuid() && has_capabilities()));
}

static int clear_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[SETS] = { 0 }, left[SETS];

	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capset, &header, none) || syscall(SYS_capget, &header, left))
		return -errno;
	return memcmp(none, left, sizeof(none)) ? -EPERM : 0;
}

int privileges_drop(const char *file)
{
	uid_t uid = getuid();
	gid_t gid = getgid(), theirs = 0;
	uid_t owner = uid ? 0 : privileges_owner_of(file, &theirs);
	int err = 0;

	close_the_ways_back();
	if (owner)
		err = setgroups(0, NULL) ? -errno : become(owner, theirs);
	else if (uid != geteuid() || gid != getegid())
		err = become(uid, gid);
	if (!err)
		err = clear_capabilities();
	if (!err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err = -errno;
	return err;
}
