/* SPDX-License-Identifier: MIT */
#include "collector/sources/process/kin.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* "4711 (a name) S 4700 …": the name may hold blanks and brackets, so it ends at the last bracket; the parent is field
 * 4, the number of threads field 20, the start field 22, its stack field 28, which recorded machines may lack. */
static int parse(const char *text, struct kin *kin)
{
	const char *begin = strchr(text, '('), *end = strrchr(text, ')');
	int parent;

	if (!begin || !end || end < begin ||
	    sscanf(end + 1,
		   " %*c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu32 " %*s %" SCNu64
		   " %*s %*s %*s %*s %*s %" SCNu64,
		   &parent, &kin->threads, &kin->start_ticks, &kin->stack) < 3)
		return -ESRCH;
	kin->parent = parent;
	snprintf(kin->name, sizeof(kin->name), "%.*s", (int)(end - begin - 1), begin + 1);
	return 0;
}

/* The main thread's file: it says the same of these as the process's, and recorded machines have it. */
int kin_read(const char *proc_root, pid_t pid, struct kin *kin)
{
	char path[192], text[1024];

	*kin = (struct kin){ 0 };
	snprintf(path, sizeof(path), "%s/%d/task/%d/stat", proc_root, (int)pid, (int)pid);
	FILE *file = fopen(path, "re");
	size_t length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

	if (file)
		fclose(file);
	text[length] = '\0';
	return parse(text, kin);
}
