/* SPDX-License-Identifier: MIT */
/* Whether a library can be preloaded at all. The loader does not ask: it maps a file that was cut off, and every
 * program that it comes into ends with SIGBUS; one for another machine it refuses with a line in each program. */
#ifndef CONSOLE_INSTALL_LIBRARY_FAULT_H
#define CONSOLE_INSTALL_LIBRARY_FAULT_H

/* NULL, or what is wrong with the file. Text to print; valid until the next call. */
const char *library_fault(const char *path);

#endif
