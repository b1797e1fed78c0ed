// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "fake_cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int __real_mkdirat(int at, const char *path, mode_t mode);
int __wrap_mkdirat(int at, const char *path, mode_t mode);
int __real_unlinkat(int at, const char *path, int flags);
int __wrap_unlinkat(int at, const char *path, int flags);
ssize_t __wrap_fgetxattr(int fd, const char *name, void *value, size_t size);

static const char *const files[] = {
	"cgroup.procs",	   "cgroup.type",
	"cgroup.events",   "cgroup.controllers",
	"cgroup.kill",	   "cgroup.subtree_control",
	"memory.max",	   "memory.high",
	"memory.swap.max", "memory.oom.group",
	"memory.events",   "memory.events.local",
	"cpu.max",	   "pids.max",
};

const char *fake_lacks;

#define COUNT (sizeof(files) / sizeof(*files))

static void make_file(int group, const char *name)
{
	int fd = openat(group, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0)
		abort();
	close(fd);
}

int __wrap_mkdirat(int at, const char *path, mode_t mode)
{
	int ret = __real_mkdirat(at, path, mode), group;

	if (ret)
		return ret;
	group = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < COUNT; i++)
		if (!fake_lacks || strcmp(files[i], fake_lacks))
			make_file(group, files[i]);
	close(group);
	return 0;
}

int __wrap_unlinkat(int at, const char *path, int flags)
{
	int group = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < COUNT && group >= 0; i++)
		__real_unlinkat(group, files[i], 0);
	if (group >= 0) {
		__real_unlinkat(group, "user.delegate", 0);
		close(group);
	}
	return __real_unlinkat(at, path, flags);
}

/* The attribute is a file of its name. */
ssize_t __wrap_fgetxattr(int fd, const char *name, void *value, size_t size)
{
	return cg_read(fd, name, value, size);
}

void fake_begin(struct cg_tree *tree, const char *own)
{
	char path[] = "/tmp/cgroup-test.XXXXXX";

	if (!mkdtemp(path))
		abort();
	snprintf(tree->mount, sizeof(tree->mount), "%s", path);
	snprintf(tree->own, sizeof(tree->own), "%s", own);
	tree->root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	make_file(tree->root, "cgroup.procs");
	make_file(tree->root, "cgroup.subtree_control");
	make_file(tree->root, "cgroup.controllers");
	fake_write(tree, "/cgroup.controllers", "cpuset cpu io memory pids");
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
	(void)status;
	(void)kind;
	(void)where;
	return remove(path);
}

void fake_end(struct cg_tree *tree)
{
	nftw(tree->mount, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	cg_tree_close(tree);
	fake_lacks = NULL;
}

void fake_group(const struct cg_tree *tree, const char *path, const char *controllers)
{
	char part[512];

	for (const char *end = path; *end;) {
		end += strcspn(end + 1, "/") + 1;
		snprintf(part, sizeof(part), "%.*s", (int)(end - path - 1), path + 1);
		if (mkdirat(tree->root, part, 0755) && errno != EEXIST)
			abort();
	}
	snprintf(part, sizeof(part), "%s/cgroup.controllers", path);
	fake_write(tree, part, controllers);
}

void fake_write(const struct cg_tree *tree, const char *path, const char *text)
{
	int fd = openat(tree->root, path + 1, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		abort();
	close(fd);
}

const char *fake_read(const struct cg_tree *tree, const char *path)
{
	static char text[4096];

	return cg_read(tree->root, path + 1, text, sizeof(text)) < 0 ? "" : text;
}

bool fake_exists(const struct cg_tree *tree, const char *path)
{
	return !faccessat(tree->root, path + 1, F_OK, 0);
}
