/* SPDX-License-Identifier: MIT */
/* What the plugin carries for cuModuleLoadData. That it loads on the stand-in is shown by all tests of scanning. */
#include <criterion/criterion.h>
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
