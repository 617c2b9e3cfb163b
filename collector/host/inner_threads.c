/* SPDX-License-Identifier: MIT */
#include "collector/host/inner_threads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 256 /* that are remembered */, ROOT = 128 };

/* The kernel gives numbers again, but not soon. */
static const uint64_t believed_ns = 60000000000;

struct thread {
	uint32_t outer, inner;
	uint64_t read_ns;
};

struct inner_threads {
	char root[ROOT]; /* /proc/PID */
	struct thread known[THREADS];
	uint32_t next;
};

/* "NSpid:\t30047\t6": from the namespace of this /proc inwards. 0: no such task. */
static int read_numbers(const char *path, uint32_t *outer, uint32_t *inner)
{
	FILE *status = fopen(path, "re");
	char line[256];
	int found = 0;

	while (status && !found && fgets(line, sizeof(line), status)) {
		char *at = line + strlen("NSpid:"), *end;

		if (strncmp(line, "NSpid:", strlen("NSpid:")) != 0)
			continue;
		for (unsigned long number; number = strtoul(at, &end, 10), end != at; at = end, found++) {
			*outer = found ? *outer : (uint32_t)number;
			*inner = (uint32_t)number;
		}
		break;
	}
	if (status)
		fclose(status);
	return found;
}

int inner_threads_open(struct inner_threads **threads, const char *proc_root, pid_t pid)
{
	char root[ROOT], path[ROOT + 16];
	uint32_t outer, inner;

	*threads = NULL;
	snprintf(root, sizeof(root), "%s/%d", proc_root, (int)pid);
	snprintf(path, sizeof(path), "%s/status", root);
	int numbers = read_numbers(path, &outer, &inner);

	if (numbers < 2)
		return numbers ? 0 : -ESRCH;
	struct inner_threads *opened = calloc(1, sizeof(*opened));

	if (!opened)
		return -ENOMEM;
	memcpy(opened->root, root, sizeof(root));
	*threads = opened;
	return 0;
}

void inner_threads_close(struct inner_threads *threads)
{
	free(threads);
}

uint32_t inner_threads_number(struct inner_threads *threads, uint32_t tid, uint64_t now_ns)
{
	char path[ROOT + 48];
	uint32_t outer, inner, at = 0;

	if (!tid)
		return 0;
	while (at < THREADS && threads->known[at].outer != tid)
		at++;
	if (at < THREADS && now_ns - threads->known[at].read_ns < believed_ns)
		return threads->known[at].inner;
	if (at == THREADS)
		at = threads->next++ % THREADS;
	snprintf(path, sizeof(path), "%s/task/%u/status", threads->root, (unsigned)tid);
	if (read_numbers(path, &outer, &inner) < 2)
		inner = 0; /* it has ended: asked again should it come again */
	threads->known[at] = (struct thread){ inner ? tid : 0, inner, now_ns };
	return inner;
}
