/* SPDX-License-Identifier: MIT */
/* Pause frames by the names of four drivers, from files, and through ioctl(2) from a driver that is played here and
 * from one of this kernel. */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "analysis/analysis.h"
#include "collector/sources/machine/pause_counters.h"
#include "port_tree.h"

enum { NAMES = 2048 };

/* The driver of the interface "played". */
static struct {
	uint32_t count, grown; /* grown: so many names it has from the second question on */
	char names[NAMES][ETH_GSTRING_LEN];
	uint64_t values[NAMES];
	unsigned names_read, values_read;
} driver;

static const char *renamed, *as; /* of a driver of this kernel */
static int64_t counts[ANALYSIS_PORT_COUNTERS];

/* As the kernel writes to the caller's memory: until a page that may not be written to. */
static int copy_to_user(void *to, const void *from, size_t size)
{
	struct iovec local = { (void *)from, size }, remote = { to, size };

	return process_vm_writev(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size ? 0 : -1;
}

static int answer_names(struct ethtool_gstrings *names)
{
	driver.names_read++;
	names->len = driver.count;
	return copy_to_user(names->data, driver.names, driver.count * sizeof(driver.names[0]));
}

static int answer_values(struct ethtool_stats *stats)
{
	driver.values_read++;
	stats->n_stats = driver.count;
	return copy_to_user(stats->data, driver.values, driver.count * sizeof(driver.values[0]));
}

static int answer(void *command)
{
	uint32_t which = *(uint32_t *)command, count = driver.count;

	if (driver.grown && which == ETHTOOL_GSSET_INFO)
		driver.count = driver.grown;
	if (which == ETHTOOL_GSTRINGS)
		return answer_names(command);
	if (which == ETHTOOL_GSTATS)
		return answer_values(command);
	cr_assert_eq(which, ETHTOOL_GSSET_INFO);
	((struct ethtool_sset_info *)command)->data[0] = count;
	return 0;
}

static void rename_in(struct ethtool_gstrings *names)
{
	for (uint32_t i = 0; i < names->len; i++)
		if (!strcmp((char *)names->data + (size_t)i * ETH_GSTRING_LEN, renamed))
			strcpy((char *)names->data + (size_t)i * ETH_GSTRING_LEN, as);
}

/* In place of the C library's. */
int ioctl(int fd, unsigned long request, ...)
{
	va_list arguments;

	va_start(arguments, request);
	void *argument = va_arg(arguments, void *);
	va_end(arguments);
	struct ifreq *asked = request == SIOCETHTOOL ? argument : NULL;

	if (asked && !strcmp(asked->ifr_name, "played"))
		return answer(asked->ifr_data);
	int result = (int)syscall(SYS_ioctl, fd, request, argument);

	if (asked && !result && renamed && *(uint32_t *)asked->ifr_data == ETHTOOL_GSTRINGS)
		rename_in((struct ethtool_gstrings *)asked->ifr_data);
	return result;
}

TestSuite(pause_counters, .init = port_tree_make, .fini = port_tree_remove, .timeout = 30);

static void forget(void)
{
	for (int i = 0; i < ANALYSIS_PORT_COUNTERS; i++)
		counts[i] = -1;
}

static void read_file(const char *text)
{
	port_tree_write("/ethtool/eth0", text);
	struct pause_counters *counters = pause_counters_open(port_tree_root);

	cr_assert(counters);
	forget();
	pause_counters_read(counters, "eth0", counts);
	pause_counters_close(counters);
}

static void expect(int64_t received, int64_t sent, int64_t paused_us)
{
	cr_expect_eq(counts[ANALYSIS_PORT_PAUSES_RECEIVED], received, "received %lld",
		     (long long)counts[ANALYSIS_PORT_PAUSES_RECEIVED]);
	cr_expect_eq(counts[ANALYSIS_PORT_PAUSES_SENT], sent, "sent %lld", (long long)counts[ANALYSIS_PORT_PAUSES_SENT]);
	cr_expect_eq(counts[ANALYSIS_PORT_PAUSED_US], paused_us, "paused %lld", (long long)counts[ANALYSIS_PORT_PAUSED_US]);
	for (int i = 0; i < ANALYSIS_PORT_PAUSES_RECEIVED; i++)
		cr_expect_eq(counts[i], -1);
}

Test(pause_counters, mlx5_counts_each_priority_that_has_pfc_and_how_long)
{
	read_file("NIC statistics:\n     rx_packets: 90071\n     rx_pause_ctrl_phy: 1290\n     rx_prio3_pause: 1214\n"
		  "     rx_prio3_pause_duration: 88111\n     tx_prio3_pause: 7\n     tx_prio3_pause_duration: 5\n"
		  "     rx_prio3_pause_transition: 607\n     rx_prio5_pause: 76\n     tx_pause_storm_warning_events : 0\n");
	expect(1290, 7, 88111);
	read_file("     rx_global_pause: 4\n     tx_global_pause: 5\n     rx_global_pause_duration: 6\n");
	expect(4, 5, 6);
}

Test(pause_counters, bnxt_counts_the_frames_of_each_priority_a_second_time)
{
	read_file("     rx_pause_frames: 1\n     rx_pfc_frames: 40\n     rx_pfc_ena_frames_pri3: 40\n     "
		  "tx_pause_frames: 2\n"
		  "     tx_pfc_frames: 50\n     tx_pfc_ena_frames_pri3: 50\n     pfc_pri3_rx_duration_us: 900\n     "
		  "pfc_pri3_tx_duration_us: 800\n"
		  "     pfc_pri3_rx_transitions: 20\n");
	expect(41, 52, 900);
}

Test(pause_counters, ice_and_i40e_name_them_xoff)
{
	read_file("     link_xoff_rx.nic: 1\n     link_xon_rx.nic: 1\n     rx_priority_0_xoff.nic: 10\n     "
		  "rx_priority_7_xoff.nic: 20\n"
		  "     rx_priority_0_xon.nic: 9\n     tx_priority_3_xoff.nic: 6\n     link_xoff_tx.nic: 0\n");
	expect(31, 6, -1);
	read_file("     port.link_xoff_rx: 2\n     port.rx_priority_3_xoff_rx: 3\n     port.tx_priority_3_xoff_tx: 4\n"
		  "     port.rx_priority_3_xon_2_xoff: 5\n     port.link_xoff_tx: 1\n");
	expect(5, 5, -1);
}

Test(pause_counters, what_is_no_counter_of_these_is_left)
{
	static const char *const texts[] = { "",
					     "rx_prio3_pause",
					     "rx_prio3_pause:\n",
					     "rx_prio3_pause: -4\n",
					     "rx_prio3_pause: 4 apples\n",
					     "rx_prio_pause: 4\n",
					     "rx_prio3_pauses: 4\n",
					     "xrx_prio3_pause: 4\n",
					     "rx_priox_pause: 4\n",
					     ": 4\n" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		read_file(texts[i]);
		expect(-1, -1, -1);
	}
	read_file("rx_prio3_pause: 18446744073709551615\nrx_prio4_pause: 5\n");
	expect(5, -1, -1);
}

static void have(uint32_t at, const char *name, uint64_t value)
{
	strcpy(driver.names[at], name);
	driver.values[at] = value;
}

static struct pause_counters *with_driver(uint32_t count)
{
	struct pause_counters *counters = pause_counters_open("");

	cr_assert(counters);
	memset(&driver, 0, sizeof(driver));
	driver.count = count;
	return counters;
}

static void read_driver(struct pause_counters *counters)
{
	forget();
	pause_counters_read(counters, "played", counts);
}

Test(pause_counters, a_drivers_names_are_read_once_and_its_values_each_time)
{
	struct pause_counters *counters = with_driver(600);

	have(7, "rx_prio3_pause", 11);
	have(599, "tx_prio3_pause", 22);
	for (int i = 0; i < 3; i++)
		read_driver(counters);
	expect(11, 22, -1);
	driver.values[7] = 12;
	read_driver(counters);
	expect(12, 22, -1);
	cr_expect(driver.names_read == 1 && driver.values_read == 4);
	pause_counters_close(counters);
}

Test(pause_counters, names_that_became_more_are_read_anew)
{
	struct pause_counters *counters = with_driver(600);

	have(7, "rx_prio3_pause", 11);
	read_driver(counters);
	expect(11, -1, -1);
	memset(driver.names, 0, sizeof(driver.names));
	have(8, "rx_prio4_pause", 99);
	driver.count = 601;
	read_driver(counters);
	expect(99, -1, -1);
	cr_expect_eq(driver.names_read, 2);
	pause_counters_close(counters);
}

/* Kernels write as many as the driver has at that moment, whatever room there is. */
Test(pause_counters, a_driver_that_has_more_after_it_was_asked_how_many_overwrites_nothing)
{
	struct pause_counters *counters = with_driver(600);

	have(7, "rx_prio3_pause", 11);
	read_driver(counters);
	expect(11, -1, -1);
	driver.grown = NAMES;
	read_driver(counters);
	expect(-1, -1, -1);
	read_driver(counters);
	expect(11, -1, -1);
	driver.count = 600;
	driver.grown = 601;
	read_driver(counters);
	expect(-1, -1, -1);
	pause_counters_close(counters);
}

Test(pause_counters, a_driver_without_such_names_is_not_asked_for_values)
{
	struct pause_counters *counters = with_driver(20);

	read_driver(counters);
	expect(-1, -1, -1);
	cr_expect(driver.names_read == 1 && driver.values_read == 0);
	pause_counters_close(counters);
}

/* Of a veth, whose driver counts no pauses, the number of its peer stands for one. */
Test(pause_counters, the_kernel_answers_any_user)
{
	if (unshare(CLONE_NEWNET) || system("ip link add rwtest0 type veth peer name rwtest1 2>/dev/null"))
		cr_skip_test("no network namespace with a pair of virtual interfaces can be made here");
	unsigned peer = if_nametoindex("rwtest1");

	cr_assert(peer);
	cr_assert_eq(setresuid(65534, 65534, 65534), 0);
	struct pause_counters *counters = pause_counters_open("");

	renamed = "peer_ifindex";
	as = "rx_prio0_pause";
	forget();
	pause_counters_read(counters, "rwtest0", counts);
	expect((int64_t)peer, -1, -1);
	forget();
	pause_counters_read(counters, "lo", counts);
	pause_counters_read(counters, "rwnone", counts);
	expect(-1, -1, -1);
	pause_counters_close(counters);
}
