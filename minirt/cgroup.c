// SPDX-License-Identifier: MIT
/* A container's own group: made with its limits before the container exists. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroup.h"

#define DEFAULT_PERIOD_US 100000

/* One file of the group, told as a step. A file that is not there is a controller that is not. */
static int set(int group, const char *file, const char *value, struct mr_error *err)
{
	struct mr_step step = mr_step_begin("cgroup-write");
	int code = cg_write(group, file, value) ? errno : 0;

	mr_step_end(&step, code, "file=%s value=%s", file, value);
	if (!code)
		return 0;
	if (code == ENOENT)
		return mr_lacks(err, "this kernel's cgroups have no %s; " CG_LAB, file);
	return mr_fail(err, code, "write %s to %s: %s", value, file, strerror(code));
}

static int set_number(int group, const char *file, uint64_t value, struct mr_error *err)
{
	char text[24];

	if (value == MR_UNLIMITED)
		return 0;
	snprintf(text, sizeof(text), "%" PRIu64, value);
	return set(group, file, text, err);
}

/* Within one container an OOM kill takes all processes or none: half a container is none. */
static int set_memory(int group, const struct mr_limits *limits, struct mr_error *err)
{
	if (set_number(group, "memory.max", limits->memory, err) ||
	    set_number(group, "memory.high", limits->memory_high, err) ||
	    set_number(group, "memory.swap.max", limits->swap, err))
		return -1;
	return limits->memory == MR_UNLIMITED ? 0 : set(group, "memory.oom.group", "1", err);
}

static int set_limits(int group, const struct mr_limits *limits, struct mr_error *err)
{
	uint64_t period = limits->cpu_period_us;
	char text[48];

	if (set_memory(group, limits, err))
		return -1;
	if (limits->cpu_quota_us != MR_UNLIMITED) {
		if (!period || period == MR_UNLIMITED)
			period = DEFAULT_PERIOD_US;
		snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64, limits->cpu_quota_us, period);
		if (set(group, "cpu.max", text, err))
			return -1;
	}
	return set_number(group, "pids.max", limits->pids, err);
}

static struct cg_controllers controllers_for(const struct mr_limits *limits)
{
	return (struct cg_controllers){
		.memory = limits->memory != MR_UNLIMITED || limits->memory_high != MR_UNLIMITED ||
			  limits->swap != MR_UNLIMITED,
		.cpu = limits->cpu_quota_us != MR_UNLIMITED,
		.pids = limits->pids != MR_UNLIMITED,
	};
}

/* mkdir and open; group->path is set as soon as there is something to remove. */
static int make_directory(const struct cg_tree *tree, struct mr_cgroup *group, const char *path,
			  struct mr_error *err)
{
	struct mr_step step = mr_step_begin("cgroup");
	int code = mkdirat(tree->root, path + 1, 0755) ? errno : 0;

	mr_step_end(&step, code, "path=%s%s", tree->mount, path);
	if (code == EEXIST)
		return mr_fail(err, code, "cgroup %s%s exists already; remove it by: minirt delete",
			       tree->mount, path);
	if (code == EACCES || code == EPERM || code == EROFS)
		return mr_lacks(err, "may not make the cgroup %s%s (%s); " CG_LAB, tree->mount,
				path, strerror(code));
	if (code)
		return mr_fail(err, code, "mkdir %s%s: %s", tree->mount, path, strerror(code));
	snprintf(group->path, sizeof(group->path), "%s", path);
	group->fd = cg_open(tree, path);
	if (group->fd < 0)
		return mr_fail(err, errno, "open %s%s: %s", tree->mount, path, strerror(errno));
	return 0;
}

int cg_place(const struct cg_tree *tree, struct mr_cgroup *group, const struct mr_spec *spec,
	     struct mr_error *err)
{
	struct cg_controllers needed = controllers_for(&spec->limits);
	char parent[sizeof(tree->own)];

	if (cg_parent(tree, &needed, parent, sizeof(parent), err))
		return -1;
	snprintf(group->path, sizeof(group->path), "%s/" CG_PREFIX "%s",
		 strcmp(parent, "/") ? parent : "", spec->id);
	return 0;
}

int cg_make(const struct cg_tree *tree, struct mr_cgroup *group, const struct mr_spec *spec,
	    struct mr_error *err)
{
	char path[sizeof(group->path)];

	if (!group->path[0] && cg_place(tree, group, spec, err))
		return -1;
	/* Not ours to remove before it is ours. */
	memcpy(path, group->path, sizeof(path));
	group->path[0] = '\0';
	if (make_directory(tree, group, path, err))
		return -1;
	if (!set_limits(group->fd, &spec->limits, err))
		return 0;
	close(group->fd);
	group->fd = -1;
	unlinkat(tree->root, path + 1, AT_REMOVEDIR);
	group->path[0] = '\0';
	return -1;
}

/* @make on the machine's own tree; a container without limits can do without a group. */
static int on_tree(int (*make)(const struct cg_tree *, struct mr_cgroup *, const struct mr_spec *,
			       struct mr_error *),
		   struct mr_cgroup *group, const struct mr_spec *spec, struct mr_error *err)
{
	struct cg_controllers needed = controllers_for(&spec->limits);
	bool limited = needed.memory || needed.cpu || needed.pids;
	struct mr_error why = {0};
	struct cg_tree tree;
	int ret;

	group->fd = -1;
	ret = cg_tree_open(&tree, &why);
	if (!ret)
		ret = make(&tree, group, spec, &why);
	cg_tree_close(&tree);
	if (!ret || (!limited && why.status == MR_EXIT_PREREQUISITE))
		return 0;
	*err = why;
	return -1;
}

int mr_cgroup_place(struct mr_cgroup *group, const struct mr_spec *spec, struct mr_error *err)
{
	group->path[0] = '\0';
	return on_tree(cg_place, group, spec, err);
}

int mr_cgroup_make(struct mr_cgroup *group, const struct mr_spec *spec, struct mr_error *err)
{
	return on_tree(cg_make, group, spec, err);
}

int mr_cgroup_open(const char *path, struct mr_error *err)
{
	struct cg_tree tree;
	int fd;

	if (cg_tree_open(&tree, err))
		return -1;
	fd = cg_open(&tree, path);
	if (fd < 0)
		mr_fail(err, errno, "open cgroup %s%s: %s", tree.mount, path, strerror(errno));
	cg_tree_close(&tree);
	return fd;
}
