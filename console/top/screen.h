/* SPDX-License-Identifier: MIT */
/* The terminal, by ncurses. One at a time; restored by screen_close(), when the process is asked to end and when it
 * crashes. */
#ifndef CONSOLE_TOP_SCREEN_H
#define CONSOLE_TOP_SCREEN_H

#include <stdbool.h>

#include "console/top/canvas.h"

/* Can standard input and output show and ask? NULL, or why not: a sentence. */
const char *screen_missing(void);
/* 0 or -errno. colour: may be used. */
int screen_open(bool colour);
void screen_close(void);
/* Does the locale say that the terminal takes UTF-8? Sets LC_CTYPE from the environment. */
bool screen_is_utf8(void);
/* As it is now. */
void screen_size(int *width, int *height);
/* Only what has changed is written. */
void screen_show(const struct canvas *canvas);
/* The next key, a character or enum view_key; -1: none has come. -2: the size has changed. */
int screen_key(void);
/* Was the process asked to end (SIGINT, SIGTERM, SIGHUP)? */
bool screen_is_asked_to_end(void);

#endif
