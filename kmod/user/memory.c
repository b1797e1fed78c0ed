// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Memory of programs. Where the kernel refuses (Yama lets only an ancestor
 * in), the program's launcher, which is one, opens /proc/PID/mem for us.
 */
#define _GNU_SOURCE
#include "user.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define CACHED 64

/* Opened by a broker; belongs to one address space, so an exec makes it useless. */
static struct {
	pid_t pid;
	int fd;
} cache[CACHED];

static int ask_broker(int broker, pid_t pid)
{
	int32_t reply;
	int fd = -1;

	if (send(broker, &pid, sizeof(pid), MSG_NOSIGNAL) == sizeof(pid))
		receive_fd(broker, &reply, sizeof(reply), &fd);
	return fd;
}

static int borrowed(const struct listener *listener, pid_t pid, bool again)
{
	unsigned int slot = (unsigned int)pid % CACHED;

	if (cache[slot].pid == pid && !again)
		return cache[slot].fd;
	if (listener->broker < 0)
		return -1;
	if (cache[slot].pid)
		close(cache[slot].fd);
	cache[slot].fd = ask_broker(listener->broker, pid);
	cache[slot].pid = cache[slot].fd < 0 ? 0 : pid;
	return cache[slot].fd;
}

/* A program that hides its memory, as a container runtime does on its way in, shows as root's. */
static bool hides(pid_t pid)
{
	struct stat info;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	return !stat(path, &info) && info.st_uid != geteuid();
}

static void refused(pid_t pid)
{
	static bool told;
	int error = errno;

	if (hides(pid))
		return;
	if (!told)
		complain("can't reach the memory of process %d: %s; its calls fail", (int)pid,
			 strerror(error));
	told = true;
}

static ssize_t transfer(const struct listener *listener, pid_t tid, uint64_t address, void *local,
			size_t size, bool writing)
{
	struct iovec here = {local, size};
	struct iovec there = {(void *)(uintptr_t)address, size};
	ssize_t n;
	int attempt, fd;

	n = writing ? process_vm_writev(tid, &here, 1, &there, 1, 0)
		    : process_vm_readv(tid, &here, 1, &there, 1, 0);
	if (n >= 0 || errno != EPERM)
		return n;
	for (attempt = 0; attempt < 2; attempt++) {
		fd = borrowed(listener, tid, attempt > 0);
		if (fd < 0) {
			refused(tid);
			return -1;
		}
		n = writing ? pwrite(fd, local, size, (off_t)address)
			    : pread(fd, local, size, (off_t)address);
		if (n > 0)
			return n;
	}
	return -1;
}

bool memory_read(const struct listener *listener, pid_t tid, uint64_t from, void *to, size_t size)
{
	return !size || transfer(listener, tid, from, to, size, false) == (ssize_t)size;
}

bool memory_write(const struct listener *listener, pid_t tid, uint64_t to, const void *from,
		  size_t size)
{
	return !size ||
	       transfer(listener, tid, to, (void *)(uintptr_t)from, size, true) == (ssize_t)size;
}

int memory_read_path(const struct listener *listener, pid_t tid, uint64_t from,
		     char path[FGPU_PATH_MAX])
{
	size_t have = 0, chunk;
	ssize_t n;
	char *end;

	/* Not past a page at once: the next one may not be there. */
	while (have < FGPU_PATH_MAX) {
		chunk = 4096 - ((from + have) & 4095);
		if (chunk > 256)
			chunk = 256;
		if (chunk > FGPU_PATH_MAX - have)
			chunk = FGPU_PATH_MAX - have;
		n = transfer(listener, tid, from + have, path + have, chunk, false);
		if (n <= 0)
			return -EFAULT;
		end = memchr(path + have, '\0', (size_t)n);
		if (end)
			return (int)(end - path);
		have += (size_t)n;
	}
	return -ENAMETOOLONG;
}
