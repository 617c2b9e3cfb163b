/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/syscall.h>

#include "analysis/host/wait_class.h"

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

Test(wait_class, a_wait_that_a_thread_of_the_driver_ends_explains_nothing)
{
	struct intern table = { 0 };
	struct evidence_piece piece = { .system_call = SYS_futex, .state = 'S', .level = RW_LEVEL_EBPF, .waker_tid = 7 };

	/* As gdb shows them: the second has a number of its own for each context. */
	for (size_t i = 0; i < 2; i++) {
		piece.waker = intern(&table, i ? "cuda00006000019" : "cuda-EvtHandlr");
		struct wait_class gpu = wait_classify(&table, &piece);
		cr_expect_not(gpu.known);
		cr_expect_not(gpu.by_waker);
	}
	/* Whatever else begins like that is the program's own. */
	static const char *const own[] = { "py-worker-1", "cuda-stream-1", "cudaprefetch", "cuda" };
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
		piece.waker = intern(&table, own[i]);
		cr_expect_eq(wait_classify(&table, &piece).class_, RW_CAUSE_LOCK, "%s", own[i]);
		cr_expect(wait_classify(&table, &piece).by_waker, "%s", own[i]);
	}
	intern_free(&table);
}

static struct wait_class polls(struct intern *table, enum rw_level level, const char *path, const char *const *frames)
{
	static const char *const none[] = { NULL };
	struct evidence_piece piece = with_stack(table, SYS_ppoll, frames ? frames : none);

	piece.fd = 10;
	piece.state = 'S';
	piece.level = (uint8_t)level;
	piece.path = intern(table, path);
	if (level == RW_LEVEL_PROC || level == RW_LEVEL_SELF)
		piece.wait_channel = intern(table, "poll_schedule_timeout");
	return wait_classify(table, &piece);
}

Test(wait_class, a_poll_on_a_file_of_the_driver_is_a_wait_for_the_gpu_at_every_level)
{
	static const char *const frames[] = { "poll_schedule_timeout.constprop.0", "do_poll", "do_sys_poll", NULL };
	static const struct {
		const char *path;
		bool gpu;
	} paths[] = {
		{ "/dev/nvidia0", true }, { "/dev/nvidia15", true }, { "/dev/nvidiactl", true },
		{ "/dev/nvidia-uvm", true }, { "/dev/nvidia-uvm-tools", true }, { "/dev/nvidia-modeset", true },
		{ "nvidia3", true }, /* closed since: the kernel's record has the name alone */
		{ "/run/image/dev/nvidia0", true }, { "/tmp/x/dev/nvidia0 (deleted)", true },
		{ "/dev/nvidiafoo", false }, { "/dev/nvidia-xyz", false }, { "/dev/nvidia-uvm-", false }, { "/dev/nvidiact", false },
		{ "/dev/nvidia", false }, { "/dev/nvidia0x", false }, { "/home/nvidia0", false },
		{ "/dev/nvme0", false }, { "socket:[7]", false }, { "", false },
	};
	struct intern table = { 0 };

	for (enum rw_level level = RW_LEVEL_SELF; level <= RW_LEVEL_EBPF; level++)
		for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
			bool stack = level == RW_LEVEL_ROOT || level == RW_LEVEL_EBPF;
			struct wait_class class_ = polls(&table, level, paths[i].path, stack ? frames : NULL);
			cr_expect_eq(class_.gpu, paths[i].gpu, "%s at level %d", paths[i].path, level);
			cr_expect_eq(class_.class_, paths[i].gpu ? RW_CAUSE_UNKNOWN : RW_CAUSE_SOCKET, "%s at level %d",
				     paths[i].path, level);
			cr_expect_eq(class_.by_waker, !paths[i].gpu);
			cr_expect(class_.known);
		}
	intern_free(&table);
}
