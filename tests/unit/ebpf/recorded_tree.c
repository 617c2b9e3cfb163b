/* SPDX-License-Identifier: MIT */
#include "tests/unit/ebpf/recorded_tree.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

void tree_open(struct recorded_tree *tree)
{
	*tree = (struct recorded_tree){ "/tmp/rankwatch-proc-XXXXXX" };
	cr_assert(mkdtemp(tree->root));
}

static void locate(const struct recorded_tree *tree, const char *path, char *full, size_t room)
{
	snprintf(full, room, "%s/%s", tree->root, path);
	for (char *slash = full + 1; (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		mkdir(full, 0700);
		*slash = '/';
	}
}

void tree_write_bytes(const struct recorded_tree *tree, const char *path, const void *bytes, size_t size)
{
	char full[256];

	locate(tree, path, full, sizeof(full));
	FILE *file = fopen(full, "we");
	cr_assert(file && fwrite(bytes, 1, size, file) == size && !fclose(file), "%s", full);
}

void tree_write(const struct recorded_tree *tree, const char *path, const char *text)
{
	tree_write_bytes(tree, path, text, strlen(text));
}

void tree_link(const struct recorded_tree *tree, const char *path, const char *target)
{
	char full[256];

	locate(tree, path, full, sizeof(full));
	cr_assert(!symlink(target, full), "%s", full);
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

void tree_remove(const struct recorded_tree *tree, const char *path)
{
	char full[256];

	locate(tree, path, full, sizeof(full));
	nftw(full, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

void tree_close(struct recorded_tree *tree)
{
	nftw(tree->root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}
