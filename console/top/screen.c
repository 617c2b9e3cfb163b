/* SPDX-License-Identifier: MIT */
#define NCURSES_WIDECHAR 1
#include "console/top/screen.h"

#include "console/install/install.h"
#include "console/top/view.h" /* before <term.h>, which makes macros of common words */

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

enum { RESIZED = -2, STYLES = STYLE_HEAT_0 + CANVAS_HEATS, ESCAPE_MS = 25 };

static SCREEN *terminal;
static volatile sig_atomic_t asked_to_end;
static attr_t attributes[STYLES];

/* What a signal handler needs to put the terminal right: it may call nothing of ncurses. */
static struct termios before;
static char restore[256];
static size_t restore_length;

const char *screen_missing(void)
{
	const char *type = getenv("TERM");

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return "standard input or output is no terminal";
	return !type || !*type || !strcmp(type, "dumb") ? "this terminal cannot move its cursor (TERM)" : NULL;
}

bool screen_is_utf8(void)
{
	setlocale(LC_CTYPE, "");
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

static void on_end(int number)
{
	(void)number;
	asked_to_end = 1;
}

/* The handler is reset on entry: raised again, the signal ends the process as it would have. */
static void on_crash(int number)
{
	ssize_t ignored = write(STDOUT_FILENO, restore, restore_length);

	(void)ignored;
	tcsetattr(STDIN_FILENO, TCSANOW, &before);
	raise(number);
}

static void catch_signals(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
	static const int crashes[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGQUIT };
	struct sigaction end = { .sa_handler = on_end },
			 crash = { .sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaction(ends[i], &end, NULL);
	for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
		sigaction(crashes[i], &crash, NULL);
}

static void note_restore(void)
{
	const char *const strings[] = { exit_attribute_mode, cursor_normal, keypad_local, exit_ca_mode };

	restore_length = 0;
	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++) {
		size_t length = strings[i] && strings[i] != (const char *)-1 ? strlen(strings[i]) : 0;

		if (restore_length + length > sizeof(restore))
			continue;
		memcpy(restore + restore_length, length ? strings[i] : "", length);
		restore_length += length;
	}
}

/* Orange, blue and their brightness: told apart by everybody. Letters and lengths say the same without. Of 256 colours
 * text has those whose contrast is 3 or more both on black and on white, because terminals are dark or light; what is
 * reversed brings its own black. */
static const struct {
	attr_t attribute;
	short of_256, of_8, back_256, back_8; /* -1: as the terminal has it */
} looks[STYLES] = {
	[STYLE_PLAIN] = { A_NORMAL, -1, -1, -1, -1 },
	[STYLE_DIM] = { A_DIM, 244, -1, -1, -1 },
	[STYLE_BOLD] = { A_BOLD, -1, -1, -1, -1 },
	[STYLE_BAR] = { A_REVERSE, -1, -1, -1, -1 },
	[STYLE_HEAD] = { A_BOLD | A_UNDERLINE, -1, -1, -1, -1 },
	[STYLE_GOOD] = { A_NORMAL, 31, COLOR_CYAN, -1, -1 },
	[STYLE_WAIT] = { A_NORMAL, 33, COLOR_BLUE, -1, -1 },
	[STYLE_WARN] = { A_BOLD, 166, COLOR_YELLOW, -1, -1 },
	[STYLE_BAD] = { A_BOLD | A_REVERSE, 208, COLOR_YELLOW, 16, COLOR_BLACK },
	[STYLE_CHOSEN] = { A_BOLD | A_REVERSE, 117, COLOR_CYAN, 16, COLOR_BLACK },
	[STYLE_HEAT_0] = { A_NORMAL, 244, COLOR_BLUE, -1, -1 },
	[STYLE_HEAT_0 + 1] = { A_NORMAL, 67, COLOR_BLUE, -1, -1 },
	[STYLE_HEAT_0 + 2] = { A_NORMAL, 68, COLOR_CYAN, -1, -1 },
	[STYLE_HEAT_0 + 3] = { A_NORMAL, 137, COLOR_CYAN, -1, -1 },
	[STYLE_HEAT_0 + 4] = { A_NORMAL, 136, COLOR_YELLOW, -1, -1 },
	[STYLE_HEAT_0 + 5] = { A_NORMAL, 172, COLOR_YELLOW, -1, -1 },
	[STYLE_HEAT_0 + 6] = { A_NORMAL, 166, COLOR_YELLOW, -1, -1 },
	[STYLE_HEAT_0 + 7] = { A_BOLD, 202, COLOR_RED, -1, -1 },
};

static void make_styles(bool colour)
{
	bool coloured = colour && has_colors() && start_color() == OK;

	if (coloured)
		use_default_colors();
	for (short i = 0; i < STYLES; i++) {
		bool many = COLORS >= 256;

		attributes[i] = looks[i].attribute;
		if (coloured && init_pair((short)(i + 1), many ? looks[i].of_256 : looks[i].of_8,
					  many ? looks[i].back_256 : looks[i].back_8) == OK)
			attributes[i] |= (attr_t)COLOR_PAIR(i + 1);
		/* 256 colours have a grey of their own, which some terminals make black when it is dimmed, too. */
		if (coloured && many)
			attributes[i] &= ~(attr_t)A_DIM;
	}
}

/* Behind the system's own, for which the empty name before the colon stands, and behind what the user has named. */
static void offer_descriptions(void)
{
	const char *named = getenv("TERMINFO_DIRS");
	struct install install;
	char *directories = NULL;

	if (install_find(&install) != 0 || access(install.terminals, X_OK) != 0)
		return;
	if (asprintf(&directories, "%s:%s", named ? named : "", install.terminals) < 0)
		return;
	setenv("TERMINFO_DIRS", directories, 1);
	free(directories);
}

int screen_open(bool colour)
{
	if (tcgetattr(STDIN_FILENO, &before))
		return -errno;
	/* ncurses would believe them, and not the terminal, also after it has been resized. Some shells and containers
	 * export them. */
	unsetenv("COLUMNS");
	unsetenv("LINES");
	offer_descriptions();
	terminal = newterm(NULL, stdout, stdin);
	if (!terminal)
		return -ENOTTY;
	set_term(terminal);
	note_restore();
	catch_signals();
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	curs_set(0);
	make_styles(colour);
	return 0;
}

void screen_close(void)
{
	if (!terminal)
		return;
	endwin();
	delscreen(terminal);
	terminal = NULL;
}

void screen_size(int *width, int *height)
{
	getmaxyx(stdscr, *height, *width);
}

static void show_row(const struct canvas *canvas, int row)
{
	const struct canvas_cell *cells = &canvas->cells[(size_t)row * (size_t)canvas->width];
	wchar_t run[256];

	for (int column = 0; column < canvas->width;) {
		int first = column, length = 0;
		unsigned char style = cells[column].style;

		for (; column < canvas->width && cells[column].style == style && length < 255; column++)
			if (cells[column].glyph)
				run[length++] = cells[column].glyph;
		run[length] = 0;
		attrset((int)attributes[style < STYLES ? style : STYLE_PLAIN]);
		mvaddnwstr(row, first, run, length);
	}
}

void screen_show(const struct canvas *canvas)
{
	for (int row = 0; row < canvas->height; row++)
		show_row(canvas, row);
	refresh();
}

static int special(int key)
{
	static const struct {
		int curses, view;
	} keys[] = {
		{ KEY_UP, KEY_VIEW_UP },	   { KEY_DOWN, KEY_VIEW_DOWN },	   { KEY_LEFT, KEY_VIEW_LEFT },
		{ KEY_RIGHT, KEY_VIEW_RIGHT },	   { KEY_PPAGE, KEY_VIEW_PAGE_UP }, { KEY_NPAGE, KEY_VIEW_PAGE_DOWN },
		{ KEY_HOME, KEY_VIEW_HOME },	   { KEY_END, KEY_VIEW_END },	   { KEY_ENTER, KEY_VIEW_ENTER },
		{ KEY_BACKSPACE, KEY_VIEW_BACK },  { KEY_F(1), '?' },		   { KEY_F(3), '/' },
		{ KEY_F(6), 's' },		   { KEY_F(10), 'q' },		   { KEY_RESIZE, RESIZED },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].curses == key)
			return keys[i].view;
	return 0;
}

int screen_key(void)
{
	wint_t key;
	int kind = get_wch(&key);

	if (kind == ERR)
		return -1;
	if (kind == KEY_CODE_YES)
		return special((int)key);
	if (key == '\n' || key == '\r')
		return KEY_VIEW_ENTER;
	if (key == 0x7f || key == '\b')
		return KEY_VIEW_BACK;
	return key == 0x1b ? KEY_VIEW_ESCAPE : (int)key;
}

bool screen_is_asked_to_end(void)
{
	return asked_to_end;
}
