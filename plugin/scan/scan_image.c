/* SPDX-License-Identifier: MIT */
#include "plugin/scan/scan_image.h"

#include <stddef.h>

#include "plugin/scan/scan_ptx.h"
#include "plugin/scan/scan_ptx_90.h"

#ifdef HAVE_SCAN_FATBIN
#include "scan_fatbin.h" /* made by the build */
#endif

static const struct scan_image images[] = {
#ifdef HAVE_SCAN_FATBIN
	{ "machine code", scan_fatbin },
#endif
	{ "PTX for sm_90", scan_ptx_90 },
	{ "PTX", scan_ptx },
	{ NULL, NULL },
};

const struct scan_image *scan_images(void)
{
	return images;
}
