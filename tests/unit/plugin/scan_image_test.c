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

Test(scan_image, the_kernel_in_the_ptx_takes_the_arguments_of_the_contract)
{
	char entry[200];

	snprintf(entry, sizeof(entry),
		 ".visible .entry " SCAN_KERNEL_NAME "(\n.param .align 8 .b8 " SCAN_KERNEL_NAME "_param_0[%zu]\n)",
		 sizeof(struct scan_launch));
	cr_assert_not_null(strstr(last_image()->data, entry));
}

Test(scan_image, the_kernel_needs_no_local_memory_that_a_first_launch_would_have_to_allocate)
{
	cr_assert_null(strstr(last_image()->data, ".local"));
}
