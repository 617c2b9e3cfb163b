/* SPDX-License-Identifier: MIT */
#include "tests/unit/ebpf/before_6_1.h"

#include <errno.h>
#include <stddef.h>

#include <bpf/libbpf.h>

int refuses_iterators;
int iterators_refused, iterators_made;

struct bpf_link *__real_bpf_program__attach_iter(const struct bpf_program *program,
						 const struct bpf_iter_attach_opts *options);
struct bpf_link *__wrap_bpf_program__attach_iter(const struct bpf_program *program,
						 const struct bpf_iter_attach_opts *options);

/* bpf_check_uarg_tail_zero(): union bpf_iter_link_info had four bytes, those behind it must be 0. */
static int is_too_new(const struct bpf_iter_attach_opts *options)
{
	const unsigned char *bytes = options ? (const unsigned char *)options->link_info : NULL;

	for (size_t i = 4; bytes && i < options->link_info_len; i++)
		if (bytes[i])
			return 1;
	return 0;
}

struct bpf_link *__wrap_bpf_program__attach_iter(const struct bpf_program *program,
						 const struct bpf_iter_attach_opts *options)
{
	errno = refuses_iterators ? refuses_iterators : is_too_new(options) ? E2BIG : 0;
	if (errno) {
		iterators_refused++;
		return NULL;
	}
	iterators_made++;
	return __real_bpf_program__attach_iter(program, options);
}
