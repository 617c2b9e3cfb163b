/* SPDX-License-Identifier: MIT */
/* A made-up /sys with network ports, in a directory of its own. */
#ifndef TESTS_UNIT_COLLECTOR_PORT_TREE_H
#define TESTS_UNIT_COLLECTOR_PORT_TREE_H

extern char port_tree_root[64];

/* For TestSuite's .init and .fini. */
void port_tree_make(void);
void port_tree_remove(void);
/* name: from "/sys" on; its directories are made. */
void port_tree_write(const char *name, const char *text);
/* Port 1 of this RDMA device, healthy: active, 400 Gb/s, counters at 0. */
void port_tree_add_rdma(const char *device);
/* A network interface that belongs to a device: up, 25 Gb/s, counters at 0. */
void port_tree_add_interface(const char *name);

#endif
