// SPDX-License-Identifier: MIT
/*
 * Attempts to change what is mounted. Each first takes a mount namespace of its
 * own where it may, so that run without guards it changes nothing for others.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest.h"

static void step_aside(void)
{
	if (!unshare(CLONE_NEWNS))
		mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

/* Mounts @type on a folder of ours, and opens @file in it for writing if there is one given. */
static int try_mount(const char *type, const char *options, const char *file)
{
	char path[128], *folder = scratch();
	int ret;

	if (!folder)
		return failed("mkdtemp");
	step_aside();
	if (mount(type, folder, type, 0, options)) {
		ret = verdict(type, -1);
		rmdir(folder);
		return ret;
	}
	snprintf(path, sizeof(path), "%s/%s", folder, file ? file : ".");
	ret = try_open(path, file ? O_WRONLY : O_RDONLY | O_DIRECTORY);
	umount2(folder, MNT_DETACH);
	rmdir(folder);
	return ret;
}

/*
 * CVE-2022-0492: release_agent of a v1 hierarchy is run by the kernel as root of
 * the host. A hierarchy without controllers has one too, and can be had wherever v1
 * is built. As we are, and then as root of a user namespace of our own.
 */
static int release_agent(char **unused)
{
	int ret = try_mount("cgroup", "none,name=guest-try", "release_agent");

	(void)unused;
	if (ret == DONE || unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWCGROUP))
		return ret;
	return try_mount("cgroup", "none,name=guest-try", "release_agent");
}

static int cgroup2(char **unused)
{
	(void)unused;
	return try_mount("cgroup2", NULL, "cgroup.procs");
}

static int new_proc(char **unused)
{
	(void)unused;
	return try_mount("proc", NULL, "sys/kernel/core_pattern");
}

static int new_sysfs(char **unused)
{
	(void)unused;
	return try_mount("sysfs", NULL, "kernel/mm/ksm/run");
}

static int debugfs(char **unused)
{
	(void)unused;
	return try_mount("debugfs", NULL, NULL);
}

static int tracefs(char **unused)
{
	(void)unused;
	return try_mount("tracefs", NULL, NULL);
}

/* Not the type binfmt_misc has options for: only whether it mounts. */
static int binfmt_mount(char **unused)
{
	(void)unused;
	return try_mount("binfmt_misc", NULL, "register");
}

/* A read-only mount made writable in place. */
static int remount(char **arguments)
{
	const char *path = arguments[0] ? arguments[0] : "/proc/sys";

	step_aside();
	return verdict(path, mount(NULL, path, NULL, MS_REMOUNT | MS_BIND, NULL));
}

/* The same by mount_setattr, which a filter of mount() alone forgets. */
static int remount_new_api(char **arguments)
{
	const char *path = arguments[0] ? arguments[0] : "/proc/sys";
	struct mount_attr attr = {.attr_clr = MOUNT_ATTR_RDONLY};

	step_aside();
	return verdict(path, syscall(SYS_mount_setattr, AT_FDCWD, path, 0, &attr, sizeof(attr)));
}

static int unmask(char **arguments)
{
	const char *path = arguments[0] ? arguments[0] : "/proc/kcore";

	step_aside();
	return verdict(path, umount2(path, MNT_DETACH));
}

/* CVE-2022-0185 began at fsconfig() of a context that a user namespace let it open. */
static int configure(char **unused)
{
	int context, ret;

	(void)unused;
	unshare(CLONE_NEWUSER | CLONE_NEWNS);
	context = (int)syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
	if (context < 0)
		return verdict("fsopen", -1);
	ret = verdict("fsconfig",
		      syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, "size", "4k", 0));
	close(context);
	return ret;
}

const struct verb mount_attempts[] = {
	{"try-release-agent", release_agent, 0, NULL},
	{"try-cgroup2", cgroup2, 0, NULL},
	{"try-new-proc", new_proc, 0, NULL},
	{"try-new-sysfs", new_sysfs, 0, NULL},
	{"try-debugfs", debugfs, 0, NULL},
	{"try-tracefs", tracefs, 0, NULL},
	{"try-binfmt-mount", binfmt_mount, 0, NULL},
	{"try-remount", remount, 0, "[PATH]"},
	{"try-remount-setattr", remount_new_api, 0, "[PATH]"},
	{"try-unmask", unmask, 0, "[PATH]"},
	{"try-fsconfig", configure, 0, NULL},
	{0},
};
