/* SPDX-License-Identifier: MIT */
#include "kernel_log/xid_line.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum { FACILITY_SHIFT = 3 /* the prefix is facility × 8 + level */, XID_MAX = 9999 };

/* What is left to read. */
struct rest {
	const char *at, *end;
};

static bool skip(struct rest *rest, const char *text)
{
	size_t length = strlen(text);

	if ((size_t)(rest->end - rest->at) < length || memcmp(rest->at, text, length) != 0)
		return false;
	rest->at += length;
	return true;
}

/* At least one digit, and no more than `most` as a value. */
static bool number(struct rest *rest, uint64_t most, uint64_t *value)
{
	const char *first = rest->at;

	*value = 0;
	for (; rest->at < rest->end && isdigit((unsigned char)*rest->at); rest->at++) {
		uint64_t digit = (uint64_t)(*rest->at - '0');

		if (*value > (most - digit) / 10)
			return false;
		*value = *value * 10 + digit;
	}
	return rest->at > first;
}

/* Ends behind `stop`, which must come. */
static bool skip_past(struct rest *rest, const char *stop)
{
	size_t length = strlen(stop);

	while ((size_t)(rest->end - rest->at) >= length) {
		if (memcmp(rest->at, stop, length) == 0) {
			rest->at += length;
			return true;
		}
		rest->at++;
	}
	return false;
}

/* "0000:3b:00", hexadecimal, domain with four digits or more, no function. */
static bool address(struct rest *rest, char *pci, size_t room)
{
	size_t length = 0, colons = 0;

	for (; rest->at < rest->end; rest->at++) {
		char byte = *rest->at;

		if (!isxdigit((unsigned char)byte) && byte != ':')
			break;
		if (length + 1 == room)
			return false;
		colons += byte == ':';
		pci[length++] = byte;
	}
	pci[length] = '\0';
	return colons == 2 && length >= strlen("0:0:0") && pci[length - 1] != ':' && pci[0] != ':';
}

static bool header(struct rest *rest, uint64_t *prefix, uint64_t *stamp_us)
{
	uint64_t sequence;

	return number(rest, UINT32_MAX, prefix) && skip(rest, ",") && number(rest, UINT64_MAX, &sequence) &&
	       skip(rest, ",") && number(rest, UINT64_MAX, stamp_us) && skip(rest, ",") && skip_past(rest, ";");
}

/* "pid=1234, " or "pid='<unknown>', " and "name=…, "; some lines have neither. Of a name with ", " in it the end
 * stays in the text: nothing marks where it is over. */
static void process(struct rest *rest, int32_t *pid)
{
	uint64_t value;

	*pid = -1;
	if (!skip(rest, "pid="))
		return;
	if (number(rest, INT32_MAX, &value))
		*pid = (int32_t)value;
	if (!skip_past(rest, ", "))
		rest->at = rest->end;
	if (skip(rest, "name=") && !skip_past(rest, ", "))
		rest->at = rest->end;
}

static void copy_text(struct rest *rest, char *text, size_t room)
{
	size_t length = 0;

	while (rest->at < rest->end && *rest->at == ' ')
		rest->at++;
	for (; rest->at < rest->end && length + 1 < room; rest->at++)
		text[length++] = isprint((unsigned char)*rest->at) ? *rest->at : '?';
	text[length] = '\0';
}

int xid_line_parse(const char *bytes, size_t length, struct xid_line *line)
{
	struct rest rest = { bytes, bytes + length };
	uint64_t prefix, xid;

	*line = (struct xid_line){ .pid = -1 };
	if (!header(&rest, &prefix, &line->stamp_us))
		return -EPROTO;
	if (prefix >> FACILITY_SHIFT || !skip(&rest, "NVRM: Xid ("))
		return -ENOENT;
	skip(&rest, "PCI:");
	if (!address(&rest, line->pci, sizeof(line->pci)) || !skip_past(&rest, "): ") || !number(&rest, XID_MAX, &xid))
		return -ENOENT;
	line->xid = (uint32_t)xid;
	if (skip(&rest, ", "))
		process(&rest, &line->pid);
	copy_text(&rest, line->text, sizeof(line->text));
	return 0;
}
