/* SPDX-License-Identifier: MIT */
/* Every kept input once, without libFuzzer: replay_corpus DIRECTORY. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "tests/fuzz/box_target.h"

static int replay(const char *directory, const char *name)
{
	static uint8_t data[1 << 16];
	char path[1024];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "rb");
	if (!file) {
		perror(path);
		return 1;
	}

	size_t size = fread(data, 1, sizeof(data), file);

	fclose(file);
	return LLVMFuzzerTestOneInput(data, size);
}

int main(int count, char **arguments)
{
	DIR *directory = count == 2 ? opendir(arguments[1]) : NULL;
	int inputs = 0, failed = 0;

	if (!directory) {
		fprintf(stderr, "usage: replay_corpus DIRECTORY\n");
		return 2;
	}
	for (struct dirent *entry; (entry = readdir(directory));) {
		if (entry->d_name[0] == '.')
			continue;
		failed |= replay(arguments[1], entry->d_name);
		inputs++;
	}
	closedir(directory);
	printf("%d inputs\n", inputs);
	return failed || !inputs;
}
