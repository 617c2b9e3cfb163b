/* SPDX-License-Identifier: MIT */
#include "port_tree.h"

#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

char port_tree_root[64];

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status, (void)type, (void)walk;
	return remove(path);
}

void port_tree_make(void)
{
	strcpy(port_tree_root, "/tmp/rankwatch-test-XXXXXX");
	cr_assert(mkdtemp(port_tree_root));
}

void port_tree_remove(void)
{
	nftw(port_tree_root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

void port_tree_write(const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s%s", port_tree_root, name);
	for (char *at = path + strlen(port_tree_root) + 1; (at = strchr(at, '/')); *at++ = '/') {
		*at = '\0';
		mkdir(path, 0700);
	}
	FILE *file = fopen(path, "w");

	cr_assert(file, "%s", path);
	fputs(text, file);
	fclose(file);
}

static void write_all(const char *directory, const char *const *names_and_texts)
{
	char path[192];

	for (; *names_and_texts; names_and_texts += 2) {
		snprintf(path, sizeof(path), "%s/%s", directory, names_and_texts[0]);
		port_tree_write(path, names_and_texts[1]);
	}
}

void port_tree_add_rdma(const char *device)
{
	static const char *const files[] = { "board_id", "MT_0000000838\n", "ports/1/state", "4: ACTIVE\n", "ports/1/rate",
					     "400 Gb/sec (4X NDR)\n", "ports/1/counters/link_downed", "0\n",
					     "ports/1/counters/symbol_error", "0\n", "ports/1/counters/port_rcv_errors", "0\n",
					     "ports/1/hw_counters/out_of_sequence", "0\n", NULL };
	char path[96];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s", device);
	write_all(path, files);
}

void port_tree_add_interface(const char *name)
{
	static const char *const files[] = { "device/vendor", "0x15b3\n", "type", "1\n", "operstate", "up\n", "speed",
					     "25000\n", "carrier_down_count", "0\n", "statistics/rx_crc_errors", "0\n",
					     "statistics/rx_errors", "0\n", NULL };
	char path[96];

	snprintf(path, sizeof(path), "/sys/class/net/%s", name);
	write_all(path, files);
}
