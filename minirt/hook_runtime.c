// SPDX-License-Identifier: MIT
/*
 * A GPU brought into a container from outside, between the making of its
 * namespaces and the change of its root: the older way, for runtimes that
 * know nothing of CDI. The inventory is the same: the machine's CDI
 * specifications.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cdi.h"
#include "hook.h"

static bool same_namespace(pid_t pid, const char *name)
{
	char theirs[64], ours[64];
	struct stat left, right;

	snprintf(theirs, sizeof(theirs), "/proc/%d/ns/%s", (int)pid, name);
	snprintf(ours, sizeof(ours), "/proc/self/ns/%s", name);
	return !stat(theirs, &left) && !stat(ours, &right) && left.st_ino == right.st_ino &&
	       left.st_dev == right.st_dev;
}

/* The mounts of the container, which still have the host's below them. */
static int enter(pid_t pid, struct mr_error *err)
{
	MR_FD process = (int)syscall(SYS_pidfd_open, pid, 0);
	int kinds = same_namespace(pid, "user") ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER;

	if (process < 0 || (!same_namespace(pid, "mnt") && setns(process, kinds)))
		return mr_fail(err, errno, "enter the container's mounts, of process %d: %m",
			       (int)pid);
	return 0;
}

/* The host's node, or the file that stands for it, bound; where there is neither, one made. */
static int place_node(int root, const struct mr_device *device)
{
	mode_t kind = device->type == 'b' ? S_IFBLK : S_IFCHR;
	char name[256];
	struct stat info;
	MR_FD from = open(device->host ? device->host : device->path, O_PATH | O_CLOEXEC);

	if (from >= 0 && !fstat(from, &info) &&
	    (S_ISREG(info.st_mode) || (info.st_mode & S_IFMT) == kind)) {
		MR_FD target = mr_root_place(root, device->path, false);

		return target < 0 ? -1 : mr_mount_bind(from, target, 0);
	}
	MR_FD folder = mr_root_parent(root, device->path, name, sizeof(name));
	if (folder < 0)
		return -1;
	if (mknodat(folder, name, kind | device->mode, makedev(device->major, device->minor)) &&
	    (errno != EPERM || mknodat(folder, name, S_IFREG | device->mode, 0)) && errno != EEXIST)
		return -1;
	return device->uid || device->gid
		       ? fchownat(folder, name, device->uid, device->gid, AT_SYMLINK_NOFOLLOW)
		       : 0;
}

static int place(struct mr_spec *spec, pid_t pid, struct mr_error *err)
{
	size_t i;

	umask(0);
	MR_FD root = open(spec->rootfs, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return mr_fail(err, errno, "open the root %s: %m", spec->rootfs);
	for (i = 0; i < spec->devices.count; i++)
		if (place_node(root, &spec->devices.items[i]))
			return mr_fail(err, errno, "place the node %s in the root: %m",
				       spec->devices.items[i].path);
	umask(022);
	if (mr_mount_all(root, spec, err))
		return -1;
	return mr_hooks_run(spec, "createContainer", "creating", pid, err);
}

/* Whoever called has made them: here even the owner may not any more. */
static void use_holders(struct mr_spec *spec, const char *folder)
{
	size_t i;

	for (i = 0; i < spec->devices.count; i++) {
		struct mr_device *device = &spec->devices.items[i];
		const char *host = device->host ? device->host : device->path;
		char *path = mr_text("%s/%s", folder, strrchr(host, '/') + 1);

		/* O_PATH: what is there as a file, whatever answers other calls. */
		MR_FD there = open(host, O_PATH | O_CLOEXEC);
		if (there < 0 && !access(path, F_OK))
			device->host = path;
		else
			free(path);
	}
}

int hook_runtime(const struct hook_state *state, const struct hook_options *options,
		 struct mr_error *err)
{
	struct mr_spec spec = {.bundle = state->bundle, .rootfs = state->rootfs, .steps_fd = -1};
	struct cdi_wish wish;
	struct cdi cdi;

	cdi_wish(&wish, options->visible ? options->visible : state->visible);
	if (!wish.driver)
		return 0;
	memcpy(spec.id, state->id, sizeof(spec.id));
	cdi_load(&cdi, options->directories);
	if (cdi_grant(&spec, &cdi, &wish, err))
		return -1;
	if (!options->no_rules && hook_rules(state->pid, spec.rules.items, spec.rules.count, err))
		return -1;
	if (options->inside) {
		use_holders(&spec, options->inside);
		return place(&spec, state->pid, err);
	}
	if (!same_namespace(state->pid, "user")) {
		char *holders = cdi_holders(err);

		if (!holders || cdi_place_holders(&spec, holders, err))
			return -1;
		free(holders);
	}
	return enter(state->pid, err) ? -1 : place(&spec, state->pid, err);
}
