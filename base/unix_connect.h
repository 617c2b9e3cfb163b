/* SPDX-License-Identifier: MIT */
/* A connection to who listens at a name in the file system. */
#ifndef BASE_UNIX_CONNECT_H
#define BASE_UNIX_CONNECT_H

/* type: SOCK_STREAM or SOCK_SEQPACKET. A descriptor that does not block and is closed on exec, or -errno: -ENOENT:
 * nobody listens there, whether the name exists or not; -EPERM: who listens is neither root nor our own user, and
 * anybody who could make that name would say what he likes; -EAGAIN: too many wait to be accepted; -ENAMETOOLONG. */
int unix_connect(const char *path, int type);

#endif
