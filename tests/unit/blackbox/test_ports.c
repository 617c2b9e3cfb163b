/* SPDX-License-Identifier: MIT */
/* What a collector noted of network ports, read back: whole, or nothing. */
#include <criterion/criterion.h>

#include <fcntl.h>
#include <unistd.h>

#include "blackbox/ports.h"
#include "blackbox/saved.h"
#include "tests/unit/blackbox/fixture.h"

TestSuite(ports, .fini = fixture_remove);

static struct rw_ports noted(void)
{
	struct rw_ports ports = { .version = RW_PORTS_VERSION, .number = 7, .number_again = 7, .count = 1 };

	ports.showings[0] = (struct rw_port_showing){
		.name = "mlx5_2", .number = 1, .since_ns = 5, .from_ns = 3, .to_ns = 4, .rises = { 2 }, .weight = 4
	};
	return ports;
}

static void note(const struct box_writer *writer, const struct rw_ports *ports)
{
	off_t at = (off_t)(writer->header->control_offset + RW_PORTS_OFFSET);

	cr_assert_eq(pwrite(writer->fd, ports, sizeof(*ports), at), (ssize_t)sizeof(*ports));
}

Test(ports, what_was_noted_is_read_from_the_box_and_from_its_saved_copy)
{
	const struct rw_ports ports = noted();
	struct rw_ports read;
	struct box_writer writer;
	struct box_reader reader, copy;
	char why[160] = "";

	fixture_create(&writer);
	fixture_open(&reader, &writer);
	cr_expect_eq(box_ports_read(&reader, &read), 0, "nothing was noted yet");
	note(&writer, &ports);
	cr_expect_eq(box_ports_read(&reader, &read), 1);
	cr_expect_arr_eq(&read, &ports, sizeof(read));

	int directory = open(fixture_directory(), O_RDONLY | O_DIRECTORY);

	cr_assert_eq(box_save(&reader, directory, "saved.rwbox.gz", why), 0, "%s", why);
	cr_assert_eq(box_reader_open(&copy, directory, "saved.rwbox.gz", (uid_t)-1, why), 0, "%s", why);
	cr_expect_eq(box_ports_read(&copy, &read), 1);
	cr_expect_arr_eq(&read, &ports, sizeof(read));
	box_reader_close(&copy);
	close(directory);
	box_reader_close(&reader);
	box_writer_close(&writer);
}

Test(ports, half_a_note_another_version_and_what_is_out_of_bounds_is_none)
{
	struct rw_ports wrong[4] = { noted(), noted(), noted(), noted() }, read;
	struct box_writer writer;
	struct box_reader reader;

	wrong[0].number_again = 6;
	wrong[1].version = RW_PORTS_VERSION + 1;
	wrong[2].count = RW_PORT_SHOWINGS + 1;
	wrong[3].version = 0;
	fixture_create(&writer);
	fixture_open(&reader, &writer);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		note(&writer, &wrong[i]);
		cr_expect_eq(box_ports_read(&reader, &read), 0, "case %zu", i);
	}
	cr_assert_eq(ftruncate(writer.fd, (off_t)(writer.header->control_offset + RW_PORTS_OFFSET)), 0);
	cr_expect_lt(box_ports_read(&reader, &read), 0, "the file ends before");
	box_reader_close(&reader);
}

Test(ports, a_note_that_has_as_many_as_there_is_room_for_is_whole)
{
	struct rw_ports ports = noted(), read;
	struct box_writer writer;
	struct box_reader reader;

	ports.count = RW_PORT_SHOWINGS;
	fixture_create(&writer);
	fixture_open(&reader, &writer);
	note(&writer, &ports);
	cr_expect_eq(box_ports_read(&reader, &read), 1);
	cr_expect_eq(read.count, RW_PORT_SHOWINGS);
	box_reader_close(&reader);
}
