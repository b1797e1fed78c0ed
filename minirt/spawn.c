// SPDX-License-Identifier: MIT
/* The parent's side of a start: the clone, and what only somebody outside can give it. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "start.h"

static const struct {
	unsigned int flag;
	const char *name;
} namespaces[] = {
	{CLONE_NEWUSER, "user"},     {CLONE_NEWPID, "pid"}, {CLONE_NEWNS, "mount"},
	{CLONE_NEWNET, "net"},	     {CLONE_NEWUTS, "uts"}, {CLONE_NEWIPC, "ipc"},
	{CLONE_NEWCGROUP, "cgroup"},
};

static void name_namespaces(unsigned int flags, char *text, size_t size)
{
	size_t i, used = 0;

	text[0] = '\0';
	for (i = 0; i < sizeof(namespaces) / sizeof(*namespaces); i++)
		if (flags & namespaces[i].flag)
			used += (size_t)snprintf(text + used, size - used, "%s%s", used ? "," : "",
						 namespaces[i].name);
}

static int clone_failed(int code, const struct mr_spec *spec, struct mr_error *err)
{
	if (code == EPERM && !(spec->namespaces & CLONE_NEWUSER))
		return mr_lacks(err, "only root may make these namespaces; use --rootless");
	if (spec->namespaces & CLONE_NEWUSER && (code == EPERM || code == ENOSPC || code == EUSERS))
		return mr_lacks(err,
				"this machine lets this user make no user namespace (%s); see "
				"/proc/sys/user/max_user_namespaces, or use: glassstack lab",
				strerror(code));
	return mr_fail(err, code, "make the namespaces: %s", strerror(code));
}

/* Where there is no group, or a user namespace that makes no node usable, there is no list. */
int mr_enforce_rules(const struct mr_container *container, struct mr_error *err)
{
	const struct mr_spec *spec = container->spec;

	if (spec->rootless)
		return 0;
	if (container->cgroup.fd >= 0)
		return mr_rules_attach(container->cgroup.fd, spec->rules.items, spec->rules.count,
				       err);
	struct mr_step step = mr_step_begin("device-rules");
	mr_step_end(&step, ENOTSUP, "reason=no-cgroup");
	return 0;
}

/*
 * Whether the container needs nothing of its parent once it is cloned. Then
 * neither waits for the other, which is what a start takes longest with on a
 * busy machine.
 */
static bool is_alone(const struct mr_spec *spec)
{
	return !(spec->namespaces & CLONE_NEWUSER) && !spec->net && !spec->detach &&
	       !mr_hooks_any(spec, "createRuntime");
}

/* The child continues in mr_inside(). The cgroup namespace is made by it, once in the group. */
static int clone_init(struct mr_container *container, int theirs, struct mr_error *err)
{
	const struct mr_spec *spec = container->spec;
	struct mr_step step = mr_step_begin("clone");
	struct clone_args args = {
		.flags = (spec->namespaces & ~(unsigned int)CLONE_NEWCGROUP) | CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)&container->pidfd,
		.exit_signal = SIGCHLD,
	};
	char names[64];
	long pid;

	if (container->cgroup.fd >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)container->cgroup.fd;
	}
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (!pid) {
		close(container->sync);
		container->sync = theirs;
		mr_inside(container);
	}
	name_namespaces(spec->namespaces, names, sizeof(names));
	mr_step_end(&step, pid < 0 ? errno : 0, "flags=%#lx namespaces=%s child=%d",
		    (unsigned long)args.flags, names, (int)pid);
	if (pid < 0)
		return clone_failed(errno, spec, err);
	container->pid = (pid_t)pid;
	return 0;
}

int mr_hear(struct mr_container *container, struct mr_error *err)
{
	int fd = -1, kind = mr_receive(container->sync, err, &fd);

	if (kind == MR_TERMINAL)
		container->terminal.master = fd;
	else if (fd >= 0)
		container->pidfd = fd;
	if (kind == MR_FAILED)
		return -1;
	return kind < 0 ? mr_fail(err, errno, "hear from the container: %m") : kind;
}

int mr_spawn(struct mr_container *container, struct mr_error *err)
{
	int pair[2], kind;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return mr_fail(err, errno, "make a socket pair: %m");
	mr_monitor_block(&container->mask);
	container->sync = pair[0];
	container->alone = is_alone(container->spec);
	kind = clone_init(container, pair[1], err);
	close(pair[1]);
	if (kind)
		return -1;
	if (container->spec->namespaces & CLONE_NEWUSER) {
		if (mr_idmap_write(container->pid, container->spec, err))
			return -1;
		if (mr_send(container->sync, MR_MAPPED, NULL, -1))
			return mr_fail(err, errno, "tell the container of its ids: %m");
	}
	if (container->alone)
		return 0;
	while ((kind = mr_hear(container, err)) > 0 && kind != MR_READY)
		;
	if (!kind)
		return mr_fail(err, ECHILD, "the container ended before its command was started");
	return kind < 0 ? -1 : 0;
}

/* Executing the command closes the other end. */
static int wait_for_command(struct mr_container *container, struct mr_error *err)
{
	int kind;

	while ((kind = mr_hear(container, err)) > 0)
		;
	close(container->sync);
	container->sync = -1;
	return kind;
}

int mr_spawn_go(struct mr_container *container, struct mr_error *err)
{
	const struct mr_spec *spec = container->spec;

	if (container->alone)
		return wait_for_command(container, err);
	if (mr_enforce_rules(container, err) ||
	    (spec->net && mr_net_make(spec->id, container->pid, err)) ||
	    mr_hooks_run(spec, "createRuntime", "creating", container->pid, err))
		return -1;
	if (mr_send(container->sync, MR_GO, NULL, -1))
		return mr_fail(err, errno, "let the container go on: %m");
	return wait_for_command(container, err);
}
