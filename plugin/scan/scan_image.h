/* SPDX-License-Identifier: MIT */
/* The scan kernel as the plugin carries it: what cuModuleLoadData is given, one after the other until one loads. */
#ifndef PLUGIN_SCAN_SCAN_IMAGE_H
#define PLUGIN_SCAN_SCAN_IMAGE_H

struct scan_image {
	const char *name; /* for messages */
	const void *data; /* lives as long as the plugin; NULL: end of the list */
};

/* Machine code for the GPUs that the build's nvcc knew, if there was one, then PTX (ISA 7.4, CUDA 11.4; sm_80 and newer),
 * which the driver compiles: tens to hundreds of ms. Any thread. */
const struct scan_image *scan_images(void);

#endif
