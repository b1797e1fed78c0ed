// SPDX-License-Identifier: MIT
/* Messages between the parent and the container's processes, over one socket pair. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "start.h"

struct message {
	enum mr_kind kind;
	struct mr_error err;
};

int mr_send(int sync, enum mr_kind kind, const struct mr_error *err, int fd)
{
	struct message message = {.kind = kind, .err = err ? *err : (struct mr_error){0}};
	struct iovec part = {.iov_base = &message, .iov_len = sizeof(message)};
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {{0}};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};

	if (fd >= 0) {
		header.msg_control = control.bytes;
		header.msg_controllen = sizeof(control.bytes);
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.align), &fd, sizeof(fd));
	}
	return sendmsg(sync, &header, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

int mr_receive(int sync, struct mr_error *err, int *fd)
{
	struct message message;
	struct iovec part = {.iov_base = &message, .iov_len = sizeof(message)};
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {{0}};
	struct msghdr header = {.msg_iov = &part,
				.msg_iovlen = 1,
				.msg_control = control.bytes,
				.msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *passed;
	ssize_t n;
	int got = -1;

	do
		n = recvmsg(sync, &header, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -1;
	passed = CMSG_FIRSTHDR(&header);
	if (passed && passed->cmsg_level == SOL_SOCKET && passed->cmsg_type == SCM_RIGHTS)
		memcpy(&got, CMSG_DATA(passed), sizeof(got));
	if (fd)
		*fd = got;
	else
		mr_close(&got);
	if (n != sizeof(message))
		return 0;
	if (err && message.kind == MR_FAILED)
		*err = message.err;
	return message.kind;
}
