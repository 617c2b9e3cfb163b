/* SPDX-License-Identifier: MIT */
#include "collector/sources/python/python_image.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	LINE = 512,
	LINES = 200000,     /* of maps that are looked at */
	CANDIDATES = 8,     /* executables and libraries of that name */
	HEADERS = 64,       /* program headers of one */
	ENTRIES = 128,      /* of its dynamic section */
	CHAIN = 4096,       /* symbols of one hash bucket */
};

/* What the dynamic section of a mapped ELF object leads to. */
struct symbols {
	uint64_t base, names, table, hash;
};

/* The name of a mapped executable or library of Python: "python3.11", "libpython3.11.so.1.0". NULL: it is none. */
static const char *python_name(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	if (!strncmp(name, "libpython", 9))
		return name + 9;
	return !strncmp(name, "python", 6) ? name + 6 : NULL;
}

/* Where an object that may be the interpreter begins; 0: this line reports none. *minor: as its name says, 0 not. */
static uint64_t parse_line(const char *line, unsigned *minor)
{
	unsigned long long start, offset;
	char readable;
	int at = 0;

	if (sscanf(line, "%llx-%*x %c%*s %llx %*s %*s %n", &start, &readable, &offset, &at) != 3 || !at)
		return 0;
	const char *rest = offset || readable != 'r' ? NULL : python_name(line + at);

	*minor = 0;
	if (rest)
		sscanf(rest, "3.%3u", minor);
	return rest ? start : 0;
}

static bool is_ours(const Elf64_Ehdr *header)
{
	static const unsigned char magic[] = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB };

	return !memcmp(header->e_ident, magic, sizeof(magic)) && header->e_phentsize == sizeof(Elf64_Phdr) &&
	       header->e_phnum && header->e_phnum <= HEADERS;
}

/* Addresses of the dynamic section are the loader's: it has added where the object lies, but not everywhere. */
static uint64_t located(uint64_t base, uint64_t value)
{
	return value < base ? base + value : value;
}

static bool read_dynamic(struct remote_memory *memory, uint64_t at, struct symbols *symbols)
{
	for (unsigned i = 0; i < ENTRIES; i++) {
		Elf64_Dyn entry;

		if (!remote_memory_read(memory, at + i * sizeof(entry), &entry, sizeof(entry)) ||
		    entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_STRTAB)
			symbols->names = located(symbols->base, entry.d_un.d_ptr);
		else if (entry.d_tag == DT_SYMTAB)
			symbols->table = located(symbols->base, entry.d_un.d_ptr);
		else if (entry.d_tag == DT_GNU_HASH)
			symbols->hash = located(symbols->base, entry.d_un.d_ptr);
	}
	return symbols->names && symbols->table && symbols->hash;
}

static bool find_symbols(struct remote_memory *memory, uint64_t start, struct symbols *symbols)
{
	Elf64_Ehdr header;
	uint64_t dynamic = 0, first = UINT64_MAX;

	if (!remote_memory_read(memory, start, &header, sizeof(header)) || !is_ours(&header))
		return false;
	for (unsigned i = 0; i < header.e_phnum; i++) {
		Elf64_Phdr part;

		if (!remote_memory_read(memory, start + header.e_phoff + i * sizeof(part), &part, sizeof(part)))
			return false;
		if (part.p_type == PT_LOAD && first == UINT64_MAX)
			first = part.p_vaddr - part.p_offset;
		if (part.p_type == PT_DYNAMIC)
			dynamic = part.p_vaddr;
	}
	if (!dynamic || first > start)
		return false;
	*symbols = (struct symbols){ .base = start - first };
	return read_dynamic(memory, symbols->base + dynamic, symbols);
}

/* glibc's dl_new_hash(). */
static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

/* The layout of the table: "ELF: GNU hash", https://sourceware.org/gnu-gabi/program-loading-and-dynamic-linking.txt.
 * The address of the symbol, 0: it is not defined there. */
static uint64_t address_of(struct remote_memory *memory, const struct symbols *symbols, const char *name)
{
	struct {
		uint32_t buckets, first, bloom_words, shift;
	} head;
	uint32_t hash = hash_of(name);

	if (!remote_memory_read(memory, symbols->hash, &head, sizeof(head)) || !head.buckets)
		return 0;
	uint64_t buckets = symbols->hash + sizeof(head) + UINT64_C(8) * head.bloom_words;
	uint64_t chains = buckets + UINT64_C(4) * head.buckets;
	uint64_t at = remote_memory_half(memory, buckets + UINT64_C(4) * (hash % head.buckets));

	for (unsigned i = 0; at >= head.first && i < CHAIN; at++, i++) {
		uint32_t entry = remote_memory_half(memory, chains + 4 * (at - head.first));
		Elf64_Sym symbol;

		if ((entry | 1) == (hash | 1) &&
		    remote_memory_read(memory, symbols->table + at * sizeof(symbol), &symbol, sizeof(symbol)) &&
		    symbol.st_shndx != SHN_UNDEF &&
		    remote_memory_is_text(memory, symbols->names + symbol.st_name, name))
			return symbols->base + symbol.st_value;
		if (entry & 1 || !memory->reads_left)
			break;
	}
	return 0;
}

static bool read_image(struct remote_memory *memory, uint64_t start, unsigned minor, struct python_image *image)
{
	struct symbols symbols;

	if (!find_symbols(memory, start, &symbols))
		return false;
	image->runtime = address_of(memory, &symbols, "_PyRuntime");
	uint64_t version = image->runtime ? address_of(memory, &symbols, "Py_Version") : 0;

	image->version = (uint32_t)remote_memory_word(memory, version);
	if (!version)
		image->version = UINT32_C(3) << 24 | (minor & 0xff) << 16;
	return image->runtime != 0;
}

int python_image_find(struct remote_memory *memory, python_image_line *next, void *argument, struct python_image *image)
{
	char line[LINE];
	unsigned minor, tried = 0;

	*image = (struct python_image){ 0 };
	for (unsigned i = 0; i < LINES && tried < CANDIDATES && next(argument, line, sizeof(line)); i++) {
		uint64_t start = parse_line(line, &minor);

		if (!start)
			continue;
		tried++;
		if (read_image(memory, start, minor, image))
			return 0;
	}
	return -ENOENT;
}
