/* SPDX-License-Identifier: MIT */
/* A request to rtnetlink, written by hand: a header, then attributes, then one acknowledgement. */
#ifndef MINIRT_NETLINK_H
#define MINIRT_NETLINK_H

#include <stddef.h>
#include <stdint.h>

struct nl_request {
	union {
		uint32_t aligned;
		char bytes[1024];
	};
	size_t length;
};

/* A socket in the network namespace of the caller. */
int nl_open(void);
/* @family_header: what stands between the header and the attributes (struct ifinfomsg …). */
void nl_begin(struct nl_request *request, int type, int flags, const void *family_header,
	      size_t size);
void nl_add(struct nl_request *request, int type, const void *value, size_t size);
void nl_add_text(struct nl_request *request, int type, const char *text);
/* Attributes added until nl_close_nest() are within this one. */
size_t nl_open_nest(struct nl_request *request, int type, const void *head, size_t size);
void nl_close_nest(struct nl_request *request, size_t nest);
/* Sends, waits for the kernel's answer: 0, or -1 with errno. */
int nl_ask(int socket, struct nl_request *request);

#endif
