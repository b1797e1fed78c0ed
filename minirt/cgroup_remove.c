// SPDX-License-Identifier: MIT
/* The end of a container's group: all in it killed, waited for, removed; and what it counted. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cgroup.h"

#define DEADLINE_MS 10000

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The number after "@key " in the lines of @text; 0 where there is none. */
uint64_t cg_number_of(const char *text, const char *key)
{
	size_t length = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, length) && line[length] == ' ')
			return strtoull(line + length, NULL, 10);
	}
	return 0;
}

/* Calls @visit for each group below @group, with its name; not below those. */
static void each_child(int group, void (*visit)(int group, const char *name))
{
	int copy = openat(group, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	if (!list && copy >= 0)
		close(copy);
	while (list && (entry = readdir(list)))
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			visit(group, entry->d_name);
	if (list)
		closedir(list);
}

static void kill_each(int group)
{
	char pids[65536], *rest = pids, *pid;

	if (cg_read(group, "cgroup.procs", pids, sizeof(pids)) <= 0)
		return;
	while ((pid = strsep(&rest, "\n")))
		if (atoi(pid) > 0)
			kill(atoi(pid), SIGKILL);
}

static void kill_below(int group, const char *name)
{
	int child = openat(group, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (child < 0)
		return;
	kill_each(child);
	each_child(child, kill_below);
	close(child);
}

/* cgroup.kill is there since Linux 5.14; before, each process by its number. */
static void kill_all(int group)
{
	if (!cg_write(group, "cgroup.kill", "1"))
		return;
	kill_each(group);
	each_child(group, kill_below);
}

/* Waits until no process is in @group or below; the kernel wakes pollers of cgroup.events. */
static int wait_empty(int group, int64_t deadline)
{
	struct pollfd events = {.events = POLLPRI};
	char text[256];
	int64_t left;

	events.fd = openat(group, "cgroup.events", O_RDONLY | O_CLOEXEC);
	if (events.fd < 0)
		return -1;
	for (;;) {
		ssize_t got = pread(events.fd, text, sizeof(text) - 1, 0);

		text[got > 0 ? got : 0] = '\0';
		left = deadline - now_ms();
		if (got < 0 || !cg_number_of(text, "populated") || left <= 0)
			break;
		/* A process may have forked between the read of its list and the signal. */
		kill_all(group);
		poll(&events, 1, left < 100 ? (int)left : 100);
	}
	close(events.fd);
	if (!cg_number_of(text, "populated"))
		return 0;
	errno = ETIMEDOUT;
	return -1;
}

static void remove_below(int group, const char *name)
{
	int child = openat(group, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (child < 0)
		return;
	each_child(child, remove_below);
	close(child);
	unlinkat(group, name, AT_REMOVEDIR);
}

/* Only what minirt made: the last component carries its prefix, and nothing climbs. */
static bool is_ours(const char *path)
{
	const char *name = strrchr(path, '/');

	return path[0] == '/' && name && !strncmp(name + 1, CG_PREFIX, strlen(CG_PREFIX)) &&
	       !strstr(path, "/../");
}

int cg_remove(const struct cg_tree *tree, const char *path, int deadline_ms, struct mr_error *err)
{
	int64_t deadline = now_ms() + deadline_ms;
	int group, code = 0;

	if (!is_ours(path))
		return mr_fail(err, EINVAL, "%s is not a cgroup of minirt's", path);
	group = cg_open(tree, path);
	if (group < 0 && errno == ENOENT)
		return 0;
	if (group < 0)
		return mr_fail(err, errno, "open %s%s: %s", tree->mount, path, strerror(errno));
	kill_all(group);
	if (wait_empty(group, deadline))
		code = errno;
	each_child(group, remove_below);
	close(group);
	if (!code && unlinkat(tree->root, path + 1, AT_REMOVEDIR) && errno != ENOENT)
		code = errno;
	/* Removed by another minirt in the middle: that was the aim. */
	if (!code || code == ENODEV || code == ENOENT)
		return 0;
	return mr_fail(err, code, "remove cgroup %s%s: %s; processes in it: cat %s%s/cgroup.procs",
		       tree->mount, path, strerror(code), tree->mount, path);
}

int mr_cgroup_remove(const char *path, struct mr_error *err)
{
	struct cg_tree tree;
	int ret;

	if (!*path)
		return 0;
	if (cg_tree_open(&tree, err))
		return -1;
	ret = cg_remove(&tree, path, DEADLINE_MS, err);
	cg_tree_close(&tree);
	return ret;
}
