/* SPDX-License-Identifier: MIT */
/* Where ncurses was not there when rankwatch was built. */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <string.h>

#include "console/top/screen.h"

const char *screen_missing(void)
{
	return "this rankwatch was built without ncurses (Debian: libncurses-dev)";
}

bool screen_is_utf8(void)
{
	setlocale(LC_CTYPE, "");
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

int screen_open(bool colour)
{
	(void)colour;
	return -ENOTTY;
}

void screen_close(void)
{
}

void screen_size(int *width, int *height)
{
	*width = *height = 1;
}

void screen_show(const struct canvas *canvas)
{
	(void)canvas;
}

int screen_key(void)
{
	return -1;
}

bool screen_is_asked_to_end(void)
{
	return true;
}
