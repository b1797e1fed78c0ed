// SPDX-License-Identifier: MIT
/*
 * Terminals: a pair made in the container's devpts for the command, and the
 * caller's own, raw while the command has it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "start.h"

static struct termios before; /* of the caller's terminal */

/* The master is returned; *@peer is the command's end. */
int mr_terminal_make(int root, int *peer, struct mr_error *err)
{
	int master = mr_root_open(root, "/dev/pts/ptmx", O_RDWR | O_NOCTTY);
	int zero = 0;

	if (master < 0)
		return mr_fail(err, errno, "open a terminal in the container: %m");
	*peer = -1;
	if (!ioctl(master, TIOCSPTLCK, &zero))
		*peer = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*peer < 0) {
		mr_fail(err, errno, "open the other end of the terminal: %m");
		close(master);
		return -1;
	}
	return master;
}

int mr_terminal_console(int root, int peer, struct mr_error *err)
{
	MR_FD console = mr_root_place(root, "/dev/console", false);

	if (console < 0 || mr_mount_bind(peer, console, 0))
		return mr_fail(err, errno, "make /dev/console: %m");
	return 0;
}

int mr_terminal_take(int peer, struct mr_error *err)
{
	if (ioctl(peer, TIOCSCTTY, 0) || dup2(peer, STDIN_FILENO) < 0 ||
	    dup2(peer, STDOUT_FILENO) < 0 || dup2(peer, STDERR_FILENO) < 0)
		return mr_fail(err, errno, "take the terminal: %m");
	return 0;
}

void mr_terminal_begin(struct mr_terminal *terminal)
{
	struct termios raw;

	mr_terminal_resize(terminal);
	if (tcgetattr(STDIN_FILENO, &before))
		return;
	raw = before;
	cfmakeraw(&raw);
	terminal->raw = !tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
}

void mr_terminal_resize(const struct mr_terminal *terminal)
{
	struct winsize size;

	if (!ioctl(STDIN_FILENO, TIOCGWINSZ, &size) || !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		ioctl(terminal->master, TIOCSWINSZ, &size);
}

static bool write_all(int fd, const char *bytes, ssize_t size)
{
	while (size > 0) {
		ssize_t n = write(fd, bytes, (size_t)size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		bytes += n;
		size -= n;
	}
	return true;
}

bool mr_terminal_input(struct mr_terminal *terminal)
{
	char bytes[4096];
	ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));

	if (n < 0 && errno == EINTR)
		return true;
	if (n <= 0) {
		/* What ends a file at the end of a pipe ends it on a terminal as ^D. */
		static const char end = 4;

		terminal->input_ended = true;
		return write_all(terminal->master, &end, 1);
	}
	return write_all(terminal->master, bytes, n);
}

bool mr_terminal_output(const struct mr_terminal *terminal)
{
	char bytes[16384];
	ssize_t n = read(terminal->master, bytes, sizeof(bytes));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	/* EIO: nobody has the other end open. */
	return n > 0 && write_all(STDOUT_FILENO, bytes, n);
}

void mr_terminal_end(struct mr_terminal *terminal)
{
	if (terminal->raw)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
	terminal->raw = false;
}
