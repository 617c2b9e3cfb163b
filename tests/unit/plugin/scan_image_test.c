/* SPDX-License-Identifier: MIT */
/* What the plugin carries for cuModuleLoadData. That it loads on the stand-in is shown by all tests of scanning. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "plugin/scan/scan_image.h"
#include "plugin/scan/scan_kernel.h"

static const struct scan_image *last_image(void)
{
	const struct scan_image *image = scan_images();

	cr_assert_not_null(image->data);
	while (image[1].data)
		image++;
	return image;
}

/* A fat binary as nvcc writes it: a head, then an entry for each GPU: kind (2 machine code), size and GPU. */
struct fat_head {
	uint32_t magic;
	uint16_t version, head_bytes;
	uint64_t bytes;
};

struct fat_entry {
	uint16_t kind, version;
	uint32_t head_bytes;
	uint64_t bytes;
	uint32_t unknown[3], architecture;
};

Test(scan_image, the_first_is_machine_code_of_each_generation_of_gpus_and_no_ptx)
{
	static const uint32_t wanted[] = { 80, 86, 89, 90, 100, 103, 120 };
	const struct fat_head *head = scan_images()->data;
	const char *at = (const char *)head + head->head_bytes, *end = at + head->bytes;
	size_t count = 0;

	cr_assert_str_eq(scan_images()->name, "machine code");
	cr_assert_eq(head->magic, 0xba55ed50);
	for (; at < end; count++) {
		const struct fat_entry *entry = (const void *)at;

		cr_assert_lt(count, sizeof(wanted) / sizeof(wanted[0]));
		cr_expect_eq(entry->kind, 2);
		cr_expect_eq(entry->architecture, wanted[count]);
		at += entry->head_bytes + entry->bytes;
	}
	cr_expect_eq(count, sizeof(wanted) / sizeof(wanted[0]));
}

Test(scan_image, the_last_resort_is_ptx_for_every_driver_since_CUDA_11_4)
{
	cr_assert_str_eq(last_image()->name, "PTX");
	cr_assert_eq(strncmp(last_image()->data, ".version 7.4\n.target sm_80\n", 27), 0);
}

/* Where machine code of a newer toolkit is refused, these GPUs shall not run what is made for sm_80. */
Test(scan_image, sm_90_has_ptx_of_its_own_for_every_driver_since_CUDA_12_0)
{
	const struct scan_image *image = last_image() - 1;

	cr_assert_geq(image, scan_images());
	cr_assert_str_eq(image->name, "PTX for sm_90");
	cr_assert_eq(strncmp(image->data, ".version 8.0\n.target sm_90\n", 27), 0);
	cr_assert_null(strstr(image->data, ".local"));
}

Test(scan_image, the_kernel_in_the_ptx_takes_the_arguments_of_the_contract)
{
	char entry[200];

	snprintf(entry, sizeof(entry),
		 ".visible .entry " SCAN_KERNEL_NAME "(\n.param .align 8 .b8 " SCAN_KERNEL_NAME "_param_0[%zu]\n)",
		 sizeof(struct scan_launch));
	cr_assert_not_null(strstr(last_image()->data, entry));
	cr_assert_not_null(strstr(last_image()[-1].data, entry));
}

Test(scan_image, the_kernel_needs_no_local_memory_that_a_first_launch_would_have_to_allocate)
{
	cr_assert_null(strstr(last_image()->data, ".local"));
}
