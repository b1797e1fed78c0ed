// SPDX-License-Identifier: MIT
/*
 * Making folders known to the loader of a container's root: a file in its
 * ld.so.conf.d, and the host's ldconfig run with that root. Programs of the
 * image are not run: they are not to be trusted with the host's view.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hook.h"

#define CONF "/etc/ld.so.conf"
#define OURS "/etc/ld.so.conf.d/00-glassstack.conf"
#define INCLUDE "include /etc/ld.so.conf.d/*.conf\n"

static int create(int root, const char *path, int extra)
{
	char name[256];
	MR_FD folder = mr_root_parent(root, path, name, sizeof(name));

	if (folder < 0)
		return -1;
	return openat(folder, name, O_CREAT | O_WRONLY | O_NOFOLLOW | O_CLOEXEC | extra, 0644);
}

static int write_folders(int root, char *const *folders, size_t count, struct mr_error *err)
{
	MR_FD file = create(root, OURS, O_TRUNC);
	size_t i;

	if (file < 0 || fchmod(file, 0644))
		return mr_fail(err, errno, "write " OURS " in the root: %m");
	for (i = 0; i < count; i++)
		if (dprintf(file, "%s\n", folders[i]) < 0)
			return mr_fail(err, errno, "write " OURS " in the root: %m");
	return 0;
}

/* An image without a configuration of its own has none to respect. */
static int write_include(int root, struct mr_error *err)
{
	MR_FD file = create(root, CONF, O_EXCL);

	if (file < 0 && errno == EEXIST)
		return 0;
	if (file < 0 || fchmod(file, 0644) || dprintf(file, INCLUDE) < 0)
		return mr_fail(err, errno, "write " CONF " in the root: %m");
	return 0;
}

static _Noreturn void become_ldconfig(int root)
{
	static const char *const programs[] = {"/sbin/ldconfig", "/usr/sbin/ldconfig"};
	char path[64];
	char *argv[] = {"ldconfig", "-r", path, NULL}, *env[] = {NULL};
	size_t i;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fcntl(root, F_DUPFD, 3));
	dup2(STDERR_FILENO, STDOUT_FILENO);
	for (i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		execve(programs[i], argv, env);
	_exit(MR_EXIT_NOT_FOUND);
}

int hook_ldcache(int root, char *const *folders, size_t count, struct mr_error *err)
{
	int status;
	pid_t pid;

	if (write_folders(root, folders, count, err) || write_include(root, err))
		return -1;
	pid = fork();
	if (!pid)
		become_ldconfig(root);
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return mr_fail(err, errno, "run ldconfig: %m");
	if (WIFEXITED(status) && WEXITSTATUS(status) == MR_EXIT_NOT_FOUND)
		return mr_lacks(err, "no ldconfig on the host; apt-get install libc-bin");
	if (status)
		return mr_fail(err, 0, "ldconfig -r ROOT failed with status %d",
			       WEXITSTATUS(status));
	return 0;
}
