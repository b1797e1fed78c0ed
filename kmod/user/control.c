// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The control socket: an abstract one, so that nothing stays behind. One
 * packet asks, one packet answers; "join" hands over a program's listener and
 * turns the connection into the way to its launcher (memory.c).
 */
#define _GNU_SOURCE
#include "user.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define REPLY_MAX 65536

static int server = -1;

static socklen_t address_of(const char *name, struct sockaddr_un *address)
{
	int length;

	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	if (strchr(name, '/'))
		length = snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1, "%s", name);
	else
		length = snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1,
				  "fakegpu/%u/%s", (unsigned int)getuid(), name);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

/* A reply that is cut rather than overrun. */
struct reply {
	char text[REPLY_MAX];
	size_t used;
};

static void say(struct reply *reply, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct reply *reply, const char *format, ...)
{
	size_t room = sizeof(reply->text) - reply->used;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(reply->text + reply->used, room, format, args);
	va_end(args);
	if (n > 0)
		reply->used += (size_t)n < room ? (size_t)n : room - 1;
}

/* A program's name is its own choice: only what needs no escape goes into JSON. */
static void say_name(struct reply *reply, const char *name)
{
	for (; *name; name++)
		say(reply, "%c",
		    *name < ' ' || *name == '"' || *name == '\\' || *name > '~' ? '?' : *name);
}

static int ask(struct context *context, unsigned int command, void *arg)
{
	return fgpu_ioctl(context->core, command, arg, NULL);
}

static void say_context(struct reply *reply, struct context *context)
{
	struct fakegpu_ctx_info info = {0};

	say(reply, "{\"id\":%u,\"pid\":%d,\"name\":\"", context->id, (int)context->pid);
	say_name(reply, context->name);
	say(reply, "\",\"inode\":%llu", (unsigned long long)context->ino);
	if (!ask(context, FAKEGPU_IOC_CTX_INFO, &info))
		say(reply,
		    ",\"buffers\":%u,\"channels\":%u,\"bytes\":%llu,\"quota\":%llu,"
		    "\"submits\":%llu,\"completions\":%llu,\"doorbells\":%llu,\"xid\":%u",
		    info.buffers, info.channels, (unsigned long long)info.bytes,
		    (unsigned long long)info.quota, (unsigned long long)info.submits,
		    (unsigned long long)info.completions, (unsigned long long)info.doorbells,
		    info.xid);
	say(reply, "}");
}

static void say_uuid(struct reply *reply, const uint8_t uuid[16])
{
	int i;

	say(reply, "GPU-");
	for (i = 0; i < 16; i++)
		say(reply, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", uuid[i]);
}

static void say_faults(struct reply *reply, struct fgpu_device *device)
{
	char text[2048], *line, *rest;

	fgpu_fault_list(device, text, sizeof(text));
	say(reply, ",\"faults\":[");
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		say(reply, "%s\"%s\"", line == text ? "" : ",", line);
	say(reply, "]");
}

static void say_device(struct reply *reply, unsigned int index)
{
	struct fakegpu_info info = {0};
	struct context *own = context_own(index);
	struct context *context;
	const char *comma = "";

	if (own)
		ask(own, FAKEGPU_IOC_INFO, &info);
	say(reply, "{\"index\":%u,\"name\":\"%s\",\"uuid\":\"", index, info.name);
	say_uuid(reply, info.uuid);
	say(reply,
	    "\",\"pci\":\"%04x:%02x:%02x\",\"vram_total\":%llu,\"vram_used\":%llu,\"quota\":%llu",
	    info.pci_domain, info.pci_bus, info.pci_slot, (unsigned long long)info.vram_total,
	    (unsigned long long)info.vram_used, (unsigned long long)info.quota);
	say_faults(reply, devices[index]);
	say(reply, ",\"contexts\":[");
	for (context = contexts; context; context = context->next) {
		if (context->minor != index)
			continue;
		say(reply, "%s", comma);
		say_context(reply, context);
		comma = ",";
	}
	say(reply, "]}");
}

static void say_status(struct reply *reply)
{
	unsigned int i;

	say(reply, "{\"version\":\"%s\",\"pid\":%d,\"name\":\"%s\",\"devices\":[", options.version,
	    (int)getpid(), options.name);
	for (i = 0; i < options.devices; i++) {
		say(reply, "%s", i ? "," : "");
		say_device(reply, i);
	}
	say(reply, "]}\n");
}

int fault_arm(const char *spec, char *why, size_t size)
{
	const char *at = strstr(spec, "device=");
	int chosen = at ? atoi(at + 7) : 0;

	if (chosen < 0 || (unsigned int)chosen >= options.devices) {
		snprintf(why, size, "no device %d", chosen);
		return -EINVAL;
	}
	return fgpu_fault_set(devices[chosen], spec, why, size);
}

static void say_fault(struct reply *reply, const char *spec)
{
	char why[128] = "", list[2048];
	unsigned int i;

	if (!strcmp(spec, "clear")) {
		for (i = 0; i < options.devices; i++)
			fgpu_fault_clear(devices[i]);
		say(reply, "ok\n");
	} else if (!strcmp(spec, "list")) {
		for (i = 0; i < options.devices; i++)
			if (fgpu_fault_list(devices[i], list, sizeof(list)))
				say(reply, "%s", list);
	} else if (fault_arm(spec, why, sizeof(why))) {
		say(reply, "error: %s\n", why);
	} else {
		say(reply, "ok\n");
	}
}

static void say_reply(struct reply *reply, const char *command)
{
	if (!strcmp(command, "status"))
		say_status(reply);
	else if (!strcmp(command, "log"))
		reply->used = log_text(reply->text, sizeof(reply->text));
	else if (!strncmp(command, "fault ", 6))
		say_fault(reply, command + 6);
	else
		say(reply, "error: unknown command; status, log, fault SPEC|list|clear\n");
}

static int take_fd(struct msghdr *message)
{
	struct cmsghdr *header = CMSG_FIRSTHDR(message);
	int fd = -1;

	if (header && header->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

static void hang_up(int fd)
{
	poller_remove(fd);
	close(fd);
}

static void request(void *data, uint32_t events)
{
	static struct reply reply;
	char command[256], control[CMSG_SPACE(sizeof(int))];
	int fd = (int)(intptr_t)data, passed;
	struct iovec part = {command, sizeof(command) - 1};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	(void)events;
	if (n <= 0) {
		hang_up(fd);
		return;
	}
	command[n] = '\0';
	command[strcspn(command, "\n")] = '\0';
	passed = take_fd(&message);
	if (!strcmp(command, "join") && passed >= 0) {
		poller_remove(fd);
		notify_add(passed, fd);
		return;
	}
	if (passed >= 0)
		close(passed);
	reply.used = 0;
	reply.text[0] = '\0';
	say_reply(&reply, command);
	if (send(fd, reply.text, reply.used, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		hang_up(fd);
}

static void connection(void *unused, uint32_t events)
{
	struct timeval limit = {.tv_sec = 2};
	struct ucred peer;
	socklen_t size = sizeof(peer);
	int fd = accept4(server, NULL, NULL, SOCK_CLOEXEC);

	(void)unused;
	(void)events;
	if (fd < 0)
		return;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) ||
	    (peer.uid && peer.uid != getuid()) || poller_add(fd, request, (void *)(intptr_t)fd))
		close(fd);
}

bool control_start(const char *name)
{
	struct sockaddr_un address;
	socklen_t size = address_of(name, &address);

	server = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (server < 0 || bind(server, (struct sockaddr *)&address, size) || listen(server, 16))
		return false;
	return !poller_add(server, connection, NULL);
}

int control_dial(const char *name)
{
	struct sockaddr_un address;
	socklen_t size = address_of(name, &address);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, size)) {
		close(fd);
		return -1;
	}
	return fd;
}

int control_client(const char *name, const char *command)
{
	static char reply[REPLY_MAX];
	int fd = control_dial(name);
	ssize_t n;

	if (fd < 0) {
		complain("no device named %s: %s; start one with fakegpud --name %s", name,
			 strerror(errno), name);
		return 1;
	}
	if (send(fd, command, strlen(command), MSG_NOSIGNAL) < 0)
		return 1;
	n = recv(fd, reply, sizeof(reply), 0);
	if (n > 0)
		fwrite(reply, 1, (size_t)n, stdout);
	close(fd);
	return n <= 0 && strcmp(command, "log") && strcmp(command, "fault list") ? 1
	       : !strncmp(reply, "error:", 6)					 ? 1
										 : 0;
}

int control_join(const char *name, int listener)
{
	int fd = control_dial(name);

	if (fd < 0)
		return -1;
	if (!send_fd(fd, "join", 4, listener)) {
		close(fd);
		return -1;
	}
	return fd;
}

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
