// SPDX-License-Identifier: MIT
/* User and group ids of a user namespace: written here, or by newuidmap where that takes privilege. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "start.h"

#define MAPS_MAX 64

static int write_file(pid_t pid, const char *name, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	MR_FD file = open(path, O_WRONLY | O_CLOEXEC);
	return file < 0 || write(file, text, strlen(text)) < 0 ? -1 : 0;
}

/* newuidmap PID INSIDE OUTSIDE COUNT … : set-user-ID, it checks /etc/subuid. */
static int run_helper(const char *program, pid_t pid, const struct mr_idmap *maps, size_t count,
		      struct mr_error *err)
{
	char numbers[3 * MAPS_MAX + 1][12], *argv[3 * MAPS_MAX + 3] = {(char *)program};
	int status, code;
	pid_t child;
	size_t i, n = 1;

	snprintf(numbers[0], sizeof(*numbers), "%d", pid);
	argv[n++] = numbers[0];
	for (i = 0; i < 3 * count; i++) {
		const struct mr_idmap *map = &maps[i / 3];
		uint32_t value = i % 3 == 0 ? map->inside : i % 3 == 1 ? map->outside : map->count;

		snprintf(numbers[i + 1], sizeof(*numbers), "%u", value);
		argv[n++] = numbers[i + 1];
	}
	argv[n] = NULL;
	code = posix_spawnp(&child, program, NULL, NULL, argv, environ);
	if (code == ENOENT)
		return mr_lacks(err, "%s is not installed; install uidmap, or map one id only",
				program);
	if (code)
		return mr_fail(err, code, "run %s: %s", program, strerror(code));
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return mr_fail(err, errno, "wait for %s: %m", program);
	if (status)
		return mr_fail(err, EPERM,
			       "%s refused the ids; are they this user's in /etc/sub%cid?", program,
			       program[3]);
	return 0;
}

static int write_map(pid_t pid, const char *file, const struct mr_idmap *maps, size_t count,
		     struct mr_error *err)
{
	char text[36 * MAPS_MAX];
	size_t i, used = 0;

	for (i = 0; i < count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%u %u %u\n",
					 maps[i].inside, maps[i].outside, maps[i].count);
	return write_file(pid, file, text) ? mr_fail(err, errno, "write %s: %m", file) : 0;
}

static int map(pid_t pid, bool group, const struct mr_idmap *maps, size_t count,
	       struct mr_error *err)
{
	struct mr_step step = mr_step_begin("id-map");
	uint32_t own = group ? getegid() : geteuid();
	bool simple = count == 1 && maps[0].count == 1 && maps[0].outside == own;
	int ret;

	if (!count || count > MAPS_MAX)
		return mr_fail(err, EINVAL, "a user namespace takes 1 to %d id maps", MAPS_MAX);
	if (geteuid() && !simple)
		ret = run_helper(group ? "newgidmap" : "newuidmap", pid, maps, count, err);
	else
		ret = write_map(pid, group ? "gid_map" : "uid_map", maps, count, err);
	mr_step_end(&step, ret ? err->code : 0, "kind=%s inside=%u outside=%u count=%u maps=%zu",
		    group ? "gid" : "uid", maps[0].inside, maps[0].outside, maps[0].count, count);
	return ret;
}

int mr_idmap_write(pid_t pid, const struct mr_spec *spec, struct mr_error *err)
{
	/* Who may not change groups can't gain by giving one up. */
	if (geteuid() && spec->gids.count == 1 && write_file(pid, "setgroups", "deny"))
		return mr_fail(err, errno, "write setgroups: %m");
	if (map(pid, false, spec->uids.items, spec->uids.count, err))
		return -1;
	return map(pid, true, spec->gids.items, spec->gids.count, err);
}
