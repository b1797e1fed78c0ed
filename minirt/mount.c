// SPDX-License-Identifier: MIT
/*
 * The mounts of the specification, each made detached and then moved to a
 * place that was resolved inside the root: no path is looked up twice.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "start.h"

static const struct {
	unsigned long flag;
	unsigned int attr;
} attributes[] = {
	{MS_RDONLY, MOUNT_ATTR_RDONLY},		{MS_NOSUID, MOUNT_ATTR_NOSUID},
	{MS_NODEV, MOUNT_ATTR_NODEV},		{MS_NOEXEC, MOUNT_ATTR_NOEXEC},
	{MS_NODIRATIME, MOUNT_ATTR_NODIRATIME},
};

static unsigned int attributes_of(unsigned long flags)
{
	unsigned int attr = 0;
	size_t i;

	for (i = 0; i < sizeof(attributes) / sizeof(*attributes); i++)
		if (flags & attributes[i].flag)
			attr |= attributes[i].attr;
	return attr;
}

/* "mode=755,size=64k,ro" to the file system's context, option by option. */
static int configure(int context, const char *data)
{
	char word[256];

	while (data && *data) {
		size_t length = strcspn(data, ",");
		char *value;

		if (length >= sizeof(word)) {
			errno = E2BIG;
			return -1;
		}
		snprintf(word, sizeof(word), "%.*s", (int)length, data);
		data += length + (data[length] == ',');
		value = strchr(word, '=');
		if (value)
			*value++ = '\0';
		if (*word && fsconfig(context, value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG,
				      word, value, 0))
			return -1;
	}
	return 0;
}

static int make(const struct mr_mount *mount)
{
	MR_FD context = fsopen(mount->type, FSOPEN_CLOEXEC);

	if (context < 0)
		return -1;
	if (mount->source && fsconfig(context, FSCONFIG_SET_STRING, "source", mount->source, 0))
		return -1;
	if (configure(context, mount->data) ||
	    fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		return -1;
	return fsmount(context, FSMOUNT_CLOEXEC, attributes_of(mount->flags));
}

static int clone_tree(int from, unsigned long flags)
{
	unsigned int recursive = flags & MS_REC ? AT_RECURSIVE : 0;
	struct mount_attr attr = {.attr_set = attributes_of(flags), .propagation = MS_PRIVATE};
	int tree = open_tree(from, "",
			     AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | recursive);

	if (tree >= 0 && mount_setattr(tree, "", AT_EMPTY_PATH | recursive, &attr, sizeof(attr))) {
		mr_close(&tree);
		return -1;
	}
	return tree;
}

static int move(int tree, int target)
{
	return move_mount(tree, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

int mr_mount_bind(int from, int target, unsigned long flags)
{
	MR_FD tree = clone_tree(from, flags);

	return tree < 0 ? -1 : move(tree, target);
}

static bool is_bind(const struct mr_mount *mount)
{
	return (mount->flags & MS_BIND) || !strcmp(mount->type, "bind");
}

/* A network namespace that is not its own has no sysfs for it: the host's, then. */
static int sys_of_host(const struct mr_mount *mount, int target)
{
	MR_FD from = open("/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (from < 0)
		return -1;
	return mr_mount_bind(from, target, mount->flags | MS_REC | MS_RDONLY);
}

static int mount_at(const struct mr_mount *mount, int from, int root)
{
	struct stat info = {.st_mode = S_IFDIR};

	if (from >= 0 && fstat(from, &info))
		return -1;
	MR_FD target = mr_root_place(root, mount->target, S_ISDIR(info.st_mode));
	if (target < 0)
		return -1;
	if (from >= 0)
		return mr_mount_bind(from, target, mount->flags);
	MR_FD made = make(mount);
	if (made >= 0)
		return move(made, target);
	if (errno == EPERM && !strcmp(mount->type, "sysfs"))
		return sys_of_host(mount, target);
	return -1;
}

static int mount_one(int root, const struct mr_mount *mount, struct mr_error *err)
{
	struct mr_step step = mr_step_begin("mount");
	int from = -1, code = 0;

	if (is_bind(mount)) {
		from = open(mount->source, O_PATH | O_CLOEXEC);
		code = from < 0 ? errno : 0;
	}
	if (!code && mount_at(mount, from, root))
		code = errno;
	mr_close(&from);
	mr_step_end(&step, code, "type=%s source=%s target=%s flags=%#lx data=%s", mount->type,
		    mount->source, mount->target, mount->flags, mount->data);
	if (!code)
		return 0;
	return mr_fail(err, code, "mount %s of type %s at %s in the container: %s",
		       mount->source ? mount->source : "-", mount->type, mount->target,
		       strerror(code));
}

int mr_mount_all(int root, const struct mr_spec *spec, struct mr_error *err)
{
	size_t i;

	for (i = 0; i < spec->mounts.count; i++)
		if (mount_one(root, &spec->mounts.items[i], err))
			return -1;
	return 0;
}
