/* SPDX-License-Identifier: MIT */
#ifndef ANALYSIS_KNOWN_ABSENTEE_H
#define ANALYSIS_KNOWN_ABSENTEE_H

#include <stdint.h>

/* The process id (analysis_process_id) of an absentee, of which there is no box that could be added.
 * analysis_add_wait() and analysis_add_python() accept it while others wait for the rank, and analysis_suspects()
 * returns it. */
#define ANALYSIS_ABSENT_PROCESS 0xC0000000u
static inline uint32_t analysis_absent_process(int32_t world_rank)
{
	return ANALYSIS_ABSENT_PROCESS | (uint32_t)world_rank;
}

#endif
