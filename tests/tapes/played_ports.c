/* SPDX-License-Identifier: MIT */
#include "played_ports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static FILE *script;
static double due_ms = -1; /* of the line that is read already */
static char name[160], text[64];

static void fail(const char *what)
{
	fprintf(stderr, "ports: %s\n", what);
	exit(EXIT_FAILURE);
}

static void read_line(void)
{
	int read = fscanf(script, "%lf %159s %63[^\n]", &due_ms, name, text);

	if (read == EOF)
		due_ms = -1;
	else if (read != 3 || due_ms < 0 || strstr(name, ".."))
		fail("a line that is no time, path and text");
}

static void write_file(const char *root)
{
	char path[288];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); *at++ = '/') {
		*at = '\0';
		mkdir(path, 0700);
	}
	FILE *file = fopen(path, "w");

	if (!file || fprintf(file, "%s\n", text) < 0 || fclose(file))
		fail(path);
}

void played_ports_write(const char *root, double at_ms)
{
	const char *path = getenv("TEST_TAPE_PORTS");

	if (!path)
		return;
	if (!script) {
		script = fopen(path, "r");
		if (!script)
			fail(path);
		read_line();
	}
	for (; due_ms >= 0 && due_ms <= at_ms; read_line())
		write_file(root);
}
