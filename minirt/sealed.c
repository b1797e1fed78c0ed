// SPDX-License-Identifier: MIT
/*
 * The file this program runs from must not be writable from the container,
 * where a process can get hold of it as /proc/PID/exe (CVE-2019-5736). So it
 * runs from a read-only bind mount of itself that is attached nowhere, or, for
 * want of the privilege, from a sealed copy in memory.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "start.h"

#define SELF "/proc/self/exe"
#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static bool sealed(int self)
{
	struct statvfs volume;
	int seals = fcntl(self, F_GET_SEALS);

	if (seals >= 0 && (seals & SEALS) == SEALS)
		return true;
	return !fstatvfs(self, &volume) && (volume.f_flag & ST_RDONLY);
}

static int read_only_mount(void)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
	MR_FD tree = open_tree(AT_FDCWD, SELF, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)))
		return -1;
	return fcntl(tree, F_DUPFD_CLOEXEC, 3);
}

static int copy(int self)
{
	MR_FD memory = memfd_create("minirt", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct stat info;
	off_t left;

	if (memory < 0 || fstat(self, &info))
		return -1;
	for (left = info.st_size; left > 0;) {
		ssize_t n = sendfile(memory, self, NULL, (size_t)left);

		if (n <= 0)
			return -1;
		left -= n;
	}
	if (fchmod(memory, 0500) || fcntl(memory, F_ADD_SEALS, SEALS))
		return -1;
	return fcntl(memory, F_DUPFD_CLOEXEC, 3);
}

int mr_sealed_exec(char **argv, struct mr_error *err)
{
	MR_FD self = open(SELF, O_RDONLY | O_CLOEXEC);
	int safe;

	if (self < 0)
		return mr_fail(err, errno, "open " SELF ": %m; is /proc mounted?");
	if (sealed(self))
		return 0;
	safe = read_only_mount();
	if (safe < 0)
		safe = copy(self);
	if (safe < 0)
		return mr_fail(err, errno, "copy this program to where none can write it: %m");
	execveat(safe, "", argv, environ, AT_EMPTY_PATH);
	return mr_fail(err, errno, "run the read-only copy of this program: %m");
}
