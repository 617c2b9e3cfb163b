/* SPDX-License-Identifier: MIT */
/* The scan kernel as the plugin carries it: what cuModuleLoadData is given, one after the other until one loads. */
#ifndef PLUGIN_SCAN_SCAN_IMAGE_H
#define PLUGIN_SCAN_SCAN_IMAGE_H

#include <stdbool.h>

struct scan_image {
	const char *name; /* for messages */
	const void *data; /* lives as long as the plugin; NULL: end of the list */
	bool is_ptx;      /* the driver compiles it */
};

/* Machine code for sm_80, 86, 89, 90, 100, 103 and 120, which a driver of CUDA 13 and newer loads. Then PTX, which the
 * driver compiles in tens to hundreds of ms: for sm_90 and newer (ISA 8.0, drivers of CUDA 12.0 and newer), and for
 * sm_80 and newer (ISA 7.4, CUDA 11.4). Any thread. */
const struct scan_image *scan_images(void);
/* The machine code alone. */
const struct scan_image *scan_images_without_ptx(void);

#endif
