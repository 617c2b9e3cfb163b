/* SPDX-License-Identifier: MIT */
/* Writes an input for python_target.c: what a look at a living Python process reads. python_seed PID >SEED */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <unistd.h>

#include "collector/sources/python/python_view.h"
#include "tests/fuzz/python_input.h"

static bool read_and_write(void *argument, uint64_t address, void *to, size_t size)
{
	struct python_input_piece piece = { .address = address, .size = (uint32_t)size };

	if (!remote_memory_of_file(argument, address, to, size))
		return false;
	return fwrite(&piece, sizeof(piece), 1, stdout) == 1 && fwrite(to, size, 1, stdout) == 1;
}

static bool one_line(void *argument, char *line, size_t room)
{
	const char **text = argument;

	snprintf(line, room, "%s", *text);
	*text = "";
	return *line;
}

/* One line is enough: where the library begins, else the program. */
static bool find_line(const char *pid, char *line, size_t room)
{
	char path[64], next[512];

	snprintf(path, sizeof(path), "/proc/%s/maps", pid);
	FILE *maps = fopen(path, "re");
	bool found = false, in_library = false;

	while (maps && !in_library && fgets(next, sizeof(next), maps)) {
		in_library = strstr(next, "/libpython") && strstr(next, " 00000000 ");
		if (!in_library && (found || !strstr(next, "/python")))
			continue;
		found = true;
		snprintf(line, room, "%s", next);
	}
	if (maps)
		fclose(maps);
	return found;
}

int main(int count, char **arguments)
{
	static struct python_view view;
	char line[512], path[64];
	const char *text = line;
	struct python_image image;

	if (count != 2 || !find_line(arguments[1], line, sizeof(line)))
		return 2;
	snprintf(path, sizeof(path), "/proc/%s/mem", arguments[1]);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct remote_memory memory = { .read = read_and_write, .argument = &fd, .reads_left = PYTHON_VIEW_READS };
	uint32_t length = (uint32_t)strlen(line);

	fwrite(&length, sizeof(length), 1, stdout);
	fwrite(line, length, 1, stdout);
	return python_image_find(&memory, one_line, &text, &image) ||
	       python_view_read(&memory, &image, (uint32_t)atoi(arguments[1]), &view);
}
