// SPDX-License-Identifier: MIT
/*
 * PID 1 of the container: starts the command as PID 2, passes signals on to it,
 * reaps what is orphaned and ends with the command's status, by which the
 * kernel ends everything else in the container.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "start.h"

/* Reaps all that has ended; true when the command has. */
static bool reap(pid_t command, int *status)
{
	bool ended = false;
	pid_t pid;
	int how;

	while ((pid = waitpid(-1, &how, WNOHANG)) > 0) {
		if (pid != command)
			continue;
		ended = true;
		*status = WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
	}
	return ended;
}

/* No privilege but to signal whom the command becomes. Nothing is executed: there is no way back. */
static void keep_kill(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {
		{.effective = 1U << CAP_KILL, .permitted = 1U << CAP_KILL}};

	syscall(SYS_capset, &header, data);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* Nothing of the host stays open. */
static void lay_down(const struct mr_spec *spec)
{
	mr_title_set("minirt init");
	close_range(0, ~0U, 0);
	keep_kill();
	/* Changing credentials took both back. */
	prctl(PR_SET_DUMPABLE, 0);
	if (!spec->detach)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
}

_Noreturn void mr_init(const struct mr_container *container, int peer)
{
	int status = MR_EXIT_FAILED;
	struct mr_error err = {0};
	sigset_t all;
	pid_t command;

	command = fork();
	if (!command)
		mr_command(container->spec, container->sync, peer, &container->mask);
	if (command < 0) {
		mr_fail(&err, errno, "start the command: %m");
		mr_give_up(container->sync, &err);
	}
	lay_down(container->spec);
	sigfillset(&all);
	while (!reap(command, &status)) {
		int number = sigwaitinfo(&all, NULL);

		if (number > 0 && number != SIGCHLD)
			kill(command, number);
	}
	_exit(status);
}
