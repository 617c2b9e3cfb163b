/* SPDX-License-Identifier: MIT */
#include "plugin/scan/scan_image.h"

#include <stddef.h>

/* Made by the build from what is in kept/. */
#include "scan_fatbin.h"
#include "scan_ptx_80.h"
#include "scan_ptx_90.h"

static const struct scan_image images[] = {
	{ "machine code", scan_fatbin, false },
	{ "PTX for sm_90", scan_ptx_90, true },
	{ "PTX", scan_ptx_80, true },
	{ NULL, NULL, false },
};

static const struct scan_image without_ptx[] = { { "machine code", scan_fatbin, false }, { NULL, NULL, false } };

const struct scan_image *scan_images(void)
{
	return images;
}

const struct scan_image *scan_images_without_ptx(void)
{
	return without_ptx;
}
