/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <string.h>

#include "collector/sources/machine/pause_counters.h"
#include "collector/sources/machine/port_files.h"
#include "port_tree.h"

enum { ROOM = 16 };

static struct analysis_port_state states[ROOM];
static size_t count;

static struct pause_counters *pauses;

static void set_up(void)
{
	port_tree_make();
	pauses = pause_counters_open(port_tree_root);
	cr_assert(pauses);
}

static void tear_down(void)
{
	pause_counters_close(pauses);
	port_tree_remove();
}

TestSuite(port_files, .init = set_up, .fini = tear_down);

static const struct analysis_port_state *find(const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(states[i].name, name))
			return &states[i];
	return NULL;
}

static const struct analysis_port_state *read_and_find(const char *name)
{
	count = port_files_read(port_tree_root, pauses, states, ROOM);
	return find(name);
}

Test(port_files, a_port_of_an_rdma_device_is_read_with_its_rate_and_counters)
{
	port_tree_add_rdma("mlx5_2");
	port_tree_write("/sys/class/infiniband/mlx5_2/ports/1/counters/symbol_error", "1214\n");
	port_tree_write("/sys/class/infiniband/mlx5_2/ports/1/counters/link_downed", "2\n");
	port_tree_write("/sys/class/infiniband/mlx5_2/ports/1/counters/port_xmit_wait", "18446744073709551615\n");
	port_tree_write("/sys/class/infiniband/mlx5_2/ports/1/hw_counters/np_cnp_sent", "77\n");
	port_tree_write("/sys/class/infiniband/mlx5_2/ports/1/hw_counters/roce_adp_retrans", "88\n");
	const struct analysis_port_state *port = read_and_find("mlx5_2");

	cr_assert(port);
	cr_expect_eq(port->number, 1);
	cr_expect(port->active);
	cr_expect_eq(port->mbit_s, 400000);
	cr_expect_str_eq(port->model, "MT_0000000838");
	cr_expect_eq(port->counts[ANALYSIS_PORT_SYMBOL_ERRORS], 1214);
	cr_expect_eq(port->counts[ANALYSIS_PORT_DOWNED], 2);
	cr_expect_eq(port->counts[ANALYSIS_PORT_CNP_SENT], 77);
	cr_expect_eq(port->counts[ANALYSIS_PORT_ADAPTIVE_RESENT], 88);
	cr_expect_eq(port->counts[ANALYSIS_PORT_CNP_HANDLED], -1, "there is no such file");
	cr_expect_eq(port->counts[ANALYSIS_PORT_SEND_WAITS], -1, "beyond what we count to");
}

Test(port_files, all_ports_of_a_device_and_no_other_directory)
{
	port_tree_add_rdma("mlx4_0");
	port_tree_write("/sys/class/infiniband/mlx4_0/ports/2/state", "1: DOWN\n");
	port_tree_write("/sys/class/infiniband/mlx4_0/ports/2/rate", "2.5 Gb/sec (1X SDR)\n");
	port_tree_write("/sys/class/infiniband/mlx4_0/ports/power/control", "auto\n");
	port_tree_write("/sys/class/infiniband/mlx4_0/ports/0/state", "4: ACTIVE\n");
	count = port_files_read(port_tree_root, pauses, states, ROOM);
	cr_assert_eq(count, 2);
	const struct analysis_port_state *second = states[0].number == 2 ? &states[0] : &states[1];

	cr_expect_eq(second->number, 2);
	cr_expect_not(second->active);
	cr_expect_eq(second->mbit_s, 2500);
}

Test(port_files, an_interface_of_a_device_counts_and_virtual_ones_do_not)
{
	port_tree_add_interface("eth0");
	port_tree_write("/sys/class/net/eth0/statistics/rx_crc_errors", "31\n");
	port_tree_write("/sys/class/net/eth0/carrier_down_count", "4\n");
	port_tree_write("/sys/class/net/lo/type", "772\n");
	port_tree_write("/sys/class/net/docker0/type", "1\n");
	port_tree_write("/sys/class/net/veth12/type", "1\n");
	port_tree_write("/sys/class/net/bond0/type", "1\n");
	port_tree_add_interface("ib0");
	port_tree_write("/sys/class/net/ib0/type", "32\n");
	port_tree_write("/sys/class/net/bonding_masters", "bond0\n");
	const struct analysis_port_state *port = read_and_find("eth0");

	cr_expect_eq(count, 1);
	cr_assert(port);
	cr_expect_eq(port->number, 0);
	cr_expect(port->active);
	cr_expect_eq(port->mbit_s, 25000);
	cr_expect_eq(port->counts[ANALYSIS_PORT_CHECKSUM_ERRORS], 31);
	cr_expect_eq(port->counts[ANALYSIS_PORT_DOWNED], 4);
	cr_expect_eq(port->counts[ANALYSIS_PORT_SYMBOL_ERRORS], -1);
}

Test(port_files, pause_frames_stand_beside_the_counters_of_an_interface)
{
	port_tree_add_interface("eth0");
	port_tree_add_interface("eth1");
	port_tree_write("/ethtool/eth0", "NIC statistics:\n     rx_prio3_pause: 1214\n     tx_prio3_pause: 0\n");
	const struct analysis_port_state *port = read_and_find("eth0");

	cr_assert(port);
	cr_expect_eq(port->counts[ANALYSIS_PORT_PAUSES_RECEIVED], 1214);
	cr_expect_eq(port->counts[ANALYSIS_PORT_PAUSES_SENT], 0);
	cr_expect_eq(port->counts[ANALYSIS_PORT_PAUSED_US], -1);
	cr_expect_eq(port->counts[ANALYSIS_PORT_RECEIVE_ERRORS], 0);
	cr_expect_eq(find("eth1")->counts[ANALYSIS_PORT_PAUSES_RECEIVED], -1);
	count = port_files_read(port_tree_root, NULL, states, ROOM);
	cr_expect_eq(find("eth0")->counts[ANALYSIS_PORT_PAUSES_RECEIVED], -1, "they were not asked for");
}

Test(port_files, one_that_is_down_tells_no_speed)
{
	port_tree_add_interface("eth0");
	port_tree_write("/sys/class/net/eth0/operstate", "down\n");
	port_tree_write("/sys/class/net/eth0/speed", "-1\n");
	const struct analysis_port_state *port = read_and_find("eth0");

	cr_assert(port);
	cr_expect_not(port->active);
	cr_expect_eq(port->mbit_s, -1);
}

Test(port_files, what_is_no_number_is_not_known)
{
	static const char *const texts[] = { "", "\n", "N/A (no PMA)\n", "-5\n", "12 apples\n", "0x10\n", "+3\n",
					     "99999999999999999999999999\n" };

	port_tree_add_rdma("mlx5_0");
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		port_tree_write("/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error", texts[i]);
		port_tree_write("/sys/class/infiniband/mlx5_0/ports/1/rate", texts[i]);
		const struct analysis_port_state *port = read_and_find("mlx5_0");

		cr_assert(port);
		cr_expect_eq(port->counts[ANALYSIS_PORT_SYMBOL_ERRORS], -1, "%s", texts[i]);
		cr_expect_eq(port->mbit_s, -1, "%s", texts[i]);
	}
}

Test(port_files, what_tcp_sends_again_is_counted_of_the_whole_host)
{
	port_tree_add_interface("eth0");
	port_tree_write("/proc/net/snmp", "Ip: Forwarding DefaultTTL\nIp: 2 64\n"
					  "Tcp: RtoAlgorithm RtoMin OutSegs RetransSegs InErrs\nTcp: 1 -1 1282674 147 0\n"
					  "Udp: InDatagrams RetransSegs\nUdp: 7 8\n");
	const struct analysis_port_state *tcp = read_and_find(PORT_FILES_TCP);

	cr_assert(tcp);
	cr_expect(tcp->active && tcp->mbit_s == -1 && !*tcp->model);
	cr_expect_eq(tcp->counts[ANALYSIS_PORT_TCP_RESENT], 147);
	cr_expect_eq(tcp->counts[ANALYSIS_PORT_DOWNED], -1);
	cr_expect_eq(find("eth0")->counts[ANALYSIS_PORT_TCP_RESENT], -1);
}

Test(port_files, a_table_of_protocols_that_makes_no_sense_tells_nothing)
{
	static const char *const texts[] = { "", "Tcp: RetransSegs\n", "Tcp: OutSegs RetransSegs\nTcp: 7\n",
					     "Tcp: RetransSegs\nTcp: x\n", "Tcp: RetransSegs\nUdp: 7\n", "Tcp: OutSegs\nTcp: 7\n" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		port_tree_write("/proc/net/snmp", texts[i]);
		cr_expect_null(read_and_find(PORT_FILES_TCP), "%s", texts[i]);
	}
}

Test(port_files, a_machine_without_any_has_none_and_no_more_are_told_than_there_is_room_for)
{
	cr_expect_eq(port_files_read(port_tree_root, pauses, states, ROOM), 0);
	port_tree_add_rdma("mlx5_0");
	port_tree_add_rdma("mlx5_1");
	port_tree_add_interface("eth0");
	cr_expect_eq(port_files_read(port_tree_root, pauses, states, 2), 2);
	cr_expect_eq(port_files_read(port_tree_root, pauses, states, ROOM), 3);
}
