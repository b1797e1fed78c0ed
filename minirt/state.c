// SPDX-License-Identifier: MIT
/*
 * What is known of each container while it is there: one folder per container,
 * state.json in it, replaced as a whole. Changes of the folders are made under
 * a lock on the folder of them all.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "start.h"

#define STAT_START 22 /* field of /proc/PID/stat */

static char *folder(void)
{
	const char *named = getenv("MINIRT_STATE_DIR"), *runtime = getenv("XDG_RUNTIME_DIR");

	if (named && *named)
		return mr_copy(named);
	if (!geteuid())
		return mr_copy("/run/minirt");
	if (runtime && *runtime)
		return mr_text("%s/minirt", runtime);
	return mr_text("/tmp/minirt-%u", geteuid());
}

int mr_state_open(struct mr_error *err)
{
	char *path = folder();
	struct stat info;
	int states;

	if (mkdir(path, 0700) && errno != EEXIST) {
		mr_fail(err, errno, "make %s for the state of containers: %m", path);
		free(path);
		return -1;
	}
	states = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (states < 0)
		mr_fail(err, errno, "open %s: %m", path);
	else if (fstat(states, &info) || info.st_uid != geteuid()) {
		mr_fail(err, EPERM, "%s is not this user's; set MINIRT_STATE_DIR", path);
		mr_close(&states);
		states = -1;
	}
	free(path);
	return states;
}

/* Held until the descriptor is closed. */
int mr_state_lock(int states)
{
	int lock = openat(states, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	while (lock >= 0 && flock(lock, LOCK_EX))
		if (errno != EINTR)
			break;
	return lock;
}

bool mr_good_id(const char *id)
{
	return id[0] && id[0] != '.' && id[0] != '-' &&
	       id[strspn(id, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			     "._-")] == '\0' &&
	       strlen(id) < MR_ID_MAX;
}

int mr_state_create(int states, struct mr_container *container, struct mr_error *err)
{
	const char *id = container->spec->id;
	MR_FD lock = mr_state_lock(states);

	if (lock < 0)
		return mr_fail(err, errno, "lock the state folder: %m");
	mr_clean_orphans(states);
	if (mkdirat(states, id, 0700) && errno == EEXIST)
		return mr_usage(err, "a container %s is there already; see: minirt ps", id);
	return mr_state_write(states, container, "creating", err);
}

int mr_state_write(int states, const struct mr_container *container, const char *status,
		   struct mr_error *err)
{
	const struct mr_spec *spec = container->spec;
	struct mr_state state = {
		.pid = container->pid,
		.start = container->pid > 0 ? mr_process_start(container->pid) : 0,
		.runtime = getpid(),
		.runtime_start = mr_process_start(getpid()),
		.bundle = spec->bundle,
		.rootfs = spec->rootfs,
		.cgroup = (char *)container->cgroup.path,
		.hostname = spec->hostname,
		.argv = spec->argv,
		.env = spec->env,
		.cwd = spec->cwd,
		.uid = spec->uid,
		.gid = spec->gid,
		.capabilities = spec->capabilities,
		.namespaces = spec->namespaces,
		.detached = spec->detach,
		.rootless = spec->rootless,
		.net = spec->net,
		.no_seccomp = spec->no_seccomp,
		.rules = {spec->rules.items, spec->rules.count},
	};

	snprintf(state.id, sizeof(state.id), "%s", spec->id);
	snprintf(state.status, sizeof(state.status), "%s", status);
	return mr_state_save(states, &state, err);
}

bool mr_state_leftover(int states, const char *id)
{
	return mr_good_id(id) && !faccessat(states, id, F_OK, AT_SYMLINK_NOFOLLOW);
}

int mr_state_remove(int states, const char *id, struct mr_error *err)
{
	char path[MR_ID_MAX + 32];

	snprintf(path, sizeof(path), "%s/state.json", id);
	unlinkat(states, path, 0);
	snprintf(path, sizeof(path), "%s/state.json.new", id);
	unlinkat(states, path, 0);
	if (unlinkat(states, id, AT_REMOVEDIR) && errno != ENOENT)
		return mr_fail(err, errno, "remove the state of %s: %m", id);
	return 0;
}

/* When the process began; 0 when there is none of that number that still lives. */
uint64_t mr_process_start(pid_t pid)
{
	char path[32], text[1024], *field;
	unsigned int i;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	MR_FD file = open(path, O_RDONLY | O_CLOEXEC);
	n = file < 0 ? -1 : read(file, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	/* The name in brackets, which may have any bytes, ends with the last bracket. */
	field = strrchr(text, ')');
	if (field && strchr("ZX", field[2]))
		return 0;
	for (i = 2; field && i < STAT_START; i++)
		field = strchr(field + 1, ' ');
	return field ? strtoull(field + 1, NULL, 10) : 0;
}

/* The first child of PID 1 is the command, which lives as long. */
pid_t mr_process_child(pid_t init)
{
	char path[64], text[32];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", init, init);
	MR_FD file = open(path, O_RDONLY | O_CLOEXEC);
	n = file < 0 ? -1 : read(file, text, sizeof(text) - 1);
	text[n < 0 ? 0 : n] = '\0';
	return atoi(text);
}

static bool same_process(pid_t pid, uint64_t start)
{
	return pid > 0 && start && mr_process_start(pid) == start;
}

bool mr_state_alive(const struct mr_state *state)
{
	return same_process(state->pid, state->start);
}

bool mr_state_orphan(const struct mr_state *state)
{
	if (same_process(state->runtime, state->runtime_start))
		return false;
	return !state->detached || strcmp(state->status, "running") || !mr_state_alive(state);
}

int mr_state_each(int states, int (*each)(int states, const char *id, void *data), void *data)
{
	int fd = openat(states, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int ret = 0;

	if (!list) {
		mr_close(&fd);
		return -1;
	}
	while (!ret && (entry = readdir(list)))
		if (mr_good_id(entry->d_name))
			ret = each(states, entry->d_name, data);
	closedir(list);
	return ret;
}
