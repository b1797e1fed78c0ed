// SPDX-License-Identifier: MIT
/*
 * The container's side of a start, in what becomes its PID 1: from a clone of
 * the parent in new namespaces to a process that sees the container only.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "start.h"

/* Waits for the parent; what it says of a failure it tells the caller itself. */
static int await(int sync, enum mr_kind kind, struct mr_error *err)
{
	int got = mr_receive(sync, NULL, NULL);

	if (got == (int)kind)
		return 0;
	return mr_fail(err, ECANCELED, "the runtime ended in the middle of the start");
}

/* Root of the user namespace, with the ids that the parent has mapped. */
static int become_root(const struct mr_container *container, struct mr_error *err)
{
	if (!(container->spec->namespaces & CLONE_NEWUSER))
		return 0;
	if (await(container->sync, MR_MAPPED, err))
		return -1;
	if (setresgid(0, 0, 0) || setresuid(0, 0, 0))
		return mr_fail(err, errno, "become root of the user namespace: %m");
	if (setgroups(0, NULL) && errno != EPERM)
		return mr_fail(err, errno, "give up the groups: %m");
	return 0;
}

static int set_names(const struct mr_spec *spec, struct mr_error *err)
{
	struct mr_step step = mr_step_begin("hostname");
	int code = 0;

	if (spec->namespaces & CLONE_NEWCGROUP && unshare(CLONE_NEWCGROUP))
		return mr_fail(err, errno, "make a cgroup namespace: %m");
	/* One that is joined to the host's gets its loopback with the rest. */
	if (spec->namespaces & CLONE_NEWNET && !spec->net && mr_net_loopback(err))
		return -1;
	if (!spec->hostname || !(spec->namespaces & CLONE_NEWUTS))
		return 0;
	if (sethostname(spec->hostname, strlen(spec->hostname)))
		code = errno;
	mr_step_end(&step, code, "name=%s", spec->hostname);
	return code ? mr_fail(err, code, "set the hostname: %s", strerror(code)) : 0;
}

static int fill_root(const struct mr_container *container, int root, int *peer,
		     struct mr_error *err)
{
	const struct mr_spec *spec = container->spec;
	int ret;

	if (mr_mount_all(root, spec, err) || mr_nodes_make(root, spec, err))
		return -1;
	if (!spec->terminal)
		return 0;
	MR_FD master = mr_terminal_make(root, peer, err);
	if (master < 0 || mr_terminal_console(root, *peer, err))
		return -1;
	ret = mr_send(container->sync, MR_TERMINAL, NULL, master);
	return ret ? mr_fail(err, errno, "hand over the terminal: %m") : 0;
}

/* The parent does what only it can; where that is nothing, it must only be alive still. */
static int meet_parent(const struct mr_container *container, struct mr_error *err)
{
	char byte;

	if (container->alone) {
		if (!recv(container->sync, &byte, 1, MSG_DONTWAIT | MSG_PEEK))
			return mr_fail(err, ECANCELED, "the runtime ended before the container");
		return mr_enforce_rules(container, err);
	}
	if (mr_send(container->sync, MR_READY, NULL, -1))
		return mr_fail(err, errno, "tell the parent: %m");
	return await(container->sync, MR_GO, err);
}

static int set_up(const struct mr_container *container, int *peer, struct mr_error *err)
{
	const struct mr_spec *spec = container->spec;

	if (become_root(container, err))
		return -1;
	/* From here on what is in the container can't read this process. */
	if (prctl(PR_SET_DUMPABLE, 0) || (!spec->detach && prctl(PR_SET_PDEATHSIG, SIGKILL)))
		return mr_fail(err, errno, "prctl: %m");
	umask(0);
	MR_FD root = mr_root_prepare(spec, err);
	if (root < 0 || set_names(spec, err) || fill_root(container, root, peer, err))
		return -1;
	if (meet_parent(container, err) ||
	    mr_hooks_run(spec, "createContainer", "creating", getpid(), err))
		return -1;
	if (mr_hide_paths(root, spec, err) || mr_root_pivot(root, err) ||
	    (spec->read_only && mr_root_read_only(err)))
		return -1;
	return mr_hooks_run(spec, "startContainer", "created", getpid(), err);
}

_Noreturn void mr_inside(const struct mr_container *container)
{
	struct mr_error err = {0};
	int peer = -1;

	setsid();
	if (container->input >= 0 && dup2(container->input, STDIN_FILENO) >= 0 &&
	    dup2(container->output, STDOUT_FILENO) >= 0)
		dup2(container->output, STDERR_FILENO);
	mr_step_keep_proc();
	if (set_up(container, &peer, &err))
		mr_give_up(container->sync, &err);
	umask(022);
	mr_init(container, peer);
}
