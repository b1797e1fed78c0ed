// SPDX-License-Identifier: MIT
/*
 * The container's root: paths resolved inside it whatever its symbolic links
 * say, and the change to it. Every path of a container goes through here until
 * the root is "/".
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "start.h"

#define PATH_BYTES 4096

int mr_root_open(int root, const char *path, int flags)
{
	struct open_how how = {.flags = (uint64_t)(unsigned int)(flags | O_CLOEXEC),
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	int tries = 0;
	long fd;

	/* EAGAIN: something was renamed or mounted somewhere meanwhile. */
	do
		fd = syscall(SYS_openat2, root, *path ? path : ".", &how, sizeof(how));
	while (fd < 0 && errno == EAGAIN && ++tries < 128);
	return (int)fd;
}

/* The folder @path, each part made that is missing. */
static int make_folders(int root, const char *path)
{
	char part[PATH_BYTES], parent[PATH_BYTES];
	const char *end = path;

	if (strlen(path) >= sizeof(part)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	while (*end) {
		end += strspn(end, "/");
		end += strcspn(end, "/");
		snprintf(part, sizeof(part), "%.*s", (int)(end - path), path);
		MR_FD there = mr_root_open(root, part, O_PATH | O_DIRECTORY);
		if (there >= 0)
			continue;
		if (errno != ENOENT)
			return -1;
		MR_FD above = mr_root_parent(root, part, parent, sizeof(parent));
		if (above < 0 || (mkdirat(above, parent, 0755) && errno != EEXIST))
			return -1;
	}
	return mr_root_open(root, path, O_PATH | O_DIRECTORY);
}

int mr_root_parent(int root, const char *path, char *name, size_t size)
{
	char folder[PATH_BYTES];
	size_t end = strlen(path), start;

	while (end && path[end - 1] == '/')
		end--;
	for (start = end; start && path[start - 1] != '/';)
		start--;
	if (end == start || end - start >= size || start >= sizeof(folder)) {
		errno = end == start ? EINVAL : ENAMETOOLONG;
		return -1;
	}
	snprintf(name, size, "%.*s", (int)(end - start), path + start);
	if (!strcmp(name, ".") || !strcmp(name, "..")) {
		errno = EINVAL;
		return -1;
	}
	snprintf(folder, sizeof(folder), "%.*s", (int)start, path);
	return make_folders(root, folder);
}

int mr_root_place(int root, const char *path, bool directory)
{
	char name[PATH_BYTES];
	int fd = mr_root_open(root, path, O_PATH);

	if (fd >= 0 || errno != ENOENT)
		return fd;
	if (directory)
		return make_folders(root, path);
	MR_FD folder = mr_root_parent(root, path, name, sizeof(name));
	if (folder < 0)
		return -1;
	MR_FD file =
		openat(folder, name, O_CREAT | O_EXCL | O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (file < 0 && errno != EEXIST)
		return -1;
	return mr_root_open(root, path, O_PATH);
}

/* The root becomes a mount of its own in a tree that tells the host of nothing. */
int mr_root_prepare(const struct mr_spec *spec, struct mr_error *err)
{
	struct mount_attr attr = {.propagation = MS_PRIVATE};
	struct mr_step step = mr_step_begin("mount");
	int tree = -1, code = 0;

	MR_FD place = open(spec->rootfs, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (place < 0)
		return mr_fail(err, errno, "open the root %s: %m", spec->rootfs);
	if (mount(NULL, "/", NULL, MS_SLAVE | MS_REC, NULL))
		return mr_fail(err, errno, "keep mounts from reaching the host: %m");
	tree = open_tree(place, "",
			 AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0 ||
	    mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) ||
	    move_mount(tree, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH))
		code = errno;
	mr_step_end(&step, code, "type=bind source=%s target=/", spec->rootfs);
	if (!code)
		return tree;
	mr_close(&tree);
	if (code == ENOSYS)
		return mr_lacks(err, "this kernel lacks the mount calls of Linux 5.12; "
				     "they are there in: glassstack lab");
	return mr_fail(err, code, "bind the root %s: %s", spec->rootfs, strerror(code));
}

int mr_root_pivot(int root, struct mr_error *err)
{
	struct mr_step step = mr_step_begin("pivot-root");
	int code = 0;

	/* The old root comes to lie on the new one and is taken off again. */
	if (fchdir(root) || syscall(SYS_pivot_root, ".", ".") || umount2(".", MNT_DETACH) ||
	    chdir("/"))
		code = errno;
	mr_step_end(&step, code, "old=detached");
	return code ? mr_fail(err, code, "make it the root: %s", strerror(code)) : 0;
}

int mr_root_read_only(struct mr_error *err)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
	struct mr_step step = mr_step_begin("mount");
	int code = mount_setattr(AT_FDCWD, "/", 0, &attr, sizeof(attr)) ? errno : 0;

	mr_step_end(&step, code, "type=remount target=/ flags=ro");
	return code ? mr_fail(err, code, "make the root read-only: %s", strerror(code)) : 0;
}
