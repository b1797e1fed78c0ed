// SPDX-License-Identifier: MIT
/*
 * Device nodes of the container: made, or, where a user namespace makes that
 * impossible, the host's bound to an empty file.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "start.h"

static const struct {
	const char *target;
	const char *path;
} links[] = {
	{"/proc/self/fd", "/dev/fd"},	    {"/proc/self/fd/0", "/dev/stdin"},
	{"/proc/self/fd/1", "/dev/stdout"}, {"/proc/self/fd/2", "/dev/stderr"},
	{"pts/ptmx", "/dev/ptmx"},
};

/* A node of an earlier start, in a root that keeps its /dev; nothing else. */
static int take_away(int folder, const char *name)
{
	struct stat info;

	if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW))
		return -1;
	if (S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode))
		return unlinkat(folder, name, 0);
	errno = EEXIST;
	return -1;
}

static int make(int root, const struct mr_device *device)
{
	mode_t kind = device->type == 'b' ? S_IFBLK : S_IFCHR;
	char name[256];
	MR_FD folder = mr_root_parent(root, device->path, name, sizeof(name));

	if (folder < 0)
		return -1;
	if (mknodat(folder, name, kind | device->mode, makedev(device->major, device->minor)) &&
	    (errno != EEXIST || take_away(folder, name) ||
	     mknodat(folder, name, kind | device->mode, makedev(device->major, device->minor))))
		return -1;
	if (!device->uid && !device->gid)
		return 0;
	return fchownat(folder, name, device->uid, device->gid, AT_SYMLINK_NOFOLLOW);
}

static int bind_host(int root, const struct mr_device *device)
{
	MR_FD from = open(device->host ? device->host : device->path, O_PATH | O_CLOEXEC);

	if (from < 0)
		return -1;
	MR_FD target = mr_root_place(root, device->path, false);
	return target < 0 ? -1 : mr_mount_bind(from, target, 0);
}

static int make_one(int root, const struct mr_spec *spec, const struct mr_device *device,
		    struct mr_error *err)
{
	struct mr_step step = mr_step_begin("device");
	bool bound = spec->rootless;
	int code = (bound ? bind_host(root, device) : make(root, device)) ? errno : 0;

	mr_step_end(&step, code, "path=%s major=%u minor=%u mode=%o uid=%u gid=%u how=%s",
		    device->path, device->major, device->minor, device->mode, device->uid,
		    device->gid, bound ? "bind" : "mknod");
	if (!code)
		return 0;
	return mr_fail(err, code, "%s the node %s: %s", bound ? "bind" : "make", device->path,
		       strerror(code));
}

int mr_nodes_make(int root, const struct mr_spec *spec, struct mr_error *err)
{
	char name[256];
	size_t i;

	for (i = 0; i < spec->devices.count; i++)
		if (make_one(root, spec, &spec->devices.items[i], err))
			return -1;
	for (i = 0; i < sizeof(links) / sizeof(*links); i++) {
		MR_FD folder = mr_root_parent(root, links[i].path, name, sizeof(name));

		if (folder < 0 || (symlinkat(links[i].target, folder, name) && errno != EEXIST))
			return mr_fail(err, errno, "link %s: %m", links[i].path);
	}
	return 0;
}
