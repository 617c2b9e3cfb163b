/* SPDX-License-Identifier: MIT */
/* What a test says, held against the file of the tree in which it was kept: nothing changes unnoticed. */
#ifndef TESTS_KEPT_TEXT_H
#define TESTS_KEPT_TEXT_H

/* Fails where `text` is not what is kept in DIRECTORY/NAME.txt, and says which line differs. `command` writes that file
 * again: it sets KEPT_WRITE, with which the text is kept instead. */
void kept_text_compare(const char *directory, const char *name, const char *text, const char *command);
/* What is kept there, malloc'ed; NULL where it is to be written. */
char *kept_text_read(const char *directory, const char *name);

#endif
