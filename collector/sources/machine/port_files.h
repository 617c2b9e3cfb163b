/* SPDX-License-Identifier: MIT */
/*
 * The network ports of a machine as its sysfs shows them: all ports of RDMA devices, and network interfaces that belong
 * to a device (not lo, veth, bridges, bonds, VLANs: their traffic passes one of these, and would be counted twice).
 * Files and meaning: Documentation/ABI/stable/sysfs-class-infiniband, testing/sysfs-class-net and
 * sysfs-class-net-statistics of the Linux kernel; names in hw_counters are the driver's (mlx5:
 * drivers/infiniband/hw/mlx5/counters.c). What TCP sends again shows no port: it is counted of the whole network
 * namespace (proc_net_snmp, RFC 4022) and is reported as of a port of its own.
 */
#ifndef COLLECTOR_SOURCES_MACHINE_PORT_FILES_H
#define COLLECTOR_SOURCES_MACHINE_PORT_FILES_H

#include <stddef.h>

#include "analysis/analysis.h"

struct pause_counters;

#define PORT_FILES_TCP "TCP of this host" /* no interface has spaces in its name */

/* root: "", or where a stand-in's /sys and /proc lie. pauses: of the same root; NULL: pause frames are not read. Fills
 * at most `room` states, without at_ns; returns how many. Reading asks the adapter's firmware, and may take as long as
 * that does. */
size_t port_files_read(const char *root, struct pause_counters *pauses, struct analysis_port_state *states,
		       size_t room);

#endif
