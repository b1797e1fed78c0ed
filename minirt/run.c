// SPDX-License-Identifier: MIT
/* The verb run: a container from its description to its end. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "start.h"

/* PATH is a bundle when it has a config.json, else a root. Flags win over the bundle. */
static int describe(int argc, char **argv, struct mr_spec *spec, struct mr_choice *choice,
		    struct mr_error *err)
{
	struct mr_spec scratch;
	struct mr_choice ignored = {0};
	char **rest = argv;
	int count = argc;
	char *config;

	mr_spec_init(&scratch);
	if (mr_options(MR_RUN, &count, &rest, &scratch, &ignored, err))
		return -1;
	if (count < 1)
		return mr_usage(err, "run takes a root or a bundle; see: minirt run --help");
	mr_spec_init(spec);
	config = mr_text("%s/config.json", rest[0]);
	if (!access(config, F_OK)) {
		if (mr_bundle_read(spec, rest[0], err))
			return -1;
	} else {
		spec->rootfs = realpath(rest[0], NULL);
		if (!spec->rootfs)
			return mr_fail(err, errno, "the root %s: %m", rest[0]);
		mr_spec_defaults(spec);
	}
	free(config);
	if (mr_options(MR_RUN, &argc, &argv, spec, choice, err))
		return -1;
	if (argc > 1)
		spec->argv = argv + 1;
	if (!spec->argv || !spec->argv[0])
		return mr_usage(err, "no command to run in %s", argv[0]);
	return 0;
}

static void name_it(struct mr_spec *spec)
{
	unsigned char bytes[6];
	size_t i;

	if (spec->id[0])
		return;
	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		memcpy(bytes, &(pid_t){getpid()}, sizeof(pid_t));
	for (i = 0; i < sizeof(bytes); i++)
		snprintf(spec->id + 2 * i, 3, "%02x", bytes[i]);
}

/* What is not said follows from what is. */
static int complete(struct mr_spec *spec, struct mr_error *err)
{
	if (geteuid() && !spec->rootless)
		return mr_lacks(err, "only root may do this; as this user, use --rootless");
	if (spec->rootless)
		spec->namespaces |= CLONE_NEWUSER;
	else if (spec->namespaces & CLONE_NEWUSER)
		spec->rootless = true;
	if (spec->rootless && !spec->uids.count)
		*mr_list_add(&spec->uids) = (struct mr_idmap){0, geteuid(), 1};
	if (spec->rootless && !spec->gids.count)
		*mr_list_add(&spec->gids) = (struct mr_idmap){0, getegid(), 1};
	if (spec->net && spec->rootless && geteuid())
		return mr_lacks(err, "--net makes a device on the host, which only root may do");
	if (spec->terminal && spec->detach)
		return mr_usage(err, "a terminal goes with a container that is waited for");
	mr_spec_nodes(spec);
	name_it(spec);
	if (!spec->hostname)
		spec->hostname = mr_copy(spec->id);
	return 0;
}

static int write_pid(const struct mr_choice *choice, pid_t pid, struct mr_error *err)
{
	if (!choice->pid_file)
		return 0;
	MR_FD file = open(choice->pid_file, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
	if (file < 0 || dprintf(file, "%d\n", pid) < 0)
		return mr_fail(err, errno, "write %s: %m", choice->pid_file);
	return 0;
}

/* A detached command has none of the caller's files, which others may wait for the end of. */
static int open_files(struct mr_container *container, const struct mr_choice *choice,
		      struct mr_error *err)
{
	const char *log = choice->log ? choice->log : "/dev/null";

	if (!container->spec->detach)
		return 0;
	container->input = open("/dev/null", O_RDONLY | O_CLOEXEC);
	container->output = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (container->input < 0 || container->output < 0)
		return mr_fail(err, errno, "open %s: %m", log);
	return 0;
}

static int start(int states, struct mr_container *container, const struct mr_choice *choice,
		 struct mr_error *err)
{
	const struct mr_spec *spec = container->spec;

	if (open_files(container, choice, err) || mr_cgroup_make(&container->cgroup, spec, err) ||
	    mr_spawn(container, err))
		return -1;
	/* One that is alone ends with this process, and is in its group if it has one. */
	if (!container->alone && mr_state_write(states, container, "created", err))
		return -1;
	if (mr_spawn_go(container, err) || mr_state_write(states, container, "running", err))
		return -1;
	if (write_pid(choice, container->pid, err))
		return -1;
	return mr_hooks_run(spec, "poststart", "running", container->pid, err);
}

static void abort_start(struct mr_container *container)
{
	if (container->pid <= 0)
		return;
	kill(container->pid, SIGKILL);
	while (waitpid(container->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void finish(int states, const struct mr_container *container, int status)
{
	const struct mr_spec *spec = container->spec;
	uint64_t kills = mr_cgroup_oom_kills(container->cgroup.path);
	char limit[sizeof(container->cgroup.path)];
	struct mr_step step = mr_step_begin("exit");
	struct mr_error err = {0};

	mr_step_end(&step, 0, "status=%d pid=%d", status, container->pid);
	if (kills) {
		step = mr_step_begin("oom");
		if (!mr_cgroup_oom_limit(container->cgroup.path, limit, sizeof(limit)))
			snprintf(limit, sizeof(limit), "unknown");
		mr_step_end(&step, 0, "kills=%lu group=%s limit=%s", kills, container->cgroup.path,
			    limit);
	}
	if (mr_hooks_run(spec, "poststop", "stopped", 0, &err) || mr_clean(states, spec->id, &err))
		dprintf(STDERR_FILENO, "minirt: %s\n", err.text);
}

int mr_verb_run(int argc, char **argv, struct mr_error *err)
{
	struct mr_spec spec;
	struct mr_choice choice = {.steps_fd = -1};
	struct mr_container container = {.spec = &spec,
					 .cgroup.fd = -1,
					 .pidfd = -1,
					 .sync = -1,
					 .input = -1,
					 .output = -1,
					 .terminal.master = -1};
	int status = -1;

	if (describe(argc, argv, &spec, &choice, err) || complete(&spec, err))
		return err->status;
	MR_FD states = mr_state_open(err);
	if (states < 0)
		return err->status;
	mr_step_open(spec.id, spec.steps_fd = choice.steps_fd,
		     mr_steps_keep(states, spec.id, true));
	if ((spec.gpu.count || spec.gpu_hook) && mr_inject(&spec, err))
		return err->status;
	/* Where the group will be is written down first: it is found again, whenever this ends. */
	if (mr_cgroup_place(&container.cgroup, &spec, err) ||
	    mr_state_create(states, &container, err))
		return err->status;
	if (start(states, &container, &choice, err)) {
		abort_start(&container);
		/* The group may have turned out not to be this container's. */
		mr_state_write(states, &container, "stopped", &(struct mr_error){0});
		finish(states, &container, err->status);
		return err->status;
	}
	if (spec.detach) {
		printf("%s\n", spec.id);
		return 0;
	}
	status = mr_monitor(container.pidfd, &container.terminal);
	finish(states, &container, status);
	return status;
}
