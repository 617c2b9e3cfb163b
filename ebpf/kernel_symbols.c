/* SPDX-License-Identifier: MIT */
#include "ebpf/kernel_symbols.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECENT = 256 };

struct symbol {
	uint64_t address;
	size_t name; /* offset into `names` */
};

struct kernel_symbols {
	struct symbol *entries;
	size_t count, room;
	char *names;
	size_t names_used, names_room;
	struct {
		uint64_t address; /* 0: none */
		const char *name;
	} recent[RECENT]; /* by address */
};

static int grow(void **array, size_t *room, size_t needed, size_t item)
{
	if (needed <= *room)
		return 0;

	size_t wanted = needed * 2 + 1024;
	void *larger = realloc(*array, wanted * item);
	if (!larger)
		return -ENOMEM;
	*array = larger;
	*room = wanted;
	return 0;
}

static int add(struct kernel_symbols *symbols, uint64_t address, const char *name)
{
	size_t length = strcspn(name, ".") + 1;
	int err = grow((void **)&symbols->entries, &symbols->room, symbols->count + 1, sizeof(struct symbol));
	if (!err)
		err = grow((void **)&symbols->names, &symbols->names_room, symbols->names_used + length, 1);
	if (err)
		return err;

	symbols->entries[symbols->count++] = (struct symbol){ address, symbols->names_used };
	memcpy(symbols->names + symbols->names_used, name, length - 1);
	symbols->names[symbols->names_used + length - 1] = '\0';
	symbols->names_used += length;
	return 0;
}

static int add_line(struct kernel_symbols *symbols, const char *line)
{
	unsigned long long address;
	char type, name[128];

	if (sscanf(line, "%llx %c %127s", &address, &type, name) != 3 || !strchr("tTwW", type) || name[0] == '.')
		return 0;
	return address ? add(symbols, address, name) : 0;
}

static int compare(const void *left, const void *right)
{
	const struct symbol *a = left, *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

static int read_symbols(struct kernel_symbols *symbols, FILE *file)
{
	char *line = NULL;
	size_t room = 0;
	int err = 0;

	while (!err && getline(&line, &room, file) > 0)
		err = add_line(symbols, line);
	free(line);
	if (!err && !symbols->count)
		return -EACCES;
	if (!err)
		qsort(symbols->entries, symbols->count, sizeof(struct symbol), compare);
	return err;
}

int kernel_symbols_open(struct kernel_symbols **symbols, const char *path)
{
	*symbols = NULL;
	FILE *file = fopen(path, "re");
	if (!file)
		return -errno;

	struct kernel_symbols *opened = calloc(1, sizeof(*opened));
	int err = opened ? read_symbols(opened, file) : -ENOMEM;
	fclose(file);
	if (err)
		kernel_symbols_close(opened);
	else
		*symbols = opened;
	return err;
}

void kernel_symbols_close(struct kernel_symbols *symbols)
{
	if (!symbols)
		return;
	free(symbols->entries);
	free(symbols->names);
	free(symbols);
}

static const char *look_up(const struct kernel_symbols *symbols, uint64_t address)
{
	size_t low = 0, high = symbols->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (symbols->entries[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? symbols->names + symbols->entries[low - 1].name : NULL;
}

const char *kernel_symbols_name(struct kernel_symbols *symbols, uint64_t address)
{
	size_t at = (address ^ address >> 8) % RECENT;

	if (!address || symbols->recent[at].address != address) {
		symbols->recent[at].name = look_up(symbols, address);
		symbols->recent[at].address = address;
	}
	return symbols->recent[at].name;
}

bool kernel_entry_code(const char *name)
{
	static const char *const names[] = {
		"entry_SYSCALL_64_after_hwframe", "do_syscall_64", "x64_sys_call", "el0t_64_sync",
		"el0t_64_sync_handler",           "el0_svc",       "do_el0_svc",   "invoke_syscall"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(name, names[i]))
			return true;
	}
	return false;
}
