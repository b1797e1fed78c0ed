// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The other side of the control socket: asking a device, joining it.
 */
#define _GNU_SOURCE
#include "user.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* "NAME" is one of this user's, "fakegpu/UID/NAME" anybody's. */
static int full_name(const char *name, char *full, size_t size)
{
	if (strchr(name, '/'))
		return snprintf(full, size, "%s", name);
	return snprintf(full, size, "fakegpu/%u/%s", (unsigned int)getuid(), name);
}

/* Its length; 0 = the name is too long to be one. */
socklen_t control_address(const char *name, struct sockaddr_un *address)
{
	int length;

	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	length = full_name(name, address->sun_path + 1, sizeof(address->sun_path) - 1);
	if (length >= (int)sizeof(address->sun_path) - 1)
		return 0;
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

bool same_device(const char *a, const char *b)
{
	char left[128], right[128];

	full_name(a, left, sizeof(left));
	full_name(b, right, sizeof(right));
	return !strcmp(left, right);
}

/* Anybody may take an abstract name: only the user in it, or root, is believed. */
static bool is_genuine(int fd, const char *name)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	const char *uid = strchr(name, '/');

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		return false;
	return !peer.uid || peer.uid == (uid ? (uid_t)atoi(uid + 1) : getuid());
}

static int dial(const char *name)
{
	struct sockaddr_un address;
	socklen_t size = control_address(name, &address);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int error = 0;

	if (fd < 0)
		return -1;
	if (!size)
		error = ENAMETOOLONG;
	else if (connect(fd, (struct sockaddr *)&address, size))
		error = errno;
	else if (!is_genuine(fd, name))
		error = EPERM;
	if (!error)
		return fd;
	close(fd);
	errno = error;
	return -1;
}

static bool can_be_empty(const char *command)
{
	return !strcmp(command, "log") || !strcmp(command, "fault list");
}

int control_client(const char *name, const char *command)
{
	static char reply[REPLY_MAX];
	int fd = dial(name);
	ssize_t n;

	if (fd < 0) {
		complain("no device named %s: %s; start one with fakegpud --name %s", name,
			 strerror(errno), name);
		return 1;
	}
	n = send(fd, command, strlen(command), MSG_NOSIGNAL) < 0
		    ? -1
		    : recv(fd, reply, sizeof(reply), 0);
	close(fd);
	if (n < 0 || (!n && !can_be_empty(command))) {
		complain("the device %s ended before it answered", name);
		return 1;
	}
	if (n > 6 && !strncmp(reply, "error:", 6)) {
		complain("%.*s", (int)strcspn(reply + 7, "\n"), reply + 7);
		return 1;
	}
	fwrite(reply, 1, (size_t)n, stdout);
	return fflush(stdout) ? 1 : 0;
}

/*
 * A device decides what the program reads, gets and does: one that another
 * user runs is not let near it, whatever its name.
 */
static bool is_trusted(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) &&
	       (!peer.uid || peer.uid == getuid());
}

int control_join(const char *name, int listener)
{
	int fd = dial(name);

	if (fd < 0)
		return -1;
	if (!is_trusted(fd) || !send_fd(fd, "join", 4, listener)) {
		close(fd);
		return -1;
	}
	return fd;
}

bool control_can_join(const char *name)
{
	int fd = dial(name);
	bool trusted;
	char byte;

	if (fd < 0) {
		complain("no device named %s: %s; start one with fakegpud --name %s", name,
			 strerror(errno), name);
		return false;
	}
	/* It may not want us either: then it hangs up. */
	trusted = is_trusted(fd) && send(fd, "status", 6, MSG_NOSIGNAL) == 6 &&
		  recv(fd, &byte, 1, 0) == 1;
	close(fd);
	if (!trusted)
		complain("the device %s is another user's; start one of your own", name);
	return trusted;
}
