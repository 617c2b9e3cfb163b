/* SPDX-License-Identifier: MIT */
/*
 * Pause frames of a network interface, of the link as a whole (IEEE 802.3x) and of single priorities (PFC, IEEE
 * 802.1Qbb). They are not in sysfs: each driver counts them under names of its own, which it gives out with the values
 * by ioctl (SIOCETHTOOL; `ethtool -S` shows them). Any user may ask. The names are those of the drivers mlx5
 * (Documentation/networking/device_drivers/ethernet/mellanox/mlx5/ counters.rst of the Linux kernel), bnxt_en
 * (bnxt_ethtool.c), ice (ice_ethtool.c) and i40e (i40e_ethtool.c). One owner thread.
 */
#ifndef COLLECTOR_SOURCES_MACHINE_PAUSE_COUNTERS_H
#define COLLECTOR_SOURCES_MACHINE_PAUSE_COUNTERS_H

#include <stdint.h>

struct pause_counters;

/* root: "", or where a stand-in has a file `ethtool/INTERFACE` with lines as `ethtool -S` prints them: "NAME: VALUE".
 * NULL: no memory, or no socket could be had. */
struct pause_counters *pause_counters_open(const char *root);
void pause_counters_close(struct pause_counters *counters); /* accepts NULL */

/* Sets those of counts[ANALYSIS_PORT_COUNTERS] that this interface's driver has, as sums over priorities, and leaves
 * the others. A driver that does not answer keeps the caller waiting, perhaps for ever. The names are asked for once,
 * and again when their number has changed. */
void pause_counters_read(struct pause_counters *counters, const char *interface, int64_t *counts);

#endif
