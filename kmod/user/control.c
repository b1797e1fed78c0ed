// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The control socket: an abstract one, so that nothing stays behind. One
 * packet asks, one packet answers; "join" hands over a program's listener and
 * turns the connection into the way to its launcher (memory.c).
 */
#define _GNU_SOURCE
#include "user.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

static int server = -1;

int fault_arm(const char *spec, char *why, size_t size)
{
	unsigned int i;
	int error;

	/* It takes effect at the device that it names; the others only look at it. */
	for (i = 0; i < options.devices; i++) {
		error = fgpu_fault_set(devices[i], spec, why, size);
		if (error)
			return error;
	}
	return 0;
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

/* As when its module is loaded or removed: who has it open keeps it. */
static void say_uvm(struct reply *reply, const char *word)
{
	if (strcmp(word, "on") && strcmp(word, "off")) {
		say(reply, "error: uvm on|off\n");
		return;
	}
	options.no_uvm = !strcmp(word, "off");
	say(reply, "ok\n");
}

static void say_reply(struct reply *reply, const char *command)
{
	if (!strcmp(command, "status"))
		say_status(reply);
	else if (!strcmp(command, "log"))
		reply->used = log_text(reply->text, sizeof(reply->text));
	else if (!strncmp(command, "fault ", 6))
		say_fault(reply, command + 6);
	else if (!strncmp(command, "uvm ", 4))
		say_uvm(reply, command + 4);
	else
		say(reply, "error: unknown command; status, log, fault SPEC|list|clear, "
			   "uvm on|off\n");
}

static void hang_up(int fd)
{
	poller_remove(fd);
	close(fd);
}

/* Anything else in the place of a listener would be polled for ever. */
static bool is_listener(int fd)
{
	uint64_t none = 0;

	return ioctl(fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &none) && errno == ENOENT;
}

static void join(int channel, int listener)
{
	if (!is_listener(listener)) {
		close(listener);
		hang_up(channel);
		return;
	}
	poller_remove(channel);
	notify_add(listener, channel);
}

static void request(void *data, uint32_t events)
{
	static struct reply reply;
	char command[256];
	int fd = (int)(intptr_t)data, passed;
	ssize_t n = receive_fd(fd, command, sizeof(command) - 1, &passed);

	(void)events;
	if (n <= 0) {
		hang_up(fd);
		return;
	}
	command[n] = '\0';
	command[strcspn(command, "\n")] = '\0';
	if (!strcmp(command, "join") && passed >= 0) {
		join(fd, passed);
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
	socklen_t size = control_address(name, &address);

	server = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (server < 0 || bind(server, (struct sockaddr *)&address, size) || listen(server, 16))
		return false;
	return !poller_add(server, connection, NULL);
}
