// SPDX-License-Identifier: MIT
/*
 * The verb exec: a command more in a container that runs, in the same
 * namespaces and group and with the same reductions. A process between enters
 * the namespaces, so that this one, which has the caller's files, never does.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "start.h"

/**
 * struct visit - an exec under way
 * @door: pidfd of a process that is in them
 * @group: its cgroup, or -1
 * @namespaces: those to enter
 */
struct visit {
	struct mr_spec spec;
	int door;
	int group;
	unsigned int namespaces;
};

/* The command; its cgroup namespace is entered last, or its group would be out of sight. */
static _Noreturn void become(const struct visit *visit, int sync, int peer, const sigset_t *mask)
{
	struct mr_error err = {0};

	if (visit->namespaces & CLONE_NEWCGROUP && setns(visit->door, CLONE_NEWCGROUP)) {
		mr_fail(&err, errno, "enter the cgroup namespace: %m");
		mr_give_up(sync, &err);
	}
	mr_command(&visit->spec, sync, peer, mask);
}

static int open_terminal(int sync, int *peer, struct mr_error *err)
{
	MR_FD root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	MR_FD master = root < 0 ? -1 : mr_terminal_make(root, peer, err);

	if (master < 0)
		return -1;
	return mr_send(sync, MR_TERMINAL, NULL, master) ? mr_fail(err, errno, "send a terminal: %m")
							: 0;
}

static int enter(const struct visit *visit, struct mr_error *err)
{
	struct mr_step step = mr_step_begin("setns");
	unsigned int flags = visit->namespaces & ~(unsigned int)CLONE_NEWCGROUP;
	int code = 0;

	mr_step_keep_proc();
	if (prctl(PR_SET_DUMPABLE, 0) || setns(visit->door, (int)flags))
		code = errno;
	mr_step_end(&step, code, "flags=%#x", flags);
	return code ? mr_fail(err, code, "enter the container: %s", strerror(code)) : 0;
}

/* The process between: its child is the caller's, which gets hold of it by @sync. */
static _Noreturn void go_between(const struct visit *visit, int sync, const sigset_t *mask)
{
	struct clone_args args = {.flags = CLONE_PARENT | CLONE_PIDFD};
	struct mr_step step;
	struct mr_error err = {0};
	int peer = -1, pidfd = -1;
	long pid;

	if (enter(visit, &err) || (visit->spec.terminal && open_terminal(sync, &peer, &err)))
		mr_give_up(sync, &err);
	args.pidfd = (uint64_t)(uintptr_t)&pidfd;
	if (visit->group >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)visit->group;
	}
	step = mr_step_begin("clone");
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (!pid)
		become(visit, sync, peer, mask);
	mr_step_end(&step, pid < 0 ? errno : 0, "flags=%#lx child=%d", (unsigned long)args.flags,
		    (int)pid);
	if (pid < 0) {
		mr_fail(&err, errno, "start a process in the container: %m");
		mr_give_up(sync, &err);
	}
	mr_send(sync, MR_READY, NULL, pidfd);
	_exit(0);
}

static int start(struct visit *visit, struct mr_container *container, struct mr_error *err)
{
	int pair[2], kind;
	pid_t between;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return mr_fail(err, errno, "make a socket pair: %m");
	mr_monitor_block(&container->mask);
	between = fork();
	if (!between) {
		close(pair[0]);
		go_between(visit, pair[1], &container->mask);
	}
	close(pair[1]);
	container->sync = pair[0];
	if (between < 0)
		return mr_fail(err, errno, "fork: %m");
	while ((kind = mr_hear(container, err)) > 0)
		;
	waitpid(between, NULL, 0);
	close(container->sync);
	if (!kind && container->pidfd < 0)
		return mr_fail(err, ECHILD, "the container ended meanwhile");
	return kind;
}

/*
 * Whose namespaces to enter. PID 1 holds what only the host's root may see, which
 * nobody is once in a user namespace: there the command's, which are the same.
 */
static int open_door(const struct mr_state *state)
{
	pid_t pid = state->pid;
	int door;

	if (state->rootless)
		pid = mr_process_child(state->pid);
	door = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	if (door < 0 || pid == state->pid || pid == mr_process_child(state->pid))
		return door;
	/* It ended meanwhile, and the number may be another's. */
	close(door);
	return -1;
}

static int find(const char *id, struct visit *visit, struct mr_error *err)
{
	struct mr_spec *spec = &visit->spec;
	struct mr_state state;
	MR_FD states = mr_state_open(err);

	if (states < 0 || mr_state_read(states, id, &state, err))
		return -1;
	visit->door = open_door(&state);
	if (visit->door < 0 || !mr_state_alive(&state) || strcmp(state.status, "running"))
		return mr_fail(err, ESRCH, "the container %s is not running: it is %s", id,
			       state.status);
	visit->group = -1;
	if (state.cgroup && *state.cgroup) {
		visit->group = mr_cgroup_open(state.cgroup, err);
		if (visit->group < 0)
			return -1;
	}
	visit->namespaces = state.namespaces;
	mr_spec_init(spec);
	snprintf(spec->id, sizeof(spec->id), "%s", id);
	spec->env = state.env;
	spec->cwd = state.cwd;
	spec->uid = state.uid;
	spec->gid = state.gid;
	spec->capabilities = state.capabilities;
	spec->no_seccomp = state.no_seccomp;
	spec->terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	return 0;
}

int mr_verb_exec(int argc, char **argv, struct mr_error *err)
{
	struct mr_choice choice = {.steps_fd = -1}, again = {.steps_fd = -1};
	struct mr_container container = {.pidfd = -1, .sync = -1, .terminal.master = -1};
	struct visit visit;
	struct mr_spec scratch;
	char **rest = argv;
	int count = argc;

	mr_spec_init(&scratch);
	if (mr_options(MR_EXEC, &count, &rest, &scratch, &again, err))
		return err->status;
	if (count < 2)
		return mr_usage(err, "exec takes a name and a command; see: minirt exec --help"),
		       err->status;
	if (find(rest[0], &visit, err))
		return err->status;
	choice.steps_fd = again.steps_fd;
	if (mr_options(MR_EXEC, &argc, &argv, &visit.spec, &choice, err))
		return err->status;
	visit.spec.argv = argv + 1;
	mr_step_open(visit.spec.id, choice.steps_fd, -1);
	if (start(&visit, &container, err)) {
		if (container.pidfd >= 0)
			mr_monitor(container.pidfd, &(struct mr_terminal){.master = -1});
		return err->status;
	}
	return mr_monitor(container.pidfd, &container.terminal);
}
