// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Whether a program may open a node that stands in its own /dev, as the kernel
 * itself says: a probe process takes the program's cgroup, user namespace, ids
 * and capabilities and opens the node. No driver is behind it, so a device list
 * that lets it pass ends in ENXIO, and one that does not in EPERM.
 *
 * The probe is a fork of a process with threads: it calls what is safe there.
 */
#define _GNU_SOURCE
#include "user.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/capability.h>

#define DEADLINE_MS 1000
#define GROUPS_MAX 64
#define NO_VERDICT 255 /* exit status of a probe that could not become like the program */
#define TEXT_MAX 8192

enum { HIERARCHY_V1, HIERARCHY_V2, HIERARCHIES };

/* A file of /proc or the like, whole; "" when it can't be read. */
static void read_text(int dir, const char *name, char text[TEXT_MAX])
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, TEXT_MAX - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
}

/* The group in a hierarchy, out of the lines "N:CONTROLLERS:PATH" of /proc/PID/cgroup. */
static bool group_of(const char *text, int hierarchy, char *group, size_t size)
{
	const char *line = text, *path;

	for (; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *names = strchr(line, ':');

		path = names ? strchr(names + 1, ':') : NULL;
		if (!path)
			return false;
		if (hierarchy == HIERARCHY_V2 ? path != names + 1 : strncmp(names, ":devices:", 9))
			continue;
		snprintf(group, size, "%.*s", (int)strcspn(path + 1, "\n"), path + 1);
		return true;
	}
	return false;
}

static bool mount_of(int hierarchy, char *where, size_t size)
{
	static const char *const places[HIERARCHIES][2] = {
		{"/sys/fs/cgroup/devices", NULL},
		{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"},
	};
	char path[64];
	int i;

	for (i = 0; i < 2 && places[hierarchy][i]; i++) {
		snprintf(path, sizeof(path), "%s/cgroup.procs", places[hierarchy][i]);
		if (access(path, F_OK))
			continue;
		snprintf(where, size, "%s", places[hierarchy][i]);
		return true;
	}
	return false;
}

/* Where a process is written to be in the program's group; -1: it is there already, -2: no way. */
static int door_of(const char *theirs, const char *ours, int hierarchy)
{
	char group[FGPU_PATH_MAX], own[FGPU_PATH_MAX], where[64], path[FGPU_PATH_MAX + 80];
	int fd;

	if (!group_of(theirs, hierarchy, group, sizeof(group)))
		return -1;
	if (group_of(ours, hierarchy, own, sizeof(own)) && !strcmp(group, own))
		return -1;
	if (!mount_of(hierarchy, where, sizeof(where)))
		return -2;
	snprintf(path, sizeof(path), "%s%s/cgroup.procs", where, group);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 ? -2 : fd;
}

/* One "Name:\tA\tB\tC\tD" of a status; `index` picks a number. */
static unsigned long field(const char *status, const char *name, int index, int base)
{
	const char *at = strstr(status, name);
	char *end;
	unsigned long value = 0;

	for (at = at ? at + strlen(name) : ""; index >= 0; index--, at = end)
		value = strtoul(at, &end, base);
	return value;
}

static bool take_groups(const char *status)
{
	const char *at = strstr(status, "\nGroups:");
	gid_t groups[GROUPS_MAX];
	size_t count = 0;
	char *end;

	for (at = at ? at + strlen("\nGroups:") : ""; count < GROUPS_MAX; at = end) {
		groups[count] = (gid_t)strtoul(at, &end, 10);
		if (end == at || memchr(at, '\n', (size_t)(end - at)))
			break;
		count++;
	}
	/* A user namespace may forbid it; then nobody in it has changed his either. */
	return !syscall(SYS_setgroups, count, groups) || errno == EPERM;
}

static bool take_capabilities(unsigned long effective)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};
	int i;

	for (i = 0; i < 2; i++)
		data[i].effective = data[i].permitted = (uint32_t)(effective >> 32 * i);
	return !syscall(SYS_capset, &head, data);
}

static bool same_user_namespace(int dir)
{
	struct stat theirs, ours;

	return !fstatat(dir, "ns/user", &theirs, 0) && !stat("/proc/self/ns/user", &ours) &&
	       theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev;
}

/* The raw calls: those of the C library would have the other threads of a process follow. */
static bool become(const struct task *task)
{
	char status[TEXT_MAX];
	unsigned long uid, gid;

	if (!same_user_namespace(task->dir)) {
		int fd = openat(task->dir, "ns/user", O_RDONLY | O_CLOEXEC);

		if (fd < 0 || setns(fd, CLONE_NEWUSER))
			return false;
	}
	/* Read only now: it tells the ids as the reader's user namespace has them. */
	read_text(task->dir, "status", status);
	uid = field(status, "\nUid:", 3, 10); /* the file system's: what an open goes by */
	gid = field(status, "\nGid:", 3, 10);
	if (!*status || prctl(PR_SET_KEEPCAPS, 1) || !take_groups(status))
		return false;
	return !syscall(SYS_setresgid, gid, gid, gid) && !syscall(SYS_setresuid, uid, uid, uid) &&
	       take_capabilities(field(status, "\nCapEff:", 0, 16));
}

static _Noreturn void probe(const struct task *task, int node, const int doors[HIERARCHIES])
{
	char path[64];
	int i;

	for (i = 0; i < HIERARCHIES; i++)
		if (doors[i] >= 0 && write(doors[i], "0", 1) != 1)
			_exit(NO_VERDICT);
	if (!become(task))
		_exit(NO_VERDICT);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", node);
	_exit(open(path, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) < 0 ? errno : 0);
}

/* Its exit status; one that takes too long (its group is frozen, say) is ended and has none. */
static int result_of(pid_t pid)
{
	struct pollfd ended = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
	int status = 0;

	if (ended.fd < 0 || poll(&ended, 1, DEADLINE_MS) != 1)
		kill(pid, SIGKILL);
	if (ended.fd >= 0)
		close(ended.fd);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : NO_VERDICT;
}

/* A device list knows nodes only: of a file the group plays no part. */
static int ask(const struct task *task, int node, bool in_group)
{
	static char theirs[TEXT_MAX], ours[TEXT_MAX];
	int doors[HIERARCHIES] = {-1, -1}, i, result = NO_VERDICT;
	bool ready = true;
	pid_t pid;

	read_text(task->dir, "cgroup", theirs);
	read_text(AT_FDCWD, "/proc/self/cgroup", ours);
	for (i = 0; in_group && i < HIERARCHIES; i++) {
		doors[i] = door_of(theirs, ours, i);
		ready = ready && doors[i] != -2;
	}
	pid = ready ? fork() : -1;
	if (!pid)
		probe(task, node, doors);
	if (pid > 0)
		result = result_of(pid);
	for (i = 0; i < HIERARCHIES; i++)
		if (doors[i] >= 0)
			close(doors[i]);
	return result;
}

int verdict_open(const struct task *task, const struct target *target, bool *kernel)
{
	int result;

	*kernel = false;
	if (!target->placed)
		return 0;
	result = ask(task, target->fd, S_ISCHR(target->info.st_mode));
	if (result == NO_VERDICT)
		return 0;
	*kernel = S_ISCHR(target->info.st_mode);
	return result == ENXIO || result == ENODEV ? 0 : -result;
}
