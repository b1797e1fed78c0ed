// SPDX-License-Identifier: MIT
/* rtnetlink requests; what they say is net.c's. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netlink.h"

int nl_open(void)
{
	return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
}

/* Room for @size more bytes, zeroed and aligned; all requests of ours fit many times. */
static void *extend(struct nl_request *request, size_t size)
{
	void *at = request->bytes + request->length;

	if (request->length + NLMSG_ALIGN(size) > sizeof(request->bytes))
		abort();
	request->length += NLMSG_ALIGN(size);
	return at;
}

void nl_begin(struct nl_request *request, int type, int flags, const void *family_header,
	      size_t size)
{
	struct nlmsghdr header = {.nlmsg_type = (uint16_t)type,
				  .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags),
				  .nlmsg_seq = 1};

	memset(request, 0, sizeof(*request));
	memcpy(extend(request, sizeof(header)), &header, sizeof(header));
	memcpy(extend(request, size), family_header, size);
}

void nl_add(struct nl_request *request, int type, const void *value, size_t size)
{
	struct rtattr head = {.rta_type = (uint16_t)type, .rta_len = (uint16_t)RTA_LENGTH(size)};
	char *at = extend(request, RTA_LENGTH(size));

	memcpy(at, &head, sizeof(head));
	if (size)
		memcpy(at + RTA_LENGTH(0), value, size);
}

void nl_add_text(struct nl_request *request, int type, const char *text)
{
	nl_add(request, type, text, strlen(text) + 1);
}

size_t nl_open_nest(struct nl_request *request, int type, const void *head, size_t size)
{
	size_t nest = request->length;

	nl_add(request, type, head, size);
	return nest;
}

void nl_close_nest(struct nl_request *request, size_t nest)
{
	uint16_t length = (uint16_t)(request->length - nest);

	memcpy(request->bytes + nest + offsetof(struct rtattr, rta_len), &length, sizeof(length));
}

int nl_ask(int socket, struct nl_request *request)
{
	uint32_t length = (uint32_t)request->length;
	struct nlmsghdr head;
	struct nlmsgerr answer;
	char reply[4096];
	ssize_t got;

	memcpy(request->bytes, &length, sizeof(length)); /* nlmsg_len is the first field */
	if (send(socket, request->bytes, request->length, 0) < 0)
		return -1;
	do
		got = recv(socket, reply, sizeof(reply), 0);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -1;
	memcpy(&head, reply, sizeof(head));
	if ((size_t)got < sizeof(head) + sizeof(int) || head.nlmsg_type != NLMSG_ERROR) {
		errno = EPROTO;
		return -1;
	}
	memcpy(&answer.error, reply + NLMSG_HDRLEN, sizeof(answer.error));
	errno = -answer.error;
	return answer.error ? -1 : 0;
}
