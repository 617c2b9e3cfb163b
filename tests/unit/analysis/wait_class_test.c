/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/syscall.h>

#include "analysis/wait_class.h"

static intern_id intern(struct intern *table, const char *text)
{
	return intern_add(table, text, strlen(text));
}

static struct evidence_piece with_stack(struct intern *table, int32_t system_call, const char *const *frames)
{
	struct evidence_piece piece = { .system_call = system_call, .fd = -1, .level = RW_LEVEL_EBPF, .state = 'D' };

	for (; frames[piece.frame_count]; piece.frame_count++)
		piece.frames[piece.frame_count] = intern(table, frames[piece.frame_count]);
	return piece;
}

Test(wait_class, a_page_fault_is_memory_although_the_file_system_reads_the_page)
{
	/* Linux 6.18, ext4, a mapped file whose pages a memory limit has dropped. */
	static const char *const frames[] = { "folio_wait_bit_common", "filemap_read_folio", "filemap_fault", "__do_fault",
					      "do_fault", "__handle_mm_fault", "handle_mm_fault", "exc_page_fault", NULL };
	struct intern table = { 0 };
	struct evidence_piece piece = with_stack(&table, -1, frames);

	cr_expect_eq(wait_classify(&table, &piece).class_, RW_CAUSE_MEMORY);
	intern_free(&table);
}

Test(wait_class, the_same_functions_in_a_read_are_io)
{
	static const char *const frames[] = { "folio_wait_bit_common", "filemap_read_folio", "filemap_get_pages",
					      "filemap_read", "vfs_read", NULL };
	struct intern table = { 0 };
	struct evidence_piece piece = with_stack(&table, SYS_pread64, frames);

	cr_expect_eq(wait_classify(&table, &piece).class_, RW_CAUSE_IO);
	intern_free(&table);
}

Test(wait_class, without_a_stack_a_disk_wait_outside_of_system_calls_is_a_page_fault)
{
	struct intern table = { 0 };
	struct evidence_piece outside = { .system_call = -1, .state = 'D', .level = RW_LEVEL_PROC };
	struct evidence_piece unknown = { .system_call = -2, .state = 'D', .level = RW_LEVEL_PROC };

	outside.wait_channel = intern(&table, "folio_wait_bit_common");
	cr_expect_eq(wait_classify(&table, &outside).class_, RW_CAUSE_MEMORY);
	cr_expect_eq(wait_classify(&table, &unknown).class_, RW_CAUSE_IO);
	intern_free(&table);
}

Test(wait_class, a_wait_that_the_gpus_thread_ends_explains_nothing)
{
	struct intern table = { 0 };
	struct evidence_piece piece = { .system_call = SYS_futex, .state = 'S', .level = RW_LEVEL_EBPF, .waker_tid = 7 };

	piece.waker = intern(&table, "cuda-stream-1");
	struct wait_class gpu = wait_classify(&table, &piece);
	cr_expect_not(gpu.known);
	cr_expect_not(gpu.by_waker);
	piece.waker = intern(&table, "py-worker-1");
	cr_expect_eq(wait_classify(&table, &piece).class_, RW_CAUSE_LOCK);
	cr_expect(wait_classify(&table, &piece).by_waker);
	intern_free(&table);
}
