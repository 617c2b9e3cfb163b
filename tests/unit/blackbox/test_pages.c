/* SPDX-License-Identifier: MIT */
/*
 * The size of a page differs between kernels of aarch64: 4, 16 or 64 KiB. What is in a box lies where it lies on all of
 * them. Here the kernel is asked through functions that have another size of page; the linker leads the calls here.
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/blackbox/fixture.h"

static size_t page;

void *__real_mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset);
long __real_sysconf(int name);
long __wrap_sysconf(int name);
int __wrap_getpagesize(void);

void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	if (page && (size_t)offset % page) {
		errno = EINVAL;
		return MAP_FAILED;
	}
	return __real_mmap64(at, size, protection, flags, fd, offset);
}

long __wrap_sysconf(int name)
{
	return name == _SC_PAGESIZE && page ? (long)page : __real_sysconf(name);
}

int __wrap_getpagesize(void)
{
	return (int)__wrap_sysconf(_SC_PAGESIZE);
}

TestSuite(pages, .fini = fixture_remove);

static const size_t sizes[] = { 4096, 16384, 65536 };
enum { SIZES = sizeof(sizes) / sizeof(*sizes) };

ParameterizedTestParameters(pages, the_gpu_page_is_registered_without_its_neighbours)
{
	return cr_make_param_array(const size_t, (void *)sizes, SIZES);
}

ParameterizedTest(const size_t *size, pages, the_gpu_page_is_registered_without_its_neighbours)
{
	struct box_writer writer;

	page = *size;
	fixture_create(&writer);
	cr_expect_eq(writer.header->gpu_offset % page, 0);
	cr_expect_eq((writer.header->samples_offset - writer.header->gpu_offset) % page, 0);
	cr_expect_geq(writer.header->samples_offset - writer.header->gpu_offset,
		      RW_BOX_COMMS * sizeof(struct rw_gpu_progress));
	box_writer_close(&writer);
}

static void read_elsewhere(const struct box_writer *writer, uint64_t ticket, size_t size)
{
	struct box_reader reader;
	struct rw_operation slot;
	enum box_slot state;

	page = size;
	fixture_open(&reader, writer);
	cr_expect_eq(reader.header.total_size, writer->size);
	cr_assert_eq(box_reader_operations(&reader, ticket - 1, 1, &slot, &state), 1);
	cr_expect(state == BOX_SLOT_OK && slot.sequence == 7, "read with pages of %zu KiB", size >> 10);
	box_reader_close(&reader);
}

ParameterizedTestParameters(pages, a_box_of_one_kernel_is_read_on_each_other)
{
	return cr_make_param_array(const size_t, (void *)sizes, SIZES);
}

ParameterizedTest(const size_t *size, pages, a_box_of_one_kernel_is_read_on_each_other)
{
	struct box_writer writer, usual;

	fixture_create(&usual);
	page = *size;
	fixture_create(&writer);
	cr_expect_arr_eq(writer.header, usual.header, offsetof(struct rw_box_header, boot_id), "the layout is the same");
	uint64_t ticket = fixture_operation(&writer, 7, 1000);
	for (int i = 0; i < SIZES; i++)
		read_elsewhere(&writer, ticket, sizes[i]);
	box_writer_close(&writer);
	box_writer_close(&usual);
}
