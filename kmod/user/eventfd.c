// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Eventfds of programs, bound to fences. The descriptor is duplicated out of
 * the program; where the kernel refuses that (Yama), its launcher does it.
 */
#define _GNU_SOURCE
#include "user.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static aio_context_t ring;
static int source = -1;

int descriptor_of(pid_t pid, int fd)
{
	int process = (int)syscall(SYS_pidfd_open, pid, 0);
	int copy = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, fd, 0);
	int error = errno;

	if (process >= 0)
		close(process);
	return copy < 0 ? -error : copy;
}

static bool is_eventfd(int fd)
{
	char path[32], name[32];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, name, sizeof(name));
	return n == 20 && !memcmp(name, "anon_inode:[eventfd]", 20);
}

/* What the signals are made with: a byte to read, and a place to have that told. */
static bool ready(void)
{
	if (source < 0)
		source = memfd_create("eventfd", MFD_CLOEXEC);
	if (source < 0 || ftruncate(source, 1))
		return false;
	return ring || !syscall(SYS_io_setup, 1, &ring);
}

int eventfd_find(const struct call *call, int number)
{
	int fd;

	if (number < 0)
		return -EBADF;
	if (!ready())
		return -EOPNOTSUPP;
	fd = descriptor_of(call->pid, number);
	if (fd == -EPERM)
		fd = memory_descriptor(call->listener, call->pid, number);
	if (fd == -ENOSYS)
		return -EOPNOTSUPP; /* before 5.6 */
	if (fd == -EMFILE)
		return -EAGAIN;
	if (fd >= 0 && !is_eventfd(fd)) {
		close(fd);
		return -EINVAL;
	}
	return fd;
}

/*
 * A write(2) would wait when the program has filled its counter, and stop the
 * device for everybody. The end of an AIO read is told by the kernel's own
 * eventfd_signal(), which never waits. Under a device's lock; there are several.
 */
static void raise_counter(int fd)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	char byte;
	struct iocb read = {
		.aio_lio_opcode = IOCB_CMD_PREAD,
		.aio_fildes = (uint32_t)source,
		.aio_buf = (uintptr_t)&byte,
		.aio_nbytes = sizeof(byte),
		.aio_flags = IOCB_FLAG_RESFD,
		.aio_resfd = (uint32_t)fd,
	};
	struct iocb *list[] = {&read};
	struct io_event done;

	pthread_mutex_lock(&lock);
	if (syscall(SYS_io_submit, ring, 1, list) == 1)
		syscall(SYS_io_getevents, ring, 1, 1, &done, NULL);
	else
		complain("can't signal an eventfd: %s", strerror(errno));
	pthread_mutex_unlock(&lock);
}

void fgpu_port_eventfd_end(void *eventfd, bool signal)
{
	int fd = (int)(intptr_t)eventfd;

	if (signal)
		raise_counter(fd);
	close(fd);
}
