/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <sys/syscall.h>

#include "ebpf/descriptor_calls.h"
#include "ebpf/kernel_symbols.h"
#include "tests/unit/ebpf/recorded_tree.h"

static struct kernel_symbols *symbols;

static int open_text(const char *text)
{
	struct recorded_tree tree;
	char path[128];

	tree_open(&tree);
	tree_write(&tree, "kallsyms", text);
	snprintf(path, sizeof(path), "%s/kallsyms", tree.root);
	int err = kernel_symbols_open(&symbols, path);
	tree_close(&tree);
	return err;
}

Test(kernel_symbols, an_address_inside_a_function_has_its_name)
{
	cr_assert(
	    zero(int, open_text("ffffffff81000200 T folio_wait_bit\nffffffff81000100 t ext4_sync_file.isra.0\t[ext4]\n"
				"ffffffff81000180 d some_data\nffffffff81000300 W jbd2_log_wait_commit\n")));
	cr_expect(eq(str, (char *)kernel_symbols_name(symbols, 0xffffffff81000100), "ext4_sync_file"));
	cr_expect(eq(str, (char *)kernel_symbols_name(symbols, 0xffffffff810001ff), "ext4_sync_file"));
	cr_expect(eq(str, (char *)kernel_symbols_name(symbols, 0xffffffff81000200), "folio_wait_bit"));
	cr_expect(eq(str, (char *)kernel_symbols_name(symbols, ~0ull), "jbd2_log_wait_commit"));
	cr_expect(eq(ptr, (void *)kernel_symbols_name(symbols, 0x1000), NULL));
	/* These two are remembered in one place. */
	for (int i = 0; i < 2; i++) {
		cr_expect(eq(str, (char *)kernel_symbols_name(symbols, 0xffffffff81000100), "ext4_sync_file"));
		cr_expect(eq(str, (char *)kernel_symbols_name(symbols, 0xffffffff81000203), "folio_wait_bit"));
		cr_expect(eq(ptr, (void *)kernel_symbols_name(symbols, 0), NULL));
	}
	kernel_symbols_close(symbols);
}

Test(kernel_symbols, hidden_addresses_are_an_error)
{
	cr_expect(
	    eq(int, open_text("0000000000000000 T folio_wait_bit\n0000000000000000 t ext4_sync_file\n"), -EACCES));
	cr_expect(eq(int, kernel_symbols_open(&symbols, "/nowhere"), -ENOENT));
}

Test(kernel_symbols, the_way_into_the_kernel_is_known)
{
	cr_expect(kernel_entry_code("do_syscall_64"));
	cr_expect(not(kernel_entry_code("ext4_sync_file")));
}

Test(descriptor_calls, a_first_argument_is_a_descriptor_only_where_it_is_one)
{
	cr_expect(descriptor_call(SYS_fsync));
	cr_expect(descriptor_call(SYS_write));
	cr_expect(not(descriptor_call(SYS_futex)));
	cr_expect(not(descriptor_call(SYS_clock_nanosleep)));
	cr_expect(not(descriptor_call(SYS_openat)));
	cr_expect(not(descriptor_call(-1)));
	cr_expect(not(descriptor_call(SYS_ppoll)));
	cr_expect(descriptor_polled(SYS_ppoll));
	cr_expect(not(descriptor_polled(SYS_read)));
	cr_expect(not(descriptor_polled(-1)));
}
