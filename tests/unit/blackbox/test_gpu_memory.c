/* SPDX-License-Identifier: MIT */
/* What a collector noted of the GPU's memory, read back: whole, or nothing. */
#include <criterion/criterion.h>

#include <fcntl.h>
#include <unistd.h>

#include "blackbox/gpu_memory.h"
#include "blackbox/saved.h"
#include "tests/unit/blackbox/fixture.h"

TestSuite(gpu_memory, .fini = fixture_remove);

static struct rw_gpu_memory noted(void)
{
	struct rw_gpu_memory memory = { .version = RW_GPU_MEMORY_VERSION,
					.number = 7,
					.number_again = 7,
					.device = 3,
					.count = 2,
					.since_ns = 1000000000,
					.bin_ns = 1000000000,
					.total = UINT64_C(80) << 30 };

	memory.bins[0] = (struct rw_gpu_memory_bin){ 0, 500, 1024, 2048 };
	memory.bins[1] = (struct rw_gpu_memory_bin){ 1000, 1500, 2048, 2048 };
	return memory;
}

static void note(const struct box_writer *writer, const struct rw_gpu_memory *memory)
{
	off_t at = (off_t)(writer->header->control_offset + RW_GPU_MEMORY_OFFSET);

	cr_assert_eq(pwrite(writer->fd, memory, sizeof(*memory), at), (ssize_t)sizeof(*memory));
}

Test(gpu_memory, what_was_noted_is_read_from_the_box_and_from_its_saved_copy)
{
	const struct rw_gpu_memory memory = noted();
	struct rw_gpu_memory read;
	struct box_writer writer;
	struct box_reader reader, copy;
	char why[160] = "";

	fixture_create(&writer);
	fixture_open(&reader, &writer);
	cr_expect_eq(box_gpu_memory_read(&reader, &read), 0, "nothing was noted yet");
	note(&writer, &memory);
	cr_expect_eq(box_gpu_memory_read(&reader, &read), 1);
	cr_expect_arr_eq(&read, &memory, sizeof(read));

	int directory = open(fixture_directory(), O_RDONLY | O_DIRECTORY);

	cr_assert_eq(box_save(&reader, directory, "saved.rwbox.gz", why), 0, "%s", why);
	cr_assert_eq(box_reader_open(&copy, directory, "saved.rwbox.gz", (uid_t)-1, why), 0, "%s", why);
	cr_expect_eq(box_gpu_memory_read(&copy, &read), 1);
	cr_expect_arr_eq(&read, &memory, sizeof(read));
	box_reader_close(&copy);
	close(directory);
	box_reader_close(&reader);
	box_writer_close(&writer);
}

Test(gpu_memory, half_a_note_another_version_and_what_is_out_of_bounds_is_none)
{
	struct rw_gpu_memory wrong[5] = { noted(), noted(), noted(), noted(), noted() }, read;
	struct box_writer writer;
	struct box_reader reader;

	wrong[0].number_again = 6;
	wrong[1].version = RW_GPU_MEMORY_VERSION + 1;
	wrong[2].count = RW_GPU_MEMORY_BINS + 1;
	wrong[3].device = RW_BOX_DEVICES;
	wrong[4].version = 0;
	fixture_create(&writer);
	fixture_open(&reader, &writer);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		note(&writer, &wrong[i]);
		cr_expect_eq(box_gpu_memory_read(&reader, &read), 0, "case %zu", i);
	}
	cr_assert_eq(ftruncate(writer.fd, (off_t)(writer.header->control_offset + RW_GPU_MEMORY_OFFSET)), 0);
	cr_expect_lt(box_gpu_memory_read(&reader, &read), 0, "the file ends before");
	box_reader_close(&reader);
}

Test(gpu_memory, a_note_that_has_as_many_as_there_is_room_for_is_whole)
{
	struct rw_gpu_memory memory = noted(), read;
	struct box_writer writer;
	struct box_reader reader;

	memory.count = RW_GPU_MEMORY_BINS;
	fixture_create(&writer);
	fixture_open(&reader, &writer);
	note(&writer, &memory);
	cr_expect_eq(box_gpu_memory_read(&reader, &read), 1);
	cr_expect_eq(read.count, RW_GPU_MEMORY_BINS);
	box_reader_close(&reader);
}
