// SPDX-License-Identifier: MIT
/*
 * The container's network: a veth pair, its ends at the two addresses of a
 * /30, and a default route over the host's. The pair ends with either end's
 * namespace, so a container that died leaves none.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "minirt.h"
#include "netlink.h"

#define NETWORK 0x0ad50000u /* 10.213.0.0/16, a /30 for each index of an interface */
#define INSIDE "eth0"
#define LOOPBACK 1 /* index of lo in each namespace */

/* Name of the host's end: 15 characters do not hold an id, so a hash of it (64-bit FNV-1a). */
static void host_name(const char *id, char name[IFNAMSIZ])
{
	uint64_t hash = 14695981039346656037u;

	for (; *id; id++)
		hash = (hash ^ (unsigned char)*id) * 1099511628211u;
	snprintf(name, IFNAMSIZ, "mr%012llx", (unsigned long long)(hash >> 16));
}

static int make_pair(int socket, const char *host, const char *id, pid_t pid)
{
	struct ifinfomsg link = {0};
	struct nl_request request;
	uint32_t owner = (uint32_t)pid;
	char alias[MR_ID_MAX + 16];
	size_t info, data, peer;

	nl_begin(&request, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &link, sizeof(link));
	nl_add_text(&request, IFLA_IFNAME, host);
	snprintf(alias, sizeof(alias), "minirt:%s", id);
	info = nl_open_nest(&request, IFLA_LINKINFO, NULL, 0);
	nl_add_text(&request, IFLA_INFO_KIND, "veth");
	data = nl_open_nest(&request, IFLA_INFO_DATA, NULL, 0);
	peer = nl_open_nest(&request, VETH_INFO_PEER, &link, sizeof(link));
	nl_add_text(&request, IFLA_IFNAME, INSIDE);
	nl_add(&request, IFLA_NET_NS_PID, &owner, sizeof(owner));
	nl_close_nest(&request, peer);
	nl_close_nest(&request, data);
	nl_close_nest(&request, info);
	if (nl_ask(socket, &request))
		return -1;
	/* For people: ip link show. A kernel takes no alias at the making of a link. */
	link.ifi_index = (int)if_nametoindex(host);
	nl_begin(&request, RTM_SETLINK, 0, &link, sizeof(link));
	nl_add_text(&request, IFLA_IFALIAS, alias);
	return nl_ask(socket, &request);
}

static int bring_up(int socket, int index)
{
	struct ifinfomsg link = {.ifi_index = index, .ifi_flags = IFF_UP, .ifi_change = IFF_UP};
	struct nl_request request;

	nl_begin(&request, RTM_NEWLINK, 0, &link, sizeof(link));
	return nl_ask(socket, &request);
}

static int add_address(int socket, int index, uint32_t address)
{
	struct ifaddrmsg head = {
		.ifa_family = AF_INET, .ifa_prefixlen = 30, .ifa_index = (uint32_t)index};
	uint32_t value = htonl(address);
	struct nl_request request;

	nl_begin(&request, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &head, sizeof(head));
	nl_add(&request, IFA_LOCAL, &value, sizeof(value));
	nl_add(&request, IFA_ADDRESS, &value, sizeof(value));
	return nl_ask(socket, &request);
}

static int add_default_route(int socket, uint32_t gateway)
{
	struct rtmsg head = {.rtm_family = AF_INET,
			     .rtm_table = RT_TABLE_MAIN,
			     .rtm_protocol = RTPROT_BOOT,
			     .rtm_scope = RT_SCOPE_UNIVERSE,
			     .rtm_type = RTN_UNICAST};
	uint32_t value = htonl(gateway);
	struct nl_request request;

	nl_begin(&request, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &head, sizeof(head));
	nl_add(&request, RTA_GATEWAY, &value, sizeof(value));
	return nl_ask(socket, &request);
}

/* Index of @name in the namespace of @socket: if_nametoindex() asks the caller's. */
static int index_of(int socket, const char *name)
{
	struct ifreq request = {0};

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	return ioctl(socket, SIOCGIFINDEX, &request) ? -1 : request.ifr_ifindex;
}

/* A socket stays in the namespace it was made in: enter, make it, come back. */
static int socket_in(pid_t pid, struct mr_error *err)
{
	char path[64];
	int home, away, made = -1;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	away = open(path, O_RDONLY | O_CLOEXEC);
	if (home < 0 || away < 0 || setns(away, CLONE_NEWNET)) {
		mr_fail(err, errno, "enter the network namespace of process %d: %s", pid,
			strerror(errno));
	} else {
		made = nl_open();
		if (made < 0)
			mr_fail(err, errno, "netlink socket: %s", strerror(errno));
		if (setns(home, CLONE_NEWNET))
			_exit(MR_EXIT_FAILED); /* nothing may go on in the wrong network */
	}
	if (home >= 0)
		close(home);
	if (away >= 0)
		close(away);
	return made;
}

static int set_up_host(int socket, const char *host, uint32_t address, struct mr_error *err)
{
	int index = index_of(socket, host);

	if (index < 0 || add_address(socket, index, address) || bring_up(socket, index))
		return mr_fail(err, errno, "set up %s: %s", host, strerror(errno));
	return 0;
}

static int set_up_inside(pid_t pid, uint32_t gateway, struct mr_error *err)
{
	int inside = socket_in(pid, err), index, ret = 0;

	if (inside < 0)
		return -1;
	index = index_of(inside, INSIDE);
	if (index < 0 || bring_up(inside, LOOPBACK) || add_address(inside, index, gateway + 1) ||
	    bring_up(inside, index) || add_default_route(inside, gateway))
		ret = mr_fail(err, errno, "set up " INSIDE " in the container: %s",
			      strerror(errno));
	close(inside);
	return ret;
}

/* The index of the host's end is its own alone, so the addresses are too. */
static int set_up(int socket, const char *host, pid_t pid, uint32_t *gateway, struct mr_error *err)
{
	int index = index_of(socket, host);

	if (index < 0)
		return mr_fail(err, errno, "find %s: %s", host, strerror(errno));
	*gateway = NETWORK | ((uint32_t)index & 0x3fff) << 2 | 1;
	return set_up_host(socket, host, *gateway, err) ? -1 : set_up_inside(pid, *gateway, err);
}

int mr_net_make(const char *id, pid_t pid, struct mr_error *err)
{
	struct mr_step step = mr_step_begin("net");
	struct mr_error ignored = {0};
	int socket = nl_open(), ret, code;
	char host[IFNAMSIZ], text[INET_ADDRSTRLEN];
	uint32_t gateway = 0, address;

	if (socket < 0)
		return mr_fail(err, errno, "netlink socket: %s", strerror(errno));
	host_name(id, host);
	ret = make_pair(socket, host, id, pid);
	if (ret && errno == EPERM)
		mr_lacks(err,
			 "a veth pair needs root on the host: leave --net out, or run it by root");
	else if (ret && errno == EOPNOTSUPP)
		mr_lacks(err, "this kernel has no veth; leave --net out, or: glassstack lab");
	else if (ret)
		mr_fail(err, errno, "make the veth pair %s: %s", host, strerror(errno));
	else if ((ret = set_up(socket, host, pid, &gateway, err)))
		mr_net_remove(id, &ignored);
	close(socket);
	address = htonl(gateway + 1);
	code = err->code ? err->code : EPERM; /* of mr_lacks() there is none */
	mr_step_end(&step, ret ? code : 0, "host=%s inside=%s address=%s/30", host, INSIDE,
		    gateway ? inet_ntop(AF_INET, &address, text, sizeof(text)) : "none");
	return ret;
}

int mr_net_remove(const char *id, struct mr_error *err)
{
	struct ifinfomsg link = {0};
	struct nl_request request;
	char host[IFNAMSIZ];
	int socket = nl_open(), ret, code;

	if (socket < 0)
		return mr_fail(err, errno, "netlink socket: %s", strerror(errno));
	host_name(id, host);
	nl_begin(&request, RTM_DELLINK, 0, &link, sizeof(link));
	nl_add_text(&request, IFLA_IFNAME, host);
	ret = nl_ask(socket, &request);
	code = errno;
	close(socket);
	/* Not root: then there never was one. */
	if (!ret || code == ENODEV || code == EPERM)
		return 0;
	return mr_fail(err, code, "remove %s: %s", host, strerror(code));
}

int mr_net_loopback(struct mr_error *err)
{
	int socket = nl_open(), ret;

	if (socket < 0)
		return mr_fail(err, errno, "netlink socket: %s", strerror(errno));
	ret = bring_up(socket, LOOPBACK);
	if (ret)
		mr_fail(err, errno, "lo up: %s", strerror(errno));
	close(socket);
	return ret;
}
