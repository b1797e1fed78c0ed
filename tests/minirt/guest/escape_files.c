// SPDX-License-Identifier: MIT
/*
 * Attempts to leave through files of the kernel: each opens for writing what
 * an attacker would write, and writes nothing.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "guest.h"

/* CVE-2019-5736: the runtime's own program, through the process that it left in here. */
static int runtime_exe(char **arguments)
{
	const char *path = arguments[0] ? arguments[0] : "/proc/1/exe";
	int program = open(path, O_PATH | O_CLOEXEC), ret;
	char again[64];

	if (program < 0)
		return verdict(path, -1);
	snprintf(again, sizeof(again), "/proc/self/fd/%d", program);
	ret = try_open(again, O_WRONLY);
	close(program);
	return ret;
}

/* The program of @pid for writing, when it is not ours: above 0 it is, 0 it is ours or gone. */
static int open_program(const char *pid)
{
	char path[300], target[256];
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/exe", pid);
	length = readlink(path, target, sizeof(target) - 1);
	if (length < 0 && (errno == ENOENT || errno == ESRCH))
		return 0;
	target[length > 0 ? length : 0] = '\0';
	if (!strcmp(target, "/guest"))
		return 0;
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0 ? 1 : -1;
}

/* The same as a race: the program that joins us by exec, before it becomes the command. */
static int exec_exe(char **arguments)
{
	int wanted = atoi(arguments[0]), seen = 0, code = 0;

	puts("ready");
	while (seen < wanted) {
		DIR *proc = opendir("/proc");
		struct dirent *entry;

		while (proc && (entry = readdir(proc))) {
			int result = atoi(entry->d_name) > 2 ? open_program(entry->d_name) : 0;

			if (result > 0)
				return verdict("the program of exec", 0);
			if (!result)
				continue;
			code = errno;
			seen++;
		}
		if (proc)
			closedir(proc);
	}
	errno = code;
	return verdict("the program of exec", -1);
}

/* core_pattern: the kernel runs what is in it as root of the host, at the next crash. */
static int core_pattern(char **unused)
{
	(void)unused;
	return try_open("/proc/sys/kernel/core_pattern", O_WRONLY);
}

static int modprobe(char **unused)
{
	(void)unused;
	return try_open("/proc/sys/kernel/modprobe", O_WRONLY);
}

static int sysrq(char **unused)
{
	(void)unused;
	return try_open("/proc/sysrq-trigger", O_WRONLY);
}

static int uevent_helper(char **unused)
{
	(void)unused;
	return try_open("/sys/kernel/uevent_helper", O_WRONLY);
}

/* The file of each device that makes udev of the host run its rules. */
static int uevent(char **unused)
{
	(void)unused;
	return try_open("/sys/class/mem/null/uevent", O_WRONLY);
}

static int binfmt(char **unused)
{
	(void)unused;
	return try_open("/proc/sys/fs/binfmt_misc/register", O_WRONLY);
}

static int kcore(char **unused)
{
	char byte;
	int fd = open("/proc/kcore", O_RDONLY | O_CLOEXEC), ret;

	(void)unused;
	if (fd < 0)
		return verdict("/proc/kcore", -1);
	ret = (int)read(fd, &byte, 1);
	close(fd);
	if (!ret)
		errno = ENODATA; /* the mask */
	return verdict("/proc/kcore", ret > 0 ? ret : -1);
}

static int keys(char **unused)
{
	char byte;
	int fd = open("/proc/keys", O_RDONLY | O_CLOEXEC), ret;

	(void)unused;
	if (fd < 0)
		return verdict("/proc/keys", -1);
	ret = (int)read(fd, &byte, 1);
	close(fd);
	if (!ret)
		errno = ENODATA;
	return verdict("/proc/keys", ret > 0 ? ret : -1);
}

/* The largest disk's first bytes, by a node of one's own. */
static int disk(char **unused)
{
	FILE *partitions = fopen("/proc/partitions", "re");
	unsigned int major = 0, minor = 0;
	char line[256], path[96], byte, *folder;
	int fd, ret;

	(void)unused;
	while (partitions && !major && fgets(line, sizeof(line), partitions))
		sscanf(line, "%u %u", &major, &minor);
	if (partitions)
		fclose(partitions);
	if (!major)
		return untried("this machine has no disk");
	folder = scratch();
	if (!folder)
		return failed("mkdtemp");
	snprintf(path, sizeof(path), "%s/disk", folder);
	ret = mknod(path, S_IFBLK | 0600, makedev(major, minor));
	fd = ret ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		ret = (int)read(fd, &byte, 1);
	ret = verdict("read the disk of the host", fd < 0 ? -1 : ret);
	if (fd >= 0)
		close(fd);
	unlink(path);
	rmdir(folder);
	return ret;
}

const struct verb file_attempts[] = {
	{"try-runtime-exe", runtime_exe, 0, "[PATH]"},
	{"try-exec-exe", exec_exe, 1, "TIMES"},
	{"try-core-pattern", core_pattern, 0, NULL},
	{"try-modprobe", modprobe, 0, NULL},
	{"try-sysrq", sysrq, 0, NULL},
	{"try-uevent-helper", uevent_helper, 0, NULL},
	{"try-uevent", uevent, 0, NULL},
	{"try-binfmt", binfmt, 0, NULL},
	{"try-kcore", kcore, 0, NULL},
	{"try-keys", keys, 0, NULL},
	{"try-disk", disk, 0, NULL},
	{0},
};
