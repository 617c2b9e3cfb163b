/* SPDX-License-Identifier: MIT */
#include "ebpf/task_pass.h"

#include <errno.h>
#include <unistd.h>

#include <linux/bpf.h>

#include <bpf/bpf.h>

/* union bpf_iter_link_info as of 6.1; older headers lack the part for tasks. */
struct limit {
	__u32 tid, pid, pid_fd;
};

static struct bpf_link *attach(const struct task_pass *pass, pid_t tgid)
{
	struct limit limit = { .pid = (__u32)tgid };
	DECLARE_LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = (union bpf_iter_link_info *)&limit,
			    .link_info_len = sizeof(limit));

	return bpf_program__attach_iter(pass->program, pass->whole ? NULL : &options);
}

/* Reading makes the program run; it writes nothing of its own. */
static int read_through(struct bpf_link *link)
{
	char nothing[64];
	ssize_t got;
	int fd = bpf_iter_create(bpf_link__fd(link));

	if (fd < 0)
		return -errno;
	do
		got = read(fd, nothing, sizeof(nothing));
	while (got > 0 || (got < 0 && errno == EINTR));
	int err = got < 0 ? -errno : 0;
	close(fd);
	return err;
}

int task_pass_run(struct task_pass *pass, pid_t tgid)
{
	struct bpf_link *link = attach(pass, tgid);

	/* The kernel's answer to information that it is too old for. */
	if (!link && errno == E2BIG && !pass->whole) {
		pass->whole = true;
		link = attach(pass, tgid);
	}
	if (!link)
		return -errno;
	int err = read_through(link);
	bpf_link__destroy(link);
	return err;
}
