// SPDX-License-Identifier: MIT
/*
 * Masked and read-only paths of the container's root, before it is "/".
 *
 * A mask is an empty file or directory of a tmpfs of its own: masks
 * bound from /dev/null mask with whatever the image put there. Targets are
 * opened without following links out of the root, once, and mounted on by
 * descriptor.
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

#include "minirt.h"

/* Files of the kernel that know no namespace: memory, keys, the machine's hardware and rates. */
static const char *const hidden[] = {
	"/proc/acpi",		"/proc/asound",	       "/proc/interrupts",
	"/proc/kcore",		"/proc/key-users",     "/proc/keys",
	"/proc/kmsg",		"/proc/latency_stats", "/proc/sched_debug",
	"/proc/scsi",		"/proc/sysrq-trigger", "/proc/timer_list",
	"/proc/timer_stats",	"/sys/dev/block",      "/sys/devices/virtual/powercap",
	"/sys/firmware",	"/sys/fs/bpf",	       "/sys/kernel/debug",
	"/sys/kernel/security", "/sys/kernel/tracing",
};

/* Files that change the machine for everybody. */
static const char *const kept[] = {
	"/proc/bus", "/proc/driver", "/proc/fs", "/proc/irq", "/proc/sys",
};

void mr_hide_defaults(struct mr_spec *spec)
{
	for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++)
		*mr_list_add(&spec->hide) = strdup(hidden[i]);
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		*mr_list_add(&spec->read_only_paths) = strdup(kept[i]);
}

static int open_tree_at(int fd, const char *path, unsigned int flags)
{
	return (int)syscall(SYS_open_tree, fd, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | flags);
}

static int put_on(int tree, int target)
{
	return (int)syscall(SYS_move_mount, tree, "", target, "",
			    MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

static int make_read_only(int tree, uint64_t more)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY | more};

	return (int)syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr,
			    sizeof(attr));
}

/* What is at @path in the root, or -1; no link leads out of it and none into another process. */
static int find(int root, const char *path)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC,
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};

	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

/*
 * Before Linux 6.15 only what is attached can be cloned. In the old root it is,
 * and goes when that goes; nothing is looked up in its /proc any more.
 */
static int attach(int tmpfs)
{
	int place = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), ret, code;

	ret = place < 0 ? -1 : put_on(tmpfs, place);
	code = errno;
	if (place >= 0)
		close(place);
	errno = code;
	return ret;
}

/* An empty tmpfs with one file and one directory in it. */
static int make_tmpfs(void)
{
	int context = (int)syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC), root = -1, file;

	if (context < 0)
		return -1;
	if (!syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		root = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0);
	close(context);
	if (root < 0)
		return -1;
	file = openat(root, "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0444);
	if (file >= 0 && !mkdirat(root, "directory", 0555) && !attach(root)) {
		close(file);
		return root;
	}
	close(root);
	return -1;
}

static int cover(int target, int tmpfs)
{
	struct stat status;
	int tree, ret;

	if (fstat(target, &status))
		return -1;
	tree = open_tree_at(tmpfs, S_ISDIR(status.st_mode) ? "directory" : "file", 0);
	if (tree < 0)
		return -1;
	ret = make_read_only(tree, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	if (!ret)
		ret = put_on(tree, target);
	close(tree);
	return ret;
}

/* The same again on itself, but read-only. @ignored: so that both ways look alike. */
static int keep(int target, int ignored)
{
	int tree = open_tree_at(target, "", AT_EMPTY_PATH | AT_RECURSIVE), ret;

	(void)ignored;
	if (tree < 0)
		return -1;
	ret = make_read_only(tree, 0);
	if (!ret)
		ret = put_on(tree, target);
	close(tree);
	return ret;
}

/* A path that is not there needs nothing. */
static int apply(int root, const char *path, const char *how, int (*change)(int, int), int tmpfs,
		 struct mr_error *err)
{
	struct mr_step step = mr_step_begin("mount");
	int target = find(root, path), code = 0;

	if (target < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (target < 0 || change(target, tmpfs))
		code = errno;
	if (target >= 0)
		close(target);
	mr_step_end(&step, code, "target=%s type=%s", path, how);
	return code ? mr_fail(err, code, "%s %s: %s", how, path, strerror(code)) : 0;
}

int mr_hide_paths(int root, const struct mr_spec *spec, struct mr_error *err)
{
	int tmpfs = spec->hide.count ? make_tmpfs() : -1, ret = 0;

	if (spec->hide.count && tmpfs < 0)
		return mr_fail(err, errno, "make the tmpfs that masks paths: %s", strerror(errno));
	for (size_t i = 0; !ret && i < spec->hide.count; i++)
		ret = apply(root, spec->hide.items[i], "mask", cover, tmpfs, err);
	for (size_t i = 0; !ret && i < spec->read_only_paths.count; i++)
		ret = apply(root, spec->read_only_paths.items[i], "read-only", keep, -1, err);
	if (tmpfs >= 0)
		close(tmpfs);
	return ret;
}
