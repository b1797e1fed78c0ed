// SPDX-License-Identifier: MIT
/* What a process does: uses memory and processes, waits, ends, takes signals. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

#define STEP (1u << 20)

static int succeed(char **unused)
{
	(void)unused;
	return DONE;
}

static int leave(char **arguments)
{
	return atoi(arguments[0]);
}

static int die(char **arguments)
{
	raise(atoi(arguments[0]));
	return FAILED; /* the signal is one that can be ignored, or this is PID 1 */
}

static int pause_for(char **arguments)
{
	puts("sleeping");
	for (unsigned int left = (unsigned int)atoi(arguments[0]); left;)
		left = sleep(left);
	return DONE;
}

/* Tells each MiB when it is there, in the end that all are; "held" waits then. */
static int memhog(char **arguments)
{
	size_t bytes = strtoull(arguments[0], NULL, 10);

	for (size_t used = 0; used < bytes; used += STEP) {
		char *part = mmap(NULL, STEP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				  -1, 0);

		if (part == MAP_FAILED)
			return failed("mmap");
		memset(part, 1, STEP);
		printf("%zu\n", used + STEP);
	}
	puts("held");
	if (arguments[1] && !strcmp(arguments[1], "hold"))
		pause();
	return DONE;
}

/* Forks until it may not, or MOST are there; prints how many and why it ended, and ends them. */
static int forkbomb(char **arguments)
{
	int most = arguments[0] ? atoi(arguments[0]) : 1000, made = 0;
	pid_t *children = calloc((size_t)most, sizeof(*children));
	int cause = 0;

	if (!children)
		return failed("calloc");
	while (made < most) {
		pid_t pid = fork();

		if (!pid) {
			pause();
			_exit(DONE);
		}
		if (pid < 0) {
			cause = errno;
			break;
		}
		children[made++] = pid;
	}
	printf("%d %s\n", made, cause ? errno_name(cause) : "enough");
	for (int i = 0; i < made; i++) {
		kill(children[i], SIGKILL);
		waitpid(children[i], NULL, 0);
	}
	free(children);
	return DONE;
}

static volatile sig_atomic_t caught;

static void catch (int signal)
{
	caught = signal;
}

/* Says "ready", then each signal by its number; ends with 0 at SIGTERM. */
static int signals(char **unused)
{
	static const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGTERM, SIGWINCH};
	struct sigaction action = {.sa_handler = catch};
	sigset_t all, before;

	(void)unused;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		sigaction(numbers[i], &action, NULL);
		sigdelset(&before, numbers[i]);
	}
	puts("ready");
	for (caught = 0; caught != SIGTERM;) {
		sigsuspend(&before);
		printf("%d\n", (int)caught);
	}
	return DONE;
}

/* Leaves a child behind that lives for a moment; PID 1 is to reap it. */
static int orphan(char **unused)
{
	pid_t child = fork();

	(void)unused;
	if (child < 0)
		return failed("fork");
	if (child)
		return DONE;
	if (fork() == 0)
		usleep(50000);
	_exit(DONE);
}

/* Says why not as an attempt does. */
static int write_file(char **arguments)
{
	int fd = open(arguments[0], O_WRONLY | O_CLOEXEC);
	const char *text = arguments[1] ? arguments[1] : "x";
	ssize_t put;

	if (fd < 0)
		return verdict(arguments[0], -1);
	put = write(fd, text, strlen(text));
	close(fd);
	return verdict(arguments[0], put);
}

static int create(char **arguments)
{
	int fd = open(arguments[0], O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd >= 0)
		close(fd);
	return verdict(arguments[0], fd);
}

const struct verb act_verbs[] = {
	{"true", succeed, 0, NULL},
	{"exit", leave, 1, "CODE"},
	{"die", die, 1, "SIGNAL"},
	{"sleep", pause_for, 1, "SECONDS"},
	{"memhog", memhog, 1, "BYTES [hold]"},
	{"forkbomb", forkbomb, 0, "[MOST]"},
	{"signals", signals, 0, NULL},
	{"orphan", orphan, 0, NULL},
	{"write", write_file, 1, "PATH [TEXT]"},
	{"create", create, 1, "PATH"},
	{0},
};
