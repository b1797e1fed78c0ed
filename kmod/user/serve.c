// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The life of the process: what it serves, when it ends, and with which
 * status. fakegpu-run is the program's parent and ends with it, as a shell
 * would; joined to another device it only lends that its eyes (memory.c).
 */
#define _GNU_SOURCE
#include "user.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_S 2 /* between SIGTERM and SIGKILL */

static pid_t program; /* 0 once it has ended */
static int program_status;
static bool stop;
static int signals = -1;
static sigset_t old_mask;

static void take_signals(void)
{
	static const int numbers[] = {SIGCHLD, SIGINT,	SIGQUIT, SIGTERM,  SIGHUP,
				      SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH, SIGCONT};
	sigset_t mask;
	size_t i;

	sigemptyset(&mask);
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaddset(&mask, numbers[i]);
	signals = signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC);
	sigaddset(&mask, SIGPIPE);
	sigaddset(&mask, SIGXFSZ);
	sigprocmask(SIG_BLOCK, &mask, &old_mask);
}

static void reap(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != program)
			continue;
		program = 0;
		program_status = status;
	}
}

/* What a terminal sends, the program has got itself; what a process sends us is for it. */
static void pass_on(const struct signalfd_siginfo *info)
{
	int number = (int)info->ssi_signo;

	if (!program) {
		stop = stop || number == SIGTERM || number == SIGINT || number == SIGHUP ||
		       number == SIGQUIT;
		return;
	}
	if (info->ssi_code != SI_KERNEL && number != SIGWINCH && number != SIGCONT)
		kill(program, number);
	else if (number == SIGALRM) /* our own */
		kill(program, SIGKILL);
}

static void on_signal(void *unused, uint32_t events)
{
	struct signalfd_siginfo info;

	(void)unused;
	(void)events;
	while (read(signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			reap();
		else
			pass_on(&info);
	}
}

static void on_lifeline(void *unused, uint32_t events)
{
	char byte;

	(void)unused;
	(void)events;
	if (read(options.lifeline_fd, &byte, 1) > 0)
		return;
	poller_remove(options.lifeline_fd);
	stop = true;
	if (program) {
		kill(program, SIGTERM);
		alarm(PATIENCE_S);
	}
}

static void on_listener(void *data, uint32_t events)
{
	int channel = (int)(intptr_t)data, listener;
	char byte;

	(void)events;
	receive_fd(channel, &byte, 1, &listener);
	poller_remove(channel);
	close(channel);
	if (listener >= 0)
		notify_add(listener, -1);
}

static bool arm_faults(void)
{
	char why[128];
	unsigned int i;

	for (i = 0; i < options.fault_count; i++) {
		if (!fault_arm(options.faults[i], why, sizeof(why)))
			continue;
		complain("bad fault '%s': %s; the kinds are in kmod/SPEC.md", options.faults[i],
			 why);
		return false;
	}
	return true;
}

static void tell_ready(void)
{
	if (options.ready_fd < 0)
		return;
	(void)!write(options.ready_fd, "\n", 1);
	close(options.ready_fd);
	options.ready_fd = -1;
}

static bool start_device(void)
{
	raise_limits();
	if (!devices_start() || !notify_init() || poller_add(signals, on_signal, NULL)) {
		complain("can't start the device: %s", strerror(errno));
		return false;
	}
	if (options.lifeline_fd >= 0 && poller_add(options.lifeline_fd, on_lifeline, NULL)) {
		complain("--lifeline-fd %d: %s", options.lifeline_fd, strerror(errno));
		return false;
	}
	if (!control_start(options.name)) {
		complain("a device named %s is running already; use --join %s or another --name",
			 options.name, options.name);
		return false;
	}
	if (!arm_faults())
		return false;
	tell_ready();
	return true;
}

static bool stopped(void)
{
	return stop;
}

int run_daemon(void)
{
	take_signals();
	if (!start_device())
		return 1;
	if (isatty(STDERR_FILENO))
		complain("up; fakegpu-run --join %s -- COMMAND", options.name);
	return poller_run(stopped) ? 1 : 0;
}

static bool command_over(void)
{
	return !program && (stop || !options.wait_all || !notify_any());
}

/* The program's status; a signal that killed it kills us too. */
static int pass_status_on(void)
{
	struct rlimit none = {0, 0};
	sigset_t mask;
	int number;

	if (!WIFSIGNALED(program_status))
		return WEXITSTATUS(program_status);
	number = WTERMSIG(program_status);
	setrlimit(RLIMIT_CORE, &none); /* the core worth having is the program's */
	signal(number, SIG_DFL);
	sigemptyset(&mask);
	sigaddset(&mask, number);
	sigprocmask(SIG_UNBLOCK, &mask, NULL);
	raise(number);
	return 128 + number;
}

static int open_memory(pid_t pid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Opens a descendant's memory, or duplicates a descriptor of it, for the device that answers it. */
static bool lend(int broker)
{
	struct loan loan;
	int32_t error;
	int fd;

	if (recv(broker, &loan, sizeof(loan), 0) != sizeof(loan))
		return false;
	fd = loan.fd == LOAN_MEMORY ? open_memory(loan.pid) : descriptor_of(loan.pid, loan.fd);
	error = fd < 0 ? -fd : 0;
	send_fd(broker, &error, sizeof(error), fd);
	if (fd >= 0)
		close(fd);
	return true;
}

static int join(int channel)
{
	struct pollfd fds[] = {
		{signals, POLLIN, 0}, {channel, POLLIN, 0}, {options.lifeline_fd, POLLIN, 0}};
	int listener;
	char byte;

	/* The device hangs up when nobody is left under the listener. */
	while (program || (options.wait_all && fds[1].fd >= 0 && !stop)) {
		if (poll(fds, 3, -1) < 0 && errno != EINTR)
			break;
		if (fds[0].revents)
			on_signal(NULL, 0);
		if (fds[2].revents) {
			on_lifeline(NULL, 0);
			fds[2].fd = -1;
		}
		if (!fds[1].revents)
			continue;
		if (channel < 0) {
			if (!lend(fds[1].fd))
				fds[1].fd = -1;
			continue;
		}
		receive_fd(channel, &byte, 1, &listener);
		close(channel);
		channel = -1;
		fds[1].fd = listener < 0 ? -1 : control_join(options.join, listener);
		if (listener < 0)
			continue;
		close(listener);
		if (fds[1].fd < 0) {
			complain("the device %s has gone", options.join);
			kill(program, SIGKILL);
			return 125;
		}
	}
	return pass_status_on();
}

/*
 * Under Yama only an ancestor may read a program's memory, and who loses its
 * parent is adopted by init: here it is us.
 */
static void stay_ancestor(void)
{
	char scope = '0';
	int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (read(fd, &scope, 1) == 1 && scope != '0')
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	close(fd);
}

int run_command(void)
{
	int channel;

	take_signals();
	stay_ancestor();
	if (options.join ? !control_can_join(options.join) : !start_device())
		return 125;
	if (options.join)
		tell_ready();
	program = launch(&channel, &old_mask);
	if (program < 0)
		return 125;
	if (options.join)
		return join(channel);
	poller_add(channel, on_listener, (void *)(intptr_t)channel);
	poller_run(command_over);
	return pass_status_on();
}
