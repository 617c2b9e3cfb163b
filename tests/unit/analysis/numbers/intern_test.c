/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/numbers/intern.h"

Test(intern, keeps_each_string_once)
{
	struct intern intern = { 0 };
	intern_id write = intern_add(&intern, "write", 16), fsync = intern_add(&intern, "fsync", 16);

	cr_expect_neq(write, 0);
	cr_expect_neq(fsync, write);
	cr_expect_eq(intern_add(&intern, "write", 16), write);
	cr_expect_eq(intern_add(&intern, "write(2)", 5), write, "up to so many bytes");
	cr_expect_neq(intern_add(&intern, "writ", 16), write, "the beginning of another is its own");
	cr_expect_neq(intern_add(&intern, "writev", 16), write);
	cr_expect_eq(intern.string_count, 4);
	cr_expect_str_eq(intern_text(&intern, write), "write");
	cr_expect_str_eq(intern_text(&intern, fsync), "fsync");
	intern_free(&intern);
	cr_expect_null(intern.text);
	cr_expect_eq(intern.used, 0);
}

Test(intern, nothing_is_the_empty_string)
{
	struct intern intern = { 0 };

	cr_expect_str_eq(intern_text(&intern, 0), "");
	cr_expect_str_eq(intern_text(&intern, 1), "");
	cr_expect_eq(intern_add(&intern, "", 16), 0);
	cr_expect_eq(intern_add(&intern, "write", 0), 0);
	cr_expect_eq(intern.room, 0, "nothing was kept");
	intern_id last = intern_add(&intern, "write", 16);
	cr_expect_eq(last, 1);
	cr_expect_str_eq(intern_text(&intern, 1 + sizeof("write")), "", "behind the last");
	intern_free(&intern);
}

Test(intern, finds_all_of_many_again)
{
	enum { MANY = 5000 };
	struct intern intern = { 0 };
	static intern_id ids[MANY];
	char text[16];

	for (int again = 0; again < 2; again++)
		for (int i = 0; i < MANY; i++) {
			snprintf(text, sizeof(text), "%d", i);
			intern_id id = intern_add(&intern, text, sizeof(text));
			cr_assert_neq(id, 0);
			cr_assert(!again || ids[i] == id, "%s", text);
			ids[i] = id;
		}
	cr_expect_eq(intern.string_count, MANY);
	cr_expect_eq(intern.slot_count, 16384, "at most half of the slots are taken");
	for (int i = 0; i < MANY; i++)
		cr_assert_eq(atoi(intern_text(&intern, ids[i])), i);
	intern_free(&intern);
}

/* Four MiB of text, to the byte: what fits is kept, and what was kept stays. */
Test(intern, is_bounded)
{
	enum { LENGTH = 1023, FIT = (4 << 20) / (LENGTH + 1) - 1 };
	struct intern intern = { 0 };
	char text[LENGTH + 1];
	intern_id first = 0;

	memset(text, 'a', LENGTH);
	text[LENGTH] = '\0';
	for (int i = 0; i < FIT; i++) {
		memcpy(text, (char[]){ (char)('a' + i % 16), (char)('a' + i / 16 % 16), (char)('a' + i / 256) }, 3);
		intern_id id = intern_add(&intern, text, LENGTH + 1);
		cr_assert_neq(id, 0, "%d", i);
		first = first ? first : id;
	}
	cr_expect_eq(intern.room, 4 << 20);
	cr_expect_eq(intern.used, 1 + FIT * (LENGTH + 1));
	memset(text, 'z', LENGTH);
	cr_expect_eq(intern_add(&intern, text, LENGTH + 1), 0, "one byte more than there is");
	cr_expect_neq(intern_add(&intern, text, LENGTH - 1), 0, "what is left");
	cr_expect_eq(intern_add(&intern, "x", 2), 0);
	cr_expect_eq(intern_text(&intern, first)[0], 'a');
	cr_expect_eq(strlen(intern_text(&intern, first)), LENGTH);
	intern_free(&intern);
}
