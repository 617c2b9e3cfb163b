/* SPDX-License-Identifier: MIT */
/* A process that prepares the training data, as PyTorch's DataLoader workers and remote data services do. */
#ifndef SIM_WORKLOAD_HOST_DATA_LOADER_H
#define SIM_WORKLOAD_HOST_DATA_LOADER_H

#include <stdbool.h>

struct data_loader;

/* Starts it; it ends with this process. remote: behind TCP, else behind pipes. 0 or -errno. */
int data_loader_start(struct data_loader **loader, bool remote);
/* NULL is fine. */
void data_loader_stop(struct data_loader *loader);
/* What the loader does for a batch. */
enum data_loader_work {
	DATA_LOADER_SLEEPS,   /* for as long as it takes … */
	DATA_LOADER_COMPUTES, /* … or this */
	DATA_LOADER_HANGS,    /* for ever */
};
/* Asks for a batch and waits for it; it takes the loader `ms` to prepare. Ends the process when the loader is gone. */
void data_loader_next(struct data_loader *loader, enum data_loader_work work, int ms);

#endif
