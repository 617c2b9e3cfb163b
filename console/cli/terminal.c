/* SPDX-License-Identifier: MIT */
#include "console/cli/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { NARROWEST = 40, USUAL = 80, WIDEST = 120 };

int terminal_width(int fd)
{
	struct winsize size = { 0 };
	const char *columns = getenv("COLUMNS");
	int width = 0;

	if (ioctl(fd, TIOCGWINSZ, &size) == 0)
		width = size.ws_col;
	if (width == 0 && columns)
		width = atoi(columns);
	if (width <= 0)
		width = USUAL;
	return width < NARROWEST ? NARROWEST : width > WIDEST ? WIDEST : width;
}

int terminal_break_width(int fd)
{
	return isatty(fd) ? terminal_width(fd) : 0;
}

bool terminal_has_colour(int fd)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if (no_color && *no_color)
		return false;
	return isatty(fd) && term && strcmp(term, "dumb");
}
