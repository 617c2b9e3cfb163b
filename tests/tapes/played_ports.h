/* SPDX-License-Identifier: MIT */
/* Network ports for a recorded job: no tape has any. TEST_TAPE_PORTS names a file of lines "MS PATH TEXT": from so many
 * milliseconds of the tape on, the file PATH below the played machine's root holds TEXT. In order of time. */
#ifndef TESTS_TAPES_PLAYED_PORTS_H
#define TESTS_TAPES_PLAYED_PORTS_H

/* Writes what is due at this millisecond of the tape. A line that makes no sense ends the player. */
void played_ports_write(const char *root, double at_ms);

#endif
