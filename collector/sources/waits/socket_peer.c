/* SPDX-License-Identifier: MIT */
#include "collector/sources/waits/socket_peer.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LINES_MOST = 65536, WORD_DIGITS = 8, LINE = 512 };

/* As the kernel prints an address: words of 32 bits as this machine reads them, each in network order in memory. */
static bool read_address(const char *digits, size_t words, unsigned char *address)
{
	for (size_t i = 0; i < words; i++) {
		uint32_t word;

		if (sscanf(digits + i * WORD_DIGITS, "%8" SCNx32, &word) != 1)
			return false;
		memcpy(address + i * sizeof(word), &word, sizeof(word));
	}
	return true;
}

static void write_peer(const char *digits, unsigned port, char text[SOCKET_PEER_TEXT])
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
	unsigned char address[16];
	char name[INET6_ADDRSTRLEN];
	bool six = strlen(digits) == 4 * WORD_DIGITS;

	*text = '\0';
	if (!port || (!six && strlen(digits) != WORD_DIGITS) || !read_address(digits, six ? 4 : 1, address))
		return;
	bool four_in_six = six && memcmp(address, mapped, sizeof(mapped)) == 0;
	if (!six || four_in_six)
		inet_ntop(AF_INET, four_in_six ? address + sizeof(mapped) : address, name, sizeof(name));
	else
		inet_ntop(AF_INET6, address, name, sizeof(name));
	snprintf(text, SOCKET_PEER_TEXT, six && !four_in_six ? "[%s]:%u" : "%s:%u", name, port);
}

/* True: the table has this socket. */
static bool find_in(const char *proc_root, pid_t pid, const char *table, uint64_t inode, char text[SOCKET_PEER_TEXT])
{
	char line[LINE];
	bool found = false;

	snprintf(line, sizeof(line), "%s/%d/net/%s", proc_root, (int)pid, table);
	FILE *file = fopen(line, "re");
	for (int i = 0; file && !found && i < LINES_MOST && fgets(line, sizeof(line), file); i++) {
		char digits[4 * WORD_DIGITS + 1];
		unsigned port;
		uint64_t its_inode;

		found = sscanf(line, " %*d: %*[0-9A-F]:%*X %32[0-9A-F]:%X %*X %*X:%*X %*X:%*X %*X %*u %*u %" SCNu64,
			       digits, &port, &its_inode) == 3 &&
			its_inode == inode;
		if (found)
			write_peer(digits, port, text);
	}
	if (file)
		fclose(file);
	return found;
}

bool socket_peer_find(struct socket_peers *peers, const char *proc_root, pid_t pid, uint64_t inode, uint64_t now_ns,
		      char text[SOCKET_PEER_TEXT])
{
	size_t place = inode % SOCKET_PEERS_KEPT;

	if (!inode)
		return false;
	if (peers->kept[place].inode != inode) {
		if (peers->read_ns && now_ns - peers->read_ns < SOCKET_PEER_PAUSE_NS)
			return false;
		peers->read_ns = now_ns;
		peers->kept[place].inode = inode;
		peers->kept[place].text[0] = '\0';
		if (!find_in(proc_root, pid, "tcp", inode, peers->kept[place].text))
			find_in(proc_root, pid, "tcp6", inode, peers->kept[place].text);
	}
	memcpy(text, peers->kept[place].text, SOCKET_PEER_TEXT);
	return *text;
}
