// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Calls that name a path: open and its kin, stat and its kin, access,
 * readlink, extended attributes. What concerns no node and no file of ours goes to the kernel.
 */
#define _GNU_SOURCE
#include "user.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum verb { VERB_OPEN, VERB_STAT, VERB_STATX, VERB_ACCESS, VERB_READLINK, VERB_XATTR };

/**
 * struct path_call - one syscall that names a path
 * @nr: its number
 * @verb: what it wants
 * @dirfd: index of the directory argument, -1 = the current directory
 * @path: index of the path argument
 * @flags: index of the flags argument, -1 = none
 * @out: index of the result's pointer, -1 = none
 * @fixed: flags of a call that has no such argument
 */
struct path_call {
	int nr;
	enum verb verb;
	int8_t dirfd;
	int8_t path;
	int8_t flags;
	int8_t out;
	int fixed;
};

static const struct path_call path_calls[] = {
#ifdef SYS_open
	{SYS_open, VERB_OPEN, -1, 0, 1, -1, 0},
	{SYS_creat, VERB_OPEN, -1, 0, -1, -1, O_CREAT | O_WRONLY | O_TRUNC},
	{SYS_stat, VERB_STAT, -1, 0, -1, 1, 0},
	{SYS_lstat, VERB_STAT, -1, 0, -1, 1, AT_SYMLINK_NOFOLLOW},
	{SYS_access, VERB_ACCESS, -1, 0, -1, -1, 0},
	{SYS_readlink, VERB_READLINK, -1, 0, -1, -1, AT_SYMLINK_NOFOLLOW},
#endif
	{SYS_getxattr, VERB_XATTR, -1, 0, -1, -1, 0},
	{SYS_lgetxattr, VERB_XATTR, -1, 0, -1, -1, AT_SYMLINK_NOFOLLOW},
	{SYS_listxattr, VERB_XATTR, -1, 0, -1, -1, 0},
	{SYS_llistxattr, VERB_XATTR, -1, 0, -1, -1, AT_SYMLINK_NOFOLLOW},
	{SYS_openat, VERB_OPEN, 0, 1, 2, -1, 0},
	{SYS_openat2, VERB_OPEN, 0, 1, -1, -1, 0},
	{SYS_newfstatat, VERB_STAT, 0, 1, 3, 2, 0},
	{SYS_statx, VERB_STATX, 0, 1, 2, 4, 0},
	{SYS_faccessat, VERB_ACCESS, 0, 1, -1, -1, 0},
	{SYS_faccessat2, VERB_ACCESS, 0, 1, 3, -1, 0},
	{SYS_readlinkat, VERB_READLINK, 0, 1, -1, -1, AT_SYMLINK_NOFOLLOW},
};

static const struct path_call *find(int nr)
{
	size_t i;

	for (i = 0; i < sizeof(path_calls) / sizeof(path_calls[0]); i++)
		if (path_calls[i].nr == nr)
			return &path_calls[i];
	return NULL;
}

/* The flags argument; openat2 has it in memory with another. False: can't be read. */
static bool flags_of(const struct call *call, const struct path_call *what, int *flags,
		     uint64_t *resolve)
{
	struct open_how how;

	*resolve = 0;
	*flags = what->flags < 0 ? what->fixed : (int)call->notif.data.args[what->flags];
	if (what->nr != SYS_openat2)
		return true;
	if (!memory_read(call->listener, call->tid, call->notif.data.args[2], &how, sizeof(how)))
		return false;
	*flags = (int)how.flags;
	*resolve = how.resolve;
	return true;
}

static bool follows(const struct path_call *what, int flags)
{
	if (what->verb == VERB_OPEN)
		return !(flags & O_NOFOLLOW);
	return !(flags & AT_SYMLINK_NOFOLLOW);
}

static void open_node(struct call *call, const struct target *target, int flags)
{
	struct context *context;
	int fd, error;
	bool kernel;

	if (flags & O_DIRECTORY) {
		notify_answer(call, -ENOTDIR);
		return;
	}
	if ((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL)) {
		notify_answer(call, -EEXIST);
		return;
	}
	if ((flags & O_ACCMODE) != O_RDWR) {
		notify_answer(call, -EACCES);
		return;
	}
	error = verdict_open(call->task, target, &kernel);
	if (!error)
		error = context_open(target->minor, call->pid, &context, &fd);
	if (error) {
		notify_answer(call, error);
		return;
	}
	context->placed = target->placed;
	context->kernel = kernel;
	context->node = target->info;
	call->context = context;
	/* Closing our copy of an undelivered descriptor is its last close: inotify frees it. */
	notify_give_fd(call, fd, flags & O_CLOEXEC);
	close(fd);
}

static void open_version(struct call *call, int flags)
{
	char text[256];
	int length, fd;

	if ((flags & O_ACCMODE) != O_RDONLY) {
		notify_answer(call, -EACCES);
		return;
	}
	length = snprintf(text, sizeof(text),
			  "FGPU version: FAKEGPU embedded device  %s\nGCC version:  %s\n",
			  options.version, __VERSION__);
	fd = memfd_create("version", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || write(fd, text, (size_t)length) != length || lseek(fd, 0, SEEK_SET) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW)) {
		notify_answer(call, -ENOMEM);
	} else {
		notify_give_fd(call, fd, flags & O_CLOEXEC);
	}
	if (fd >= 0)
		close(fd);
}

static void answer_open(struct call *call, const struct target *target, int flags)
{
	if (flags & O_PATH) {
		notify_continue(call);
		return;
	}
	if (target->kind == TARGET_VERSION)
		open_version(call, flags);
	else if (target->kind == TARGET_VERSION_DIR)
		notify_continue(call);
	else
		open_node(call, target, flags);
}

static void answer_access(struct call *call, struct target target)
{
	int mode = (int)call->notif.data.args[call->notif.data.nr == SYS_faccessat ||
							      call->notif.data.nr == SYS_faccessat2
						      ? 2
						      : 1];
	bool node = target.kind == TARGET_NODE || target.kind == TARGET_CONTEXT;

	if (mode & ~(F_OK | R_OK | W_OK | X_OK))
		notify_answer(call, -EINVAL);
	else if (mode & X_OK && target.kind != TARGET_VERSION_DIR)
		notify_answer(call, -EACCES);
	else if (mode & W_OK && !node)
		notify_answer(call, -EACCES);
	else
		notify_answer(call, 0);
}

static void answer_target(struct call *call, const struct path_call *what, struct target target,
			  int flags)
{
	/* Of a real node the kernel knows all but how to open it; of a file in its place, the rights. */
	if (target.fd && what->verb != VERB_OPEN &&
	    (S_ISCHR(target.info.st_mode) || what->verb == VERB_ACCESS)) {
		notify_continue(call);
		return;
	}
	switch (what->verb) {
	case VERB_OPEN:
		answer_open(call, &target, flags);
		break;
	case VERB_STAT:
		answer_stat(call, target, call->notif.data.args[what->out]);
		break;
	case VERB_STATX:
		answer_statx(call, target, call->notif.data.args[what->out]);
		break;
	case VERB_ACCESS:
		answer_access(call, target);
		break;
	case VERB_READLINK:
		notify_answer(call, -EINVAL);
		break;
	case VERB_XATTR: /* it has none */
		notify_answer(call, -EOPNOTSUPP);
	}
}

/* With AT_EMPTY_PATH no path at all will do, since Linux 6.11. */
static int read_path(const struct call *call, uint64_t from, char path[FGPU_PATH_MAX])
{
	path[0] = '\0';
	return from ? memory_read_path(call->listener, call->tid, from, path) : 0;
}

void answer_path(struct call *call)
{
	const struct path_call *what = find(call->notif.data.nr);
	const __u64 *args = call->notif.data.args;
	char path[FGPU_PATH_MAX];
	struct target target;
	int dirfd, flags, length;
	uint64_t resolve;

	dirfd = what->dirfd < 0 ? AT_FDCWD : (int)args[what->dirfd];
	length = read_path(call, args[what->path], path);
	if (length < 0 || !flags_of(call, what, &flags, &resolve)) {
		notify_continue(call); /* the kernel says what is wrong */
		return;
	}
	if (!path[0] && flags & AT_EMPTY_PATH && what->verb != VERB_OPEN) {
		target = target_of_fd(call->task, dirfd);
	} else {
		target = path_resolve(call->task, dirfd, path, follows(what, flags), resolve);
		/* A link to a descriptor of ours is a link. */
		if (target.kind == TARGET_CONTEXT && !follows(what, flags))
			target.kind = TARGET_OTHER;
	}
	if (target.kind == TARGET_OTHER || !notify_still_valid(call)) {
		close_target(&target);
		notify_continue(call);
		return;
	}
	call->minor = target.minor;
	call->silent = target.kind != TARGET_NODE && target.kind != TARGET_CONTEXT;
	call->in = path;
	call->in_size = (uint16_t)length;
	answer_target(call, what, target, flags);
	close_target(&target);
}
