/* SPDX-License-Identifier: MIT */
/* Which copies of a shared library could a training program load, and what does a copy say about itself? */
#ifndef CONSOLE_DOCTOR_LIBRARIES_H
#define CONSOLE_DOCTOR_LIBRARIES_H

#include <stddef.h>

#include "console/doctor/check.h"

enum { LIBRARY_COPIES = 8 };

struct library_copies {
	char paths[LIBRARY_COPIES][INSTALL_PATH];
	size_t count;
};

/* NCCL, in the order in which PyTorch's loader takes it: site-packages of the command's Python (DT_RPATH comes before
 * everything), LD_LIBRARY_PATH, the system's directories, $CONDA_PREFIX/lib. */
void library_find_nccl(const struct check_context *context, struct library_copies *copies);

/* PyTorch's library that calls NCCL, which some builds link into it. */
void library_find_torch(const struct check_context *context, struct library_copies *copies);

/* What a load in a child process gave. */
struct library_answer {
	char error[512]; /* "" it loaded */
	char path[INSTALL_PATH];
	int value; /* of the question */
	char text[128];
};

/* The questions, for child_call(). argument: the path or name of the library. */
/* value: as ncclGetVersion; text: "", or that it hides its functions. */
void library_ask_nccl_version(const void *argument, void *answer, size_t size);
/* argument, answer: struct library_copies; those of them that have NCCL's code. Reads gigabytes. */
void library_ask_inside(const void *argument, void *answer, size_t size);
/* value: the newest profiler ABI that it exports; text: "" or what is wrong with its SONAME. */
void library_ask_profiler(const void *argument, void *answer, size_t size);
/* value: number of GPUs, -1 no driver; text: the first GPU's name, "!" in front when it lacks 64-bit stream memory
 * operations. */
void library_ask_gpu(const void *argument, void *answer, size_t size);
/* value: the driver's CUDA release, as cuDriverGetVersion reports it, 0 none that works; text: the first GPU's
 * generation, the first number of its compute capability. */
void library_ask_generation(const void *argument, void *answer, size_t size);

#endif
