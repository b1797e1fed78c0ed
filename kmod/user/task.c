// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The thread that made a call, seen through its folder in /proc. A folder
 * once opened stays that thread's: when the number has gone to another one it
 * is empty, so that nothing here is ever taken for somebody else's.
 */
#define _GNU_SOURCE
#include "user.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CACHED 256
#define NOBODY 65534 /* what the kernel shows for an id that a user namespace has not */

static struct task cache[CACHED];

static bool is_alive(const struct task *task)
{
	struct stat info;

	return task->tid && !fstatat(task->dir, "comm", &info, 0);
}

#define STATUS_MAX 4096
#define ERESTARTSYS 512 /* the kernel's own: restart or EINTR, as the handler was set up */

static bool read_status(int dir, char text[STATUS_MAX])
{
	int fd = openat(dir, "status", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, STATUS_MAX - 1);

	if (fd >= 0)
		close(fd);
	if (n < 0)
		return false;
	text[n] = '\0';
	return true;
}

/* A number of the status; `name` with the newline before it and the colon. 0 where it is not. */
static uint64_t status_number(const char *text, const char *name, int base)
{
	const char *line = strstr(text, name);

	return line ? strtoull(line + strlen(name), NULL, base) : 0;
}

/* The process of the thread; 0 when it is gone. */
static pid_t read_process(int dir)
{
	char text[STATUS_MAX];

	return read_status(dir, text) ? (pid_t)status_number(text, "\nTgid:", 10) : 0;
}

int task_interruption(const struct task *task)
{
	char text[STATUS_MAX];
	uint64_t deaf, own, shared;

	if (!read_status(task->dir, text))
		return 0;
	deaf = status_number(text, "\nSigBlk:", 16) | status_number(text, "\nSigIgn:", 16);
	own = status_number(text, "\nSigPnd:", 16) & ~deaf;
	shared = status_number(text, "\nShdPnd:", 16) & ~deaf;
	/* One that another thread may still take must not make the kernel look for it here. */
	if (own || (shared && status_number(text, "\nThreads:", 10) == 1))
		return -ERESTARTSYS;
	return shared ? -EINTR : 0;
}

const struct task *task_of(pid_t tid)
{
	struct task *task = &cache[(unsigned int)tid % CACHED];
	char path[32];

	if (task->tid == tid && is_alive(task))
		return task;
	if (task->tid)
		close(task->dir);
	task->tid = 0;
	snprintf(path, sizeof(path), "/proc/%d", (int)tid);
	task->dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (task->dir < 0)
		return NULL;
	task->pid = read_process(task->dir);
	if (!task->pid) {
		close(task->dir);
		return NULL;
	}
	task->tid = tid;
	return task;
}

/* An id of ours as the thread's user namespace has it; `map` is "uid_map" or "gid_map". */
uint32_t task_map_id(const struct task *task, const char *map, uint32_t id)
{
	int fd = openat(task->dir, map, O_RDONLY | O_CLOEXEC);
	unsigned int inside, outside, count;
	FILE *stream = fd < 0 ? NULL : fdopen(fd, "r");
	uint32_t found = NOBODY;

	if (!stream) {
		if (fd >= 0)
			close(fd);
		return id;
	}
	while (found == NOBODY && fscanf(stream, "%u %u %u", &inside, &outside, &count) == 3)
		if (id >= outside && id - outside < count)
			found = inside + (id - outside);
	fclose(stream);
	return found;
}

/* fstatat() of one of its descriptors, as the file behind it. */
bool task_stat_fd(const struct task *task, int fd, struct stat *info)
{
	char name[32];

	snprintf(name, sizeof(name), "fd/%d", fd);
	return !fstatat(task->dir, name, info, 0);
}
