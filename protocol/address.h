/* SPDX-License-Identifier: MIT */
/* Where a collector's socket is. Used by the collector and by its clients. */
#ifndef PROTOCOL_ADDRESS_H
#define PROTOCOL_ADDRESS_H

#include <sys/types.h>
#include <sys/un.h>

enum { ADDRESS_PATH = sizeof(((struct sockaddr_un *)0)->sun_path) };

struct address {
	char directory[ADDRESS_PATH];
	char shared[ADDRESS_PATH]; /* the first collector of a user has this one */
	char own[ADDRESS_PATH];    /* a second one, of another job, has its own beside it */
	/* of who hears all nodes of the job; no pattern of the others' matches it. "": would be too long */
	char all_nodes[ADDRESS_PATH];
};

/* runtime_dir: XDG_RUNTIME_DIR or NULL. Touches no file. 0 or -ENAMETOOLONG. */
int address_fill(struct address *address, const char *runtime_dir, uid_t uid, const char *job);
/* The same where that directory can serve (runtime_directory.h), else without it. */
int address_find(struct address *address, const char *runtime_dir, uid_t uid, const char *job);

#endif
