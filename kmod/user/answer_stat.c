// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * stat, statx and fstat: a node is a character device, the version file a
 * regular one, whatever memory file stands behind a descriptor.
 */
#define _GNU_SOURCE
#include "user.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

static struct timespec born;

static uint32_t mode_of(struct target target)
{
	switch (target.kind) {
	case TARGET_VERSION:
		return S_IFREG | 0444;
	case TARGET_VERSION_DIR:
		return S_IFDIR | 0555;
	default:
		return S_IFCHR | (target.placed ? target.info.st_mode & 07777 : 0666);
	}
}

static void device_of(struct target target, uint32_t *major, uint32_t *minor)
{
	*major = *minor = 0;
	if (target.kind != TARGET_NODE && target.kind != TARGET_CONTEXT)
		return;
	*major = target.minor == FGPU_MINOR_UVM ? FAKEGPU_UVM_MAJOR : FAKEGPU_MAJOR;
	*minor = target.minor == FGPU_MINOR_UVM ? 0 : target.minor;
}

/* As of a node in /dev: its device and a number that no other file there has. */
static void place_of(struct target target, dev_t *dev, uint64_t *ino)
{
	struct stat info = {0};

	if (target.placed) {
		*dev = target.info.st_dev;
		*ino = target.info.st_ino;
		return;
	}
	stat(target.kind == TARGET_VERSION || target.kind == TARGET_VERSION_DIR ? "/proc" : "/dev",
	     &info);
	*dev = info.st_dev;
	*ino = 0xfa6e0000u + target.kind * 1000u + target.minor;
	if (!born.tv_sec)
		clock_gettime(CLOCK_REALTIME, &born);
}

static uint32_t owner_of(const struct call *call, const struct target *target, const char *map,
			 uint32_t id)
{
	return target->placed ? task_map_id(call->task, map, id) : 0;
}

static void finish(struct call *call, uint64_t user, const void *result, size_t size)
{
	if (!memory_write(call->listener, call->tid, user, result, size))
		notify_answer(call, -EFAULT);
	else
		notify_answer(call, 0);
}

void answer_stat(struct call *call, struct target target, uint64_t user)
{
	struct stat info = {.st_nlink = 1, .st_blksize = 4096};
	uint32_t major, minor;
	uint64_t ino;

	device_of(target, &major, &minor);
	place_of(target, &info.st_dev, &ino);
	info.st_ino = ino;
	info.st_mode = mode_of(target);
	info.st_uid = owner_of(call, &target, "uid_map", target.info.st_uid);
	info.st_gid = owner_of(call, &target, "gid_map", target.info.st_gid);
	info.st_rdev = makedev(major, minor);
	info.st_atim = info.st_mtim = info.st_ctim = born;
	finish(call, user, &info, sizeof(info));
}

void answer_statx(struct call *call, struct target target, uint64_t user)
{
	struct statx info = {
		.stx_mask = STATX_BASIC_STATS,
		.stx_blksize = 4096,
		.stx_nlink = 1,
		.stx_mode = (uint16_t)mode_of(target),
	};
	dev_t dev;
	uint64_t ino;

	device_of(target, &info.stx_rdev_major, &info.stx_rdev_minor);
	place_of(target, &dev, &ino);
	info.stx_ino = ino;
	info.stx_uid = owner_of(call, &target, "uid_map", target.info.st_uid);
	info.stx_gid = owner_of(call, &target, "gid_map", target.info.st_gid);
	info.stx_dev_major = major(dev);
	info.stx_dev_minor = minor(dev);
	info.stx_atime.tv_sec = info.stx_mtime.tv_sec = info.stx_ctime.tv_sec = born.tv_sec;
	finish(call, user, &info, sizeof(info));
}

struct target target_of_fd(const struct task *task, int fd)
{
	const struct context *context = context_of_fd(task, fd);

	return context ? target_of(context) : no_target;
}

void answer_fstat(struct call *call)
{
	struct target target = target_of_fd(call->task, (int)call->notif.data.args[0]);

	if (target.kind == TARGET_OTHER || !notify_still_valid(call)) {
		notify_continue(call);
		return;
	}
	call->minor = target.minor;
	answer_stat(call, target, call->notif.data.args[1]);
}
