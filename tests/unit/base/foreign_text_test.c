/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/foreign_text.h"

static void expect(const char *text, const char *escaped)
{
	char *made = foreign_text(text);

	cr_expect_str_eq(made, escaped);
	free(made);
}

Test(foreign_text, control_bytes_and_direction_marks_reach_no_terminal)
{
	expect("a\x1b[2Jb\n\xc2\x9b\xe2\x80\xae\xff ~fsdp … ü",
	       "a\\x1b[2Jb\\x0a\\xc2\\x9b\\xe2\\x80\\xae\\xff ~fsdp … ü");
	expect("\x7f\t\r\b", "\\x7f\\x09\\x0d\\x08");
	expect("\xe2\x81\xa6 \xef\xbb\xbf", "\\xe2\\x81\\xa6 \\xef\\xbb\\xbf");
	expect("\xf3\xa0\x80\xa1", "\\xf3\\xa0\\x80\\xa1"); /* a tag character: seen by nobody */
}

Test(foreign_text, what_is_no_utf8_is_escaped_byte_by_byte)
{
	expect("\xc0\x9b", "\\xc0\\x9b");                   /* ESC in two bytes */
	expect("\xed\xa0\x80", "\\xed\\xa0\\x80");          /* half of a surrogate pair */
	expect("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* beyond the last character */
	expect("\xe2\x80", "\\xe2\\x80");                   /* cut off */
	expect("ok \xf0\x9f\x9a\x80", "ok \xf0\x9f\x9a\x80");
}

Test(foreign_text, a_line_stays_one_line_and_nothing_of_it_is_raw)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	foreign_line(out, "job %s, rank %d", "a\nrankwatch: forged\x1b]0;x\x07", 3);
	foreign_put(out, "\x1b");
	foreign_put(out, NULL);
	fclose(out);
	cr_expect_str_eq(text, "job a\\x0arankwatch: forged\\x1b]0;x\\x07, rank 3\n\\x1b?");
	free(text);
}
