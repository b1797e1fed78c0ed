// SPDX-License-Identifier: MIT
/*
 * Where a container's group may be made, by the rules of systemd's delegation:
 * below a unit that was delegated to us, never in one that is not; processes
 * live in leaves only, so those of the delegated group move into one of ours
 * before it hands controllers down. The real root is exempt from both.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cgroup.h"

#define HOW "start it by: systemd-run --scope -p Delegate=yes (--user without root), or: " CG_LAB

static const char *const names[] = {"memory", "cpu", "pids"};

static bool is_in(const struct cg_controllers *set, int index)
{
	const bool flags[] = {set->memory, set->cpu, set->pids};

	return flags[index];
}

/* Only the root of the whole tree has no type. */
static bool is_real_root(int group)
{
	return faccessat(group, "cgroup.type", F_OK, 0);
}

static bool is_unit(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot &&
	       (!strcmp(dot, ".service") || !strcmp(dot, ".scope") || !strcmp(dot, ".slice"));
}

/* The nearest unit at or above @path; false where no unit is in the path. */
static bool nearest_unit(const char *path, char *unit, size_t room)
{
	char *slash;

	snprintf(unit, room, "%s", path);
	while ((slash = strrchr(unit, '/'))) {
		if (is_unit(slash + 1))
			return true;
		*slash = '\0';
	}
	return false;
}

static bool is_delegated(const struct cg_tree *tree, const char *path)
{
	static const char *const marks[] = {"user.delegate", "trusted.delegate"};
	char unit[sizeof(tree->own)], value[4];
	bool yes = false;
	int group;

	if (!nearest_unit(path, unit, sizeof(unit)))
		return true; /* no systemd above: who may write here decides */
	group = cg_open(tree, unit);
	if (group < 0)
		return false;
	for (size_t i = 0; i < 2; i++)
		yes |= fgetxattr(group, marks[i], value, sizeof(value)) >= 1 && value[0] == '1';
	close(group);
	return yes;
}

/* All processes of @group into its leaf: it is ours, so what is in it is too. */
static int empty_into_leaf(int group, struct mr_error *err)
{
	char pids[65536], *rest = pids, *pid;
	int leaf;

	if (mkdirat(group, CG_SELF, 0755) && errno != EEXIST)
		return mr_fail(err, errno, "mkdir " CG_SELF " in the own cgroup: %s",
			       strerror(errno));
	leaf = openat(group, CG_SELF, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (leaf < 0 || cg_read(group, "cgroup.procs", pids, sizeof(pids)) < 0) {
		mr_fail(err, errno, "read the own cgroup: %s", strerror(errno));
		if (leaf >= 0)
			close(leaf);
		return -1;
	}
	while ((pid = strsep(&rest, "\n"))) {
		if (!*pid || !cg_write(leaf, "cgroup.procs", pid) || errno == ESRCH)
			continue;
		mr_fail(err, errno, "move process %s into the leaf " CG_SELF ": %s", pid,
			strerror(errno));
		close(leaf);
		return -1;
	}
	close(leaf);
	return 0;
}

static int lacks_controller(const struct cg_tree *tree, const char *path, const char *name,
			    struct mr_error *err)
{
	char v1[64];

	snprintf(v1, sizeof(v1), "/sys/fs/cgroup/%s/tasks", name);
	if (!strcmp(path, "/") && !access(v1, F_OK))
		return mr_lacks(
			err,
			"the %s controller is bound to cgroup v1 here, its limit needs v2; " CG_LAB,
			name);
	return mr_lacks(err, "%s%s hands no %s controller down; " HOW, tree->mount, path, name);
}

/* Hands the controllers of @set down to the children of @group; @must makes lacking one an error. */
static int enable(const struct cg_tree *tree, int group, const char *path,
		  const struct cg_controllers *set, bool must, struct mr_error *err)
{
	char order[16];

	for (int i = 0; i < 3; i++) {
		if (!is_in(set, i) || cg_has_word(group, "cgroup.subtree_control", names[i]))
			continue;
		if (!cg_has_word(group, "cgroup.controllers", names[i])) {
			if (must)
				return lacks_controller(tree, path, names[i], err);
			continue;
		}
		snprintf(order, sizeof(order), "+%s", names[i]);
		if (cg_write(group, "cgroup.subtree_control", order) && must)
			return mr_lacks(err, "%s%s does not hand the %s controller down (%s); " HOW,
					tree->mount, path, names[i], strerror(errno));
	}
	return 0;
}

static bool has_all(int group, const char *file, const struct cg_controllers *set)
{
	for (int i = 0; i < 3; i++)
		if (is_in(set, i) && !cg_has_word(group, file, names[i]))
			return false;
	return true;
}

/* Makes the open @group ready to be a parent. */
static int prepare(const struct cg_tree *tree, int group, const char *path,
		   const struct cg_controllers *needed, struct mr_error *err)
{
	static const struct cg_controllers all = {true, true, true};
	bool any = needed->memory || needed->cpu || needed->pids;

	if (faccessat(group, "cgroup.procs", W_OK, 0))
		return mr_lacks(
			err, "may not write %s%s: the cgroup is not delegated to this user; " HOW,
			tree->mount, path);
	if (is_real_root(group)) {
		if (enable(tree, group, path, needed, true, err))
			return -1;
		return enable(tree, group, path, &all, false, err);
	}
	if (!any)
		return 0;
	if (!is_delegated(tree, path))
		return mr_lacks(err, "%s%s is systemd's own, not delegated; " HOW, tree->mount,
				path);
	if (!has_all(group, "cgroup.controllers", needed))
		return enable(tree, group, path, needed, true, err); /* names the missing one */
	if (!has_all(group, "cgroup.subtree_control", needed) && empty_into_leaf(group, err))
		return -1;
	if (enable(tree, group, path, needed, true, err))
		return -1;
	return enable(tree, group, path, &all, false, err);
}

int cg_parent(const struct cg_tree *tree, const struct cg_controllers *needed, char *path,
	      size_t room, struct mr_error *err)
{
	char *slash;
	int group, ret;

	if (snprintf(path, room, "%s", tree->own) >= (int)room)
		return mr_fail(err, ENAMETOOLONG, "the own cgroup's path is too long");
	slash = strrchr(path, '/');
	if (slash && !strcmp(slash + 1, CG_SELF)) /* moved there by an earlier start */
		slash[slash == path] = '\0';
	group = cg_open(tree, path);
	if (group < 0)
		return mr_lacks(err, "cannot open the own cgroup %s%s (%s); " HOW, tree->mount,
				path, strerror(errno));
	ret = prepare(tree, group, path, needed, err);
	close(group);
	return ret;
}
