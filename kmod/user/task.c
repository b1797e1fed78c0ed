// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The thread that made a call, seen through its folder in /proc. A folder
 * once opened stays that thread's: when the number has gone to another one it
 * is empty, so that nothing here is ever taken for somebody else's.
 */
#define _GNU_SOURCE
#include "user.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CACHED 256

static struct task cache[CACHED];

static bool is_alive(const struct task *task)
{
	struct stat info;

	return task->tid && !fstatat(task->dir, "comm", &info, 0);
}

/* The process of the thread; from "Tgid:" of its status. */
static pid_t read_process(int dir)
{
	char text[1024], *line;
	int fd = openat(dir, "status", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (n < 0)
		return 0;
	text[n] = '\0';
	line = strstr(text, "\nTgid:");
	return line ? atoi(line + 6) : 0;
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

/* fstatat() of one of its descriptors, as the file behind it. */
bool task_stat_fd(const struct task *task, int fd, struct stat *info)
{
	char name[32];

	snprintf(name, sizeof(name), "fd/%d", fd);
	return !fstatat(task->dir, name, info, 0);
}
