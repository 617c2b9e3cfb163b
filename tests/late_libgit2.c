/* SPDX-License-Identifier: MIT */
/*
 * Stands before libgit2 in test programs (tests/meson.build), and loads it when it is wanted. Criterion has it show
 * where two strings differ, when a test fails. With it come OpenSSL, Kerberos and SSH: seventeen libraries that each
 * test, which is a process of its own, would load and link anew, two thirds of the time of a short one.
 */
#include <dlfcn.h>
#include <stddef.h>

typedef int called_t(void);
typedef int diff_buffers_t(const void *before, size_t before_size, const char *before_name, const void *after,
			   size_t after_size, const char *after_name, const void *options, called_t *on_file,
			   called_t *on_binary, called_t *on_hunk, called_t *on_line, void *argument);

extern const char late_libgit2[];
called_t git_libgit2_init, git_libgit2_shutdown;
diff_buffers_t git_diff_buffers;

/* Wanted by whole_test.c, so that the linker keeps this library. */
const char late_libgit2[] = LIBGIT2;

int git_libgit2_init(void)
{
	return 1;
}

int git_libgit2_shutdown(void)
{
	return 0;
}

int git_diff_buffers(const void *before, size_t before_size, const char *before_name, const void *after,
		     size_t after_size, const char *after_name, const void *options, called_t *on_file,
		     called_t *on_binary, called_t *on_hunk, called_t *on_line, void *argument)
{
	void *library = dlopen(late_libgit2, RTLD_LAZY | RTLD_LOCAL);
	called_t *begin = library ? (called_t *)dlsym(library, "git_libgit2_init") : NULL;
	diff_buffers_t *diff = library ? (diff_buffers_t *)dlsym(library, "git_diff_buffers") : NULL;

	if (!begin || !diff || begin() < 0)
		return -1;
	return diff(before, before_size, before_name, after, after_size, after_name, options, on_file, on_binary,
		    on_hunk, on_line, argument);
}
