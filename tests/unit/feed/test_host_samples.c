/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "feed/host_samples.h"

#define MS UINT64_C(1000000)

static struct host_samples samples;

static bool take(enum rw_sample_kind kind, uint32_t tid, int32_t fd, int piece, const char *text,
		 struct analysis_wait *wait)
{
	struct rw_host_sample sample = {
		.monotonic_ns = 5 * MS, .tid = tid, .kind = (uint8_t)kind, .state = (char)piece, .system_call = 1, .fd = fd,
		.detail = 9, .run_delay_ns = 77,
	};

	memcpy(sample.text, text, strnlen(text, sizeof(sample.text)));
	return host_samples_take(&samples, &sample, NULL, NULL, wait);
}

static void name(uint32_t tid, const char *text)
{
	struct analysis_wait wait;

	cr_expect_not(take(RW_SAMPLE_THREAD, tid, -1, 0, text, &wait));
}

static void file(uint32_t tid, int32_t fd, int piece, const char *text)
{
	struct analysis_wait wait;

	cr_expect_not(take(RW_SAMPLE_FILE, tid, fd, piece, text, &wait));
}

/* The last answer's. */
static struct analysis_wait seen;

static const char *path_of(uint32_t tid, int32_t fd)
{
	cr_assert(take(RW_SAMPLE_STATE, tid, fd, 'S', "", &seen));
	return seen.path;
}

Test(host_samples, a_state_says_where_a_thread_was_and_what_it_has_used)
{
	struct analysis_wait wait;

	cr_assert(take(RW_SAMPLE_STATE, 11, -1, 'S', "futex_wait_queue", &wait));
	cr_expect_eq(wait.kind, ANALYSIS_WAIT_SAMPLE);
	cr_expect_eq(wait.tid, 11);
	cr_expect_eq(wait.start_ns, 5 * MS);
	cr_expect_eq(wait.end_ns, 5 * MS);
	cr_expect_eq(wait.state, 'S');
	cr_expect_eq(wait.system_call, 1);
	cr_expect_eq(wait.fd, -1);
	cr_expect_not(wait.io_wait);
	cr_expect_eq(wait.cpu_ns, 9 * MS);
	cr_expect_eq(wait.run_queue_ns, 77);
	cr_expect_str_eq(wait.wait_channel, "futex_wait_queue");
	cr_expect_str_empty(wait.thread);
	cr_expect_str_empty(wait.path);
}

Test(host_samples, a_kind_that_a_newer_writer_knows_says_nothing)
{
	struct analysis_wait wait;

	cr_expect_not(take((enum rw_sample_kind)4, 11, 3, 0, "/etc", &wait));
	cr_expect_str_empty(path_of(11, 3));
	cr_expect_null(host_samples_thread_name(&samples, 11));
}

Test(host_samples, a_thread_has_the_name_that_was_told_last)
{
	name(11, "python");
	name(12, "tb-writer");
	name(11, "abcdefghijklmnopqrstuvw");
	cr_expect_str_eq(host_samples_thread_name(&samples, 11), "abcdefghijklmno", "15 bytes, as the kernel's");
	cr_expect_str_eq(host_samples_thread_name(&samples, 12), "tb-writer");
	cr_expect_null(host_samples_thread_name(&samples, 13));
	cr_expect_null(host_samples_thread_name(&samples, 0), "no thread, though the table has room");
	cr_expect_str_empty(path_of(12, -1));
	cr_expect_str_eq(seen.thread, "tb-writer");
}

Test(host_samples, of_more_threads_than_the_table_holds_the_one_named_longest_ago_is_forgotten)
{
	char text[16];

	for (uint32_t tid = 1; tid <= HOST_SAMPLES_THREADS + 1; tid++) {
		snprintf(text, sizeof(text), "t%u", tid);
		name(tid, text);
	}
	cr_expect_null(host_samples_thread_name(&samples, 1));
	for (uint32_t tid = 2; tid <= HOST_SAMPLES_THREADS + 1; tid++) {
		snprintf(text, sizeof(text), "t%u", tid);
		cr_assert_str_eq(host_samples_thread_name(&samples, tid), text);
	}
	name(2, "again");
	cr_expect_str_eq(host_samples_thread_name(&samples, 3), "t3", "one that is known takes no other's place");
}

Test(host_samples, a_file_is_that_of_a_thread_and_a_descriptor)
{
	file(11, 3, 0, "/a");
	file(12, 3, 0, "/b");
	file(11, 0, 0, "/c");
	cr_expect_str_eq(path_of(11, 3), "/a");
	cr_expect_str_eq(path_of(12, 3), "/b");
	cr_expect_str_eq(path_of(11, 0), "/c", "0 is a descriptor, too");
	cr_expect_str_empty(path_of(12, 0));
	cr_expect_str_empty(path_of(11, -1));
	file(11, 3, 0, "/other");
	cr_expect_str_eq(path_of(11, 3), "/other", "opened anew");
	cr_expect_eq(seen.device, 9);
}

Test(host_samples, of_more_files_than_the_table_holds_the_one_told_longest_ago_is_forgotten)
{
	char text[16];

	for (int fd = 0; fd <= HOST_SAMPLES_FILES; fd++) {
		snprintf(text, sizeof(text), "/%d", fd);
		file(11, fd, 0, text);
	}
	cr_expect_str_empty(path_of(11, 0));
	for (int fd = 1; fd <= HOST_SAMPLES_FILES; fd++) {
		snprintf(text, sizeof(text), "/%d", fd);
		cr_assert_str_eq(path_of(11, fd), text);
	}
}

Test(host_samples, a_path_is_put_together_from_pieces_in_order_until_it_is_full)
{
	char whole[sizeof(seen.path)];

	for (size_t i = 0; i < sizeof(whole) - 1; i++)
		whole[i] = (char)('a' + i % 23);
	whole[sizeof(whole) - 1] = '\0';
	for (int piece = 0; piece < 11; piece++) {
		char text[24] = "";

		strncpy(text, whole + piece * 24, sizeof(text));
		file(11, 3, piece, text);
	}
	cr_expect_str_eq(path_of(11, 3), whole, "255 bytes");
	file(11, 3, 11, "and more");
	cr_expect_str_eq(path_of(11, 3), whole);
	file(12, 3, 0, "123456789012345678901234");
	file(12, 3, 2, "third");
	cr_expect_str_eq(path_of(12, 3), "123456789012345678901234", "the second was overwritten");
}

static int asked;

static void mount(void *argument, uint64_t device, char file_system[16], char device_name[32])
{
	cr_expect_eq(argument, &asked);
	asked++;
	snprintf(file_system, 16, "fs%lu", (unsigned long)device);
	snprintf(device_name, 32, "disk");
}

Test(host_samples, a_mount_is_asked_for_once_per_file_and_again_when_the_descriptor_is_another_file)
{
	struct rw_host_sample state = { .monotonic_ns = MS, .tid = 11, .kind = RW_SAMPLE_STATE, .state = 'S', .fd = 3 };
	struct analysis_wait wait;

	cr_assert(host_samples_take(&samples, &state, mount, &asked, &wait));
	cr_expect_eq(asked, 0, "its file is not known");
	file(11, 3, 0, "/a");
	for (int i = 0; i < 3; i++) {
		cr_assert(host_samples_take(&samples, &state, mount, &asked, &wait));
		cr_expect_str_eq(wait.file_system, "fs9");
		cr_expect_str_eq(wait.device_name, "disk");
	}
	cr_expect_eq(asked, 1);
	file(11, 3, 0, "/b");
	cr_assert(host_samples_take(&samples, &state, mount, &asked, &wait));
	cr_expect_eq(asked, 2);
}

static const struct {
	int16_t x86_64, aarch64;
	int32_t here;
} calls[] = { { 74, 82, SYS_fsync },
	      { 202, 98, SYS_futex },
	      { 0, 63, SYS_read },
	      { 426, 426, SYS_io_uring_enter },
	      { 271, 73, SYS_ppoll } };

static int32_t here(uint32_t machine, int16_t number)
{
	struct rw_host_sample sample = {
		.monotonic_ns = 1, .tid = 1, .kind = RW_SAMPLE_STATE, .state = 'S', .system_call = number
	};
	struct analysis_wait wait;

	samples.machine = machine;
	cr_assert(host_samples_take(&samples, &sample, NULL, NULL, &wait));
	return wait.system_call;
}

Test(host_samples, system_calls_have_the_numbers_of_the_machine_that_wrote_them)
{
	const uint32_t other = RW_MACHINE_OWN == RW_MACHINE_AARCH64 ? RW_MACHINE_X86_64 : RW_MACHINE_AARCH64;

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		cr_expect_eq(here(RW_MACHINE_X86_64, calls[i].x86_64), calls[i].here);
		cr_expect_eq(here(0, calls[i].x86_64), calls[i].here, "an earlier box");
		cr_expect_eq(here(RW_MACHINE_AARCH64, calls[i].aarch64), calls[i].here);
	}
#ifdef SYS_poll
	cr_expect_eq(here(0, 7), SYS_poll);
#else
	cr_expect_eq(here(0, 7), RW_SYSTEM_CALL_ELSEWHERE + 7);
#endif
	cr_expect_eq(here(RW_MACHINE_AARCH64, -1), -1, "outside of all");
	cr_expect_eq(here(other, 400), -2, "not known");
	cr_expect_eq(here(RW_MACHINE_OTHER, 1), -2, "of a third kind");
}
