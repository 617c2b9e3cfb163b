/* SPDX-License-Identifier: MIT */
/* How a process ended, as a collector noted it, read back: whole and possible, or not known. */
#include <criterion/criterion.h>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "blackbox/ending.h"
#include "blackbox/saved.h"
#include "tests/unit/blackbox/fixture.h"

TestSuite(ending, .fini = fixture_remove);

static const struct rw_ending noted = { .version = RW_ENDING_VERSION,
					.status = SIGKILL,
					.version_again = RW_ENDING_VERSION };

static void note(const struct box_writer *writer, const struct rw_ending *ending)
{
	off_t at = (off_t)(writer->header->control_offset + RW_ENDING_OFFSET);

	cr_assert_eq(pwrite(writer->fd, ending, sizeof(*ending), at), (ssize_t)sizeof(*ending));
}

Test(ending, what_was_noted_is_read_from_the_box_and_from_its_saved_copy)
{
	struct box_writer writer;
	struct box_reader reader, copy;
	char why[160] = "";

	fixture_create(&writer);
	fixture_open(&reader, &writer);
	cr_expect_eq(box_ending_status(&reader), -1, "nothing was noted yet");
	note(&writer, &noted);
	cr_expect_eq(box_ending_status(&reader), SIGKILL);
	note(&writer, &(struct rw_ending){ .version = RW_ENDING_VERSION, .status = 0, .version_again = RW_ENDING_VERSION });
	cr_expect_eq(box_ending_status(&reader), 0, "it exited without an error");
	note(&writer,
	     &(struct rw_ending){ .version = RW_ENDING_VERSION, .status = 0xff00, .version_again = RW_ENDING_VERSION });
	cr_expect_eq(box_ending_status(&reader), 0xff00);
	note(&writer, &noted);

	int directory = open(fixture_directory(), O_RDONLY | O_DIRECTORY);

	cr_assert_eq(box_save(&reader, directory, "saved.rwbox.gz", why), 0, "%s", why);
	cr_assert_eq(box_reader_open(&copy, directory, "saved.rwbox.gz", (uid_t)-1, why), 0, "%s", why);
	cr_expect_eq(box_ending_status(&copy), SIGKILL);
	box_reader_close(&copy);
	close(directory);
	box_reader_close(&reader);
	box_writer_close(&writer);
}

Test(ending, half_a_note_another_version_and_a_status_with_which_nothing_ends_are_none)
{
	struct rw_ending wrong[] = { noted, noted, noted, noted, noted };
	struct box_writer writer;
	struct box_reader reader;

	wrong[0].version_again = 0;
	wrong[1].version = wrong[1].version_again = RW_ENDING_VERSION + 1;
	wrong[2].status = -1;
	wrong[3].status = 0x10000;
	wrong[4].status = 0x137f; /* stopped */
	fixture_create(&writer);
	fixture_open(&reader, &writer);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		note(&writer, &wrong[i]);
		cr_expect_eq(box_ending_status(&reader), -1, "case %zu", i);
	}
	cr_assert_eq(ftruncate(writer.fd, (off_t)(writer.header->control_offset + RW_ENDING_OFFSET)), 0);
	cr_expect_eq(box_ending_status(&reader), -1, "the file ends before");
	box_reader_close(&reader);
}
