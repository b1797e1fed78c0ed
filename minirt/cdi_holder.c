// SPDX-License-Identifier: MIT
/* Files that stand for nodes of the embedded device where a node can't be made, only bound. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cdi.h"
#include "start.h"

static int folder_of_nodes(struct mr_error *err)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char *path = !geteuid() ? mr_copy("/run/minirt-nodes")
		     : runtime	? mr_text("%s/minirt-nodes", runtime)
				: mr_text("/tmp/minirt-nodes-%u", geteuid());
	struct stat info;
	int folder;

	if (mkdir(path, 0700) && errno != EEXIST)
		mr_fail(err, errno, "make %s: %m", path);
	folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0) {
		mr_fail(err, errno, "open %s: %m", path);
	} else if (fstat(folder, &info) || info.st_uid != geteuid() || info.st_mode & 022) {
		mr_fail(err, EPERM, "%s is not this user's alone; remove it", path);
		mr_close(&folder);
		folder = -1;
	}
	free(path);
	return folder;
}

/*
 * The nodes of the embedded device are no files: where a node can only be
 * bound an empty file stands for it, which the device knows by its name.
 */
static int place_holder(struct mr_device *device, struct mr_error *err)
{
	const char *host = device->host ? device->host : device->path;
	const char *name = strrchr(host, '/') + 1;
	MR_FD there = open(host, O_PATH | O_CLOEXEC);

	if (there >= 0 || errno != ENOENT)
		return 0;
	MR_FD folder = folder_of_nodes(err);
	if (folder < 0)
		return -1;
	MR_FD file = openat(folder, name, O_CREAT | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file < 0 || fchmod(file, device->mode))
		return mr_fail(err, errno, "make a file to stand for %s: %m", host);
	free(device->host);
	device->host = mr_text("/proc/self/fd/%d", folder);
	char *real = realpath(device->host, NULL);

	free(device->host);
	device->host = real ? mr_text("%s/%s", real, name) : NULL;
	free(real);
	return device->host ? 0 : mr_fail(err, errno, "find the file that stands for %s: %m", host);
}

int cdi_place_holders(struct mr_spec *spec, struct mr_error *err)
{
	size_t i;

	for (i = 0; i < spec->devices.count; i++)
		if (strstr(spec->devices.items[i].path, "/fakegpu") &&
		    place_holder(&spec->devices.items[i], err))
			return -1;
	return 0;
}
