// SPDX-License-Identifier: MIT
/* Device nodes: opened, made, and the stand-in GPU asked who it is. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "../../../kmod/uapi/fakegpu.h"
#include "guest.h"

static int flags_of(const char *how)
{
	if (!how || !strcmp(how, "rw"))
		return O_RDWR;
	return *how == 'w' ? O_WRONLY : O_RDONLY;
}

static int open_device(char **arguments)
{
	return try_open(arguments[0], flags_of(arguments[1]));
}

static int make_node(char **arguments)
{
	mode_t mode = (*arguments[1] == 'b' ? S_IFBLK : S_IFCHR) | 0600;
	dev_t device = makedev((unsigned int)atoi(arguments[2]), (unsigned int)atoi(arguments[3]));

	return verdict(arguments[0], mknod(arguments[0], mode, device));
}

static int gpu_info(char **arguments)
{
	const char *path = arguments[0] ? arguments[0] : "/dev/fakegpu0";
	struct fakegpu_info info = {0};
	int fd = open(path, O_RDWR | O_CLOEXEC), ret;

	if (fd < 0)
		return verdict(path, -1);
	ret = ioctl(fd, FAKEGPU_IOC_INFO, &info);
	close(fd);
	return verdict("INFO", ret);
}

const struct verb device_verbs[] = {
	{"opendev", open_device, 1, "PATH [r|w|rw]"},
	{"mknod", make_node, 4, "PATH c|b MAJOR MINOR"},
	{"gpu", gpu_info, 0, "[PATH]"},
	{0},
};
