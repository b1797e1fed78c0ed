// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Starts the program: fork, filters, exec. The child hands its listener to
 * the parent through a socket pair and says how far it came.
 */
#define _GNU_SOURCE
#include "user.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* A context takes a descriptor and 64 GiB of addresses, whatever the program may have. */
static const int wanted[] = {RLIMIT_NOFILE, RLIMIT_AS, RLIMIT_FSIZE};
static struct rlimit limits[3];
static bool raised;

void raise_limits(void)
{
	struct rlimit most;
	size_t i;

	for (i = 0; i < 3; i++) {
		getrlimit(wanted[i], &limits[i]);
		most = limits[i];
		most.rlim_cur = most.rlim_max;
		setrlimit(wanted[i], &most);
	}
	raised = true;
}

static void child_exec(void)
{
	int error;
	size_t i;

	for (i = 0; raised && i < 3; i++)
		setrlimit(wanted[i], &limits[i]);

	execvp(options.command[0], options.command);
	error = errno;
	complain("can't run %s: %s", options.command[0], strerror(error));
	_exit(error == ENOENT ? 127 : 126);
}

/* A tracer lets go of us by a byte, or by dying. */
static void child_hold(void)
{
	char byte;

	if (options.hold_fd < 0)
		return;
	while (read(options.hold_fd, &byte, 1) < 0 && errno == EINTR)
		;
	close(options.hold_fd);
}

static void child_extra_filter(void)
{
	int error;

	if (options.filter_fd < 0)
		return;
	error = filter_install_extra(options.filter_fd);
	if (error) {
		complain("can't install the tracer's filter: %s", strerror(-error));
		_exit(125);
	}
	close(options.filter_fd);
}

static void child(int channel)
{
	int listener;

	child_hold();
	child_extra_filter();
	listener = filter_install();
	/* One listener is all a program can have: ours, if it is on this device already. */
	if (listener == -EBUSY && options.inherited)
		child_exec();
	if (listener == -EBUSY) {
		complain(
			"this process has a seccomp listener already: another device's, or that of "
			"a sandbox; start it outside of that");
		_exit(125);
	}
	if (listener < 0) {
		complain("the kernel refuses a seccomp listener: %s; it needs Linux 5.9 and no "
			 "sandbox that forbids one",
			 strerror(-listener));
		_exit(125);
	}
	if (!send_fd(channel, "L", 1, listener))
		_exit(125);
	close(listener);
	close(channel);
	child_exec();
}

static void close_handed_on(void)
{
	int *fds[] = {&options.hold_fd, &options.filter_fd, &options.pid_fd};
	size_t i;

	for (i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

pid_t launch(int *channel, const sigset_t *mask)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) || (pid = fork()) < 0) {
		complain("can't start a process: %s", strerror(errno));
		return -1;
	}
	if (!pid) {
		sigprocmask(SIG_SETMASK, mask, NULL);
		close(pair[0]);
		child(pair[1]);
	}
	close(pair[1]);
	if (options.pid_fd >= 0)
		dprintf(options.pid_fd, "%d\n", (int)pid);
	close_handed_on();
	*channel = pair[0];
	return pid;
}
