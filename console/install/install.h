/* SPDX-License-Identifier: MIT */
/* Where the parts of this installation lie, found from the running program: next to it in a build tree, else by the
 * directories of `meson install`, so that a moved prefix still works. */
#ifndef CONSOLE_INSTALL_INSTALL_H
#define CONSOLE_INSTALL_INSTALL_H

#include <stdbool.h>

#define INSTALL_PLUGIN_NAME "libnccl-profiler-rankwatch.so"

enum { INSTALL_PATH = 4096 };

struct install {
	bool build_tree;
	char program[INSTALL_PATH];            /* this rankwatch */
	char plugin_directory[INSTALL_PATH];   /* for LD_LIBRARY_PATH */
	char plugin[INSTALL_PATH];             /* the plugin itself, for LD_PRELOAD */
	char drill[INSTALL_PATH];              /* the fire drill's library, for LD_PRELOAD */
	char sim_libraries[INSTALL_PATH];      /* stand-in NCCL and CUDA driver, for LD_LIBRARY_PATH */
	char workload_directory[INSTALL_PATH]; /* workload, slow-disk */
	char terminals[INSTALL_PATH];          /* descriptions of terminals that came with it, for a system without */
};

/* LD_PRELOAD is a list between spaces and colons: NULL, or why the plugin's path cannot stand in it. Text to print. */
const char *install_no_preload_because(const struct install *install);

/* Fills all paths from /proc/self/exe; whether the files exist is the caller's question. 0 or -errno. */
int install_find(struct install *install);
/* The same for a program at `program`. Pure but for one look at whether it lies in a build tree. */
int install_find_from(struct install *install, const char *program);

#endif
