/* SPDX-License-Identifier: MIT */
#include "console/install/library_fault.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { OUR_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { OUR_MACHINE = EM_AARCH64 };
#else
enum { OUR_MACHINE = EM_NONE };
#endif

/* Linkers put the section headers last: where they are, all is. */
static bool is_whole(const Elf64_Ehdr *header, uint64_t size)
{
	uint64_t headers = (uint64_t)header->e_shnum * header->e_shentsize, end;

	return !__builtin_add_overflow(header->e_shoff, headers, &end) && end <= size;
}

static const char *fault_of(const Elf64_Ehdr *header, uint64_t size)
{
	static const unsigned char magic[] = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64 };

	if (memcmp(header->e_ident, magic, sizeof(magic)) != 0)
		return "it is no library of a 64-bit machine";
	if (OUR_MACHINE != EM_NONE && header->e_machine != OUR_MACHINE)
		return "it is for another kind of machine";
	return is_whole(header, size) ? NULL : "it is cut off: it was not copied to its end";
}

const char *library_fault(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat state;
	Elf64_Ehdr header;

	if (fd < 0)
		return strerror(errno);
	ssize_t length = pread(fd, &header, sizeof(header), 0);
	int error = length < 0 || fstat(fd, &state) ? errno : 0;

	close(fd);
	if (error)
		return strerror(error);
	return (size_t)length < sizeof(header) ? "it is cut off: it was not copied to its end"
					       : fault_of(&header, (uint64_t)state.st_size);
}
