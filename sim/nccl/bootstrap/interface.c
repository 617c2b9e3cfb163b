/* SPDX-License-Identifier: MIT */
#include "sim/nccl/bootstrap/interface.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "sim/nccl/log.h"

static bool list_has(const char *list, const char *name, bool exact)
{
	size_t name_length = strlen(name);

	while (*list) {
		size_t length = strcspn(list, ",");
		size_t prefix = strcspn(list, ":,"); /* NCCL accepts NAME:PORT and ignores the port here */
		if ((exact ? prefix == name_length : prefix <= name_length) && strncmp(list, name, prefix) == 0)
			return true;
		list += length + (list[length] == ',');
	}
	return false;
}

bool interface_matches(const char *list, const char *name)
{
	bool without = *list == '^';

	list += without;
	bool exact = *list == '=';
	list += exact;
	return list_has(list, name, exact) != without;
}

/* A link-local address of version 6 means nothing to another host without its interface. */
static bool is_usable(const struct ifaddrs *interface)
{
	const struct sockaddr_in6 *v6 = (const void *)interface->ifa_addr;
	const unsigned int up = IFF_UP | IFF_RUNNING;

	if (!interface->ifa_addr || (interface->ifa_flags & up) != up)
		return false;
	if (interface->ifa_addr->sa_family == AF_INET6)
		return !IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr);
	return interface->ifa_addr->sa_family == AF_INET;
}

static bool find(const struct ifaddrs *interfaces, const char *list, union socket_address *address)
{
	for (const struct ifaddrs *at = interfaces; at; at = at->ifa_next) {
		if (!is_usable(at) || !interface_matches(list, at->ifa_name))
			continue;
		*address = (union socket_address){ 0 };
		if (at->ifa_addr->sa_family == AF_INET6)
			memcpy(&address->v6, at->ifa_addr, sizeof(address->v6));
		else
			memcpy(&address->v4, at->ifa_addr, sizeof(address->v4));
		return true;
	}
	return false;
}

static bool find_by_default(const struct ifaddrs *interfaces, union socket_address *address)
{
	static const char *const lists[] = { "^docker,lo", "docker", "lo" };

	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		if (find(interfaces, lists[i], address))
			return true;
	}
	return false;
}

ncclResult_t interface_address(union socket_address *address)
{
	const char *list = getenv("NCCL_SOCKET_IFNAME");
	struct ifaddrs *interfaces;

	if (getifaddrs(&interfaces) < 0)
		return ncclSystemError;
	bool found = list && *list ? find(interfaces, list, address) : find_by_default(interfaces, address);
	freeifaddrs(interfaces);
	if (found)
		return ncclSuccess;
	log_warn("Bootstrap : no socket interface found%s%s", list ? " for NCCL_SOCKET_IFNAME=" : "", list ? list : "");
	return ncclInvalidUsage;
}
