/* SPDX-License-Identifier: MIT */
/* NCCL's event strings → numbers of rankwatch/operation.h. NULL and unknown names give 0. Called on the path of a
 * collective: no allocation, no call of libc. The text is read each time: nothing is remembered by its address, where
 * another library can lie tomorrow. */
#ifndef PLUGIN_NCCL_NAMES_H
#define PLUGIN_NCCL_NAMES_H

#include <stdint.h>

uint8_t names_function(const char *name);  /* enum rw_function */
uint8_t names_dtype(const char *name);     /* enum rw_dtype; NCCL calls ncclUint8 "Unknown" */
const char *names_of_function(uint8_t function); /* as NCCL names it */
uint8_t names_algorithm(const char *name); /* enum rw_algorithm */
uint8_t names_protocol(const char *name);  /* enum rw_protocol */

#endif
