// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The names of the device, and whether a name in a directory is one of them.
 *
 * The nodes live in this process's /dev. A program that sees that very
 * directory sees them, by whatever path. In any other /dev they exist only if
 * injection put something there under that name: a node, or a file bound there.
 */
#define _GNU_SOURCE
#include "user.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <linux/magic.h>

const struct target no_target = {.kind = TARGET_OTHER};

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

bool same_file(int dir_a, const char *a, int dir_b, const char *b)
{
	struct stat left, right;

	return !fstatat(dir_a, a, &left, AT_EMPTY_PATH) &&
	       !fstatat(dir_b, b, &right, AT_EMPTY_PATH) && left.st_dev == right.st_dev &&
	       left.st_ino == right.st_ino;
}

bool is_procfs(int fd)
{
	struct statfs info;

	return !fstatfs(fd, &info) && info.f_type == PROC_SUPER_MAGIC;
}

/* Whether `at` is the /dev of the program's own root. */
static bool is_own_dev(int root, int at)
{
	int dev = openat(root, "dev", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	bool same = dev >= 0 && same_file(dev, "", at, "");

	if (dev >= 0)
		close(dev);
	return same;
}

static bool is_mount_point(int fd)
{
	struct statx info;

	return !statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &info) &&
	       info.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

/* A node with our numbers, or a file bound there: what an ordinary user of a /dev can't make. */
static bool is_placed(const struct target *target)
{
	bool uvm = target->minor == FGPU_MINOR_UVM;

	if (S_ISCHR(target->info.st_mode))
		return target->info.st_rdev ==
		       makedev(uvm ? FAKEGPU_UVM_MAJOR : FAKEGPU_MAJOR, uvm ? 0 : target->minor);
	return S_ISREG(target->info.st_mode) && is_mount_point(target->fd);
}

struct target node_at(int root, int at, const char *name)
{
	struct target found = {.kind = TARGET_NODE};

	if (!minor_of_name(name, &found.minor))
		return no_target;
	if (same_file(at, "", AT_FDCWD, "/dev"))
		return found;
	if (!is_own_dev(root, at))
		return no_target;
	found.fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (found.fd < 0)
		return no_target;
	found.placed = !fstat(found.fd, &found.info) && is_placed(&found);
	if (found.placed)
		return found;
	close(found.fd);
	return no_target;
}

void close_target(const struct target *target)
{
	if (target->fd > 0)
		close(target->fd);
}

/* Every procfs numbers its own "driver" alike; `rest` is what follows "fakegpu" in the path. */
struct target version_at(int at, const char *rest)
{
	struct stat here, ours;

	if (!is_procfs(at) || fstat(at, &here) || stat("/proc/driver", &ours) ||
	    here.st_ino != ours.st_ino)
		return no_target;
	if (!rest[strspn(rest, "/")])
		return (struct target){.kind = TARGET_VERSION_DIR};
	if (strcmp(rest + strspn(rest, "/"), "version"))
		return no_target;
	return (struct target){.kind = TARGET_VERSION};
}

/* A descriptor's link in a procfs: one of our files? */
struct target descriptor_at(int at, const char *name)
{
	const struct context *context;
	struct stat info;

	if (fstatat(at, name, &info, 0))
		return no_target;
	context = context_of_inode(info.st_dev, info.st_ino);
	return context ? target_of(context) : no_target;
}

struct target target_of(const struct context *context)
{
	return (struct target){.kind = TARGET_CONTEXT,
			       .minor = context->minor,
			       .placed = context->placed,
			       .info = context->node};
}
