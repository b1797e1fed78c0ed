// SPDX-License-Identifier: MIT
/* What the kernel killed in a group for want of memory, and whose limit that was. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cgroup.h"

static uint64_t counted(int group, const char *file, const char *what)
{
	char text[512];

	return cg_read(group, file, text, sizeof(text)) < 0 ? 0 : cg_number_of(text, what);
}

/* memory.events counts what is below too, unless mounted with memory_localevents. */
uint64_t cg_oom_kills(const struct cg_tree *tree, const char *path)
{
	int group = cg_open(tree, path);
	uint64_t all, own;

	if (group < 0)
		return 0;
	all = counted(group, "memory.events", "oom_kill");
	own = counted(group, "memory.events.local", "oom_kill");
	close(group);
	return all > own ? all : own;
}

uint64_t mr_cgroup_oom_kills(const char *path)
{
	struct mr_error ignored = {0};
	struct cg_tree tree;
	uint64_t kills;

	if (!*path || cg_tree_open(&tree, &ignored))
		return 0;
	kills = cg_oom_kills(&tree, path);
	cg_tree_close(&tree);
	return kills;
}

/* The nearest group, itself or above, whose own limit was ever hit; only it counts that as local. */
bool mr_cgroup_oom_limit(const char *path, char *where, size_t room)
{
	struct mr_error ignored = {0};
	struct cg_tree tree;
	bool found = false;

	if (!*path || cg_tree_open(&tree, &ignored))
		return false;
	snprintf(where, room, "%s", path);
	while (*where && !found) {
		int group = cg_open(&tree, where);

		found = group >= 0 && counted(group, "memory.events.local", "oom");
		if (group >= 0)
			close(group);
		if (!found)
			*strrchr(where, '/') = '\0';
	}
	cg_tree_close(&tree);
	return found;
}
