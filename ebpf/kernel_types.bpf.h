/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * The fields of the kernel's structures that our programs read. Offsets are relocated at load time (CO-RE), so neither
 * a generated vmlinux.h nor BTF is needed to build. What libbpf finds behind ___ in a name is not part of it: that is
 * how a field is named that only some kernels have.
 */
#ifndef EBPF_KERNEL_TYPES_BPF_H
#define EBPF_KERNEL_TYPES_BPF_H

#include <linux/types.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct qstr d_name;
};

struct path {
	struct dentry *dentry;
};

struct file_system_type {
	const char *name;
};

struct super_block {
	__u32 s_dev;
	struct file_system_type *s_type;
};

struct inode {
	unsigned long i_ino;
	struct super_block *i_sb;
};

struct file {
	struct path f_path;
	struct inode *f_inode;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct pt_regs {
#if defined(__TARGET_ARCH_x86)
	unsigned long di;
	unsigned long orig_ax;
#elif defined(__TARGET_ARCH_arm64)
	__u64 orig_x0;
	__s32 syscallno;
#else
#error "say here where this architecture keeps a system call's number and first argument"
#endif
};

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live; /* threads that have not begun to exit */
};

struct sched_info {
	unsigned long long run_delay;
};

struct sched_entity {
	__u64 sum_exec_runtime;
};

struct thread_info {
	unsigned long flags;
#if defined(__TARGET_ARCH_x86)
	__u32 status;
#endif
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state; /* "state" before 5.14 */
	void *stack;
	unsigned int flags;
	int pid;
	int tgid;
	int exit_code;
	__u64 start_time; /* CLOCK_MONOTONIC */
	unsigned in_iowait : 1;
	char comm[16];
	struct sched_entity se;
	struct sched_info sched_info;
	struct signal_struct *signal;
	struct files_struct *files;
};

struct task_struct___before_5_14 {
	long state;
};

struct bpf_iter__task {
	struct task_struct *task;
} __attribute__((aligned(8)));

#pragma clang attribute pop

#endif
