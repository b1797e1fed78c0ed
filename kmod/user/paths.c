// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What a path means to the program that used it: walked component by
 * component from its own root or directory, with its own symlinks.
 *
 * The device nodes live in this process's /dev. A program that sees that very
 * directory sees them, by whatever path. In any other /dev they exist only if
 * something is there under that name: what injection binds in.
 */
#define _GNU_SOURCE
#include "user.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <linux/magic.h>

#define LINKS_MAX 40

/**
 * struct walk - a walk in progress
 * @root: the program's root; never left
 * @at: the directory reached
 * @rest: what is left to walk
 * @links: symlinks followed
 */
struct walk {
	int root;
	int at;
	pid_t tid;
	char rest[2 * FGPU_PATH_MAX];
	int links;
};

static const struct target other = {.kind = TARGET_OTHER};

const char *node_name(unsigned int minor)
{
	static const char names[FAKEGPU_MAX_DEVICES][10] = {"fakegpu0", "fakegpu1", "fakegpu2",
							    "fakegpu3", "fakegpu4", "fakegpu5",
							    "fakegpu6", "fakegpu7"};

	if (minor == FAKEGPU_MINOR_CTL)
		return "fakegpuctl";
	if (minor == FGPU_MINOR_UVM)
		return "fakegpu-uvm";
	return names[minor % FAKEGPU_MAX_DEVICES];
}

static bool minor_of_name(const char *name, unsigned int *minor)
{
	static const unsigned int minors[] = {
		0, 1, 2, 3, 4, 5, 6, 7, FAKEGPU_MINOR_CTL, FGPU_MINOR_UVM};
	size_t i;

	for (i = 0; i < sizeof(minors) / sizeof(minors[0]); i++) {
		if (!strcmp(name, node_name(minors[i])) && device_exists(minors[i])) {
			*minor = minors[i];
			return true;
		}
	}
	return false;
}

static bool same_directory(int fd, const char *path)
{
	struct stat a, b;

	return !fstat(fd, &a) && !stat(path, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static bool is_dev(const struct walk *walk)
{
	int dev = openat(walk->root, "dev", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat a, b;
	bool same;

	if (dev < 0)
		return false;
	same = !fstat(dev, &a) && !fstat(walk->at, &b) && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
	close(dev);
	return same;
}

/* The name in the directory reached, when nothing says that it is an ordinary file. */
static struct target judge(const struct walk *walk, const char *name)
{
	struct target found = {.kind = TARGET_NODE};
	struct stat info;

	if (!minor_of_name(name, &found.minor))
		return other;
	if (same_directory(walk->at, "/dev"))
		return found;
	if (!is_dev(walk) || fstatat(walk->at, name, &info, AT_SYMLINK_NOFOLLOW))
		return other;
	return S_ISREG(info.st_mode) || S_ISCHR(info.st_mode) ? found : other;
}

static bool is_procfs(int fd)
{
	struct statfs info;

	return !fstatfs(fd, &info) && info.f_type == PROC_SUPER_MAGIC;
}

static struct target judge_proc(const struct walk *walk)
{
	static const char dir[] = "driver/fakegpu";
	size_t length = sizeof(dir) - 1;
	struct target found = {.kind = TARGET_VERSION_DIR};

	if (strncmp(walk->rest, dir, length) || !is_procfs(walk->at))
		return other;
	if (!walk->rest[length] || !strcmp(walk->rest + length, "/"))
		return found;
	found.kind = TARGET_VERSION;
	return strcmp(walk->rest + length, "/version") ? other : found;
}

/* "self/fd/5", "123/fd/5", "thread-self/fd/5" under a procfs: one of our own files? */
static struct target judge_descriptor(const struct walk *walk)
{
	char path[64], who[16], tail;
	struct target found = {.kind = TARGET_CONTEXT};
	struct context *context;
	struct stat info;
	int fd, pid;

	if (sscanf(walk->rest, "%15[^/]/fd/%d%c", who, &fd, &tail) != 2 || !is_procfs(walk->at))
		return other;
	pid = strcmp(who, "self") && strcmp(who, "thread-self") ? atoi(who) : walk->tid;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	if (pid <= 0 || stat(path, &info))
		return other;
	context = context_of_inode(info.st_dev, info.st_ino);
	if (!context)
		return other;
	found.minor = context->minor;
	return found;
}

static bool enter(struct walk *walk, const char *name)
{
	int next;

	if (!strcmp(name, "..")) {
		struct stat a, b;

		if (!fstat(walk->root, &a) && !fstat(walk->at, &b) && a.st_dev == b.st_dev &&
		    a.st_ino == b.st_ino)
			return true;
	}
	next = openat(walk->at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (next < 0)
		return false;
	close(walk->at);
	walk->at = next;
	return true;
}

static bool go_to_root(struct walk *walk)
{
	int fd = fcntl(walk->root, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return false;
	close(walk->at);
	walk->at = fd;
	return true;
}

/* Puts what a symlink says before the rest. */
static bool follow_link(struct walk *walk, const char *name)
{
	char target[FGPU_PATH_MAX];
	ssize_t n = readlinkat(walk->at, name, target, sizeof(target));
	size_t rest = strlen(walk->rest) + 1; /* "/more", or nothing */

	if (n < 0 || ++walk->links > LINKS_MAX || (size_t)n + rest > sizeof(walk->rest))
		return false;
	memmove(walk->rest + n, walk->rest, rest);
	memcpy(walk->rest, target, (size_t)n);
	return target[0] != '/' || go_to_root(walk);
}

/* Takes the next component off the rest; false at the end. */
static bool next_component(struct walk *walk, char name[256])
{
	char *from = walk->rest + strspn(walk->rest, "/");
	size_t length = strcspn(from, "/");

	if (!length || length > 255)
		return false;
	memcpy(name, from, length);
	name[length] = '\0';
	memmove(walk->rest, from + length, strlen(from + length) + 1);
	return true;
}

static struct target run(struct walk *walk, bool follow)
{
	struct target found;
	struct stat info;
	char name[256];
	bool last;

	while (next_component(walk, name)) {
		last = !walk->rest[strspn(walk->rest, "/")];
		if (!strcmp(name, "."))
			continue;
		if (last && !walk->rest[0]) {
			found = judge(walk, name);
			if (found.kind != TARGET_OTHER)
				return found;
		}
		if (fstatat(walk->at, name, &info, AT_SYMLINK_NOFOLLOW))
			return other;
		if (S_ISLNK(info.st_mode)) {
			if ((last && !follow) || is_procfs(walk->at) || !follow_link(walk, name))
				return other;
			continue;
		}
		if (!S_ISDIR(info.st_mode) || !enter(walk, name))
			return other;
		memmove(walk->rest, walk->rest + strspn(walk->rest, "/"),
			strlen(walk->rest + strspn(walk->rest, "/")) + 1);
		found = judge_proc(walk);
		if (found.kind == TARGET_OTHER)
			found = judge_descriptor(walk);
		if (found.kind != TARGET_OTHER)
			return found;
	}
	return other;
}

static int start_of(pid_t tid, int dirfd, const char *path)
{
	char from[64];

	if (path[0] == '/')
		snprintf(from, sizeof(from), "/proc/%d/root", (int)tid);
	else if (dirfd == AT_FDCWD)
		snprintf(from, sizeof(from), "/proc/%d/cwd", (int)tid);
	else
		snprintf(from, sizeof(from), "/proc/%d/fd/%d", (int)tid, dirfd);
	return open(from, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Without our words in it, only a symlink can lead a path to us. */
static bool could_be_ours(int at, const char *path)
{
	struct stat info;

	if (strstr(path, "fakegpu"))
		return true;
	if (strstr(path, "/fd/"))
		return contexts;
	/* There without following: an ordinary object. A symlink, or nothing: walk. */
	path += strspn(path, "/");
	return !*path ? false
		      : fstatat(at, path, &info, AT_SYMLINK_NOFOLLOW) || S_ISLNK(info.st_mode);
}

struct target path_resolve(pid_t tid, int dirfd, const char *path, bool follow)
{
	struct walk walk = {.tid = tid, .root = -1};
	struct target found = other;
	char root[64];

	if (!path[0])
		return other;
	walk.at = start_of(tid, dirfd, path);
	if (walk.at < 0)
		return other;
	if (could_be_ours(walk.at, path)) {
		snprintf(root, sizeof(root), "/proc/%d/root", (int)tid);
		walk.root = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
		snprintf(walk.rest, sizeof(walk.rest), "%s", path);
		if (walk.root >= 0)
			found = run(&walk, follow);
	}
	close(walk.at);
	if (walk.root >= 0)
		close(walk.root);
	return found;
}
