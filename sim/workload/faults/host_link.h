/* SPDX-License-Identifier: MIT */
/*
 * The link to another claimed host, as the script slow-link makes it: a veth pair whose ends have the same name, the
 * far one in a network namespace of its own. Without the script all hosts are in one.
 */
#ifndef SIM_WORKLOAD_FAULTS_HOST_LINK_H
#define SIM_WORKLOAD_FAULTS_HOST_LINK_H

/* Where ranks on both sides meet: for MASTER_ADDR. */
const char *link_address(void);
/* Moves this process to the far side; nothing where there is no link. 0 or -errno. */
int link_enter_far(void);
/* NULL: no link. */
const char *link_device(void);
/* Lets this side send so many bits a second, by tc(8). 0 or -errno. */
int link_slow_down(unsigned int bits_per_second);

#endif
