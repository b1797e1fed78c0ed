// SPDX-License-Identifier: MIT
/* The parent while the command runs: carries signals to it and its terminal to the caller. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "start.h"

#define FLUSH_MS 200

void mr_monitor_block(sigset_t *before)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, before);
}

/* Not one that comes from a terminal's job control or from this program's own doing. */
static bool to_forward(int number)
{
	return number != SIGCHLD && number != SIGPIPE && number != SIGTSTP && number != SIGTTIN &&
	       number != SIGTTOU && number != SIGCONT && number != SIGURG;
}

static void take_signal(int signals, int pidfd, const struct mr_terminal *terminal)
{
	struct signalfd_siginfo info;

	if (read(signals, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGWINCH && terminal->master >= 0)
		mr_terminal_resize(terminal);
	else if (to_forward((int)info.ssi_signo))
		syscall(SYS_pidfd_send_signal, pidfd, info.ssi_signo, NULL, 0);
}

/* What the command wrote last is shown, however long its children hold the terminal open. */
static void flush(const struct mr_terminal *terminal)
{
	struct pollfd ready = {.fd = terminal->master, .events = POLLIN};

	while (poll(&ready, 1, FLUSH_MS) > 0 && (ready.revents & POLLIN))
		if (!mr_terminal_output(terminal))
			break;
}

static int status_of(int pidfd)
{
	siginfo_t info;

	while (waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED) < 0)
		if (errno != EINTR)
			return MR_EXIT_FAILED;
	return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
}

int mr_monitor(int pidfd, struct mr_terminal *terminal)
{
	sigset_t all;
	bool output = terminal->master >= 0;

	sigfillset(&all);
	MR_FD signals = signalfd(-1, &all, SFD_CLOEXEC);
	if (output)
		mr_terminal_begin(terminal);
	for (;;) {
		bool input = output && !terminal->input_ended;
		struct pollfd ready[] = {
			{.fd = pidfd, .events = POLLIN},
			{.fd = signals, .events = POLLIN},
			{.fd = output ? terminal->master : -1, .events = POLLIN},
			{.fd = input ? STDIN_FILENO : -1, .events = POLLIN},
		};

		if (poll(ready, sizeof(ready) / sizeof(*ready), -1) < 0)
			continue;
		if (ready[1].revents)
			take_signal(signals, pidfd, terminal);
		if (ready[2].revents)
			output = mr_terminal_output(terminal);
		if (ready[3].revents && !mr_terminal_input(terminal))
			terminal->input_ended = true;
		if (ready[0].revents)
			break;
	}
	if (output)
		flush(terminal);
	mr_terminal_end(terminal);
	return status_of(pidfd);
}
