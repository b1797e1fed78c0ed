// SPDX-License-Identifier: MIT
/*
 * The nodes of the embedded device are no files. Where a node can't be made,
 * only bound, an empty file stands for it, which the device knows by its name.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cdi.h"
#include "start.h"

char *cdi_holders(struct mr_error *err)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char *path = !geteuid() ? mr_copy("/run/minirt-nodes")
		     : runtime	? mr_text("%s/minirt-nodes", runtime)
				: mr_text("/tmp/minirt-nodes-%u", geteuid());
	struct stat info;

	if (mkdir(path, 0700) && errno != EEXIST)
		mr_fail(err, errno, "make %s: %m", path);
	else if (lstat(path, &info))
		mr_fail(err, errno, "look at %s: %m", path);
	else if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid() || info.st_mode & 022)
		mr_fail(err, EPERM, "%s is not this user's alone; remove it", path);
	else
		return path;
	free(path);
	return NULL;
}

static int place_holder(struct mr_device *device, const char *folder, struct mr_error *err)
{
	const char *host = device->host ? device->host : device->path;
	char *path;

	MR_FD there = open(host, O_PATH | O_CLOEXEC);
	if (there >= 0 || errno != ENOENT)
		return 0;
	path = mr_text("%s/%s", folder, strrchr(host, '/') + 1);
	MR_FD file = open(path, O_CREAT | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file < 0 || fchmod(file, device->mode)) {
		mr_fail(err, errno, "make %s to stand for %s: %m", path, host);
		free(path);
		return -1;
	}
	free(device->host);
	device->host = path;
	return 0;
}

int cdi_place_holders(struct mr_spec *spec, const char *folder, struct mr_error *err)
{
	size_t i;

	for (i = 0; i < spec->devices.count; i++)
		if (strstr(spec->devices.items[i].path, "/fakegpu") &&
		    place_holder(&spec->devices.items[i], folder, err))
			return -1;
	return 0;
}
