/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "kernel_log/xid_line.h"

static int parse(const char *text, struct xid_line *line)
{
	return xid_line_parse(text, strlen(text), line);
}

Test(xid_line, gives_number_address_process_and_words)
{
	struct xid_line line;

	cr_assert_eq(
	    parse("3,1207,98765432,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python, GPU has fallen off "
		  "the bus.",
		  &line),
	    0);
	cr_expect_eq(line.xid, 79);
	cr_expect_str_eq(line.pci, "0000:3b:00");
	cr_expect_eq(line.pid, 1234);
	cr_expect_eq(line.stamp_us, 98765432);
	cr_expect_str_eq(line.text, "GPU has fallen off the bus.");
}

Test(xid_line, knows_every_form_that_drivers_write)
{
	static const struct {
		const char *text, *pci, *words;
		uint32_t xid;
		int32_t pid;
	} forms[] = {
		{ "4,1,2,-;NVRM: Xid (PCI:0000:3b:00): 13, pid='<unknown>', name=<unknown>, Graphics SM Warp Exception",
		  "0000:3b:00", "Graphics SM Warp Exception", 13, -1 },
		{ "4,1,2,-;NVRM: Xid (PCI:0000:3b:00 GPU-I:01 GPU-CI:00): 31, pid=7, name=a, Ch 0000000b", "0000:3b:00",
		  "Ch 0000000b", 31, 7 },
		{ "4,1,2,-;NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.", "0000:3b:00",
		  "GPU has fallen off the bus.", 79, -1 },
		{ "4,1,2,-;NVRM: Xid (0000:01:00): 31, Ch 0000000b, ", "0000:01:00", "Ch 0000000b, ", 31, -1 },
		{ "4,1,2,-,caller=T7;NVRM: Xid (PCI:0001a2b3:C1:00): 154, GPU recovery action changed from 0x0 (None) "
		  "to 0x1",
		  "0001a2b3:C1:00", "GPU recovery action changed from 0x0 (None) to 0x1", 154, -1 },
		{ "4,1,2,-;NVRM: Xid (PCI:0000:3b:00): 45", "0000:3b:00", "", 45, -1 },
	};
	struct xid_line line;

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		cr_assert_eq(parse(forms[i].text, &line), 0, "%s", forms[i].text);
		cr_expect_eq(line.xid, forms[i].xid);
		cr_expect_eq(line.pid, forms[i].pid);
		cr_expect_str_eq(line.pci, forms[i].pci);
		cr_expect_str_eq(line.text, forms[i].words);
	}
}

Test(xid_line, only_the_kernel_itself_is_believed)
{
	struct xid_line line;

	cr_expect_eq(parse("11,5,6,-;NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.", &line), -ENOENT);
	cr_expect_eq(parse("30,5,6,-;NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.", &line), -ENOENT);
	cr_expect_eq(parse("6,5,6,-;usb: NVRM: Xid (PCI:0000:3b:00): 79, a device's name", &line), -ENOENT);
}

Test(xid_line, other_lines_and_broken_ones_are_told_apart)
{
	struct xid_line line;

	cr_expect_eq(parse("6,1,2,-;usb 1-1: new device", &line), -ENOENT);
	cr_expect_eq(parse("6,1,2,-;NVRM: Xid (PCI:0000:3b:00): ", &line), -ENOENT);
	cr_expect_eq(parse("6,1,2,-;NVRM: Xid (PCI:0000:3b:00): 99999999999, x", &line), -ENOENT);
	cr_expect_eq(parse("6,1,2,-;NVRM: Xid (PCI:no:3b:00): 79, x", &line), -ENOENT);
	cr_expect_eq(parse(" SUBSYSTEM=pci", &line), -EPROTO);
	cr_expect_eq(parse("6,1,2,- no text", &line), -EPROTO);
	cr_expect_eq(parse("", &line), -EPROTO);
	cr_expect_eq(parse("4,1,2,-;NVRM: Xid (PCI:0000:3b:00): 63, \x1b[2Jrow", &line), 0);
	cr_expect_str_eq(line.text, "?[2Jrow", "a terminal's commands do not get through");
}
