// SPDX-License-Identifier: MIT
/*
 * uevents COUNT: prints "ready", then that many of the kernel's uevents of the
 * fakegpu subsystem, one a line: ACTION DEVNAME [XID CONTEXT]. Needs no udevd.
 * Exits with 1 when they do not come within 20 s.
 */
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *value(const char *message, size_t size, const char *key)
{
	const char *at;

	for (at = message; at < message + size; at += strlen(at) + 1)
		if (!strncmp(at, key, strlen(key)))
			return at + strlen(key);
	return "";
}

int main(int argc, char **argv)
{
	struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = 1};
	int left = argc == 2 ? atoi(argv[1]) : 0;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);
	char message[8192];
	ssize_t size;

	if (left <= 0 || fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address))) {
		perror("uevents");
		return 2;
	}
	alarm(20); /* ends it, and with it the wait of who counts on it */
	puts("ready");
	fflush(stdout);
	while (left && (size = recv(fd, message, sizeof(message) - 1, 0)) > 0) {
		message[size] = '\0';
		if (strcmp(value(message, (size_t)size, "SUBSYSTEM="), "fakegpu"))
			continue;
		printf("%s %s %s %s\n", value(message, (size_t)size, "ACTION="),
		       value(message, (size_t)size, "DEVNAME="),
		       value(message, (size_t)size, "FAKEGPU_XID="),
		       value(message, (size_t)size, "FAKEGPU_CONTEXT="));
		fflush(stdout);
		left--;
	}
	return left != 0;
}
