// SPDX-License-Identifier: MIT
/* Where cgroup v2 is mounted, which group this process is in, and the files of a group. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cgroup.h"

/* "36 25 0:30 / /sys/fs/cgroup rw … - cgroup2 cgroup2 rw": the mount point of such a line. */
static bool mount_point(char *line, char *where, size_t room)
{
	char root[512], point[256];

	if (!strstr(line, " - cgroup2 ") ||
	    sscanf(line, "%*s %*s %*s %511s %255s", root, point) != 2 || strcmp(root, "/"))
		return false;
	snprintf(where, room, "%s", point);
	return true;
}

/* "0::/user.slice/…" is the line of cgroup v2. */
static bool own_group(char *line, char *own, size_t room)
{
	if (strncmp(line, "0::/", 4))
		return false;
	line[strcspn(line, "\n")] = '\0';
	return snprintf(own, room, "%s", line + 3) < (int)room;
}

static bool find_line(const char *file, bool (*take)(char *, char *, size_t), char *ret,
		      size_t room)
{
	FILE *stream = fopen(file, "re");
	char *line = NULL;
	size_t size = 0;
	bool found = false;

	if (!stream)
		return false;
	while (!found && getline(&line, &size, stream) > 0)
		found = take(line, ret, room);
	free(line);
	fclose(stream);
	return found;
}

int cg_tree_open(struct cg_tree *tree, struct mr_error *err)
{
	tree->root = -1;
	if (!find_line("/proc/self/mountinfo", mount_point, tree->mount, sizeof(tree->mount)))
		return mr_lacks(err, "no cgroup v2 is mounted here, only v1 or none; " CG_LAB);
	if (!find_line("/proc/self/cgroup", own_group, tree->own, sizeof(tree->own)))
		return mr_lacks(err, "/proc/self/cgroup names no group of cgroup v2; " CG_LAB);
	if (!strncmp(tree->own, "/..", 3))
		return mr_lacks(err,
				"this process is in a cgroup outside of what %s shows; start it "
				"outside of that container, or: " CG_LAB,
				tree->mount);
	tree->root = open(tree->mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (tree->root < 0)
		return mr_fail(err, errno, "open %s: %s", tree->mount, strerror(errno));
	return 0;
}

void cg_tree_close(struct cg_tree *tree)
{
	if (tree->root >= 0)
		close(tree->root);
	tree->root = -1;
}

int cg_open(const struct cg_tree *tree, const char *path)
{
	while (*path == '/')
		path++;
	return openat(tree->root, *path ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

ssize_t cg_read(int group, const char *file, char *text, size_t room)
{
	int fd = openat(group, file, O_RDONLY | O_CLOEXEC);
	ssize_t got;
	int cause;

	if (fd < 0)
		return -1;
	got = read(fd, text, room - 1);
	cause = errno;
	close(fd);
	errno = cause;
	if (got >= 0)
		text[got] = '\0';
	return got;
}

int cg_write(int group, const char *file, const char *text)
{
	int fd = openat(group, file, O_WRONLY | O_CLOEXEC);
	ssize_t put;
	int cause;

	if (fd < 0)
		return -1;
	put = write(fd, text, strlen(text));
	cause = errno;
	close(fd);
	errno = cause;
	return put < 0 ? -1 : 0;
}

bool cg_has_word(int group, const char *file, const char *word)
{
	char text[1024], *rest = text, *next;

	if (cg_read(group, file, text, sizeof(text)) < 0)
		return false;
	while ((next = strsep(&rest, " \n")))
		if (!strcmp(next, word))
			return true;
	return false;
}
