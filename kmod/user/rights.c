// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Messages with a descriptor, over a unix socket.
 */
#define _GNU_SOURCE
#include "user.h"

#include <string.h>
#include <sys/socket.h>

bool send_fd(int socket, const void *data, size_t size, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec part = {(void *)(uintptr_t)data, size};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	struct cmsghdr *header;

	if (fd >= 0) {
		message.msg_control = control;
		message.msg_controllen = sizeof(control);
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL) == (ssize_t)size;
}

static int take_fd(struct msghdr *message)
{
	struct cmsghdr *header = CMSG_FIRSTHDR(message);
	int fd = -1;

	if (header && header->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

/* One message and the descriptor with it (-1 = none); its length, or -1. */
ssize_t receive_fd(int socket, void *data, size_t size, int *fd)
{
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec part = {data, size};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);

	*fd = n < 0 ? -1 : take_fd(&message);
	return n;
}
