/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "collector/boxes/box_files.h"

static struct live_box *note(struct box_files *files, ino_t inode, uint64_t now_ns)
{
	return box_files_note(files, &(struct stat){ .st_dev = 1, .st_ino = inode }, now_ns);
}

Test(box_files, a_file_keeps_its_entry_until_its_name_is_gone)
{
	struct box_files files = { 0 };
	struct live_box *box = note(&files, 1, 10);

	box->state = BOX_REFUSED;
	box_files_forget(&files, 10);
	cr_expect_eq(note(&files, 1, 20), box);
	cr_expect_eq(box->seen_ns, 10);
	box_files_forget(&files, 30);
	cr_expect_eq(files.count, 0);
	cr_expect_eq(note(&files, 1, 40)->state, BOX_UNREADABLE);
	box_files_free(&files);
}

Test(box_files, a_live_box_stays_without_a_name)
{
	struct box_files files = { 0 };

	note(&files, 1, 10)->state = BOX_LIVE;
	note(&files, 2, 10)->state = BOX_ENDED;
	box_files_forget(&files, 20);
	cr_expect_eq(files.count, 1);
	box_files_free(&files);
}

Test(box_files, more_than_can_be_kept_are_refused_until_others_have_gone)
{
	struct box_files files = { 0 };

	for (ino_t inode = 0; inode < BOX_FILES_MOST; inode++)
		cr_assert_not_null(note(&files, inode, 10));
	cr_expect_null(note(&files, BOX_FILES_MOST, 10));
	files.full_said = true;
	note(&files, 1, 20);
	box_files_forget(&files, 20);
	cr_expect_not(files.full_said);
	cr_expect_not_null(note(&files, BOX_FILES_MOST, 20));
	box_files_free(&files);
}
