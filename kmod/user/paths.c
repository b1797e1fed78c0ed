// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What a path means to the program that used it: walked component by
 * component from its own root or directory, with its own symlinks. node.c
 * says whether what is reached is ours.
 */
#define _GNU_SOURCE
#include "user.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LINKS_MAX 40
#define PROC_ROOT_INO 1

/**
 * struct walk - a walk in progress
 * @task: who walks
 * @root: never left
 * @at: the directory reached
 * @follow: a symlink at the end, too
 * @resolve: RESOLVE_* of openat2()
 * @links: symlinks followed
 * @rest: what is left to walk
 */
struct walk {
	const struct task *task;
	int root;
	int at;
	bool follow;
	uint64_t resolve;
	int links;
	char rest[2 * FGPU_PATH_MAX];
};

/* Takes over `fd`, which may be -1: no such directory. */
static bool move_to(struct walk *walk, int fd)
{
	if (fd < 0)
		return false;
	close(walk->at);
	walk->at = fd;
	return true;
}

static bool enter(struct walk *walk, const char *name)
{
	if (!strcmp(name, "..") && same_file(walk->root, "", walk->at, ""))
		return !(walk->resolve & RESOLVE_BENEATH);
	return move_to(walk, openat(walk->at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

/* Puts what a symlink says before the rest, which is "" or begins with '/'. */
static bool follow_text(struct walk *walk, const char *name)
{
	char text[FGPU_PATH_MAX];
	ssize_t n = readlinkat(walk->at, name, text, sizeof(text));
	size_t rest = strlen(walk->rest) + 1;

	if (n <= 0 || (size_t)n + rest > sizeof(walk->rest))
		return false;
	memmove(walk->rest + n, walk->rest, rest);
	memcpy(walk->rest, text, (size_t)n);
	if (text[0] != '/')
		return true;
	return !(walk->resolve & RESOLVE_BENEATH) &&
	       move_to(walk, fcntl(walk->root, F_DUPFD_CLOEXEC, 0));
}

/* "self" means the one who asks; in our own procfs, whose numbers we have. */
static bool follow_self(struct walk *walk, const char *name)
{
	char path[64];
	int n = snprintf(path, sizeof(path), "/proc/%d", (int)walk->task->pid);

	if (!strcmp(name, "thread-self"))
		snprintf(path + n, sizeof(path) - (size_t)n, "/task/%d", (int)walk->task->tid);
	return move_to(walk, open(path, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/* A symlink of a procfs below its root: not a text but the thing itself. */
static bool follow_magic(struct walk *walk, const char *name)
{
	return !(walk->resolve & RESOLVE_NO_MAGICLINKS) &&
	       move_to(walk, openat(walk->at, name, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/* Goes on behind a symlink. False: nowhere, or at `found`. */
static bool follow_link(struct walk *walk, const char *name, struct target *found)
{
	bool last = !walk->rest[0];
	struct stat at;

	if ((last && !walk->follow) || walk->resolve & RESOLVE_NO_SYMLINKS ||
	    ++walk->links > LINKS_MAX)
		return false;
	if (!is_procfs(walk->at))
		return follow_text(walk, name);
	if (!fstat(walk->at, &at) && at.st_ino == PROC_ROOT_INO) {
		if (!strcmp(name, "self") || !strcmp(name, "thread-self"))
			return follow_self(walk, name);
		return follow_text(walk, name);
	}
	if (last && !(walk->resolve & RESOLVE_NO_MAGICLINKS))
		*found = descriptor_at(walk->at, name);
	return !last && follow_magic(walk, name);
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

static struct target run(struct walk *walk)
{
	struct target found = no_target;
	struct stat info;
	char name[256];

	while (next_component(walk, name)) {
		if (!strcmp(name, "."))
			continue;
		if (!strcmp(name, "fakegpu"))
			found = version_at(walk->at, walk->rest);
		else if (!walk->rest[0])
			found = node_at(walk->root, walk->at, name);
		if (found.kind != TARGET_OTHER ||
		    fstatat(walk->at, name, &info, AT_SYMLINK_NOFOLLOW))
			break;
		if (S_ISLNK(info.st_mode) ? !follow_link(walk, name, &found) : !enter(walk, name))
			break;
	}
	return found;
}

static int start_of(const struct task *task, int dirfd, const char *path)
{
	char name[32] = "root";

	if (path[0] != '/' && dirfd == AT_FDCWD)
		strcpy(name, "cwd");
	else if (path[0] != '/')
		snprintf(name, sizeof(name), "fd/%d", dirfd);
	return openat(task->dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static int look(int at, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC | flags, .resolve = resolve};

	return (int)syscall(SYS_openat2, at, path, &how, sizeof(how));
}

/* Whether a descriptor's file has a name that could be one of ours. */
static bool has_our_name(int fd)
{
	char path[64], text[FGPU_PATH_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, text, sizeof(text) - 1);
	if (n < 0)
		return true;
	text[n] = '\0';
	return strstr(text, "fakegpu");
}

/*
 * Without our name in it, only a symlink can lead a path to us. Most paths
 * have none, and most others end at something that is there: the kernel tells
 * in a call or two what a walk would take a dozen for.
 */
static bool is_plain(int at, const char *path, bool follow)
{
	uint64_t within = path[0] == '/' ? RESOLVE_IN_ROOT : RESOLVE_BENEATH;
	struct stat info;
	bool plain;
	int fd;

	if (strstr(path, "fakegpu"))
		return false;
	fd = look(at, path, O_NOFOLLOW, within | RESOLVE_NO_SYMLINKS);
	if (fd < 0 && errno != ELOOP)
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES;
	if (fd >= 0) {
		plain = !fstat(fd, &info) && (!follow || !S_ISLNK(info.st_mode));
		close(fd);
		if (plain)
			return true;
	}
	fd = look(at, path, follow ? 0 : O_NOFOLLOW, within);
	if (fd < 0)
		return false;
	plain = !has_our_name(fd);
	close(fd);
	return plain;
}

struct target path_resolve(const struct task *task, int dirfd, const char *path, bool follow,
			   uint64_t resolve)
{
	struct walk walk = {.task = task, .root = -1, .follow = follow, .resolve = resolve};
	struct target found = no_target;

	/* Crossing no mounts, nobody gets from a root to /dev or /proc; the kernel says so. */
	if (!path[0] || resolve & (RESOLVE_NO_XDEV | RESOLVE_CACHED))
		return no_target;
	if (path[0] == '/' && resolve & (RESOLVE_IN_ROOT | RESOLVE_BENEATH)) {
		if (resolve & RESOLVE_BENEATH)
			return no_target;
		walk.at = start_of(task, dirfd, "");
	} else {
		walk.at = start_of(task, dirfd, path);
	}
	if (walk.at < 0)
		return no_target;
	if (!is_plain(walk.at, path, follow)) {
		walk.root = resolve & (RESOLVE_IN_ROOT | RESOLVE_BENEATH)
				    ? fcntl(walk.at, F_DUPFD_CLOEXEC, 0)
				    : start_of(task, dirfd, "/");
		snprintf(walk.rest, sizeof(walk.rest), "%s", path);
		if (walk.root >= 0)
			found = run(&walk);
	}
	close(walk.at);
	if (walk.root >= 0)
		close(walk.root);
	return found;
}
