/* SPDX-License-Identifier: MIT */
/*
 * A CUDA driver that counts its calls and does next to nothing: no lock, no system call on the path of a collective.
 * Writes of streams happen at the call, and so do scans, by the stand-in's twin of the kernel.
 */
#ifndef TESTS_NULL_CUDA_H
#define TESTS_NULL_CUDA_H

/* Calls so far, of all threads: of the function with this name (as exported), or of all (NULL). */
unsigned long null_cuda_calls(const char *name);
/* Streams are captured from now on. */
void null_cuda_capture(int capturing);

/* Of the calling thread: another context than the one that all threads begin with; any number. */
void null_cuda_context(int number);
/* Scans read nothing from now on and answer at once that their buffers are clean: what a launch takes is then the
 * plugin's. To be called behind a context's first communicator, at which the kernel must give known answers. */
void null_cuda_scan_nothing(void);
/* Calls of this function do not return from now on; NULL: they do, and those that stand go on. */
void null_cuda_block(const char *name);
/* Does a thread stand in such a call? */
int null_cuda_is_blocked(void);

#endif
