/* SPDX-License-Identifier: MIT */
/*
 * Which network interface the ranks use, by NCCL's rules: NCCL_SOCKET_IFNAME is a list of prefixes (eth,ib), of exact
 * names (=eth0) or of what is not wanted (^docker or ^=docker0). Unset: the first that is neither a loopback nor
 * Docker's, else Docker's, else the loopback. Only interfaces that are up and have an address.
 */
#ifndef SIM_NCCL_BOOTSTRAP_INTERFACE_H
#define SIM_NCCL_BOOTSTRAP_INTERFACE_H

#include "sim/nccl/bootstrap/socket.h"

/* Writes its first address, port 0. ncclInvalidUsage: there is none; logged. */
ncclResult_t interface_address(union socket_address *address);
/* Whether a list as in NCCL_SOCKET_IFNAME takes the interface. */
bool interface_matches(const char *list, const char *name);

#endif
